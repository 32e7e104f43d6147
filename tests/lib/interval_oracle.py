# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
#
# The times from `frame_captured` to `frame_shown` of an experiment, computed from its exported records alone, against what
# Bezel says of them: interval_oracle.py EXPORT REPORT WINDOW_NS. EXPORT is `bezel export --all --merge --format jsonl`,
# REPORT is `bezel report --json`. Each judged value of the first limit has to be that of a frame which ended within
# WINDOW_NS before it, or as long before that as its way to the judge may take.
import json
import sys

WAY_NS = 10 * 10**9
STEP = 1 / 32  # of a quantile


def complain(what):
    print(what, file=sys.stderr)
    sys.exit(1)


def values(records):
    begun, ends = {}, []
    for r in records:
        if r["aspect"] == "frame_captured":
            begun.setdefault(r["fields"]["frame"], []).append(r)
        elif r["aspect"] == "frame_shown":
            ends.append(r)
    for end in ends:
        made = begun.get(end["fields"]["frame"], [])
        own = [r for r in made if (r["node"], r["pid"]) == (end["node"], end["pid"])]
        begin = own[0] if own else made[0] if len(made) == 1 else None
        if begin is None:
            continue
        if begin["node"] == end["node"]:
            yield end["run_time_ns"], end["time_ns"] - begin["time_ns"], 0
        else:
            yield (end["run_time_ns"], end["run_time_ns"] - begin["run_time_ns"],
                   begin["error_ns"] + end["error_ns"])


def is_near(said, value, error, quantile):
    return abs(said - value) <= 2 * error + 1 + (abs(value) * STEP if quantile else 0)


with open(sys.argv[1]) as file:
    records = [json.loads(line) for line in file]
with open(sys.argv[2]) as file:
    report = json.load(file)
window = int(sys.argv[3])
ends = sorted(values(records))
whole = next(i for i in report["intervals"] if i["whole"])
times = sorted(value for _, value, _ in ends)
most = max(error for _, _, error in ends)
if whole["count"] != len(times):
    complain(f"{whole['count']} times in the report, {len(times)} in the records")
for name, value, quantile in (
    ("min_ns", times[0], False),
    ("mean_ns", sum(times) / len(times), False),
    ("p50_ns", times[(len(times) - 1) // 2], True),
    ("max_ns", times[-1], False),
):
    if not is_near(whole[name], value, most, quantile):
        complain(f"{name}: {whole[name]} in the report, {value} in the records, whose error is up to {most}")
judged = [r for r in records if r["aspect"] == "bezel_observation" and r["fields"]["limit"] == 0 and
          r["fields"]["value"] is not None]
for r in judged:
    at, said = r["run_time_ns"], r["fields"]["value"]
    if not any(at - window - WAY_NS <= when <= at + error and is_near(said, value, error, True)
               for when, value, error in ends):
        complain(f"{said} was judged at {at}, and no frame took so long by then")
print(f"{len(times)} times, of which {len(judged)} judged values are some; errors up to {most} ns")
if not judged:
    complain("no value was judged")
