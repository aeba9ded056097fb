"""Runs the command `rafter` for the black-box tests. Standard library only.

Usage of the tests: <name>_test.py PATH_OF_RAFTER SCRATCH_DIRECTORY. They share a cache of roofs in
the scratch directory, so that these are measured once.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

RAFTER = sys.argv[1] if len(sys.argv) > 2 else "rafter"
SCRATCH = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.gettempdir()).absolute()
TINY = "mb1ic16ih6oc16oh6kh3ph1"


def environment(**changes):
    """The surroundings of a run: a cache of its own, no limits left over from outside."""
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("RAFTER_", "ONEDNN_", "DNNL_"))}
    env["XDG_CACHE_HOME"] = str(SCRATCH / "cache")
    env.update(changes)
    return env


def run(*arguments, timeout=240, **changes):
    return subprocess.run([RAFTER, *arguments], env=environment(**changes), capture_output=True,
                          text=True, timeout=timeout, stdin=subprocess.DEVNULL)


class CommandTest(unittest.TestCase):
    def setUp(self):
        SCRATCH.mkdir(parents=True, exist_ok=True)
        self.directory = tempfile.TemporaryDirectory(dir=SCRATCH)
        self.addCleanup(self.directory.cleanup)

    def path(self, name):
        return str(pathlib.Path(self.directory.name) / name)

    def write(self, name, text):
        pathlib.Path(self.path(name)).write_text(text, encoding="utf-8")
        return self.path(name)

    @staticmethod
    def read(path):
        return pathlib.Path(path).read_text(encoding="utf-8")

    def read_json(self, path):
        return strict_json(self.read(path))

    def succeed(self, *arguments, **changes):
        result = run(*arguments, **changes)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def succeed_json(self, *arguments, **changes):
        return strict_json(self.succeed(*arguments, **changes))


def strict_json(text):
    """JSON proper: no NaN, no Infinity."""
    def refuse(constant):
        raise ValueError(f"{constant} is not JSON")
    return json.loads(text, parse_constant=refuse)


def has_vector_set():
    return strict_json(run("list", "--json").stdout)["isas"] != ["none"]


def main():
    unittest.main(argv=[sys.argv[0]])
