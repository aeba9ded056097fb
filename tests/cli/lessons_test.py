#!/usr/bin/env python3
"""Runs the commands of docs/lessons and checks that their output still has the shape that the lessons print.

A block ```console holds lines "$ rafter …", each followed by its output. Output that depends on nothing but arithmetic
must have the same lines once numbers are taken away; in ```console timed, where times and choices differ, the headings
(the first words of lines at the margin) must still be there. Commands that measure get a small budget.

lessons_test.py RAFTER SCRATCH --update rewrites the outputs in place, with a larger budget.
"""

import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import command

LESSONS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "lessons"
BLOCK = re.compile(r"^```console( timed)?\n(.*?)^```$", re.M | re.S)
NUMBER = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?")


def commands_of(body):
    """Pairs of a command and the lines printed below it."""
    pairs = []
    for line in body.splitlines():
        if line.startswith("$ "):
            pairs.append((line[2:], []))
        elif pairs:
            pairs[-1][1].append(line)
    return pairs


def execute(text, directory, quick):
    words = shlex.split(text, posix=True)
    assert words[0] == "rafter", text
    words = words[1:] + ["--quiet"] * (words[1] in ("bench", "explain", "info"))
    if words[0] == "bench":
        words += ["--budget", "2s" if quick else "10s"]
    result = subprocess.run([command.RAFTER, *words], env=command.environment(NO_COLOR="1"), cwd=directory,
                            capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
    return result


def shape(line):
    return re.sub(r"\s+", " ", NUMBER.sub("#", line)).strip()


def headings(lines):
    return [line.split()[0] for line in lines if line and not line[0].isspace() and line[0].isalpha()]


class Lessons(unittest.TestCase):
    def test_every_command(self):
        files = sorted(LESSONS.glob("*.md"))
        self.assertGreater(len(files), 10)
        with tempfile.TemporaryDirectory(dir=command.SCRATCH) as directory:
            for path in files:
                for timed, body in BLOCK.findall(path.read_text(encoding="utf-8")):
                    for text, printed in commands_of(body):
                        with self.subTest(lesson=path.name, command=text):
                            self.check(text, printed, bool(timed), directory)

    def check(self, text, printed, timed, directory):
        self.assertTrue(printed, "no output in the lesson: run with --update")
        result = execute(text, directory, quick=True)
        # A slow machine leaves cases out of a small budget, and says so.
        allowed = [0, 1] if "left out: the budget" in result.stdout else [0]
        self.assertIn(result.returncode, allowed, result.stdout + result.stderr)
        actual = result.stdout.splitlines()
        if timed:
            words = set(headings(actual))
            fixed = {"case", "cost", "candidates,", "rafter", "CPU", "roofs", "layer", "losses,", "neighbours,"}
            for word in headings(printed):
                if word in fixed:
                    self.assertIn(word, words)
        elif command.has_vector_set():
            # What depends on the machine at hand: kernels, tiles, predicted times.
            machine = re.compile(r"predict|refused|tile|sums in registers|\[#|f32|chosen|times less time")
            want = [shape(line) for line in printed if not machine.search(line)]
            have = {shape(line) for line in actual}
            for line in want:
                self.assertIn(line, have)


def update():
    with tempfile.TemporaryDirectory(dir=command.SCRATCH) as directory:
        only = sys.argv[4:]
        for path in sorted(LESSONS.glob("*.md")):
            if only and path.name not in only:
                continue
            def block(match):
                out = ""
                for text, _ in commands_of(match[2]):
                    result = execute(text, directory, quick=False)
                    sys.stderr.write(f"{path.name}: {text}: {result.returncode}\n{result.stderr}")
                    lines = [line.rstrip() for line in result.stdout.splitlines()]
                    # Where this machine keeps its cache is nobody's business.
                    lines = [re.sub(r", kept in .*", "", line) for line in lines]
                    out += f"$ {text}\n" + "\n".join(lines) + "\n"
                return f"```console{match[1] or ''}\n{out}```"
            path.write_text(BLOCK.sub(block, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    command.SCRATCH.mkdir(parents=True, exist_ok=True)
    if "--update" in sys.argv:
        update()
    else:
        command.main()
