#!/usr/bin/env python3
"""rafter_gbench has a kernel, a creation and a cache hit for every algorithm and instruction set.

Usage: gbench_test.py RAFTER SCRATCH RAFTER_GBENCH
"""

import json
import subprocess
import sys
import unittest

import command

GBENCH = sys.argv[3]


def gbench(*flags):
    return subprocess.run([GBENCH, *flags], env=command.environment(), capture_output=True,
                          text=True, timeout=240, check=True).stdout


class Gbench(command.CommandTest):
    def test_every_family_is_there(self):
        names = self.succeed_json("list", "--json")
        cases = gbench("--benchmark_list_tests").split()
        for algorithm in names["algorithms"]:
            vector_sets = [isa for isa in names["isas"] if isa != "none"]
            isas = ["none"] if algorithm == "reference" else vector_sets
            for isa in isas:
                for kind in ["kernel", "create", "create_cached"]:
                    prefix = f"{kind}/{algorithm}/{isa}/"
                    self.assertTrue(any(case.startswith(prefix) for case in cases), prefix)

    def test_every_operator_is_there(self):
        isas = self.succeed_json("list", "--json")["isas"]
        cases = gbench("--benchmark_list_tests").split()
        for family in ["eltwise", "pool_channels", "pool_columns", "pool_plane", "pool_planes",
                       "softmax_channels", "softmax_pixels"]:
            for isa in isas:
                if isa != "none":
                    prefix = f"kernel/{family}/{isa}/"
                    self.assertTrue(any(case.startswith(prefix) for case in cases), prefix)

    def test_operator_counters(self):
        report = json.loads(gbench("--benchmark_filter=^kernel/(eltwise|pool_|softmax_)",
                                   "--benchmark_min_time=0.01", "--benchmark_format=json"))
        for one in report["benchmarks"]:
            self.assertNotIn("error_occurred", one)
            self.assertGreater(one["GB/s"], 0)
            self.assertIn("%bound", one)

    def test_counters(self):
        isas = self.succeed_json("list", "--json")["isas"]
        report = json.loads(gbench("--benchmark_filter=^kernel/(direct|reference)/",
                                   "--benchmark_min_time=0.01", "--benchmark_format=json"))
        self.assertTrue(report["benchmarks"])
        for one in report["benchmarks"]:
            self.assertIn("bound_us", one)
            self.assertIn("%bound", one)
            if len(isas) > 1:
                expected = 100 * one["bound_us"] / one["real_time"]
                self.assertAlmostEqual(one["%bound"] / expected, 1, places=2)

    def test_creation(self):
        report = json.loads(gbench("--benchmark_filter=^create", "--benchmark_min_time=0.01",
                                   "--benchmark_format=json"))
        self.assertTrue(report["benchmarks"])
        for one in report["benchmarks"]:
            self.assertNotIn("error_occurred", one)
            self.assertGreater(one["median_us"], 0)
            cached = one["name"].startswith("create_cached/")
            generates = not cached and not one["name"].startswith("create/reference/")
            self.assertEqual(one["kernels"] > 0, generates, one["name"])

    def test_plans(self):
        report = json.loads(gbench("--benchmark_filter=^plan", "--benchmark_min_time=0.01",
                                   "--benchmark_format=json"))
        names = [one["name"].removesuffix("/manual_time") for one in report["benchmarks"]]
        for layout in ["NHWC", "NCHW", "NCHW16c"]:
            self.assertIn(f"plan/{layout}", names)
            self.assertIn(f"plan_cached/{layout}", names)
        for one in report["benchmarks"]:
            self.assertNotIn("error_occurred", one)
            self.assertGreater(one["median_us"], 0)


if __name__ == "__main__":
    command.main()
