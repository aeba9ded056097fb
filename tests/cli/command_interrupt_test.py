#!/usr/bin/env python3
"""Ctrl-C: what was measured is written and marked incomplete, the exit code says which signal
came."""

import signal
import subprocess
import time
import unittest

import command
from command import CommandTest

# Long enough to be interrupted: every layer of every suite.
LONG = ["bench", "@all", "--budget", "10m"]


class Interrupt(CommandTest):
    def start(self, *arguments, **changes):
        process = subprocess.Popen([command.RAFTER, *arguments], env=command.environment(**changes),
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_for_row(self, process):
        """Until the second case is being measured: heading, columns, and a row are there."""
        for _ in range(3):
            self.assertNotEqual(process.stdout.readline(), "", "the run ended early")

    def cases_of_all(self):
        """How many different geometries @all has: those that a run without time leaves out."""
        path = self.path("all.json")
        command.run("bench", "@all", "--budget", "1ms", "--quiet", "--json", path)
        return len(self.read_json(path)["cases"])

    def interrupt(self, number):
        json_path, csv_path = self.path("report.json"), self.path("report.csv")
        process = self.start(*LONG, "--json", json_path, "--csv", csv_path)
        self.wait_for_row(process)
        time.sleep(0.3)
        process.send_signal(number)
        rest = process.stdout.read()
        self.assertEqual(process.wait(timeout=60), 128 + number)
        self.assertIn("incomplete", rest)
        report = self.read_json(json_path)
        self.assertFalse(report["complete"])
        self.assertGreaterEqual(len(report["cases"]), 1)
        self.assertTrue(any("error" not in case for case in report["cases"]))
        unfinished = [case for case in report["cases"] if case.get("error") == "interrupted"]
        self.assertEqual(len(report["cases"]), self.cases_of_all())
        self.assertGreater(len(unfinished), len(report["cases"]) // 2)
        for case in unfinished:
            self.assertTrue(case["descriptor"])
        self.assertIn("summary", report)
        self.assertIn("roofs", report["environment"])
        self.assertGreaterEqual(len(self.read(csv_path).splitlines()), 2)

    def test_interrupt(self):
        self.interrupt(signal.SIGINT)

    def test_termination(self):
        self.interrupt(signal.SIGTERM)

    def test_during_the_measurement_of_the_roofs(self):
        if not command.has_vector_set():
            self.skipTest("nothing to measure")
        path = self.path("report.json")
        process = self.start(*LONG, "--json", path, XDG_CACHE_HOME=self.path("cache"))
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        process.stdout.read()
        self.assertEqual(process.wait(timeout=60), 130)
        self.assertLess(time.monotonic() - sent, 2)
        report = self.read_json(path)
        self.assertFalse(report["complete"])
        self.assertEqual(len(report["cases"]), self.cases_of_all())
        self.assertEqual({case["error"] for case in report["cases"]}, {"interrupted"})

    def test_a_closed_reader_of_the_table_costs_no_file(self):
        path = self.path("report.json")
        process = self.start("bench", "@smoke", "--budget", "2s", "--json", path)
        process.stdout.readline()
        process.stdout.close()
        process.wait(timeout=120)
        report = self.read_json(path)
        self.assertTrue(report["complete"])


if __name__ == "__main__":
    command.main()
