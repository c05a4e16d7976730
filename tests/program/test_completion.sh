#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# The completions for bash, zsh and fish offer every command, and every option where --help has it and nowhere else.
set -uo pipefail
replay=$1
source=$(cd "$3" && pwd)
. "$source/tests/shell.sh"

for shell in bash zsh fish; do
    "$replay" --completion "$shell" >"script.$shell" || fail "no completion for $shell"
    command -v "$shell" >/dev/null || continue
    "$shell" -n "script.$shell" 2>said || fail "$shell: $(cat said)"
    [ -s said ] && fail "$shell: $(cat said)"
done
expect 2 "--completion takes bash, zsh or fish, not 'ksh'" --completion ksh
expect 2 '--completion takes bash, zsh or fish' --completion

# help_of COMMAND: its options, sorted
help_of() {
    "$replay" "$@" --help | sed -n '/^Exit status/q; s/^  \(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p' | sort
}

# bash's own answer to a word that is being typed after these
offer() {
    COMP_WORDS=(replay "$@")
    COMP_CWORD=$#
    _replay
    printf '%s\n' "${COMPREPLY[@]}" | sort
}
# shellcheck source=/dev/null
. ./script.bash

commands=$(sed -n 's/^COMMAND(\(.*\))$/\1/p' "$source/replay/program/commands.def" | grep -v -x replay | tr _ -)
mkdir folder && touch folder/a.zst
# shellcheck disable=SC2086
[ "$(cd folder && offer '')" = "$(printf '%s\n' $commands a.zst | sort)" ] ||
    fail "bash offers as commands and files: $(cd folder && offer '')"
n_options=0
for command in $commands; do
    help_of "$command" >want
    n_options=$((n_options + $(wc -l <want)))
    offer "$command" x -- >got
    cmp -s want got || fail "bash: $command: $(diff want got)"
    sed -n "/^    $command) /,/;;\$/s/^        '\*\(--[a-z-]*\)\[.*/\1/p" script.zsh | sort >got
    cmp -s want got || fail "zsh: $command: $(diff want got)"
    sed -n "s/^complete -c replay -n \"__fish_seen_subcommand_from $command\" -l \([a-z-]*\) .*/--\1/p" script.fish |
        sort >got
    cmp -s want got || fail "fish: $command: $(diff want got)"
done
[ "$n_options" -gt 100 ] || fail "only $n_options options were found"
help_of x >want
offer x -- >got
cmp -s want got || fail "bash: without a command: $(diff want got)"
[ "$(offer fi)" = fit ] || fail "bash completes fi to $(offer fi)"
[ "$(offer fit x --pr)" = --price ] || fail "bash completes fit x --pr to $(offer fit x --pr)"

# The values of an option that takes some words alone
[ "$(offer replay x --on-oom s)" = "$(printf 'skip\nstop')" ] || fail "bash: --on-oom s: $(offer replay x --on-oom s)"
grep -q "'\*--on-oom\[.*\]:stop|skip:(stop skip)'" script.zsh || fail "zsh does not offer the words of --on-oom"
grep -q -- "-l on-oom -r -d '.*' -f -a 'stop skip'\$" script.fish || fail "fish does not offer the words of --on-oom"

[ "$failures" = 0 ]
