# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# The copy of the sources in build/mutate, where mutants are built: the working tree is never touched. What an interrupt
# leaves in the copy is overwritten when the next run begins.
import fcntl
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import draw

# Sanitizers see what many tests do not assert. They are in the flags of the build type, since CMake leaves the seeds of
# the fuzzers and some tests out where they are in CMAKE_C_FLAGS. Tests know them by the macro of gcc, and gcc's have no
# float-cast-overflow. The counters of coverage are in a mapped file (runtime-counter-relocation), so that they survive
# SIGKILL.
FLAGS = ("-g1 -O1 -fsanitize=address,undefined -fno-sanitize=float-cast-overflow -fno-sanitize-recover=all "
         "-fno-omit-frame-pointer -D__SANITIZE_ADDRESS__=1 "
         "-fprofile-instr-generate -fcoverage-mapping -mllvm -runtime-counter-relocation")
PRODUCT = re.compile(r"(base|mdr|config|metric|sensor|run|analysis|collector|resmgr|bezeld|export|views|ecs)/.*\.[ch]$")
ROOM = re.compile(r"\| `([a-z/]+)/`.*\|$")
HEADERS_TRIED = 12 # objects compiled to see that a mutant of a header differs
NEEDED = ["clang", "llvm-profdata", "llvm-cov", "cmake", "ctest", "ninja", "git", "unshare"]


def fail(sentence):
    print("tests/mutate: " + sentence, file=sys.stderr)
    sys.exit(2)


def command_output(*command, cwd=None):
    """What a command prints; ends this program where it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        fail(shlex.join(command) + " failed:\n" + (done.stdout + done.stderr)[-4000:])
    return done.stdout


def sources(root):
    """The files of the working tree, those not yet committed among them."""
    names = command_output("git", "ls-files", "-co", "--exclude-standard", "-z", cwd=root).split("\0")
    return sorted(name for name in set(names) if name and (root / name).is_file())


def rooms(root):
    """The rooms of the product, from the table of CONTRIBUTING.md."""
    table = (root / "CONTRIBUTING.md").read_text().splitlines()
    found = [match.group(1) for match in map(ROOM.match, table) if match]
    return [room for room in found if PRODUCT.match(room + "/x.c")]


def room_of(file):
    return os.path.dirname(file)


def mutants_of(root, files):
    return {file: draw.mutants_of(file, (root / file).read_text()) for file in files}


class Tree:
    """The copy, its build, and the one mutant that is in it."""

    def __init__(self, root):
        self.root = root
        self.base = root / "build/mutate"
        self.src, self.build = self.base / "src", self.base / "build"
        self.mutant = self.original = None
        self.objects = {} # of the sources without a mutant, by command
        self.commands = self.includers = None

    def open(self):
        """Takes the folder for this process, copies what changed, and builds the tests."""
        for tool in NEEDED:
            if not shutil.which(tool):
                fail(tool + " is not installed: run packaging/install-deps build example test mutate")
        self.src.mkdir(parents=True, exist_ok=True)
        self.lock = open(self.base / "lock", "w", encoding="utf-8")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            fail("another one is at work in " + str(self.base))
        for left in self.base.glob("tmp.*"):
            shutil.rmtree(left, ignore_errors=True)
        self.copy()
        os.environ.pop("CCACHE_BASEDIR", None) # tests look for files beside their source: its path stays absolute
        command_output("cmake", "-G", "Ninja", "-S", str(self.src), "-B", str(self.build), "-DCMAKE_BUILD_TYPE=Debug",
                       "-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++", "-DBEZEL_BENCH=OFF",
                       "-DBEZEL_TESTS=ON", "-DCMAKE_C_FLAGS_DEBUG=" + FLAGS, "-DCMAKE_CXX_FLAGS_DEBUG=" + FLAGS)
        command_output("cmake", "--build", str(self.build))
        self.read_build()

    def copy(self):
        """Makes the copy equal to the working tree; what is equal keeps its time, and is not built again."""
        wanted = sources(self.root)
        for folder, _, names in os.walk(self.src):
            for name in names:
                path = pathlib.Path(folder, name)
                if not (self.root / path.relative_to(self.src)).is_file():
                    path.unlink()
        for name in wanted:
            old, new = self.src / name, self.root / name
            if not old.is_file() or old.read_bytes() != new.read_bytes() or old.stat().st_mode != new.stat().st_mode:
                old.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(new, old)

    def read_build(self):
        """How each source is compiled, and which sources include a header."""
        self.commands, self.includers = {}, {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            file = os.path.relpath(entry["file"], self.src)
            if PRODUCT.match(file):
                self.commands.setdefault(file, []).append(self.plain(entry["command"]))
        source = None
        for line in command_output("ninja", "-C", str(self.build), "-t", "deps").splitlines():
            path = os.path.relpath(os.path.join(self.build, line.strip()), self.src)
            if not line.startswith(" "):
                source = None
            elif source is None and path in self.commands:
                source = path
            elif source and path.endswith(".h"):
                self.includers.setdefault(path, set()).add(source)

    @staticmethod
    def plain(command):
        """The compilation without what makes equal code differ: optimised, no instruments, no line numbers."""
        words = [word for word in shlex.split(command) if not word.startswith(("-g", "-O", "-fsanitize", "-fprofile",
                 "-fcoverage", "-runtime-counter", "-fno-sanitize")) and word not in ("-mllvm", "ccache")]
        words = words[:words.index("-o")] + words[words.index("-o") + 2:]
        return words + ["-O2", "-g0"]

    def compile(self, words):
        """The object that a command makes, or None where it does not compile."""
        with tempfile.TemporaryDirectory(dir=self.base, prefix="tmp.") as folder:
            out = os.path.join(folder, "object")
            done = subprocess.run(words + ["-o", out], cwd=self.build, capture_output=True, check=False)
            return pathlib.Path(out).read_bytes() if done.returncode == 0 else None

    def differs(self, mutant):
        """Whether the mutant compiles to other code than the original. Leaves the original in the copy."""
        if mutant.file in self.commands:
            commands = self.commands[mutant.file]
        else:
            users = sorted(self.includers.get(mutant.file, ()), key=lambda u: (u[:-2] != mutant.file[:-2], u))
            commands = [words for user in users[:HEADERS_TRIED] for words in self.commands[user]]
        self.restore()
        for words in commands:
            key = shlex.join(words)
            if key not in self.objects:
                self.objects[key] = self.compile(words)
        self.put(mutant)
        differs = False
        for words in commands:
            now = self.compile(words)
            if now is None:
                differs = False
                break
            if now != self.objects[shlex.join(words)]:
                differs = True
                break
        self.restore()
        return differs

    def put(self, mutant):
        """Writes the mutant into the copy."""
        self.restore()
        self.mutant, self.original = mutant, (self.src / mutant.file).read_text()
        lines = self.original.split("\n")
        old = lines[mutant.line - 1]
        lines[mutant.line - 1] = old[:len(old) - len(old.lstrip())] + mutant.mutated
        (self.src / mutant.file).write_text("\n".join(lines))

    def restore(self):
        """Puts the original back."""
        if self.mutant:
            (self.src / self.mutant.file).write_text(self.original)
            self.mutant = None

    def make(self, targets):
        """Builds targets; whether that succeeded."""
        done = subprocess.run(["ninja", "-C", str(self.build)] + sorted(targets), capture_output=True, check=False)
        return done.returncode == 0
