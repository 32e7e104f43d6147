# SPDX-FileCopyrightText: 2026 The Bezel authors
# SPDX-License-Identifier: MIT
"""Draws the pictures: pictures.py SCRATCH REPORT, for packaging/pictures, which starts what is drawn."""
import html
import subprocess
import sys
import time

sys.path.insert(0, "tests/lib")
from browser import Browser  # noqa: E402

scratch, report = sys.argv[1:]


def screen_of_top():
    """The screen of `bezel top` in a terminal of 100 columns and 28 lines."""
    tmux = ["tmux", "-L", "bezel-pictures"]
    subprocess.run(tmux + ["-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "28", "LC_ALL=C.UTF-8 bezel top " + scratch + "/runs/latest"], check=True)
    try:
        time.sleep(1.5)
        subprocess.run(tmux + ["send-keys", "f"], check=True)
        time.sleep(1)
        return subprocess.run(tmux + ["capture-pane", "-p"], check=True, capture_output=True, text=True).stdout
    finally:
        subprocess.run(tmux + ["kill-server"], check=False)


with Browser(scratch + "/browser", 1000, 1150) as browser:
    browser.open("file://" + report)
    browser.wait("document.querySelectorAll('canvas').length > 0")
    time.sleep(1)
    browser.picture("docs/figures/page.png")
    browser.open("file://" + scratch + "/view.html")
    browser.wait("document.getElementById('said')?.textContent.includes('the run is over')")
    browser.look("[...document.querySelectorAll('.heading button')].find(b => b.textContent.includes('floor') && b.closest('section').querySelector('canvas')).click()")
    browser.look("location.hash = location.hash.replace(/t=[^&]*/, 't=1080000000-1240000000')")
    time.sleep(2)
    browser.picture("docs/figures/view.png")
    browser.call("Emulation.setDeviceMetricsOverride", width=1000, height=556, deviceScaleFactor=1, mobile=False)
    browser.open("file://" + scratch + "/rival.html")
    browser.wait("document.querySelectorAll('canvas').length > 0")
    time.sleep(1)
    browser.picture("docs/figures/why.png")
    with open(scratch + "/top.html", "w") as f:
        f.write("<meta charset=utf-8><body style='margin:0;background:#111;color:#ddd'><pre style='font:14px/1.2 monospace;margin:10px'>" + html.escape(screen_of_top()))
    browser.call("Emulation.setDeviceMetricsOverride", width=880, height=490, deviceScaleFactor=1, mobile=False)
    browser.open("file://" + scratch + "/top.html")
    time.sleep(0.5)
    browser.picture("docs/figures/top.png")
