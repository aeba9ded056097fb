#!/usr/bin/env python3
"""Checks the lengths of files and functions.

Usage: check_sizes.py [--notes] [ROOT]. Aims: files of 400 lines, functions of 40. Hard limits, which make
it fail: 600 and 80. --notes lists everything between aim and limit as well.

A function is found by a scan of braces in text without comments and literals: a block outside of any
function whose head has a parameter list. Lambdas count with the function around them.
"""

import pathlib
import re
import sys

FOLDERS = ["include", "jit", "runtime", "kernels", "roofline", "bench", "cli", "tests", "tools", "examples"]
FILE_AIM, FILE_LIMIT = 400, 600
FUNCTION_AIM, FUNCTION_LIMIT = 40, 80
# Tests read best as long lists of cases: their functions are not measured.
FUNCTIONS_NOT_MEASURED = ("tests/",)
# path -> reason why it may be longer than the limit.
FILE_EXCEPTIONS = {}
# (path, function) -> reason.
FUNCTION_EXCEPTIONS = {}

NOISE = re.compile(
    r'R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/|'
    r'^[ \t]*#(?:[^\n\\]|\\.|\\\n)*', re.S | re.M)
DIGIT_SEPARATOR = re.compile(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])")
TYPE_HEAD = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
NAME = re.compile(r"([\w:~]+(?:\s*operator\s*[^\s(]+)?)\s*\($")


ACCESS_LABEL = re.compile(r"\b(public|private|protected)\s*:(?!:)")


def strip(text):
    text = DIGIT_SEPARATOR.sub("_", text)
    text = NOISE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    return ACCESS_LABEL.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def matching(text, start):
    depth = 0
    for i in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return len(text) - 1


def is_function(head):
    """Whether the text in front of a brace, since the last statement, is the head of a function."""
    head = re.sub(r"\bnoexcept\s*\([^()]*\)|\[\[[^\]]*\]\]", " ", head)
    if "(" not in head or re.search(r"(?<![=!<>])=(?!=)", re.sub(r"\([^()]*\)|operator\s*\S+", "", head)):
        return False
    return bool(re.search(r"[)}\w>&*]\s*$", head)) and not (
        TYPE_HEAD.search(head) and not re.search(r"\)\s*[\w\s:<>,&*>-]*$", head))


def function_name(head):
    before = head.split("(", 1)[0] + "("
    match = NAME.search(before)
    return match[1] if match else before.strip()[-40:]


def functions(text):
    """Yields (name, first line, lines) of every outermost function."""
    text = strip(text)
    i, head_start = 0, 0
    while i < len(text):
        c = text[i]
        if c in ";}":
            head_start = i + 1
        elif c == "{":
            head = text[head_start:i].strip()
            end = matching(text, i)
            if is_function(head):
                following = text[end + 1:].lstrip()[:1]
                if ":" in head and following in (",", "{"):  # member initialiser, not the body
                    i = end + 1
                    continue
                blanks = len(text[head_start:i]) - len(text[head_start:i].lstrip())
                first = text.count("\n", 0, head_start + blanks)
                yield function_name(head), first + 1, text.count("\n", 0, end) - first + 1
                i, head_start = end + 1, end + 1
                continue
            if not TYPE_HEAD.search(head):  # a table or an initialiser: skip it whole
                i = end + 1
                continue
            head_start = i + 1
        i += 1


def check(root, path):
    """Yields (is_error, message)."""
    text = (root / path).read_text(encoding="utf-8")
    lines = text.count("\n")
    if lines > FILE_AIM:
        hard = lines > FILE_LIMIT and path not in FILE_EXCEPTIONS
        yield hard, f"{path}: {lines} lines (aim {FILE_AIM}, limit {FILE_LIMIT})"
    if path.startswith(FUNCTIONS_NOT_MEASURED) or path.endswith((".py", ".sh")):
        return
    for name, line, length in functions(text):
        if length > FUNCTION_AIM:
            hard = length > FUNCTION_LIMIT and (path, name) not in FUNCTION_EXCEPTIONS
            yield hard, f"{path}:{line}: {name} has {length} lines (aim {FUNCTION_AIM}, limit {FUNCTION_LIMIT})"


def main():
    arguments = [a for a in sys.argv[1:] if a != "--notes"]
    notes = "--notes" in sys.argv
    root = pathlib.Path(arguments[0] if arguments else ".").resolve()
    files = sorted(str(p.relative_to(root)) for folder in FOLDERS
                   for p in (root / folder).rglob("*") if p.suffix in (".h", ".cc", ".c", ".py", ".sh"))
    if not files:
        sys.exit(f"check_sizes: no sources under {root}")
    found = [result for path in files for result in check(root, path)]
    errors = [message for hard, message in found if hard]
    for hard, message in found:
        if hard or notes:
            print(("error: " if hard else "note: ") + message)
    print(f"check_sizes: {len(files)} files, {len(errors)} beyond a limit, "
          f"{len(found) - len(errors)} between aim and limit")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
