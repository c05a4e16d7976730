#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# What a person sees on a terminal: no line wider than it, the answer first and last, the winner bold unless unwanted.
set -u
replay=$1
samples=$3/samples
. "$3/tests/shell.sh"

# on_terminal COLUMNS ROWS ARGUMENTS...: the program on a terminal of that size; what it shows goes to the file out.
on_terminal() {
    python3 - "$@" >out <<'END'
import fcntl, os, pty, select, struct, subprocess, sys, termios
columns, rows, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
screen, terminal = pty.openpty()                 # held open here: once closed, Linux may drop what is not read yet
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
os.environ.pop("COLUMNS", None)
os.environ.setdefault("TERM", "xterm")
program = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True)
shown, has_ended = b"", False
while True:
    if select.select([screen], [], [], 0.05)[0]:
        shown += os.read(screen, 65536)
    elif has_ended:
        break
    else:
        has_ended = program.poll() is not None
sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
END
}

export TERM=xterm
unset NO_COLOR COLUMNS
trace=$samples/oom-too-large.trace.zst
for columns in 60 80 100; do
    for command in "" why fit tune; do
        on_terminal $columns 500 "$replay" $command "$trace"
        # A path or a setting that is longer than the line stands alone.
        wide=$(sed 's/\x1b\[[0-9]*m//g' out | awk -v n="$columns" 'length > n && NF > 1 && !/export /')
        [ -z "$wide" ] || fail "replay $command is wider than $columns letters: $wide"
    done
done

# ---- the winner is bold, the others are not ----
trace=$samples/gpt-varlen-default.trace.zst
on_terminal 80 500 "$replay" "$trace" --policy pytorch --policy pytorch:expandable
grep -q $'^\x1b\\[1mpytorch .*\x1b\\[0m$' out || fail "the winner is not bold: $(grep expandable out)"
[ "$(grep -c $'\x1b' out)" = 1 ] || fail 'more than the winner is bold'
NO_COLOR=1 on_terminal 80 500 "$replay" "$trace"
grep -q $'\x1b' out && fail 'bold in spite of NO_COLOR'
TERM=dumb on_terminal 80 500 "$replay" "$trace"
grep -q $'\x1b' out && fail 'bold on a dumb terminal'
"$replay" "$trace" >piped
grep -q $'\x1b' piped && fail 'bold in a pipe'

# ---- the answer stands first, and last if it has scrolled away ----
for rows in 8 500; do
    on_terminal 100 $rows "$replay" verify "$trace" --policy max_split_size_mb:32
    [ "$(head -n 1 out)" = 'not equal' ] || fail "verify begins with: $(head -n 1 out)"
    [ "$(grep -c '^not equal$' out)" = $((rows == 8 ? 2 : 1)) ] ||
        fail "verify on $rows lines says how often whether all is equal"
done
# again ANSWER COLUMNS ARGUMENTS...: the answer stands again on the terminal that is one line too low, and not before.
again() {
    local answer=$1 columns=$2 n
    shift 2
    on_terminal "$columns" 500 "$replay" "$@"
    n=$(awk -v n="$columns" '{ gsub(/\033\[[0-9]*m/, ""); rows += length <= n ? 1 : int((length + n - 1) / n) }
                             END { print rows }' out)
    [ "$(grep -c "$answer" out)" = 1 ] || fail "replay $1 does not say once what it found on a high terminal"
    on_terminal "$columns" $((n + 1)) "$replay" "$@"
    [ "$(grep -c "$answer" out)" = 1 ] || fail "replay $1 of $n lines says it again on $((n + 1)) lines"
    on_terminal "$columns" "$n" "$replay" "$@"
    [ "$(grep -c "$answer" out)" = 2 ] || fail "replay $1 of $n lines does not say it again on $n lines"
}
for columns in 45 80 200; do
    again '^best-fit does as well as any' $columns "$trace"
    again '^not equal$' $columns verify "$trace" --policy max_split_size_mb:32
    again '^all equal$' $columns verify "$trace"
done

# ---- of a large file it is said at once that it is read ----
python3 "$3/tests/make_big_pickle.py" big.pickle 70 shared
on_terminal 80 500 "$replay" sweep big.pickle --policy none -o big.db
[ "$(tr '\r' '\n' <out | sed 's/\x1b\[K//; /^$/d' | head -n 1)" = 'sweep: trace 1 of 1, reading' ] ||
    fail "sweep of a large file begins with: $(head -c 200 out)"
rm big.pickle

# ---- columns that left are named, and --wide brings them back; a pipe has them all ----
on_terminal 80 500 "$replay" "$trace"
grep -q '^Left out here: ' out || fail 'nothing left at 80 columns'
on_terminal 80 500 "$replay" "$trace" --wide
grep -q '^Left out here: ' out && fail '--wide leaves columns out'
grep -q 'allocated  active' out || fail '--wide does not show all columns'
grep -q 'allocated  active' piped || fail 'a pipe does not get all columns'
COLUMNS=80 "$replay" "$trace" >narrow
grep -q '^Left out here: ' narrow || fail 'COLUMNS is not read'

[ "$failures" = 0 ]
