#!/usr/bin/env python3
"""The report page in a real browser (headless Chromium): no errors on the console, every case a dot, and a screenshot
that is not blank. Skipped with a message where there is no Chromium, or where the page was built without Chart.js."""

import pathlib
import re
import shutil
import struct
import subprocess
import unittest
import zlib

from command import SCRATCH, CommandTest
import command

NAMES = ["chromium", "chromium-browser", "google-chrome"]
CHROMIUM = next((path for name in NAMES if (path := shutil.which(name))), None)


def browse(page, profile, *options, timeout=120):
    return subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         f"--user-data-dir={profile}", "--enable-logging=stderr", "--virtual-time-budget=8000", *options,
         pathlib.Path(page).as_uri()],
        capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)


def colours_of_png(path):
    """The number of different bytes per pixel row sample: enough to tell a drawing from a blank page."""
    data = pathlib.Path(path).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += 12 + length
    rows = zlib.decompress(packed)
    return width, height, len(set(rows[::7]))


@unittest.skipUnless(CHROMIUM, "no chromium here: the page is not looked at")
class Page(CommandTest):
    def make_page(self):
        run, page = self.path("run.json"), self.path("report.html")
        self.succeed("bench", "--sweep", "oc=8:40:8,kh=1,3", "--base", "mb1ic16ih8oc8kh1", "--budget", "2s", "--quiet",
                     "--json", run)
        result = command.run("report", run, "-o", page)
        self.assertEqual(result.returncode, 0, result.stderr)
        if "without Chart.js" in result.stderr:
            self.skipTest("this program was built without Chart.js")
        return page

    def test_no_errors_all_dots_and_a_picture(self):
        page = self.make_page()
        profile = self.path("profile")
        shown = browse(page, profile, "--dump-dom")
        self.assertIn('data-ready="yes"', shown.stdout, shown.stderr[-2000:])
        console = [line for line in shown.stderr.splitlines() if "CONSOLE" in line]
        self.assertEqual(console, [])
        self.assertIn('data-dots="10"', shown.stdout)
        self.assertIn('data-drawn="10"', shown.stdout)
        self.assertEqual(len(re.findall(r'<tr id="case-\d+"', shown.stdout)), 10)
        for name, size in [("wide", "1280,1800"), ("phone", "390,1600")]:
            picture = SCRATCH / f"report-{name}.png"
            browse(page, profile, f"--screenshot={picture}", f"--window-size={size}", "--hide-scrollbars")
            width, height, colours = colours_of_png(picture)
            self.assertGreater(width, 300)
            self.assertGreater(height, 1000)
            self.assertGreater(colours, 20, f"{picture} looks blank")


if __name__ == "__main__":
    command.main()
