#!/usr/bin/env bash
# Installs what is missing, builds, and measures: by default the convolutions of ResNet-50 against this
# machine's roofs and against oneDNN. Arguments replace that: ./run.sh info
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

tools/install_deps.sh
cmake --preset release >&2
cmake --build --preset release --target rafter_cli rafter >&2

if [ $# -eq 0 ]; then
  set -- bench @resnet_50 --mb 1 --vs onednn
fi
exec build/release/rafter "$@"
