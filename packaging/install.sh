#!/bin/sh
# Install from these sources in a Debian image: MPICH, the suite (/usr/local) and the companion (/opt/openimb).
# The compiler is not removed, because `imb build` needs it.
set -eu
sources=$(cd "$(dirname "$0")/.." && pwd)

export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install --yes --no-install-recommends cmake g++ libmpich-dev mpich ninja-build python3-venv
rm -rf /var/lib/apt/lists/*

cmake -G Ninja -S "$sources" -B /tmp/openimb-build
cmake --build /tmp/openimb-build
cmake --install /tmp/openimb-build
rm -rf /tmp/openimb-build

python3 -m venv /opt/openimb
/opt/openimb/bin/pip install --no-cache-dir "$sources[report,plot,submit]"
ln -s /opt/openimb/bin/imb /usr/local/bin/imb
