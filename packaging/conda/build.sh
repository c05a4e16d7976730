#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# Builds the Python package, program inside, with conda's libraries and dygraphs from Debian's package.
set -euo pipefail

cd dygraphs
ar x ./*.deb
tar -xf data.tar.*
cd ..
export SKBUILD_CMAKE_DEFINE="DYGRAPHS_DIR=$PWD/dygraphs/usr/share/javascript/dygraphs"
SKBUILD_CMAKE_DEFINE+=";DYGRAPHS_LICENCE=$PWD/dygraphs/usr/share/doc/libjs-dygraphs/copyright"
"$PYTHON" -m pip install . --no-deps --no-build-isolation -vv
