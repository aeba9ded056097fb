#!/usr/bin/env bash
# Fuzzes for SECONDS in total, shared by the targets of the preset fuzz (built before):
#
#   tools/fuzz.sh SECONDS [DIR]     DIR: where new inputs and crashes go (default build/fuzz/findings)
#
# The corpus in tests/fuzz/corpus is read, never written. Crashes make it fail; replay one with
# `build/fuzz/rafter_fuzz_conv_desc FILE`, and add its input to the corpus with the repair.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:?usage: tools/fuzz.sh SECONDS [DIR]}
findings=${2:-build/fuzz/findings}

fuzz() {  # TARGET SECONDS
  local dir=$findings/$1
  mkdir -p "$dir/corpus"
  printf '== %s for %s s ==\n' "$1" "$2"
  "build/fuzz/rafter_fuzz_$1" -max_total_time="$2" -timeout=30 -rss_limit_mb=2048 -malloc_limit_mb=1024 \
    -print_final_stats=1 -artifact_prefix="$dir/" "$dir/corpus" "tests/fuzz/corpus/$1" \
    >"$dir/log.txt" 2>&1 || { tail -n 60 "$dir/log.txt"; return 1; }
  grep -E '^stat::number_of_executed_units|^Done' "$dir/log.txt"
}

fuzz conv_desc $((seconds * 4 / 5))
fuzz descriptor $((seconds - seconds * 4 / 5))
