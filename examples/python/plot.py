#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
"""Plots a metric of a run, and when records were lost: plot.py RUN METRIC FILE.svg

The parts between "# %%" are cells for notebooks (Jupyter, VS Code). It needs matplotlib (Debian: python3-matplotlib).
"""
# %%
import sys

import bezel

if len(sys.argv) != 4:
    sys.exit(__doc__.splitlines()[0])
run, metric, file = bezel.Run(sys.argv[1]), sys.argv[2], sys.argv[3]

# %% Values of the metric, by process, in seconds after the start
rows = run.sql(
    """SELECT (m.at + n.realtime_offset - s.value) / 1e9 AS s, m.process, m.value
         FROM metrics m JOIN nodes n ON n.id = m.node JOIN properties s ON s.key = 'started'
        WHERE m.metric = ? ORDER BY m.at""", (metric,))
series = {}
for row in rows:
    series.setdefault(row["process"], []).append((row["s"], row["value"]))
if not series:
    sys.exit(f"the run has no values of {metric}")

# %% When records were lost
losses = run.sql(
    """SELECT (l.begin_ns + n.realtime_offset - s.value) / 1e9 AS start, (l.end_ns + n.realtime_offset - s.value) / 1e9 AS until
         FROM losses l JOIN processes p ON p.id = l.process JOIN nodes n ON n.id = p.node
         JOIN properties s ON s.key = 'started'""")

# %%
try:
    import matplotlib.pyplot as plot
except ImportError:
    sys.exit("matplotlib is missing; on Debian: apt install python3-matplotlib")
for process, points in series.items():
    plot.plot(*zip(*points), drawstyle="steps-post", label=process)
for loss in losses:
    plot.axvspan(loss["start"], loss["until"], color="red", alpha=0.2)
plot.title(run.report()["verdict"]["sentence"], fontsize=6, wrap=True)
plot.xlabel("s")
plot.ylabel(metric)
plot.legend()
plot.savefig(file)
