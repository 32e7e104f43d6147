# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
"""Looks at all rows of a run as a page does, over windows of all sizes: look_at_page.py DOOR, the file of `bezel view --file`."""
import re
import sys

from page_client import Page, admit

door = sys.argv[1]
port = int(re.search(r"127\.0\.0\.1:(\d+)", open(door, encoding="utf-8").read()).group(1))
page = Page(port, admit(port, door)[0])
ENDS = [-2**63, -2**61 + 1, 0, 10**9, 2**61 - 1]
catalogue = page.until("catalogue")
rows = []
for process in [p for node in catalogue["nodes"] for p in node["processes"]]:
    rows.append("%d/-1/0/-1/-1/200" % process["row"])
    aspects = catalogue["dictionaries"][process["dictionary"]]["aspects"] if "dictionary" in process else []
    for number, aspect in enumerate(aspects, 1):
        fields = range(-1, len(aspect["fields"]))
        rows += ["%d/-1/%d/%d/-1/10" % (process["row"], number, field) for field in fields]
rows = rows[:200]
sequence = 0


def answered(what):
    """Waits for the answer of the last request; a refusal is one, too."""
    while True:
        said = page.hear()
        if isinstance(said, str) and said.startswith("refused"):
            return False
        if isinstance(said, dict) and said["is"] == what and said["sequence"] == sequence:
            return True


for first in ENDS:
    for last in [end for end in ENDS if end > first]:
        sequence += 1
        page.say("want %d %d %d 100 0 %s" % (sequence, first, last, " ".join(rows)))
        if answered("picture"):
            page.say("ack %d" % sequence)
        page.say("records %d %d %d %s" % (sequence, first, last, rows[0]))
        answered("records")
print("%d windows of %d rows" % (sequence, len(rows)))
