#!/usr/bin/env bash
# Installs what is missing, builds and runs all tests, then replays the fuzz corpus under sanitizers where clang has
# libFuzzer.
#
#   ./test.sh            what continuous integration runs
#   ./test.sh --quick    the release build's tests only
#   ./test.sh --full     also unit tests under address, undefined-behaviour and thread sanitizers, a minute of fuzzing
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

mode=default
case ${1:-} in
  '') ;;
  --quick) mode=quick ;;
  --full) mode=full ;;
  *) sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

jobs=$(nproc)
step() { printf '\n== %s (%d s) ==\n' "$*" "$SECONDS"; }

build_and_test() {  # CONFIGURE_PRESET PRESET [ctest arguments]
  local configure=$1 preset=$2
  shift 2
  step "$preset: build"
  cmake --preset "$configure"
  cmake --build --preset "$preset"
  step "$preset: test"
  ctest --preset "$preset" -j "$jobs" "$@"  # what times something is marked to run alone
}

tools/install_deps.sh --browser
build_and_test release release
if [ $mode = quick ]; then exit 0; fi

# Sweeps and fuzz replays take a sample of their cases; what measures or only reads sources is left out.
export RAFTER_TEST_REDUCED=1 RAFTER_SWEEP_CASES=60
if [ $mode = full ]; then build_and_test tsan tsan-threads; fi
if tools/install_deps.sh --fuzz && tools/has_libfuzzer.sh; then
  if [ $mode = full ]; then
    build_and_test fuzz fuzz-and-tests
    step 'fuzz'
    tools/fuzz.sh 60
  else
    build_and_test fuzz fuzz
  fi
else
  echo 'no clang with libFuzzer here: fuzzing left out'
  if [ $mode = full ]; then build_and_test asan-ubsan asan-ubsan -LE 'policy|install|cli'; fi
fi
step 'done'
