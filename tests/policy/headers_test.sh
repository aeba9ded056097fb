#!/usr/bin/env bash
# Every header of the library is self-contained: the public ones compile alone, without warnings and
# without any include path but include/, the C interface as C11. An inner header either comes first in the
# source of its name, so that each build checks it, or is compiled alone here.
#
#   headers_test.sh SOURCE_DIR CXX CC XBYAK_INCLUDE_DIR
set -euo pipefail
cd "${1:?source directory}"
cxx=${2:?C++ compiler} cc=${3:?C compiler} xbyak=${4:?directory of xbyak}

headers=0 failures=0
fail() { printf 'headers_test: %s\n' "$*"; failures=$((failures + 1)); }

compile() {  # HEADER COMPILER...
  local header=$1
  shift
  headers=$((headers + 1))
  printf '#include "%s"\n' "$header" |
    "$@" -Iinclude -Wall -Wextra -Wshadow -Wpedantic -Werror -fsyntax-only - ||
    fail "$header does not compile alone"
}

for header in include/rafter/*.h; do
  case $header in
    *_c.h) compile "${header#include/}" "$cc" -x c -std=c11 ;;
  esac
  compile "${header#include/}" "$cxx" -x c++ -std=c++20
done

while IFS= read -r header; do
  source=${header%.h}.cc
  if [ -e "$source" ]; then
    first=$(sed -nE 's/^#include "(.*)"$/\1/p;T;q' "$source")
    [ "$first" = "$header" ] || fail "the first include of $source should be \"$header\", not \"$first\""
  else
    compile "$header" "$cxx" -x c++ -std=c++20 -I. -idirafter "$xbyak"
  fi
done < <(find jit runtime kernels roofline bench cli -name '*.h' | sort)

printf 'headers_test: %s headers compiled alone, %s failures\n' "$headers" "$failures"
[ "$failures" -eq 0 ]
