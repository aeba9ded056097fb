#!/usr/bin/env bash
# Installs what is missing, builds and runs all tests; then reduced runs under the sanitizers and a minute
# of fuzzing where clang has libFuzzer.
#
#   ./test.sh            everything (under 20 minutes on 2 cores)
#   ./test.sh --quick    the release build's tests only
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

quick=no
case ${1:-} in
  '') ;;
  --quick) quick=yes ;;
  *) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

jobs=$(nproc)
step() { printf '\n== %s ==\n' "$*"; }

build_and_test() {  # PRESET [ctest arguments]
  local preset=$1
  shift
  step "$preset: build"
  cmake --preset "$preset"
  cmake --build --preset "$preset"
  step "$preset: test"
  ctest --preset "$preset" "$@"
}

tools/install_deps.sh
# Tests that time something need the machine for themselves: no -j here.
build_and_test release
if [ $quick = yes ]; then exit 0; fi

# Sweeps and fuzz replays take a sample of their cases; what measures or only reads sources is left out.
export RAFTER_TEST_REDUCED=1 RAFTER_SWEEP_CASES=150
build_and_test asan-ubsan -j "$jobs" -LE 'policy|install|cli'
build_and_test tsan -j "$jobs" -LE 'policy|install|cli'

step 'fuzz'
if ! tools/install_deps.sh --fuzz || ! tools/has_libfuzzer.sh; then
  echo 'no clang with libFuzzer here: fuzzing left out'
  exit 0
fi
cmake --preset fuzz
cmake --build --preset fuzz
tools/fuzz.sh 60
