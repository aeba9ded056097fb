#!/usr/bin/env bash
# Checks what librafter.so exports and uses: only the interface leaves it; nothing in it prints, aborts or
# exits; the environment is read only where documented; stripped size within the limit.
#
#   tools/check_symbols.sh LIBRAFTER_SO
set -euo pipefail

shared=${1:?usage: check_symbols.sh LIBRAFTER_SO}
size_limit_bytes=1500000
interface='^(rafter::|rafter_|(typeinfo|typeinfo name|vtable|VTT) for rafter::|'
interface+='(non-virtual|virtual) thunk to rafter::)'

# Printing (to a stream of the process), ending the process, ending it by assertion. fopen, fwrite and
# snprintf are no output by themselves; the code dump needs them.
banned='^_*(v?printf|puts|putchar|perror|v?printf_chk|psignal|warnx?|errx?|stdout|stderr)$'
banned+='|^_*(abort|exit|Exit|quick_exit|assert_fail|assert_perror_fail|assert)$'
banned_cxx='^std::(cout|cerr|clog|wcout|wcerr|wclog|abort|exit)$|^std::ios_base::Init'
# Sources that read the environment: RAFTER_MAX_ISA, RAFTER_JIT_DUMP and RAFTER_JIT_PERF, RAFTER_NO_JIT,
# OMP_NUM_THREADS (whether the user has set it). Objects may hold a whole folder, so sources are searched.
environment_readers='^jit/(isa|code_dump|executable_memory)\.cc$|^runtime/parallel\.cc$'

failures=0
fail() { printf 'check_symbols: %s\n' "$*"; failures=$((failures + 1)); }

undefined=$(nm -D --undefined-only --format=posix "$shared" | awk '{ sub(/@.*/, "", $1); print $1 }')
while read -r symbol; do
  fail "librafter.so uses $symbol"
done < <(printf '%s\n' "$undefined" | grep -E "$banned" || true)
while read -r symbol; do
  fail "librafter.so uses $symbol"
done < <(printf '%s\n' "$undefined" | c++filt | grep -E "$banned_cxx" || true)

exported=$(nm -D --defined-only --format=posix "$shared" | awk '{ sub(/@.*/, "", $1); print $1 }' | c++filt)
while read -r symbol; do
  fail "librafter.so exports $symbol"
done < <(printf '%s\n' "$exported" | grep -vE "$interface" || true)
while read -r symbol; do
  fail "librafter.so exports $symbol, an inner name"
done < <(printf '%s\n' "$exported" | grep -E '^rafter::[a-z_0-9]+::' || true)
[ -n "$exported" ] || fail 'librafter.so exports nothing'

while read -r source; do
  fail "$source reads the environment (allowed: $environment_readers)"
done < <(cd "$(dirname "${BASH_SOURCE[0]}")/.." &&
  grep -rlwE '(secure_)?getenv|environ' include jit runtime kernels | grep -vE "$environment_readers" || true)

stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$shared"
bytes=$(stat -c %s "$stripped")
[ "$bytes" -le "$size_limit_bytes" ] || fail "librafter.so has $bytes bytes stripped (at most $size_limit_bytes)"

printf 'check_symbols: %s exported symbols, %s bytes stripped, %s failures\n' \
  "$(printf '%s\n' "$exported" | wc -l)" "$bytes" "$failures"
[ "$failures" -eq 0 ]
