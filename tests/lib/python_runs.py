# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
"""Whether bezel.py gives what `bezel export` does, and the queries of docs/DATABASE.md what the report says:
python_runs.py RUN RECORDS DATABASE.md LIVE; LIVE: records that were read while the run went on, as JSON lines."""
import json
import math
import re
import sys
import warnings

import bezel

path, records_file, page, live_file = sys.argv[1:]
exported = [json.loads(line) for line in open(records_file, encoding="utf-8")]
run = bezel.Run(path)


def want(holds, *what):
    if not holds:
        sys.exit(" ".join(str(w) for w in what))


with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    records = list(run.records(own=True))
    live = [json.loads(line) for line in open(live_file, encoding="utf-8")]
want(records == exported, "records:", len(records), "exported:", len(exported))
key = lambda r: json.dumps({k: r[k] for k in ("process", "pid", "ring", "time_ns", "aspect", "fields")}, sort_keys=True)
want(sorted(map(key, live)) == sorted(map(key, exported)), "live:", len(live), "exported:", len(exported))

# Tables
ticks = [r for r in exported if r["aspect"] == "tick"]
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    table = run.table("tick")
want(any(issubclass(w.category, bezel.LossWarning) for w in said), "no warning of lost records")
want(len(table) == len(ticks) and table["number"] == [r["fields"]["number"] for r in ticks], "table")
want(table["run_time_ns"] == [r["run_time_ns"] for r in ticks], "times")
warnings.simplefilter("ignore", bezel.LossWarning)
half = list(run.records(aspect="tick", where="number >= 100", process="t.1"))
want(half == [r for r in ticks if r["fields"]["number"] >= 100 and r["process"] == "t.1"], "filter")
odd = bezel.Table("odd")
for fields in ({"node": 1, "field.node": 2}, {"field.node": 4, "field.node_2": 5}, {"node": 6}):
    odd._add({"fields": fields})
odd._finish()
want([odd[n] for n in ("node", "field.node", "field.node_2", "field.node_2_2")] == [[None] * 3, [1, None, 6], [2, 4, None], [None, 5, None]],
     "names of fields:", odd.columns)
usage = run.table("bezel_usage")
want(len(usage) == len(usage["sensor_cpu"]) and None not in usage["cpu"], "own")
for library in ("numpy", "pandas"):
    try:
        __import__(library)
    except ImportError:
        print("without", library)
        continue
    frame = getattr(table, library)()
    want(list(frame["number"]) == table["number"] and str(frame["number"].dtype) == "int64", library)
    want(str(getattr(usage, library)()["sensor_cpu"].dtype) == "float64", library)
for record in run.records():  # of which the rest is not wanted
    break

# The report, and the queries
report = run.report()
books = report["books"]["processes"]
want(sum(run.lost().values()) == sum(sum(p["lost"].values()) for p in books) > 0, "lost")
queries = re.findall(r"```sql\n(.*?)```", open(page, encoding="utf-8").read(), re.S)
want(len(queries) == 10, len(queries), "queries")
what, counts, rates, fields, losses, limits, metrics, costs, decisions, ends = [
    [dict(row) for row in run.sql(query)] for query in queries]
want(what[0]["experiment"] == report["run"]["experiment"], what)
want(math.isclose(what[0]["seconds"], report["run"]["duration_ns"] / 1e9), what)
programs = [p for p in books if p["role"] != "daemon"]
want(sorted((c["process"], c["pid"], c["produced"], c["stored"], c["lost_full"]) for c in counts) ==
     sorted((p["process"], p["pid"], p["produced"], p["stored"], p["lost"]["full"]) for p in programs), counts)
per_second = {a["rate_per_s"] for p in programs for a in p["aspects"]}
want(all(any(math.isclose(r["per_second"], p) for p in per_second) for r in rates) and rates, rates)
want({(f["process"], f["max"]) for f in fields} == {(p, max(r["fields"]["number"] for r in ticks if r["process"] == p))
                                                  for p in {r["process"] for r in ticks}}, fields)
want(sum(l["lost"] for l in run.sql("SELECT count AS lost FROM losses")) == sum(run.lost().values()), losses)
want(losses and all(0 <= l["from_s"] <= l["until_s"] <= what[0]["seconds"] + 1 for l in losses), losses)
want({(l["limit"], round(l["violated_s"] * 1e9)) for l in limits} ==
     {(i, n["violated_ns"]) for i, l in enumerate(report["limits"]) for n in l["nodes"]}, limits)
want({m["metric"] for m in metrics} == {m["metric"] for m in report["metrics"]}, metrics)
want(costs[0]["node"] == "local" and costs[0]["cpu_s"] > 0 and costs[0]["longest_ms_between_polls"] > 0, costs)
want(len(decisions) == len(report["decisions"]), decisions)
want({(e["name"], e["end"]) for e in ends} == {("t.1", "exit code 0"), ("t.2", "exit code 0")}, ends)

# What is wrong is said
for wrong in (lambda: list(bezel.Run("/nowhere").records()), lambda: bezel.Run("/nowhere").report(),
              lambda: bezel.Run("/nowhere").sql("SELECT 1"), lambda: bezel.Run("ipc:///nowhere").sql("SELECT 1"),
              lambda: list(run.records(where="what?"))):
    try:
        wrong()
        sys.exit("no error")
    except bezel.BezelError as why:
        want(len(str(why)) > 20, why)
try:
    run.sql("DELETE FROM books")
    sys.exit("the database was changed")
except Exception as why:
    want("readonly" in str(why), why)
