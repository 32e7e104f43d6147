# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# The tests, and the map of what each executes: build/mutate/map.json. A line is named by file, function and text, so that
# the map stays useful while the sources change. A test whose own source changed is recorded again before it is used.
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

import draw
import tree

CHEAP = ("unit", "property", "golden", "fuzz")
COSTLY = ("torture", "e2e", "faults")
TEST_SECONDS = 300 # as in tests/run
AT_ONCE = 2 * (os.cpu_count() or 1) # as in tests/run: most tests wait most of the time
ENVIRONMENT = {"ASAN_OPTIONS": "abort_on_error=1:detect_stack_use_after_return=1", "UBSAN_OPTIONS": "print_stacktrace=1",
               "BEZEL_TEST_LIGHT": "1"}


class Test:
    """A test as ctest knows it."""

    def __init__(self, entry, base):
        self.name, self.command, self.base = entry["name"], entry["command"], base
        self.kind = self.name.split("/")[0]
        properties = {p["name"]: p["value"] for p in entry["properties"]}
        self.skip, self.folder = properties.get("SKIP_RETURN_CODE"), properties.get("WORKING_DIRECTORY")
        self.environment = dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", []) if e)

    def source(self):
        """The hash of the file that the test is named after, or of the group of faults."""
        for suffix in (".c", ""):
            path = self.base / "src/tests" / (self.name + suffix)
            if path.is_file():
                return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        return ""

    def run(self, seconds, profile="/dev/null", stop=None):
        """Runs the test in a cell. Returns passed, failed, skipped, hung or stopped, the seconds, and its output."""
        environment = {**os.environ, **ENVIRONMENT, **self.environment, "LLVM_PROFILE_FILE": profile}
        began, tmp = time.monotonic(), tempfile.mkdtemp(dir=self.base, prefix="tmp.")
        os.chmod(tmp, 0o1777) # as /tmp is
        cell = [str(self.base / "src/tests/mutation/cell"), str(self.base), tmp]
        with tempfile.TemporaryFile() as sink:
            process = subprocess.Popen(cell + self.command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=sink, stderr=subprocess.STDOUT)
            try:
                result = self.wait(process, began + seconds, stop)
            finally:
                process.kill() # the cell, and with it all of its processes
                process.wait()
                shutil.rmtree(tmp, ignore_errors=True)
            sink.seek(0)
            text = sink.read().decode(errors="replace")
        return result, time.monotonic() - began, text

    def wait(self, process, deadline, stop):
        while True:
            try:
                code = process.wait(0.05)
                return "passed" if code == 0 else "skipped" if code == self.skip else "failed"
            except subprocess.TimeoutExpired:
                if stop and stop.is_set():
                    return "stopped"
                if time.monotonic() > deadline:
                    return "hung"


class Map:
    """Which tests execute which lines, and how long each takes."""

    def __init__(self, copy):
        self.tree, self.path = copy, copy.base / "map.json"
        listing = json.loads(tree.command_output("ctest", "--test-dir", str(copy.build), "--show-only=json-v1"))
        self.tests = {entry["name"]: Test(entry, copy.base) for entry in listing["tests"]
                      if entry["name"].split("/")[0] in CHEAP + COSTLY and "command" in entry}
        self.programs = sorted(p.name for p in copy.build.iterdir() if p.is_file() and os.access(p, os.X_OK)
                               and not p.is_symlink() and not re.match(r"(test|fuzz)_", p.name))
        try:
            self.data = json.loads(self.path.read_text())
        except (OSError, ValueError):
            self.data = {"tests": {}, "files": {}, "lines": {}}
        self.keys = {} # file: what draw.line_keys() says of it

    def record(self, everything):
        """Records the tests that are new or changed, or all of them; whether it was all of them."""
        everything = everything or not self.data["tests"]
        if everything:
            self.data = {"tests": {}, "files": {}, "lines": {}}
            self.data["files"] = {file: self.hash(file) for file in tree.sources(self.tree.root) if tree.PRODUCT.match(file)}
        old = self.data["tests"]
        stale = [t for t in self.tests.values() if old.get(t.name, {}).get("source") != t.source()]
        if not stale:
            return False
        print(f"tests/mutate: recording what {len(stale)} tests execute", flush=True)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            stale.sort(key=lambda t: (t.kind in CHEAP, t.name))
            for test, found in zip(stale, pool.map(self.record_one, stale)):
                self.enter(test, *found)
        self.path.write_text(json.dumps(self.data))
        broken = sorted(name for name, entry in old.items() if entry["result"] in ("failed", "hung"))
        if broken:
            print("tests/mutate: these fail without a mutant, and are left out: " + " ".join(broken))
        return everything

    def record_one(self, test):
        raw = self.tree.base / ("tmp.raw." + test.name.replace("/", "."))
        raw.mkdir(exist_ok=True)
        for _ in range(2): # what failed beside others may pass now
            result, seconds, _text = test.run(TEST_SECONDS, str(raw / "%c%m.profraw"))
            if result in ("passed", "skipped"):
                break
        lines = self.executed(test, raw)
        shutil.rmtree(raw)
        return result, seconds, lines

    def executed(self, test, raw):
        """The lines that the profiles in folder `raw` count: {file: {line}}."""
        counts = [str(p) for p in raw.glob("*.profraw")]
        if not counts:
            return {}
        merged = str(raw / "all")
        subprocess.run(["llvm-profdata", "merge", "-sparse", "--failure-mode=all", "-o", merged] + counts,
                       capture_output=True, check=False)
        objects = [os.path.basename(test.command[0])] if test.command[0].startswith(str(self.tree.build)) else []
        if len(counts) > 1 or not objects:
            objects += self.programs
        arguments = [word for name in objects for word in ("-object", str(self.tree.build / name))][1:]
        done = subprocess.run(["llvm-cov", "export", "-format=lcov", "-instr-profile=" + merged] + arguments,
                              capture_output=True, text=True, check=False)
        found, lines = {}, set()
        for line in done.stdout.splitlines():
            if line.startswith("SF:"):
                file = os.path.relpath(line[3:], self.tree.src)
                lines = found.setdefault(file, set()) if tree.PRODUCT.match(file) else set()
            elif line.startswith("DA:") and not line.endswith(",0"):
                lines.add(int(line[3:].split(",")[0]))
        return {file: lines for file, lines in found.items() if lines}

    def enter(self, test, result, seconds, lines):
        """Puts a test into the map, in place of what was known of it."""
        for names in self.data["lines"].values():
            if test.name in names:
                names.remove(test.name)
        for file, numbers in lines.items():
            known = self.line_keys(file)
            for key in {key for n in numbers if n in known for key in known[n]}:
                self.data["lines"].setdefault(key, []).append(test.name)
        self.data["tests"][test.name] = {"result": result, "seconds": round(seconds, 2), "source": test.source(),
                                         "files": {file: len(numbers) for file, numbers in lines.items()}}

    def line_keys(self, file):
        if file not in self.keys:
            self.keys[file] = draw.line_keys(file, (self.tree.src / file).read_text())
        return self.keys[file]

    def hash(self, file):
        return hashlib.sha256((self.tree.src / file).read_bytes()).hexdigest()[:16]

    def tests_for(self, mutant):
        """The tests that execute the line, first those that most likely see it soonest. Where the file changed since the
        recording and the line is not known, those that execute its function, or else its file."""
        line, function = self.line_keys(mutant.file)[mutant.line]
        names = self.data["lines"].get(line, [])
        if not names and self.data["files"].get(mutant.file) != self.hash(mutant.file):
            names = self.data["lines"].get(function, [])
            names = names or [name for name, entry in self.data["tests"].items() if mutant.file in entry["files"]]
        known = self.data["tests"]
        usable = [self.tests[n] for n in names if n in self.tests and known[n]["result"] == "passed"]
        return sorted(usable, key=lambda test: (test.kind in COSTLY, self.delay(test, mutant.file)))

    def delay(self, test, file):
        """Seconds of a test by its affinity to a file: the share of the file in what it executes."""
        entry = self.data["tests"][test.name]
        share = entry["files"].get(file, 0) / max(1, sum(entry["files"].values()))
        return (1 + entry["seconds"]) / (0.02 + share)

    def seconds(self, test):
        return self.data["tests"][test.name]["seconds"]

    def targets(self, test):
        """What to build for a test: its program, or for a script all programs."""
        program = test.command[0]
        return [os.path.basename(program)] if program.startswith(str(self.tree.build)) else self.programs
