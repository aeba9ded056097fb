#!/usr/bin/env python3
"""What `rafter bench`, `info` and `explain` print and write: schema, documents, exit codes of
failing cases."""

import csv
import io
import pathlib
import subprocess
import unittest

import command
from command import TINY, CommandTest, run, strict_json

BUDGET = ["--budget", "2s", "--quiet"]

CASE_KEYS = ["descriptor", "name", "layout", "threads", "isa", "kernel", "time_us", "create_us",
             "flops_valid", "flops_nominal", "bytes", "gflops", "bound_us", "binding", "efficiency",
             "vs_same", "vs_best"]
TIME_KEYS = ["median", "min", "p10", "p90", "ci_low", "ci_high", "samples", "discarded"]
VERSUS_KEYS = ["library", "version", "implementation", "layout", "time_us", "create_us", "speedup",
               "ci_low", "ci_high", "verdict"]


class Bench(CommandTest):
    def check_case(self, case):
        for key in CASE_KEYS:
            self.assertIn(key, case)
        for key in TIME_KEYS:
            self.assertIn(key, case["time_us"])
        time = case["time_us"]
        self.assertLess(0, time["min"])
        self.assertLessEqual(time["min"], time["median"])
        self.assertLessEqual(time["ci_low"], time["median"])
        self.assertLessEqual(time["median"], time["ci_high"])
        self.assertGreaterEqual(time["samples"], 3)
        self.assertGreater(case["create_us"], 0)
        self.assertLessEqual(case["flops_valid"], case["flops_nominal"])
        if command.has_vector_set():
            self.assertGreater(case["bound_us"], 0)
            self.assertIn(case["binding"], ["compute", "L1", "L2", "L3", "DRAM"])
            # An algorithm that saves multiplications is judged by its own bound.
            bound = case.get("algorithm_bound", case)["bound_us"]
            self.assertAlmostEqual(case["efficiency"], bound / time["median"], places=6)

    def check_summary(self, summary):
        self.assertEqual(set(summary["efficiency"]), {"geomean", "p10", "min", "cases"})
        self.assertEqual(set(summary["small"]), {"cases", "within"})
        for key in ["speedup_same", "speedup_best"]:
            if summary[key] is not None:
                self.assertEqual(set(summary[key]), {"geomean", "min", "wins", "ties", "losses", "ambiguous"})

    def test_schema_of_a_suite(self):
        report = self.succeed_json("bench", "@smoke", *BUDGET, "--json", "-")
        self.assertEqual(report["schema"], 1)
        self.assertTrue(report["complete"])
        self.assertGreaterEqual(len(report["cases"]), 7)
        for case in report["cases"]:
            self.check_case(case)
            self.assertIsNone(case["vs_same"])
        self.check_summary(report["summary"])
        rated = sum(report["summary"][part]["cases"] for part in ["efficiency", "small"])
        self.assertEqual(rated, len(report["cases"]) if command.has_vector_set() else 0)
        environment = report["environment"]
        self.assertIn("roofs", environment)
        self.assertIn("rafter", environment)
        if command.has_vector_set():
            roofs = environment["roofs"]
            self.assertTrue(roofs["peaks"] and roofs["bandwidth"] and roofs["peaks_beside_cases"])
            self.assertEqual({peak["isa"] for peak in roofs["peaks"]},
                             {environment["rafter"]["isa_used"]})

    def test_wisdom_is_made_and_used(self):
        path = self.path("wisdom.txt")
        bench = ["bench", "mb1ic32ih9oc32oh9kh1", *BUDGET, "--json", "-", "--wisdom", path]
        self.succeed(*bench, "--plan", "measure")
        wisdom = self.read(path)
        self.assertTrue(wisdom.startswith("rafter wisdom 1\n"), wisdom)
        if not command.has_vector_set():
            return  # the reference has no rivals
        self.assertEqual(wisdom.count("\n"), 2, wisdom)
        line = wisdom.splitlines()[1].split(" ")
        self.assertIn("n=1,g=1,ic=32,oc=32,in=9x9,kernel=1x1", line[4])
        # Whatever the file says is used, by the model too, and kept.
        for algorithm in ["direct", "pointwise"]:
            line[-2] = algorithm
            changed = "rafter wisdom 1\n" + " ".join(line) + "\n"
            self.write("wisdom.txt", changed)
            report = self.succeed_json(*bench)
            self.assertEqual(report["cases"][0]["algorithm"], algorithm)
            self.assertEqual(self.read(path), changed)

    def test_all_documents_and_the_table(self):
        paths = {kind: self.path(f"report.{kind}") for kind in ["json", "csv", "md"]}
        outputs = [word for kind, path in paths.items() for word in (f"--{kind}", path)]
        text = self.succeed("bench", TINY + 'n"layer"', *BUDGET, *outputs)
        for column in ["case", "kernel", "time us", "GFLOP/s", "bound us", "roof", "% bound"]:
            self.assertIn(column, text)
        self.assertIn("layer", text)
        self.assertNotIn("\x1b", text, "colours without a terminal")
        report = self.read_json(paths["json"])
        self.assertEqual(report["cases"][0]["name"], "layer")
        rows = list(csv.reader(io.StringIO(self.read(paths["csv"]))))
        self.assertEqual(len(rows), 2)
        self.assertEqual(len(rows[0]), len(rows[1]))
        self.assertIn("layer", rows[1])
        markdown = self.read(paths["md"])
        self.assertRegex(markdown, r"(?m)^\|.*\|$")
        self.assertIn("layer", markdown)

    def test_documents_on_standard_output_stand_alone(self):
        rows = list(csv.reader(io.StringIO(self.succeed("bench", TINY, *BUDGET, "--csv", "-"))))
        self.assertEqual(len(rows), 2)
        markdown = self.succeed("bench", TINY, *BUDGET, "--md", "-")
        self.assertTrue(markdown.startswith("|"), markdown)

    def test_options_reach_the_cases(self):
        report = self.succeed_json("bench", "mb7ic16ih6oc16oh6kh3ph1", "--mb", "3", "--layout",
                                   "nchw16c", "--algorithm", "reference", "--accuracy", "strict",
                                   "--seed", "7", *BUDGET, "--json", "-")
        case = report["cases"][0]
        self.assertIn("mb3", case["descriptor"])
        self.assertEqual(case["layout"], "NCHW16c")
        self.assertIn("reference", case["kernel"])

    def test_filter_and_duplicates(self):
        path = self.write("list.txt", f'{TINY}n"first"\n{TINY}n"again"\nmb1ic8ih6oc8kh1n"other"\n')
        names = lambda *options: [case["name"] for case in self.succeed_json(
            "bench", path, *BUDGET, *options, "--json", "-")["cases"]]
        self.assertEqual(names(), ["first", "other"])
        self.assertEqual(names("--filter", "aga.n|oth"), ["again", "other"])
        self.assertEqual(names("--filter", "ic8ih6"), ["other"])

    def test_a_bad_line_fails_alone(self):
        path = self.write("list.txt", f"{TINY}\nmb1ic16xx\nmb1ic3id4oc4kd1\nmb1ic8ih6oc8kh1\n")
        result = run("bench", path, *BUDGET, "--json", self.path("report.json"))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("list.txt:2", result.stdout)
        cases = self.read_json(self.path("report.json"))["cases"]
        self.assertEqual(["error" in case for case in cases], [False, True, True, False])
        self.assertIn("list.txt:2:", cases[1]["error"])

    def test_an_exhausted_budget_says_what_was_left_out(self):
        result = run("bench", "@resnet_50", "--algorithm", "reference", "--budget", "50ms",
                     "--quiet", "--json", "-", "--filter", "res5a_branch2b|res5b_branch2a",
                     "--mb", "1")
        self.assertEqual(result.returncode, 1)
        cases = strict_json(result.stdout)["cases"]
        self.assertEqual(len(cases), 2)
        self.assertIn("budget", cases[-1]["error"])

    def test_a_case_that_no_budget_holds_leaves_the_time_to_the_others(self):
        result = run("bench", "mb8ic512ih224oc512oh224kh3ph1", TINY, "--accuracy", "strict", "--budget", "1s",
                     "--quiet", "--json", "-")
        self.assertEqual(result.returncode, 1)
        huge, tiny = strict_json(result.stdout)["cases"]
        self.assertIn("left out: one call takes", huge["error"])
        self.assertNotIn("error", tiny)

    def test_a_full_device_is_an_error_after_measuring(self):
        if not pathlib.Path("/dev/full").exists():
            self.skipTest("no /dev/full")
        result = run("bench", TINY, *BUDGET, "--json", "/dev/full")
        self.assertEqual(result.returncode, 1)
        self.assertIn("--json: '/dev/full' cannot be written", result.stderr)

    def test_help_that_cannot_be_written_is_an_error(self):
        if not pathlib.Path("/dev/full").exists():
            self.skipTest("no /dev/full")
        for arguments in (["--help"], ["--version"], ["bench", "--help"]):
            with open("/dev/full", "w") as full:
                result = subprocess.run([command.RAFTER, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(result.returncode, 1, arguments)
            self.assertIn("standard output: cannot be written", result.stderr)

    def test_progress_goes_to_standard_error_in_tenths(self):
        result = run("bench", "@smoke", "--budget", "2s")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("100 %", result.stderr)
        self.assertIn(" left", result.stderr)
        self.assertNotIn("\r", result.stderr)
        self.assertNotIn("% left", result.stdout)

    def test_without_vector_code(self):
        for changes in [{"RAFTER_NO_JIT": "1"}, {"RAFTER_MAX_ISA": "none"}]:
            report = strict_json(self.succeed("bench", TINY, *BUDGET, "--json", "-", **changes))
            self.assertEqual(report["cases"][0]["isa"], "none")

    def test_versus(self):
        names = self.succeed_json("list", "--json")
        if not names["baselines"] or not command.has_vector_set():
            self.skipTest("no baseline is built in")
        isa = names["isas"][1]  # the narrowest: a cap where the machine has more
        report = self.succeed_json("bench", TINY, "--vs", "onednn", "--isa", isa, *BUDGET,
                                   "--json", "-")
        case = report["cases"][0]
        self.check_case(case)
        for key in ["vs_same", "vs_best"]:
            for field in VERSUS_KEYS:
                self.assertIn(field, case[key])
            self.assertIn(case[key]["verdict"], ["FASTER", "SLOWER", "SAME", "AMBIGUOUS"])
        self.check_summary(report["summary"])
        self.assertIsNotNone(report["summary"]["speedup_best"])
        text = self.succeed("bench", TINY, "--vs", "onednn", *BUDGET)
        if report["environment"]["baselines"][0]["too_old"]:
            self.assertIn("too old for claims", text)


class Info(CommandTest):
    def test_text(self):
        text = self.succeed("info", "--no-measure", RAFTER_MAX_ISA="sse9")
        for line in ["CPU", "ISA allowed", "ISA used", "executable memory", "caches reported",
                     "CPUs allowed", "container", "roofs"]:
            self.assertRegex(text, rf"(?m)^{line} ")
        self.assertIn("RAFTER_MAX_ISA: 'sse9' is not understood", text)
        self.assertIn("refused", self.succeed("info", "--no-measure", RAFTER_NO_JIT="1"))

    def test_measured_roofs_are_kept_for_the_day(self):
        if not command.has_vector_set():
            self.skipTest("nothing to measure")
        cache = self.path("cache")
        measure = lambda *options: self.succeed("info", "--threads", "1", "--quiet", *options,
                                                XDG_CACHE_HOME=cache)
        self.assertIn("not measured today", measure("--no-measure"))
        first = measure()
        self.assertIn("measured now", first)
        if "not kept" in first:
            self.assertIn("not measured today", measure("--no-measure"))
            self.skipTest("other work keeps this machine busy")
        again = measure()
        self.assertIn("measured today", again)
        self.assertRegex(again, r"caches measured +L1 ")
        machine = self.succeed_json("info", "--json", "--no-measure", XDG_CACHE_HOME=cache)
        self.assertEqual(machine["schema"], 1)
        self.assertTrue(machine["roofs"]["peaks"])
        self.assertIn("isa_used", machine["environment"]["rafter"])
        path = self.write("machine.json", self.succeed("info", "--json", "--no-measure",
                                                       XDG_CACHE_HOME=cache))
        self.assertIn("ridge point", self.succeed("explain", TINY, "--machine", path))


class Explain(CommandTest):
    def test_text_and_json(self):
        arguments = ["explain", TINY, "--machine", "i9-10980xe-16c",
                     "--post-ops", "residual_add+relu"]
        text = self.succeed(*arguments)
        for word in ["chosen", "FLOPs, valid taps", "ridge point", "bound", "footprint"]:
            self.assertIn(word, text)
        explanation = self.succeed_json(*arguments, "--json")
        self.assertEqual(sum(one["chosen"] for one in explanation["considered"]), 1)
        self.assertGreater(explanation["cost"]["residual_bytes"], 0)
        self.assertGreater(explanation["bound"]["bound_us"], 0)

    def test_without_roofs(self):
        text = self.succeed("explain", TINY, "--no-measure", XDG_CACHE_HOME=self.path("empty"))
        self.assertIn("unknown", text)


if __name__ == "__main__":
    command.main()
