#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
"""OpenMetrics for tests, by Python's standard library alone.

openmetrics.py check URL            prints the samples of a page as JSON, if its text keeps to the specification
openmetrics.py compare FILE RUN BEZEL   compares samples (JSON) with run.db and with what `bezel report --json` prints
openmetrics.py live FILE RUN        compares samples of a run that went on (JSON) with what run.db has in the end
openmetrics.py receive DIR WORD     prints a port, and takes POSTs there as WORD says: take, refuse, fail, move, reset, ignore
openmetrics.py hold PORT            asks for the page again and again, and reads nothing, until it is killed
"""
import json
import math
import os
import re
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

sys.dont_write_bytecode = True
from page_client import PATIENCE  # noqa: E402

TYPES = {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_count", "_sum"], "info": ["_info"], "stateset": [""]}
NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
NUMBER = re.compile(r"NaN|[+-]?Inf|[+-]?[0-9.]+(e[+-]?[0-9]+)?")


def wrong(line, why):
    sys.exit(f"{why}: {line!r}")


def labels_of(text, line):
    labels, at = [], 0
    while at < len(text):
        m = LABEL.match(text, at)
        if not m or m[1] in dict(labels):
            wrong(line, "labels")
        labels.append((m[1], re.sub(r"\\(.)", lambda e: "\n" if e[1] == "n" else e[1], m[2])))
        at = m.end()
        if at < len(text) and (text[at] != "," or at + 1 == len(text)):
            wrong(line, "labels")
        at += 1
    return labels


def split(line):
    name = NAME.match(line)
    if not name:
        wrong(line, "no name")
    rest = line[name.end():]
    labels = []
    if rest.startswith("{"):
        end = re.match(r'\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\}', rest)
        if not end:
            wrong(line, "labels do not end")
        labels = labels_of(end[0][1:-1], line)
        rest = rest[end.end():]
    if not rest.startswith(" ") or not NUMBER.fullmatch(rest[1:]):
        wrong(line, "no value")
    return name[0], labels, rest[1:]


class Family:
    def __init__(self, name, kind):
        self.name, self.kind, self.samples, self.unit = name, kind, [], None

    def check(self):
        """The rules of its type; families come once, and lie together."""
        if self.unit and not self.name.endswith("_" + self.unit):
            wrong(self.name, "it does not end with its unit")
        groups = {}
        for name, labels, value in self.samples:
            d = dict(labels)
            extra = {"histogram": "le", "stateset": self.name}.get(self.kind)
            groups.setdefault((name, tuple((k, v) for k, v in labels if k != extra)), []).append((d.get(extra), float(value)))
        for (name, labels), points in groups.items():
            keys = [p[0] for p in points]
            if len(set(keys)) != len(keys):
                wrong((name, labels), "twice")
            if self.kind in ("counter", "histogram") and any(v < 0 for _, v in points):
                wrong((name, labels), "a negative count")
            if self.kind == "stateset" and (any(v not in (0, 1) for _, v in points) or sum(v for _, v in points) != 1):
                wrong((name, labels), "not one state")
            if self.kind == "info" and points[0][1] != 1:
                wrong((name, labels), "an info other than 1")
            if name.endswith("_bucket"):
                edges = [float(k) for k in keys]
                counts = [v for _, v in points]
                if edges != sorted(edges) or counts != sorted(counts) or not math.isinf(edges[-1]):
                    wrong((name, labels), "buckets")
                if groups[(name[:-7] + "_count", labels)][0][1] != counts[-1]:
                    wrong((name, labels), "count")


def parse(text):
    if not text.endswith("# EOF\n"):
        wrong(text[-80:], "no end")
    families, now = {}, None
    for line in text[:-len("# EOF\n")].split("\n")[:-1]:
        if line.startswith("# "):
            word, name, rest = (line[2:].split(" ", 2) + [""])[:3]
            if word == "TYPE":
                if name in families or rest not in TYPES or not NAME.fullmatch(name):
                    wrong(line, "type")
                now = families[name] = Family(name, rest)
            elif word not in ("HELP", "UNIT") or not now or now.name != name or now.samples:
                wrong(line, "head")
            elif word == "UNIT":
                now.unit = rest
            continue
        name, labels, value = split(line)
        if not now or name not in [now.name + s for s in TYPES[now.kind]]:
            wrong(line, "not of the family above")
        now.samples.append((name, labels, value))
    for f in families.values():
        f.check()
    return [{"name": n, "labels": dict(l), "value": v} for f in families.values() for n, l, v in f.samples]


def fetch(url):
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        kind = answer.headers["content-type"]
        if kind != "application/openmetrics-text; version=1.0.0; charset=utf-8":
            sys.exit(f"content type {kind}")
        return answer.read().decode("utf-8")


def select(samples, name, **labels):
    return [s for s in samples if s["name"] == name and all(s["labels"].get(k) == v for k, v in labels.items())]


def same(what, got, wanted):
    got, wanted = float(got), math.nan if wanted is None else float(wanted)
    if got != wanted and not (math.isnan(got) and math.isnan(wanted)):
        sys.exit(f"{what}: {got}, but the run says {wanted}")


def compare_books(samples, report):
    sums = {}
    for p in report["books"]["processes"]:
        key = (p["node"], p["process"])
        counts = {"produced": p["produced"], "stored": p["stored"], "reduced": p["reduced"], **p["lost"]}
        for what, n in counts.items():
            sums[key, what] = sums.get((key, what), 0) + n
    for ((node, name), what), n in sums.items():
        if what in ("produced", "stored", "reduced"):
            found = select(samples, f"bezel_records_{what}_total", node=node, process=name)
        else:
            found = select(samples, "bezel_records_lost_total", node=node, process=name, cause=what)
        if len(found) != 1:
            sys.exit(f"{what} of {name}: {len(found)} samples")
        same(f"{what} of {name}", found[0]["value"], n)
    if sum(float(s["value"]) for s in select(samples, "bezel_records_lost_total")) != sum(
            n for (_, what), n in sums.items() if what not in ("produced", "stored", "reduced")):
        sys.exit("the sum of lost records")


def compare_limits(samples, report):
    seen = {}
    for limit in report["limits"]:
        n = seen[limit["text"]] = seen.get(limit["text"], 0) + 1
        states = select(samples, "bezel_limit_verdict", limit=limit["text"] + (f" ({n})" if n > 1 else ""))
        if [s["labels"]["bezel_limit_verdict"] for s in states if s["value"] == "1"] != [limit["is"]]:
            sys.exit(f"the verdict on {limit['text']}")


def database_of(run):
    return sqlite3.connect(f"file:{run}/run.db?mode=ro", uri=True)


def values_of(db):
    """The values of each metric of a process, in their order."""
    values = {}
    for node, metric, process, value in db.execute(
            "SELECT n.name, m.metric, m.process, m.value FROM metrics m JOIN nodes n ON n.id = m.node ORDER BY m.at"):
        values.setdefault((node, metric, process), []).append(value)
    return values


def samples_of_values(samples):
    found = {(s["labels"]["node"], s["labels"]["metric"], s["labels"]["process"]): s["value"]
             for s in select(samples, "bezel_metric_value")}
    if not found:
        sys.exit("no value of a metric")
    return found


def compare_live(samples, run):
    db = database_of(run)
    values = values_of(db)
    for key, value in samples_of_values(samples).items():
        if not any(float(value) == v for v in values[key] if v is not None) and not (
                math.isnan(float(value)) and None in values[key]):
            sys.exit(f"{key}: {value} is none of {values[key]}")
    for what, column in (("produced", "attempts"), ("stored", "stored")):
        most = db.execute(f"SELECT sum({column}) FROM books").fetchone()[0]
        count = sum(float(s["value"]) for s in select(samples, f"bezel_records_{what}_total"))
        if not 0 < count <= most:
            sys.exit(f"{what}: {count}, but the run says {most} in the end")


def compare_database(samples, run):
    db = database_of(run)
    values = values_of(db)
    for key, value in samples_of_values(samples).items():
        same(key, value, values[key][-1])
    stored = db.execute("SELECT sum(stored) FROM books").fetchone()[0]
    same("all stored", sum(float(s["value"]) for s in select(samples, "bezel_records_stored_total")), stored)


def receive(folder, word):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            if word == "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                self.connection.close()
                return
            if word == "ignore":
                self.connection.settimeout(60)
                self.rfile.read(1)  # until the other side has enough
                return
            if word == "take":
                with open(f"{folder}/new", "wb") as f:
                    f.write(body)
                with open(f"{folder}/authorization", "w") as f:
                    f.write(self.headers.get("authorization", ""))
                os.rename(f"{folder}/new", f"{folder}/pushed")
            self.send_response({"take": 204, "refuse": 401, "fail": 503, "move": 307}[word])
            if word == "move":
                self.send_header("location", self.path + "/elsewhere")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


def hold(port):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(("127.0.0.1", int(port)))
    s.settimeout(600)
    try:
        while True:  # more answers than buffers hold; one at a time, as a server need not look for a second one
            s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            time.sleep(0.003)
    except OSError:
        time.sleep(600)


def main(word, *a):
    if word == "check":
        json.dump(parse(fetch(a[0]) if "://" in a[0] else open(a[0], encoding="utf-8").read()), sys.stdout)
    elif word == "compare":
        samples = json.load(open(a[0], encoding="utf-8"))
        report = json.loads(subprocess.run([a[2], "report", "--json", a[1]], stdout=subprocess.PIPE).stdout)
        compare_books(samples, report)
        compare_limits(samples, report)
        compare_database(samples, a[1])
    elif word == "live":
        compare_live(json.load(open(a[0], encoding="utf-8")), a[1])
    elif word == "receive":
        receive(*a)
    elif word == "hold":
        hold(*a)


if __name__ == "__main__":
    main(*sys.argv[1:])
