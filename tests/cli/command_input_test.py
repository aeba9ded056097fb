#!/usr/bin/env python3
"""Bad input: exit 2, nothing on standard output, one line on standard error that names field or
option, value and what is allowed. Nothing is measured here."""

import os
import pathlib
import re
import unittest

import command
from command import TINY, CommandTest, run


class BadInput(CommandTest):
    def refuse(self, arguments, *parts, **changes):
        result = run(*arguments, timeout=20, **changes)
        self.assertEqual(result.returncode, 2, f"{arguments}: {result.stdout}{result.stderr}")
        self.assertEqual(result.stdout, "", arguments)
        self.assertTrue(result.stderr.endswith("\n") and result.stderr.count("\n") == 1,
                        f"{arguments}: not one line: {result.stderr!r}")
        self.assertTrue(result.stderr.startswith("rafter: "), result.stderr)
        self.assertTrue(result.stderr[:-1].isprintable(), repr(result.stderr))
        for part in parts:
            self.assertIn(part, result.stderr, arguments)

    def test_subcommands(self):
        self.refuse([], "no subcommand", "info, list, bench, explain")
        self.refuse(["measure"], "'measure' is not a subcommand", "info, list, bench, explain")

    def test_pipes_without_another_end(self):
        pipe = os.path.join(command.SCRATCH, "pipe_of_nobody")
        if not os.path.exists(pipe):
            os.mkfifo(pipe)
        self.refuse(["report", pipe], "is a pipe that nobody writes to")
        self.refuse(["bench", TINY, "--json", pipe], "--json", "nobody reads")
        os.remove(pipe)

    def test_fields_that_are_there_twice(self):
        self.refuse(["bench", "mb1ic3ic4oc4ih5kh3"], "position 7: 'ic' is there twice")
        self.refuse(["bench", "pool:max:k3k5:1x4x8x8"], "each once")

    def test_unknown_flags(self):
        self.refuse(["bench", TINY, "--fast"], "bench: '--fast'", "--layout", "--budget")
        self.refuse(["info", "--fast"], "info: '--fast'", "--json")
        self.refuse(["list", "extra"], "list: 'extra' is one argument too many", "only options")
        self.refuse(["info", "extra", "more"], "info: 'extra'")
        self.refuse(["explain", TINY, "second"], "explain: 'second'", "DESC, and options")
        self.refuse(["report", "run.json", "second"], "report: 'second'")
        self.refuse(["compare", "a", "b", "c"], "compare: 'c'", "A.json, B.json, and options")
        self.refuse(["accuracy", "3x3"], "accuracy: '3x3'")
        self.refuse(["explain", TINY, "--vs", "onednn"], "explain: '--vs'")

    def test_flags_without_value(self):
        self.refuse(["bench", TINY, "--mb"], "--mb")
        self.refuse(["bench", TINY, "--json", "--quiet"], "--json: '--quiet'")

    def test_options_twice(self):
        self.refuse(["bench", TINY, "--json", "a", "--json", "b"], "bench: --json", "allowed: once")
        self.refuse(["explain", TINY, "--mb", "1", "--mb", "2"], "explain: --mb", "allowed: once")

    # An unset variable of a script, not a wish for the default.
    def test_empty_values(self):
        arguments = {"bench": [TINY], "explain": [TINY], "sizes": [TINY], "report": ["run.json"],
                     "compare": ["a.json", "b.json"], "merge": ["a.json"], "info": [], "accuracy": []}
        for name, others in arguments.items():
            options = re.findall(r"^ +(?:-\w,)?(--[\w-]+) [A-Z]", command.run(name, "--help").stdout, re.M)
            self.assertGreater(len(options), 0, name)
            for option in options:
                with self.subTest(command=name, option=option):
                    self.refuse([name, *others, option, ""], f"{name}: {option}: '' is not allowed; allowed: ")
                    self.refuse([name, *others, f"{option}="], f"{name}: {option}: ")
            if others:
                self.refuse([name, ""], f"{name}: ", "'' is not allowed")

    def test_what_does_not_go_together(self):
        self.refuse(["bench", TINY, "--pin", "--no-pin"], "--pin, --no-pin: given together", "one of the two")
        self.refuse(["bench", TINY, "--pin", "--vs", "self"], "--pin, --vs: given together")
        self.refuse(["info", "--remeasure", "--no-measure"], "--remeasure, --no-measure: given together")
        self.refuse(["bench", TINY, "--zip"], "--zip: given alone", "--sweep")
        self.refuse(["bench", TINY, "--base", TINY], "--base: given alone", "--sweep")
        self.refuse(["bench", "--sweep", "oc=1,2"], "--base: nothing given", "a descriptor")
        self.refuse(["bench", TINY, "--pages", "fresh"], "--pages: 'fresh'", "operator")
        for option, value in (("--algorithm", "direct"), ("--post-ops", "relu"), ("--tile", "6x2"),
                              ("--accuracy", "strict"), ("--plan", "measure")):
            self.refuse(["bench", "eltwise:relu:1x8x4x4", option, value], f"{option}: '{value}'", "operator")
        self.refuse(["sizes", TINY, "--mb", "4"], "--mb: '4'", "@suites only")
        self.refuse(["compare", "-", "-"], "B.json: '-'", "one of the two")

    def test_sweeps(self):
        for axes, parts in [("pad=-1,0", ["--sweep: 'pad=-1'", "whole numbers from 0 to"]),
                            ("oc=8,,16", ["--sweep: 'oc='"]), ("oc=", ["--sweep: 'oc='"]),
                            ("oc", ["--sweep: 'oc'", "axes such as"]), ("oc=16:8:1", ["'oc=16:8:1'"]),
                            ("oc=1:9:0", ["'oc=1:9:0'"]), ("oc=0:9:*2", ["'oc=0:9:*2'"]),
                            ("oc=8,8", ["each value once"]),
                            ("oc=8,oc=9", ["each axis once"]), ("xy=1", ["--sweep: 'xy'", "mb g ic"]),
                            ("oc=99999999999999999999", ["'oc=99999999999999999999'", "2147483648"]),
                            ("oc=0,1.5", ["'oc=1.5'"]), ("ih=1:100000:1", ["at most 4096 values"])]:
            with self.subTest(axes=axes):
                self.refuse(["bench", "--sweep", axes, "--base", TINY], *parts)

    def test_option_values(self):
        for option, value, allowed in [
                ("--threads", "0", "1"), ("--threads", "-1", "1"), ("--threads", "1000000", "1"),
                ("--threads", "two", "1"), ("--threads", "1,1", "each number once"),
                ("--layout", "chwn", "nhwc, nchw, nchw16c, nchw8c"), ("--isa", "sse9", "none"),
                ("--algorithm", "magic", "reference"),
                ("--plan", "guess", "model, measure"), ("--wisdom", "-", "the name of a file"),
                ("--accuracy", "lax", "default, strict"),
                ("--mb", "-1", "0 to"), ("--mb", "many", "0 to"), ("--mb", "1e3", "0 to"),
                ("--filter", "[", "regular expression"), ("--filter", "nothing_like_it", "matches"),
                ("--budget", "90", "90s"), ("--budget", "0s", "90s"), ("--budget", "x", "90s"),
                ("--seed", "-3", "0 to"), ("--vs", "nobody", "")]:
            with self.subTest(option=option, value=value):
                self.refuse(["bench", TINY, option, value], f"{option}: '{value}'", "allowed:",
                            allowed)

    def test_the_reference_has_no_opponent(self):
        baselines = command.strict_json(run("list", "--json").stdout)["baselines"]
        if not baselines:
            self.refuse(["bench", TINY, "--vs", "onednn"], "--vs: 'onednn'", "no baseline")
            return
        self.refuse(["bench", TINY, "--isa", "none", "--vs", baselines[0]], "--vs", "--isa")

    def test_cases(self):
        self.refuse(["bench"], "case")
        self.refuse(["bench", "@resnet_5000"], "'resnet_5000'", "resnet_50", "all")
        self.refuse(["bench", self.path("no_such_file.txt")], "no_such_file.txt", "does not exist")
        self.refuse(["bench", self.directory.name], "is a directory")
        self.refuse(["bench", self.write("empty.txt", "# nothing\n")], "empty.txt", "no descriptor")

    def test_descriptors(self):
        for descriptor, parts in [
                ("mb1ic16ih6oc16oh6kh3xh1", ["position 21"]),
                ("hello", ["position 1"]),
                ("mb1ic16ihoc16kh1", ["position", "ih"]),
                ("mb1g4ic6ih6oc8kh1", ["6", "4"]),                 # channels not divisible
                ("mb1ic0ih6oc8kh1", ["ic"]),
                ("mb1ic16ih-6oc8kh1", ["ih"]),
                ("mb1ic16ih4oc16kh9", []),                         # kernel larger than the image
                ("mb1ic16ih6oc16kh3sh0", ["sh"]),
                ("mb1ic9223372036854775807ih6oc9223372036854775807kh1", []),  # a product beyond int64
                ("mb1ic16ih9223372036854775808oc8kh1", ["position 10", "'9223372036854775808' is beyond int64"]),
                ('mb1ic16ih6oc8kh1n"abc', ["position 18", "no closing"]),
                ("mb1ic16id6oc16kd3pd1", ["3"])]:                  # 3-D
            with self.subTest(descriptor=descriptor):
                self.refuse(["bench", descriptor], descriptor, *parts)
                self.refuse(["explain", descriptor, "--no-measure"], *parts)

    def test_nothing_reaches_the_terminal_as_a_command(self):
        for text in ["\x1b[31mred", "ic8\x07", "eltwise:\x1b]0;t\x07:1x8x1x1", "@\x1bx", "no/\x1bfile",
                     'ic8ih8oc8kh1n"\x1b"']:
            for name in ["bench", "sizes", "explain"]:
                self.refuse([name, text])
        for option in ["--layout", "--filter", "--json", "--sweep", "--post-ops", "--machine"]:
            self.refuse(["explain" if option == "--machine" else "bench", TINY, option, "\x1b[31m/\x07"])
        self.refuse(["\x1b[31m"])
        self.refuse(["bench", TINY, "\x1b[31m" * 1000])

    def test_files_that_are_no_lists(self):
        path = self.path("binary")
        pathlib.Path(path).write_bytes(bytes(range(1, 256)) * 40)
        for name in ["bench", "sizes"]:
            self.refuse([name, path], "is no text: byte 1 is '\\x01'")
        pathlib.Path(path).write_bytes(b"ic8ih8oc8kh1\n" + b"\xe4\xf6\xfc" * 1000 + b"\n")  # Latin-1
        result = run("bench", path, "--budget", "1s", "--quiet")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("\\xe4\\xf6", result.stdout)
        self.assertLess(max(len(line) for line in result.stdout.splitlines()), 400)

    def test_no_input_is_overwritten(self):
        cases = self.write("cases.txt", TINY)
        self.refuse(["bench", cases, "--json", cases], f"--json: '{cases}'", "another file than the list")
        run_file = self.path("run.json")
        self.succeed("bench", TINY, "--budget", "1s", "--quiet", "--json", run_file)
        before = self.read(run_file)
        self.refuse(["report", run_file, "-o", run_file], f"--output: '{run_file}'", "another file")
        self.refuse(["merge", run_file, "-o", run_file], f"--output: '{run_file}'", "another file")
        self.assertEqual(self.read(run_file), before)

    def test_operators(self):
        for operator, part in [("eltwise:clip=6=0:1x8x1x1", "beta"), ("pool:max:k0:1x8x8x8", "kernel"),
                               ("concat:c:1x0x1x1", "0"), ("pad:reflect:p9:1x1x4x4", "9"),
                               ("softmax:1x1", "NxCxHxW"), ("scratch:5G", "4096M"), ("eltwise:relu:1x0x1x1", "0"),
                               ("reorder:nchw-chwn:1x8x8x8", "nchw16c"),
                               ("eltwise:relu:1x9223372036854775807x4x4", "64-bit"),
                               ("pool:max:k9s1:1x1x3x3", "covers 9"),
                               ("eltwise:" + "relu+" * 300 + ":1x8x1x1", "1000")]:
            with self.subTest(operator=operator):
                self.refuse(["bench", operator], "descriptor: '" + operator[:20], part)
        self.refuse(["bench", TINY, "--post-ops", "clip:6:0"], "--post-ops: 'clip:6:0'", "6.0", "allowed")
        self.refuse(["bench", TINY, "--post-ops", "leaky_relu:nan"], "--post-ops: 'leaky_relu:nan'", "finite")

    def test_unwritable_outputs(self):
        for option in ["--json", "--csv", "--md"]:
            self.refuse(["bench", TINY, option, self.path("no/such/dir.json")], f"{option}: '",
                        "can be written")
            self.refuse(["bench", TINY, option, self.directory.name], f"{option}: '", "directory")
        self.refuse(["bench", TINY, "--json", self.path("a"), "--csv", self.path("a")], "--csv",
                    "one document per file")
        self.refuse(["bench", TINY, "--json", "-", "--md", "-"], "--md", "one document per file")
        if os.geteuid() != 0:  # root may write everywhere
            path = self.write("read_only", "kept")
            os.chmod(path, 0o444)
            self.refuse(["bench", TINY, "--json", path], "--json", "Permission denied")

    def test_wisdom_files(self):
        bench = ["bench", TINY, "--plan", "measure", "--wisdom"]
        self.refuse([*bench, self.path("no/such/dir.txt")], "--wisdom: '", "can be written")
        self.refuse([*bench, self.directory.name], "--wisdom: '", "directory")
        self.refuse([*bench, self.path("a"), "--json", self.path("a")], "--wisdom",
                    "one document per file")
        for text, part in [("hello\n", "line 1: \"hello\" is not valid, allowed: \"rafter wisdom 1\""),
                           ("rafter wisdom 1\nx\n", "line 2: \"x\" has 1 fields, allowed: 10"),
                           ("rafter wisdom 1\nx", "line 2: \"x\" is cut off")]:
            path = self.write("wisdom", text)
            self.refuse([*bench, path], f"--wisdom: '{path}': wisdom, ", part)
            self.assertEqual(self.read(path), text)

    def test_refused_runs_leave_no_files(self):
        self.refuse(["bench", TINY, "--json", self.path("new.json"), "--csv", self.path("no/dir")],
                    "--csv")
        self.assertFalse(pathlib.Path(self.path("new.json")).exists())

    def test_endless_and_deeply_nested_input(self):
        deep = self.write("deep.json", '{"a":' * 50000 + "1" + "}" * 50000)
        for name, part in [("/dev/zero", "NUL"), (deep, "nested too deeply; allowed: 64 levels")]:
            self.refuse(["report", name], name, part)
            self.refuse(["compare", name, name], name, part)
            self.refuse(["merge", name, name], name, part)
            self.refuse(["explain", TINY, "--machine", name], name, part)
        self.refuse(["bench", "/dev/zero"], "/dev/zero", "NUL")
        self.refuse(["sizes", "/dev/zero"], "/dev/zero", "NUL")
        self.refuse(["bench", TINY, "--wisdom", "/dev/zero"], "/dev/zero", "NUL")
        self.refuse(["bench", TINY, "--wisdom", "/dev/full"], "/dev/full", "NUL")

    def test_other_subcommands(self):
        self.refuse(["info", "--threads", "0"], "--threads: '0'")
        self.refuse(["explain"], "descriptor")
        self.refuse(["explain", TINY, "--post-ops", "rely"], "--post-ops: 'rely'", "relu")
        self.refuse(["explain", TINY, "--machine", "abacus"], "--machine: 'abacus'", "v100")
        self.refuse(["explain", TINY, "--machine", self.write("bad.json", "{")], "bad.json")


class GoodInput(CommandTest):
    def test_version_and_help(self):
        self.assertRegex(self.succeed("--version"), r"^rafter \d+\.\d+\.\d+\n$")
        text = self.succeed("--help")
        for word in ["info", "list", "bench", "explain", "Examples:", "Exit codes"]:
            self.assertIn(word, text)
        for name in ["info", "list", "bench", "explain"]:
            self.assertIn(f"  rafter {name}", self.succeed(name, "--help"))

    def test_list(self):
        text = self.succeed("list")
        names = self.succeed_json("list", "--json")
        for key in ["suites", "algorithms", "post_ops", "layouts", "isas", "baselines"]:
            self.assertIn(key, names)
        self.assertIn("reference", names["algorithms"])
        self.assertIn("residual_add", names["post_ops"])
        self.assertEqual(names["layouts"], ["NHWC", "NCHW", "NCHW16c", "NCHW8c"])
        suites = {suite["name"]: suite["cases"] for suite in names["suites"]}
        self.assertGreaterEqual(suites["resnet_50"], 16)
        for name, cases in suites.items():
            self.assertGreater(cases, 0, name)
            self.assertRegex(text, rf"@{name} +{cases} cases?\b")


if __name__ == "__main__":
    command.main()
