#!/usr/bin/env python3
"""Checks names and text of the repository's files.

Usage: check_text.py [ROOT]. File names without empty words, no leftovers (to-do marks, disabled code), a
head comment in every source, header guards after the path, lines of at most 120 columns (the aim of
.clang-format is 100), and the quick start of README.md equal to examples/quickstart.cc.
"""

import pathlib
import re
import subprocess
import sys

SKIPPED_FOLDERS = ("build/", ".git/", "tests/fuzz/corpus/")
SOURCES = (".h", ".cc", ".c", ".py", ".sh", ".cmake", ".js")
EMPTY_WORDS = re.compile(r"(^|[_\-./])(util|utils|common|misc|helper|helpers)($|[_\-.])", re.I)
# Written in halves, so that this file passes its own check.
LEFTOVERS = re.compile(r"\b(TO" + "DO|FIX" + "ME|XX" + r"X)\b|^\s*#\s*if\s+0\b")
COLUMNS = 120
# Prose, tables, diagrams and data may be wider.
WIDE = (".md", ".txt", ".json", ".html", ".css", ".js", ".yml")


def repository_files(root):
    """Tracked files and new ones that are not ignored; without git, all files."""
    try:
        listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"],
                                check=True, capture_output=True, text=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        listed = [str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()]
    return sorted(f for f in listed if not f.startswith(SKIPPED_FOLDERS) and (root / f).is_file())


def check_head(path, text):
    lines = text.splitlines() or [""]
    first = lines[1] if lines[0].startswith("#!") and len(lines) > 1 else lines[0]
    if not first.startswith(("//", "#", '"""', "/*")):
        yield f"{path}:1: no head comment that says what the file is for"
    if path.endswith(".h"):
        guarded = path.removeprefix("include/")
        inner = re.sub(r"[^A-Z0-9]", "_", guarded.upper()) + "_"
        guard = inner if guarded.startswith("rafter/") else "RAFTER_" + inner
        if f"#ifndef {guard}\n#define {guard}\n" not in text:
            yield f"{path}:1: the header guard should be {guard}"


def check_file(root, path):
    if EMPTY_WORDS.search(path):
        yield f"{path}: a name should say what is inside"
    try:
        text = (root / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return  # binary data
    if path.endswith(SOURCES) or path.endswith("CMakeLists.txt"):
        yield from check_head(path, text)
    if text and not text.endswith("\n"):
        yield f"{path}: no newline at the end"
    for number, line in enumerate(text.splitlines(), 1):
        if LEFTOVERS.search(line):
            yield f"{path}:{number}: leftover: {line.strip()}"
        if line != line.rstrip() and not path.endswith(".md"):
            yield f"{path}:{number}: blanks at the end of the line"
        if path.endswith(SOURCES) and not path.endswith(WIDE):
            if len(line) > COLUMNS and "http" not in line:
                yield f"{path}:{number}: {len(line)} columns (at most {COLUMNS})"
            if "\t" in line:
                yield f"{path}:{number}: a tab"


def check_quick_start(root):
    readme = (root / "README.md").read_text(encoding="utf-8")
    example = (root / "examples/quickstart.cc").read_text(encoding="utf-8")
    if f"```cpp\n{example}```\n" not in readme:
        yield "README.md: the quick start differs from examples/quickstart.cc"
    if example.count("\n") > 30:
        yield "examples/quickstart.cc: a quick start has about 20 lines, at most 30"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    files = repository_files(root)
    if not files:
        sys.exit(f"check_text: no files under {root}")
    violations = [v for path in files for v in check_file(root, path)]
    violations += check_quick_start(root)
    print("\n".join(violations), end="\n" if violations else "")
    print(f"check_text: {len(files)} files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
