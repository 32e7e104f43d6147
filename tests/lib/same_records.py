# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
"""
Whether readers of one run agree: same_records.py EXPORT OTHER...; files of JSON lines, the first one by
`bezel export --merge`, the others by who followed the run while it went on. All have the same records. But for those
that are marked, each is in order of the run's time, and each node in order of its clock. While a run goes on less is
known of its clocks, so times may differ, by no more than the errors that are told; and what is proven then to be behind
records of other nodes is behind them in the export.
"""
import collections, json, sys

MARKED = "late", "tachyon", "moved", "contrary"  # in their place for another reason than their time


class Records:
    def __init__(self, path):
        self.path, self.all, seen = path, [], collections.Counter()
        for line in open(path):
            r = json.loads(line, parse_float=number)
            what = json.dumps([r[k] for k in ("node", "process", "pid", "ring", "thread", "time_ns", "aspect", "fields")])
            seen[what] += 1
            self.all.append((what, seen[what], r))
        self.count = seen
        self.place = {(what, n): i for i, (what, n, r) in enumerate(self.all)}
        self.late = sum(r["order"] == "late" for _, _, r in self.all)

    def is_in_order(self):
        time, clocks = None, {}
        for _, _, r in self.all:
            if r["order"] in MARKED:
                continue
            if time is not None and r["run_time_ns"] < time:
                fail(f"{self.path}: the run's time goes back by {time - r['run_time_ns']} ns", r)
            if r["time_ns"] < clocks.get(r["node"], 0):
                fail(f"{self.path}: the node's clock goes back by {clocks[r['node']] - r['time_ns']} ns", r)
            time = r["run_time_ns"]
            clocks[r["node"]] = r["time_ns"]

    def has_times_of(self, other):
        worst = 0
        for what, n, r in self.all:
            o = other.all[other.place[what, n]][2]
            apart = abs(r["run_time_ns"] - o["run_time_ns"])
            worst = max(worst, apart)
            if None not in (r["error_ns"], o["error_ns"]) and apart > r["error_ns"] + o["error_ns"]:
                fail(f"{self.path}, {other.path}: its times are apart by {apart} ns, more than their errors", r, o)
        return worst

    def is_proven_in(self, other):
        """What stands before a proven record here, of other nodes, stands before it there; as far as neither is marked."""
        proven, last = 0, {}  # of each node: the place there of the one that is the last of these
        for what, n, r in self.all:
            place = other.place[what, n]
            if r["order"] in MARKED or other.all[place][2]["order"] in MARKED:
                continue
            if r["order"] == "proven":
                proven += 1
                behind = max((p for node, p in last.items() if node != r["node"]), default=-1)
                if behind > place:
                    fail(f"{self.path}: proven, and not so in {other.path}", r, other.all[behind][2])
            last[r["node"]] = max(last.get(r["node"], -1), place)
        return proven


def number(text):  # 0.0 is 0: JSON does not tell them apart
    return int(float(text)) if float(text).is_integer() else float(text)


def fail(*what):
    sys.exit("same_records.py: " + "\n".join(w if isinstance(w, str) else json.dumps(w) for w in what))


export, *others = [Records(path) for path in sys.argv[1:]]
if export.late or not export.all:
    fail(f"{export.path}: {len(export.all)} records, {export.late} of them late")
export.is_in_order()
for r in others:
    r.is_in_order()
    for more, fewer, a, b in ((r, export, r.count - export.count, export), (export, r, export.count - r.count, r)):
        if a:
            fail(f"{more.path} has {a.total()} records that {fewer.path} lacks, such as {next(iter(a))}")
    apart = r.has_times_of(export)
    proven = r.is_proven_in(export)
    print(f"{r.path}: {len(r.all)} records, {r.late} late, {proven} proven, times {apart} ns apart at most")
