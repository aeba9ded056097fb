#!/usr/bin/env python3
"""Tests the checkers themselves: each must find a planted violation and accept clean text."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import check_layers  # noqa: E402
import check_sizes  # noqa: E402
import check_text  # noqa: E402


def layer_reasons(path, text, others=()):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, content in [(path, text), *((other, "") for other in others)]:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(content, encoding="utf-8")
        return list(check_layers.check_file(root, path))


class Layers(unittest.TestCase):
    def test_upward_include_is_found(self):
        self.assertTrue(layer_reasons("jit/a.cc", '#include "kernels/b.h"\n', ["kernels/b.h"]))

    def test_downward_include_is_fine(self):
        self.assertFalse(layer_reasons("kernels/a.cc", '#include "jit/b.h"\n', ["jit/b.h"]))

    def test_missing_file_is_found(self):
        self.assertTrue(layer_reasons("jit/a.cc", '#include "jit/b.h"\n'))

    def test_algorithms_stay_apart_but_share_the_tile(self):
        direct = "kernels/conv/direct/plan.cc"
        for other, wrong in (("pointwise", True), ("tile", False), ("direct", False)):
            header = f"kernels/conv/{other}/x.h"
            self.assertEqual(bool(layer_reasons(direct, f'#include "{header}"\n', [header])), wrong, other)

    def test_third_party_only_where_listed(self):
        self.assertTrue(layer_reasons("kernels/a.cc", "#include <xbyak/xbyak.h>\n"))
        self.assertFalse(layer_reasons("jit/a.cc", "#include <xbyak/xbyak.h>\n"))
        self.assertTrue(layer_reasons("runtime/worker_pool.cc", "#include <omp.h>\n"))
        self.assertFalse(layer_reasons("runtime/parallel.cc", "#include <omp.h>\n"))

    def test_public_headers_are_standard_only(self):
        self.assertTrue(layer_reasons("include/rafter/a.h", "#include <unistd.h>\n"))
        self.assertFalse(layer_reasons("include/rafter/a.h", "#include <vector>\n"))

    def test_isa_decision_outside_jit(self):
        self.assertTrue(layer_reasons("kernels/a.cc", "if (isa == Isa::kAvx512) return;\n"))
        self.assertTrue(layer_reasons("kernels/a.cc", "if (info.has_opmask) return;\n"))
        self.assertFalse(layer_reasons("kernels/a.cc", "// isa == Isa::kAvx512 is for jit/\n"))
        self.assertFalse(layer_reasons("jit/a.cc", "if (isa == Isa::kAvx512) return;\n"))

    def test_only_measurements_read_a_clock(self):
        line = "auto now = std::chrono::steady_clock::now();\n"
        self.assertTrue(layer_reasons("kernels/conv/dispatch.cc", line))
        self.assertTrue(layer_reasons("jit/a.cc", "clock_gettime(CLOCK_MONOTONIC, &t);\n"))
        self.assertFalse(layer_reasons("kernels/conv/plan_measure.cc", line))
        self.assertFalse(layer_reasons("runtime/worker_pool.cc", line))


class Sizes(unittest.TestCase):
    def measure(self, text):
        return [(name, lines) for name, _, lines in check_sizes.functions(text)]

    def test_functions_of_every_form(self):
        text = """
            namespace n {
            struct S : Base<int> {
              explicit S(int a) : a_(a), b_{a} {
                f("}");
              }
             private:
              T&& value() && { return *value_; }
              int h[2] = {1, 2};
            };
            constexpr Row kTable[] = {{1, f(2)}, {2}};
            auto Lambda(int x = 3) -> std::vector<int> {
              auto inner = [&](int y) {
                return y;
              };
              return {};
            }
            }  // namespace n
            extern "C" int c_function(struct stat* s) { return 0; }
            """
        self.assertEqual(self.measure(text), [("S", 3), ("value", 1), ("Lambda", 6), ("c_function", 1)])

    def test_limits(self):
        body = "int F() {\n" + "  f();\n" * 90 + "}\n"
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "jit").mkdir()
            (root / "jit/a.cc").write_text(body + "\n" * 600, encoding="utf-8")
            self.assertEqual([hard for hard, _ in check_sizes.check(root, "jit/a.cc")], [True, True])


class Text(unittest.TestCase):
    def reasons(self, path, text):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            return list(check_text.check_file(pathlib.Path(folder), path))

    def test_clean_file(self):
        self.assertEqual(self.reasons("jit/a.cc", "// a.cc: for tests.\nint a;\n"), [])

    def test_each_violation(self):
        for path, text in (("jit/string_" + "util.cc", "// x\n"), ("jit/a.cc", "int a;\n"),
                           ("jit/a.cc", "// x\n// TO" + "DO: more\n"), ("jit/a.cc", "// x\n#if " + "0\n"),
                           ("jit/a.cc", "// x\n" + "y" * 121 + "\n"), ("jit/a.cc", "// x"),
                           ("jit/a.h", "// x\n#ifndef WRONG_H_\n#define WRONG_H_\n#endif\n")):
            self.assertEqual(len(self.reasons(path, text)), 1, (path, text))


if __name__ == "__main__":
    unittest.main()
