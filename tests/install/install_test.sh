#!/usr/bin/env bash
# Installs BUILD_DIR to a fresh prefix, moves that elsewhere, and builds and runs the C++ and the C example
# from there: by find_package (shared and static) and by pkg-config. Checks the command and the SONAME too.
#
#   install_test.sh SOURCE_DIR BUILD_DIR CMAKE CXX CC
set -euo pipefail
source=${1:?source directory} build=${2:?build directory} cmake=${3:?cmake} cxx=${4:?C++ compiler} cc=${5:?C compiler}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say() { printf '== %s ==\n' "$*"; }

say 'install'
"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
mv "$work/first" "$work/prefix"  # nothing may depend on the place of installation
prefix=$work/prefix
lib=$(dirname "$(find "$prefix" -name librafter.so)")

say 'files'
list_headers() { (cd "$1" && find rafter -name '*.h' | sort); }
diff <(list_headers "$source/include") <(list_headers "$prefix/include")
soname=$(readelf -d "$lib/librafter.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
[[ $soname =~ ^librafter\.so\.[0-9.]+$ ]] || { echo "odd SONAME: '$soname'"; exit 1; }
[ -e "$lib/$soname" ] || { echo "$soname is not installed"; exit 1; }
if [ -x "$build/rafter" ]; then "$prefix/bin/rafter" list >/dev/null; fi

for language in cpp c; do
  say "find_package: $language"
  CXX=$cxx CC=$cc "$cmake" -S "$source/tests/install/$language" -B "$work/$language" -G Ninja \
    -DCMAKE_PREFIX_PATH="$prefix" -DEXAMPLES_DIR="$source/examples"
  "$cmake" --build "$work/$language"
done
"$work/cpp/quickstart_shared"
"$work/cpp/quickstart_static"
"$work/c/quickstart_c"
if readelf -d "$work/cpp/quickstart_static" | grep -q librafter; then
  echo 'quickstart_static needs librafter.so'; exit 1
fi

say 'pkg-config'
export PKG_CONFIG_PATH=$lib/pkgconfig
read -r -a cflags <<<"$(pkg-config --cflags rafter)"
read -r -a libs <<<"$(pkg-config --libs rafter)"
read -r -a static_libs <<<"$(pkg-config --static --libs rafter)"
version=$(sed -n 's/.*VERSION_STRING "\(.*\)"/\1/p' "$source/include/rafter/version.h")
[ "$(pkg-config --modversion rafter)" = "$version" ]
"$cxx" -std=c++20 "${cflags[@]}" -o "$work/pc_cpp" "$source/examples/quickstart.cc" "${libs[@]}"
"$cc" -std=c11 "${cflags[@]}" -o "$work/pc_c" "$source/examples/quickstart.c" "${libs[@]}"
LD_LIBRARY_PATH=$lib "$work/pc_cpp"
LD_LIBRARY_PATH=$lib "$work/pc_c"
mv "$lib"/librafter.so* "$work/"  # only the static library is left
"$cxx" -std=c++20 "${cflags[@]}" -o "$work/pc_static" "$source/examples/quickstart.cc" "${static_libs[@]}"
"$work/pc_static"
say 'passed'
