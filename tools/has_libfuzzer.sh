#!/usr/bin/env bash
# Succeeds when clang++ is here and can link a libFuzzer program.
set -euo pipefail
command -v clang++ >/dev/null 2>&1 || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat > "$dir/probe.cc" <<'CC'
#include <cstddef>
#include <cstdint>
extern "C" int LLVMFuzzerTestOneInput(const uint8_t*, size_t) { return 0; }
CC
clang++ -fsanitize=fuzzer,address,undefined -o "$dir/probe" "$dir/probe.cc" 2>/dev/null
