#!/usr/bin/env bash
# Installs what building and testing need and the system lacks (Debian 12, 13 and later, and relatives).
# As root, or through sudo. When nothing is missing, nothing is asked and nothing is installed.
#
#   tools/install_deps.sh            everything that run.sh and test.sh need
#   tools/install_deps.sh --fuzz     clang and libFuzzer as well
#   tools/install_deps.sh --browser  Chromium as well, in which the tests open the report page (about a minute)
#
# On other systems it says what to install and fails only if a tool is missing.
set -euo pipefail

tools=(g++:g++ cmake:cmake ninja:ninja-build git:git python3:python3 pkg-config:pkg-config nm:binutils)
libraries=(libxbyak-dev libbenchmark-dev libgtest-dev nlohmann-json3-dev libcli11-dev libfmt-dev
           libboost-math-dev)
# rafter works without these: --vs onednn is then not available, reports have no charts.
optional=(libdnnl-dev libjs-chart.js)

say() { printf 'install_deps: %s\n' "$*" >&2; }

works() {
  case $1 in
    python3) python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' >/dev/null 2>&1 ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# Whether the package lists at hand have a version to install.
available() {
  local policy
  policy=$(LC_ALL=C apt-cache policy "$1" 2>/dev/null)
  [[ $policy =~ Candidate:\ [^\(] ]]
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null 2>&1; then
    sudo "$@"
  else
    say "root is needed to install packages, and there is no sudo. As root, run: $0"
    exit 1
  fi
}

apt() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 "$@" >&2; }

update_once() {
  [ -z "${updated:-}" ] || return 0
  apt update || say "'apt-get update' failed; trying with the package lists at hand"
  updated=yes
}

missing_tools() {
  for entry in "${tools[@]}"; do
    works "${entry%%:*}" || printf '%s\n' "${entry##*:}"
  done
}

missing_libraries() {
  for package in "${libraries[@]}"; do
    installed "$package" || printf '%s\n' "$package"
  done
}

not_debian() {
  local missing
  missing=$(missing_tools | tr '\n' ' ')
  if [ -n "$missing" ]; then
    say "no apt-get here. Please install: ${missing}and the headers of ${libraries[*]}"
    exit 1
  fi
  say "no apt-get here; assuming that the headers of these are installed: ${libraries[*]}"
  exit 0
}

install_optional() {
  for package in "$@"; do
    if installed "$package"; then continue; fi
    if ! ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1; then update_once; fi
    if available "$package"; then
      update_once
      apt install --no-install-recommends "$package" || say "could not install $package; going on without"
    else
      say "$package is not packaged here; going on without"
    fi
  done
}

install_fuzz() {
  works clang++ || { update_once; apt install --no-install-recommends clang; }
  local major
  major=$(clang++ -dumpversion | cut -d. -f1)
  for package in "libclang-rt-$major-dev" "libomp-$major-dev"; do
    installed "$package" || { update_once; apt install --no-install-recommends "$package"; }
  done
}

if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-query >/dev/null 2>&1; then
  not_debian
fi
mapfile -t missing < <(missing_tools; missing_libraries)
if [ ${#missing[@]} -gt 0 ]; then
  say "installing: ${missing[*]}"
  update_once
  apt install --no-install-recommends "${missing[@]}"
fi
install_optional "${optional[@]}"
# Debian 12's oneDNN was built for GPUs, too: its CMake package asks for OpenCL, its Debian package does not.
if compgen -G '/usr/lib/*/cmake/dnnl/FindOpenCL.cmake' >/dev/null; then install_optional ocl-icd-opencl-dev; fi
case ${1:-} in
  --fuzz) install_fuzz ;;
  --browser) command -v chromium >/dev/null 2>&1 || install_optional chromium ;;
esac
