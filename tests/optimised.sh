#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# optimised.sh SCRIPT REPLAY BUILD SOURCE: runs a test script. Where REPLAY_OPTIMISED names an optimised build, the
# script gets that. The longest scripts are run so: ./dev test sets it; ./dev test-long runs them under sanitizers, too.
set -euo pipefail
script=$1 replay=$2 build=$3 source=$4
if [[ -n ${REPLAY_OPTIMISED-} ]]; then
    replay=$REPLAY_OPTIMISED/replay
    build=$REPLAY_OPTIMISED
fi
[[ $script == *.py ]] && exec python3 "$script" "$replay" "$build" "$source"
exec bash "$script" "$replay" "$build" "$source"
