#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# The manual page holds every command with its options, as --help does, and roff has nothing to say against it.
set -uo pipefail
replay=$1
build=$(cd "$2" && pwd) source=$(cd "$3" && pwd)
. "$source/tests/shell.sh"

"$replay" --man >replay.1 || fail "no manual page"
cmp -s replay.1 "$build/replay.1" || fail "the page that is installed is not the one of this program"

# What a reader sees in the source: roff's escapes put back.
sed -e 's/\\f[BIR]//g' -e 's/\\-/-/g' -e "s/\\\\(aq/'/g" -e 's/\\(dq/"/g' -e 's/\\e/\\/g' replay.1 >plain

# section COMMAND: its part of the page
section() {
    awk -v heading=".SS \"replay $1" 'index($0, heading) == 1 { on = 1; print; next } /^\.S[SH] / { on = 0 } on' plain
}

n_options=0
for command in $(sed -n 's/^COMMAND(\(.*\))$/\1/p' "$source/replay/program/commands.def" | tr _ -); do
    if [ "$command" = replay ]; then
        "$replay" x --help >help
        section 'FILE' >part
    else
        "$replay" "$command" --help >help
        section "$command " >part
    fi
    [ -s part ] || fail "replay $command is not in the page"
    for option in $(sed -n '/^Exit status/q; s/^  \(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p' help); do
        n_options=$((n_options + 1))
        grep -q -e "^\(-., \)\{0,1\}$option\( \|$\)" part || fail "$option of replay $command is not in the page"
    done
done
[ $n_options -gt 100 ] || fail "only $n_options options were found in the helps"
# Every option of the table belongs to a command.
for option in $(sed -n 's/^FLAG([A-Z_]*, "\([a-z-]*\)".*/\1/p' "$source/replay/program/flags.def"); do
    grep -q -e "^\(-., \)\{0,1\}--$option\( \|$\)" plain || fail "--$option is in no command"
done
for heading in NAME SYNOPSIS DESCRIPTION 'EXIT STATUS' PRIVACY FILES ENVIRONMENT; do
    grep -q -x "\.SH $heading" replay.1 || fail "the page has no section $heading"
done

for job in why predict fit tune; do
    sed -n '/^\.SH DESCRIPTION/,/^\.S[HS] [^D]/p' plain | grep -q "^    replay $job " ||
        fail "the page does not open with what people come for: $job"
done

if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww -z replay.1 >warnings 2>&1
    [ -s warnings ] && fail "groff: $(head -n 5 warnings)"
fi
if command -v mandoc >/dev/null; then
    mandoc -Tlint -Wwarning replay.1 >warnings 2>&1
    [ -s warnings ] && fail "mandoc: $(head -n 5 warnings)"
fi

[ "$failures" = 0 ]
