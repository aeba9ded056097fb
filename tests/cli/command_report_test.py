#!/usr/bin/env python3
"""`rafter bench --sweep/--shard/--plot/--mode`, `merge`, `report`, `compare` and `sizes` as a user runs them:
documents, exit codes, one-line errors. No time is judged."""

import json
import pathlib
import unittest
import xml.etree.ElementTree

import command
from command import TINY, CommandTest, run

BUDGET = ["--budget", "1s", "--quiet"]
BASE = "mb1ic8ih6oc8kh3ph1"


class Sweeps(CommandTest):
    def test_product_cliffs_and_plot(self):
        plot = self.path("roofline.svg")
        report = self.succeed_json("bench", "--sweep", "oc=8:24:8,kh=1,3", "--base", BASE, *BUDGET, "--json", "-",
                                   "--plot", plot)
        self.assertEqual([case["sweep"] for case in report["cases"]],
                         [{"oc": oc, "kh": kh} for oc in [8, 16, 24] for kh in [1, 3]])
        self.assertEqual(report["sweep"]["kind"], "product")
        self.assertEqual([axis["name"] for axis in report["sweep"]["axes"]], ["oc", "kh"])
        for cliff in report["cliffs"]:
            self.assertTrue(cliff["text"].startswith(cliff["axis"]), cliff)
            self.assertGreater(len(cliff["cause"]), 0)
        root = xml.etree.ElementTree.parse(plot).getroot()
        dots = [e for e in root.iter() if e.get("class") == "dot"]
        self.assertEqual(len(dots), 6)

    def test_models_and_losses(self):
        case = self.succeed_json("bench", "mb1ic32ih14oc40oh14kh3ph1", "--algorithm", "direct", *BUDGET,
                                 "--json", "-")["cases"][0]
        self.assertEqual(case["mode"], "hot")
        if not command.has_vector_set():
            return
        model = case["model"]
        total = case["bound_us"] + sum(loss["us"] for loss in model["losses"])
        self.assertAlmostEqual(total, model["us"], delta=1e-6 * model["us"])
        self.assertAlmostEqual(model["unexplained_us"], case["time_us"]["median"] - model["us"], places=6)

    def test_shards_merge_to_the_whole(self):
        sweep = ["bench", "--sweep", "oc=8:40:8", "--base", BASE, *BUDGET]
        parts = []
        for number in [1, 2]:
            parts.append(self.path(f"{number}.json"))
            self.succeed(*sweep, "--shard", f"{number}/2", "--json", parts[-1])
        whole = self.path("whole.json")
        self.succeed("merge", parts[1], parts[0], "-o", whole)
        merged = self.read_json(whole)
        self.assertEqual([case["sweep"]["oc"] for case in merged["cases"]], [8, 16, 24, 32, 40])
        self.assertNotIn("shard", merged["sweep"])
        self.assertEqual(len(merged["environment"]["merged_from"]), 2)
        missing = run("merge", parts[0])
        self.assertEqual(missing.returncode, 2)
        self.assertIn("shard 2/2 is missing", missing.stderr)
        self.assertEqual(run("merge", parts[0], parts[0]).returncode, 2)

    def test_bad_input(self):
        for arguments, part in [(["--sweep", "xy=1", "--base", BASE], "allowed"),
                                (["--sweep", "oc=8,16"], "--base"), ([TINY, "--base", BASE], "--sweep"),
                                (["--sweep", "oc=8,16,ic=1", "--base", BASE, "--zip"], "side by side"),
                                (["--sweep", "oc=8,16", "--base", "nonsense"], "--base"),
                                ([TINY, "--shard", "2/1"], "K/N"), ([TINY, "--shard", "3"], "K/N"),
                                ([TINY, "--shard", "2/2"], "at most as many shards"),
                                ([TINY, "--mode", "warm"], "cold-weights")]:
            result = run("bench", *arguments)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(part, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_modes_stand_side_by_side(self):
        report = self.succeed_json("bench", "g64mb1ic64ih14oc64oh14kh3ph1", "--mode", "hot,cold-weights,cold",
                                   *BUDGET, "--json", "-")
        self.assertEqual([case["mode"] for case in report["cases"]], ["hot", "cold-weights", "cold"])
        self.assertIn("cold_check", report["environment"])
        if command.has_vector_set():
            bounds = [case["bound_us"] for case in report["cases"]]
            self.assertLess(bounds[0], bounds[2], "memory is slower than caches")

    def test_itself(self):
        if not command.has_vector_set():
            self.skipTest("no vector instructions")
        case = self.succeed_json("bench", TINY, "--vs", "self", *BUDGET, "--json", "-")["cases"][0]
        self.assertEqual(case["vs_same"]["library"], "rafter")
        self.assertIn(case["vs_same"]["verdict"], ["SAME", "AMBIGUOUS", "FASTER", "SLOWER"])


class Report(CommandTest):
    def make_run(self, **changes):
        path = self.path("run.json")
        self.succeed("bench", "@smoke", *BUDGET, "--json", path)
        return path

    def test_page_is_self_contained(self):
        page = self.path("report.html")
        self.succeed("report", self.make_run(), "-o", page, "--machine", "i9-10980xe", "--title", "smoke & more")
        html = self.read(page)
        self.assertIn("smoke &amp; more", html)
        self.assertNotRegex(html, r"(src|href)=\"(https?:)?//")
        self.assertLess(len(html), 600_000)
        data = json.loads(html.split('id="data">')[1].split("</script>")[0])
        self.assertGreaterEqual(len(data["cases"]), 7)
        self.assertTrue(any("10980XE" in sheet["name"] for sheet in data["sheets"]))

    def test_bad_input(self):
        for arguments, part in [([], "run"), (["/nowhere.json"], "cannot be read"),
                                ([self.write("bad.json", "{}")], "schema"),
                                ([self.make_run(), "--machine", "abacus"], "i9-10980xe-16c")]:
            result = run("report", *arguments)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(part, result.stderr)


class Compare(CommandTest):
    def change(self, source, name, edit):
        data = self.read_json(source)
        edit(data)
        return self.write(name, json.dumps(data))

    def calm(self, data):
        """As if the machine had been quiet: what is tested here is the judging."""
        for case in data["cases"]:
            median = case["time_us"]["median"]
            case["time_us"].update(ci_low=median * 0.999, ci_high=median * 1.001, noisy=False)
            case["busy_cpus"] = 0
            case["peak"] = {"gflops": None, "source": "day", "disturbed": False}

    def test_verdicts_and_exit_codes(self):
        path = self.path("run.json")
        self.succeed("bench", "@smoke", *BUDGET, "--json", path)
        a = self.change(path, "a.json", self.calm)
        same = run("compare", a, a, "--fail-above", "3%")
        self.assertEqual(same.returncode, 0, same.stdout + same.stderr)
        self.assertIn("environments: the same", same.stdout)

        def slow(data):
            time = data["cases"][0]["time_us"]
            for key in ["median", "min", "p10", "p90", "ci_low", "ci_high"]:
                time[key] *= 1.2
        slower = run("compare", a, self.change(a, "b.json", slow), "--fail-above", "3%")
        self.assertEqual(slower.returncode, 3, slower.stdout)
        self.assertIn("REGRESSION", slower.stdout)
        self.assertEqual(run("compare", a, self.path("b.json")).returncode, 0, "no gate, no failure")

        def noisy(data):
            for case in data["cases"]:
                case["time_us"]["noisy"] = True
        self.assertEqual(run("compare", a, self.change(a, "c.json", noisy), "--fail-above", "3%").returncode, 4)

        def other(data):
            data["environment"]["cpu"]["model_name"] = "Another CPU"
        def cut(data):
            data["complete"] = False
            data["cases"][-1] = {**{key: data["cases"][-1][key] for key in
                                    ["descriptor", "name", "layout", "threads", "isa", "mode"]}, "error": "interrupted"}
        gap = run("compare", a, self.change(a, "f.json", cut), "--fail-above", "3%")
        self.assertEqual(gap.returncode, 4, gap.stdout)
        self.assertRegex(gap.stdout, r"B is incomplete: 1 of \d+ cases of A have no time in it; it was interrupted")
        self.assertEqual(run("compare", self.path("f.json"), a, "--fail-above", "3%").returncode, 0)

        different = run("compare", a, self.change(a, "d.json", other), "--fail-above", "3%")
        self.assertEqual(different.returncode, 4)
        self.assertIn("Another CPU", different.stdout)
        result = command.strict_json(run("compare", a, self.path("b.json"), "--json", "--fail-above", "3%").stdout)
        self.assertTrue(result["cases"][0]["regression"])

    def test_bad_input(self):
        for arguments, part in [(["x.json"], "B.json: nothing given"), (["x.json", "y.json"], "cannot be read"),
                                (["x.json", "y.json", "--fail-above", "3"], "3%")]:
            result = run("compare", *arguments)
            self.assertEqual(result.returncode, 2)
            self.assertIn(part, result.stderr)


class Sizes(CommandTest):
    def test_layers_sums_and_machines(self):
        layers = ["mb1ic64ih56oc64oh56kh3ph1", "fc:mb1ic2048oc1000", "lstm:t10mb1ic256hc512", "relu:1x64x56x56",
                  "maxpool:mb1ic64ih112kh3sh2ph1", "concat:1x64x56x56:1x32x56x56", "pad:1x3x224x224:3,3,3,3",
                  "matmul:64x128:128x256", "deconv:mb1ic64ih28oc32kh2sh2"]
        result = self.succeed_json("sizes", *layers, "--machine", "v100", "--json")
        self.assertEqual([layer["layer"] for layer in result["layers"]], layers)
        self.assertEqual(result["sum"]["flops"], sum(layer["flops"] for layer in result["layers"]))
        self.assertAlmostEqual(result["least_us"], sum(layer["least_us"] for layer in result["layers"]))
        text = self.succeed("sizes", *layers, "--machine", "v100")
        self.assertIn("sum of 9", text)
        path = self.write("model.txt", "# a model\nfc:mb1ic8oc8  relu:1x8 # end\n")
        self.assertEqual(len(self.succeed_json("sizes", path, "--machine", "v100", "--json")["layers"]), 2)
        self.assertGreater(len(self.succeed_json("sizes", "@vgg_19", "--mb", "1", "--machine", "v100",
                                                 "--json")["layers"]), 5)

    def test_bad_input(self):
        for arguments, part in [([], "layer"), (["fc:mb1"], "'ic' is missing"),
                                (["fc:mb1ic2oc3", "--machine", "x"], "v100"),
                                ([self.write("bad.txt", "relu:1x2\nrelu:y")], "bad.txt:2")]:
            result = run("sizes", *arguments)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(part, result.stderr)


class Explain(CommandTest):
    def test_runs_the_layer_and_its_neighbours(self):
        text = self.succeed("explain", "mb1ic16ih12oc20oh12kh3ph1", "--quiet")
        for word in ["cost", "ridge point", "candidates", "measured", "neighbours", "oc 20 -> 32",
                     "depthwise 3x3 + 1x1"]:
            self.assertIn(word, text)
        self.assertLess(len(text.splitlines()), 60, "one screen")
        result = self.succeed_json("explain", "mb1ic16ih12oc20oh12kh3ph1", "--quiet", "--json")
        self.assertGreater(result["measured"]["median_us"], 0)
        layer = result["layer"]
        self.assertEqual((layer["oc"], layer["kernel"], layer["out"]), (20, [3, 3], [12, 12]))
        self.assertGreater(result["bound"]["ridge"], 0)
        self.assertGreater(result["cost"]["intensity_nominal_with_bias"], result["cost"]["intensity"])
        if command.has_vector_set():
            self.assertTrue(any("[" in line for line in result["tile"]), result["tile"])
        changes = [one["change"] for one in result["measured"]["neighbours"]]
        self.assertIn("oc 20 -> 32", changes)

    def test_machines_by_the_beginning_of_their_names(self):
        text = self.succeed("explain", "g32mb1ic32ih20oc32oh20kh3ph1", "--machine", "i9-10980xe")
        for word in ["10980XE", "ridge point", "48 FLOP/byte", "2.346"]:
            self.assertIn(word, text)
        self.assertNotIn("measured now", text)


if __name__ == "__main__":
    command.main()
