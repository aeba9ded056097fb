#!/usr/bin/env python3
"""Checks that includes follow the layers of docs/architecture.md.

Usage: check_layers.py [ROOT]. Prints one line per violation, `file:line: reason`; exit status 1 if any.

For: who may include whom, third-party headers, the two phrases that would let instruction sets leak
out of jit/, and who reads a clock. Not for: sizes (check_sizes.py), text and names (check_text.py).
"""

import pathlib
import re
import sys

# Folder -> folders whose headers it may include. Longest matching folder wins.
MAY_INCLUDE = {
    "include/rafter": ["include/rafter"],
    "jit": ["include/rafter", "jit"],
    "runtime": ["include/rafter", "runtime"],
    "kernels": ["include/rafter", "jit", "runtime", "kernels"],
    "roofline": ["include/rafter", "jit", "runtime", "kernels/cost", "roofline"],
    "bench": ["include/rafter", "jit", "runtime", "kernels", "roofline", "bench"],
    "cli": ["include/rafter", "jit", "runtime", "kernels", "roofline", "bench", "cli"],
    "tests": ["include/rafter", "jit", "runtime", "kernels", "roofline", "bench", "cli", "tests"],
    "tools": ["include/rafter", "jit", "runtime", "kernels", "roofline", "bench"],
    "examples": ["include/rafter"],
}

# Prefix of a third-party header -> regular expressions of the files that may include it.
THIRD_PARTY = {
    "xbyak/": [r"jit/", r"tests/jit/"],
    "omp.h": [r"runtime/parallel\.cc$", r"tests/", r"bench/"],
    "nlohmann/": [r"roofline/", r"bench/", r"cli/", r"tests/"],
    "fmt/": [r"bench/", r"cli/", r"tests/(bench|cli)/"],
    "CLI/": [r"cli/"],
    "boost/": [r"bench/", r"roofline/", r"tests/"],
    "benchmark/": [r"bench/gbench_"],
    "oneapi/": [r"bench/baseline_onednn", r"tests/"],
    "dnnl": [r"bench/baseline_onednn", r"tests/"],
    "gtest/": [r"tests/"],
    "gmock/": [r"tests/"],
}

# Headers of C++20 and its C library; all that a public header may include beside its neighbours.
STANDARD = set("""
    algorithm any array atomic barrier bit bitset charconv chrono compare complex concepts
    condition_variable coroutine deque exception filesystem forward_list fstream functional future
    initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory
    memory_resource mutex new numbers numeric optional ostream queue random ranges ratio regex semaphore
    set shared_mutex span sstream stack stdexcept stop_token streambuf string string_view syncstream
    system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray
    variant vector version
    cassert cctype cerrno cfenv cfloat cinttypes climits clocale cmath csetjmp csignal cstdarg cstddef
    cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype
    """.split())
C_STANDARD = {"stddef.h", "stdint.h", "stdbool.h"}  # for the C header
# The operating system's headers, for everything but the public headers.
SYSTEM = re.compile(
    r"^(sys|linux|asm|sanitizer)/|^(cpuid|cxxabi|dirent|dlfcn|elf|errno|execinfo|fcntl|getopt|glob|"
    r"immintrin|inttypes|link|math|pmmintrin|poll|pthread|sched|signal|stdbool|stddef|stdint|stdio|stdlib|"
    r"string|time|unistd|x86intrin|xmmintrin)(\.h)?$")

# Algorithm folders, and those that they share: kernels/conv/tile is the register-tile engine, kernels/conv/strip the
# one for lanes that output channels do not fill.
ALGORITHM = re.compile(r"^kernels/conv/([a-z_0-9]+)/")
SHARED_ALGORITHM_FOLDERS = {"strip", "tile"}

# Decisions about an instruction set belong to jit/. (Isa::kNone is none: without any, the reference runs.)
ISA_DECISION = re.compile(
    r"\bhas_opmask\b|[=!]=\s*(?:rafter::)?Isa::k(?!None)|\bcase\s+(?:rafter::)?Isa::k(?!None)")
ISA_EXCEPTIONS = {
    r"include/rafter/cpu\.h$": "declares the sets and their order",
    r"runtime/machine_model\.(h|cc)$": "peaks per set are data of the machine",
    r"roofline/": "measures each set's peak",
    r"bench/": "names sets in cases and caps them in both libraries",
    r"cli/": "parses and prints the names of sets",
    r"tests/": "runs every set of the machine",
}

# The library measures only when asked (ADR 8): jit/ and kernels/ read no clock, with one exception.
CLOCK = re.compile(r"\b(steady_clock|system_clock|high_resolution_clock|clock_gettime|gettimeofday|_{1,2}rdtscp?)\b")
CLOCK_FREE = re.compile(r"(jit|kernels)/")
CLOCK_EXCEPTIONS = {"kernels/conv/plan_measure.cc"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCES = (".h", ".cc", ".c")


def longest_folder(path, folders):
    return max((f for f in folders if path.startswith(f + "/")), key=len, default=None)


def strip_comments(text):
    """Blanks out comments (literals stay), keeping line numbers."""
    pattern = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.S)
    blank = lambda m: m[0] if m[0].startswith('"') else re.sub(r"[^\n]", " ", m[0])
    return pattern.sub(blank, text)


def check_quoted(root, path, target):
    real = "include/" + target if target.startswith("rafter/") else target
    if not (root / real).is_file():
        return f'"{target}" is not a file, seen from the root of the repository'
    folder = longest_folder(path, MAY_INCLUDE)
    if not any(real.startswith(f + "/") for f in MAY_INCLUDE[folder]):
        return f"{folder}/ may not include {real} (allowed: {', '.join(MAY_INCLUDE[folder])})"
    ours, theirs = ALGORITHM.match(path), ALGORITHM.match(real)
    if ours and theirs and ours[1] != theirs[1] and theirs[1] not in SHARED_ALGORITHM_FOLDERS:
        return f"algorithm {ours[1]} includes {real}, a file of another algorithm"
    return None


def check_angled(path, target):
    for prefix, allowed in THIRD_PARTY.items():
        if target.startswith(prefix):
            if any(re.match(pattern, path) for pattern in allowed):
                return None
            return f"<{target}> may be included only in {' '.join(allowed)}"
    if target in STANDARD:
        return None
    if path.startswith("include/"):
        if path.endswith("_c.h") and target in C_STANDARD:
            return None
        return f"<{target}>: public headers include the standard library only"
    if target.startswith("rafter/") and path.startswith(("examples/", "tests/install/")):
        return None
    if SYSTEM.match(target):
        return None
    return f"<{target}> is neither standard nor listed as third party"


def check_file(root, path):
    text = strip_comments((root / path).read_text(encoding="utf-8"))
    clock_allowed = not CLOCK_FREE.match(path) or path in CLOCK_EXCEPTIONS
    isa_allowed = path.startswith("jit/") or any(re.match(p, path) for p in ISA_EXCEPTIONS)
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            kind, target = match.groups()
            reason = check_quoted(root, path, target) if kind == '"' else check_angled(path, target)
            if reason:
                yield f"{path}:{number}: {reason}"
        elif not clock_allowed and CLOCK.search(line):
            yield f"{path}:{number}: only {' '.join(CLOCK_EXCEPTIONS)} reads a clock: {line.strip()}"
        elif not isa_allowed and ISA_DECISION.search(line):
            yield f"{path}:{number}: a decision about an instruction set belongs to jit/: {line.strip()}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    files = sorted(str(p.relative_to(root)) for folder in MAY_INCLUDE
                   for p in (root / folder).rglob("*") if p.suffix in SOURCES)
    if not files:
        sys.exit(f"check_layers: no sources under {root}")
    violations = [v for path in files for v in check_file(root, path)]
    print("\n".join(violations), end="\n" if violations else "")
    print(f"check_layers: {len(files)} files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
