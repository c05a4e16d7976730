#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# replay record: its exit status, the names of traces, and what is left over and what is not.
set -u
replay=$1
program=$2/tests/record/record_program
export LD_LIBRARY_PATH=$2/tests/record/fake
. "$3/tests/shell.sh"

# ---- one process and device: the trace has the name that was given ----
expect 0 'driver.trace: process [0-9]* (record_program ...), device 0: 2 requests, 0 refused' \
    record -o driver.trace -- "$program" driver log
expect 0 'source  *cuda-calls' info driver.trace
expect 0 'requested at most  *7.88 KiB (8072 bytes)' info driver.trace

# ---- arguments may be passwords: they are kept only if that is asked for ----
expect 0 'requests' record -o secret.trace -- "$program" driver log --token=hunter2
! strings secret.trace | grep -q hunter2 || fail "the recording holds an argument of the program"
! "$replay" info secret.trace | grep -q 'hunter2' || fail "the recording tells an argument of the program"
expect 0 'requests' record -o asked.trace --command-line -- "$program" driver log --token=hunter2
"$replay" info asked.trace | grep -q 'token=hunter2' || fail "--command-line keeps no arguments"

expect 0 'requests' record -o file.trace -- "$program" driver log "$3/LICENSE"
! "$replay" info file.trace | grep -q LICENSE || fail "an argument that is a file's name is kept"
export REPLAY_RECORD_COMMAND_LINE=0
expect 0 'requests' record -o zero.trace -- "$program" driver log --token=hunter2
unset REPLAY_RECORD_COMMAND_LINE
! strings zero.trace | grep -q hunter2 || fail "REPLAY_RECORD_COMMAND_LINE=0 keeps the arguments"

# ---- a title, written over arguments and environment: nothing is lost, and only its first word is kept ----
rm log
expect 0 'title.trace: process [0-9]* (vllm ...), device 0: [0-9,]* requests' \
    record -o title.trace -- "$program" title log
! strings title.trace | grep -q hunter3 || fail "the recording holds what a title tells"
[ "$("$replay" info title.trace --json - | sed -n 's/^  "events": \([0-9]*\),$/\1/p')" = "$(grep -c . log)" ] ||
    fail "calls of a program with a title are missing"

touch token=hunter2
cat >call.py <<'P'
import ctypes
ctypes.CDLL("libcuda.so.1").cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), 1000)
P
"$replay" record -o piped.trace -- python3 - token=hunter2 <call.py >out 2>&1 || fail "from a pipe: $(cat out)"
! "$replay" info piped.trace | grep -q hunter2 || fail "an argument of a script from standard input is kept"
expect 0 'call.py' record -o script.trace -- python3 call.py

# ---- a line's end in a name adds no line to what is said ----
expect 0 'two?lines: process' record -o $'two\nlines' -- "$program" driver log

# ---- a journal holds addresses and a command line: it is for its owner alone, whatever its mask takes away ----
expect 0 '^600$' record -o mode.trace -- sh -c '"$0" driver log; stat -c %a "$REPLAY_RECORD_DIR"/*.calls' "$program"
expect 0 '^600$' record -o mask.trace -- sh -c \
    '(umask 0777; exec "$0" driver /dev/null); stat -c %a "$REPLAY_RECORD_DIR"/*.calls' "$program"

# ---- a link that waits under a journal's name is neither written nor removed; ----
# ---- the journals stay for a person to look at ----
# shellcheck disable=SC2016
expect 2 'linked.trace.calls/' record -o linked.trace -- sh -c \
    'for n in 0 1 2; do ln -s "$PWD/victim" "$REPLAY_RECORD_DIR/$$.$n.calls"; done; exec "$0" driver log' "$program"
[ ! -e victim ] || fail "the recorder wrote through a link"
[ "$(find linked.trace.calls -type f -name '*.calls' | wc -l)" = 1 ] ||
    fail "no journal beside the links: $(ls -l linked.trace.calls)"
rm -rf linked.trace.calls

# ---- nor is the trace that grows beside a journal; an output whose name cannot be looked at is refused ----
# shellcheck disable=SC2016
expect 143 'no trace grows with it: .*File exists' record -o linked.trace -- sh -c '
    ln -s "$PWD/victim" "$REPLAY_RECORD_DIR/$$.0.gpu0.zst"
    (while ! test -s log.lasting; do sleep 0.1; done; sleep 1; kill $$) &
    exec "$0" lasting log' "$program"
[ ! -e victim ] || fail "the recorder grew a trace through a link"
rm -rf linked.trace.calls log.lasting
ln -s loop loop
expect 3 'loop: cannot be written: Too many levels' info driver.trace --json loop

# ---- several: the process is in the names if there are several, the device if the process used several ----
expect 0 'requests' record -o two.trace.zst -- "$program" kinds log
[ "$(find . -name 'two.trace.gpu[01].zst' | wc -l)" = 2 ] || fail "two devices: $(ls)"
expect 0 'requests' record -o forked -- "$program" fork log
[ "$(find . -name 'forked.[0-9]*' | wc -l)" = 2 ] || fail "two processes: $(ls)"

expect 0 'requests' record -o contexts -- "$program" contexts log
[ "$(find . -name 'contexts.gpu[01]' | wc -l)" = 2 ] || fail "a context of another device: $(ls)"

# ---- another library that stands before the driver calls the driver, not us again ----
cat >before_driver.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
int cuMemAlloc_v2(unsigned long long *out, unsigned long bytes);
int cuMemAlloc_v2(unsigned long long *out, unsigned long bytes)
{
    return ((int (*)(unsigned long long *, unsigned long))dlsym(RTLD_NEXT, "cuMemAlloc_v2"))(out, bytes);
}
C
cc -shared -fPIC -o before_driver.so before_driver.c
# shellcheck disable=SC2016
behind_us='LD_PRELOAD=$LD_PRELOAD:./before_driver.so; exec "$@"'
expect 0 ': 1 requests' record -o before.trace -- sh -c "$behind_us" sh python3 call.py
expect 0 'device 0: 2 requests' record -o before.trace -- sh -c "$behind_us" sh "$program" driver log

# ---- a call that a signal handler jumped out of has no end; those after it are recorded ----
FAKE_CUDA_SLOW_US=10000000 expect 0 'device 0: 2 requests' record -o jumped.trace -- "$program" jumping log

# ---- a program that gives up its rights or its root is recorded to its end ----
# expect_all WHAT: record_program WHAT ends well, and all its calls are in the trace
expect_all() {
    : >log
    expect 0 "$1.trace: process" record -o "$1.trace" -- "$program" "$1" "$work/log"
    [ "$("$replay" info "$1.trace" --json - | sed -n 's/^  "events": \([0-9]*\),$/\1/p')" = "$(grep -c . log)" ] ||
        fail "$1: calls are missing: $(cat out)"
}
[ "$(id -u)" = 0 ] && expect_all dropping && expect_all rooted
expect_all closing

# ---- calls that are missing make the status 3; the program says why, and the trace has the others ----
expect 3 '.calls: File too large: the program goes on' record -o limited.trace --json limited.json -- \
    "$program" limited log
grep -q 'calls of process [0-9]* are missing: its journal could not grow' out || fail "not said: $(cat out)"
grep -q '"lost_calls": [1-9]' limited.json || fail "not in the JSON: $(cat limited.json)"
expect 0 'records are missing: the journal could not grow' info limited.trace

# ---- a process that cannot even make its journal: the same, and no trace ----
(ulimit -f 4; "$replay" record -o full.trace --json full.json -- "$program" driver log) >out 2>&1
status=$?
[ "$status" = 3 ] || fail "a disk without room for a journal: status $status, $(cat out)"
grep -q '[1-9] calls are missing, of processes that could not make a journal' out || fail "not said: $(cat out)"
grep -q '"unrecorded_calls": [1-9]' full.json || fail "not in the JSON: $(cat full.json)"
[ ! -e full.trace.calls ] || fail "left behind: $(find full.trace.calls)"

# ---- a process with another number here, in a PID namespace of its own, has ended all the same ----
if unshare --pid --fork true 2>/dev/null; then
    expect 0 'space.trace: process 1 ' record -o space.trace -- unshare --pid --fork "$program" driver log
    ! grep -q 'still runs' out || fail "process 1 of a namespace that is gone: $(cat out)"
fi

# ---- a pipe under a journal's name is waited for by nobody ----
# shellcheck disable=SC2016
timeout 20 "$replay" record -o pipe.trace -- sh -c '
    mkfifo "$REPLAY_RECORD_DIR/77.0.calls"
    "$0" lasting log &
    while ! test -s log.lasting; do sleep 0.1; done
    sleep 1; kill $!; wait; :' "$program" >out 2>&1
status=$?
[ "$status" = 0 ] || fail "a pipe among the journals: exit $status, $(cat out)"
grep -q '77.0.calls: is not a regular file' out || fail "the pipe is not named: $(cat out)"
[ -e pipe.trace ] || fail "no trace beside a pipe"
rm -rf pipe.trace.calls log.lasting

# ---- nobody reads what is said ----
"$replay" record -o unread.trace -- sh -c "sleep 0.3; \"$program\" driver log" 2>&1 | true
[ -e unread.trace ] || fail "no trace if nobody reads what is said"

# ---- the same as JSON, with the keys that report/SCHEMA.md names ----
json_keys() { grep -o '^ *"[a-z_]*":' "$1" | tr -d ' ":' | sort -u; }
expect 0 'requests' record -o json.trace --json made.json -- "$program" driver log
for pattern in '"status": 0,' '"path": "json.trace",' '"holds": "calls",' '"requests": 2,' '"is_running": false,'; do
    grep -q "$pattern" made.json || fail "$pattern is not in the JSON: $(cat made.json)"
done
sed -n '/replay-record\/1`$/,/^## .*run-sim/p; /^### recorded_file/,/^### filled_step/p' "$3/report/SCHEMA.md" |
    sed -n 's/^| `\([^`]*\)`.*/\1/p' | sed 's/.*\.//' | sort -u >promised
json_keys made.json >found
cmp -s promised found || fail "keys: $(diff promised found)"
expect 2 'standard output belongs to the program' record -o json.trace --json - -- "$program" driver log

# ---- the exit status is the program's ----
expect 8 'it must not fit\|no memory' record -o status.trace -- env FAKE_CUDA_BYTES=100 "$program" fork log
expect 137 'killed.trace: process' record -o killed.trace -- "$program" killed log
expect 5 'no calls for CUDA memory' record -o nothing.trace -- sh -c 'exit 5'
[ ! -e nothing.trace ] || fail "a trace of nothing"
expect 2 'cannot be started' record -o nothing.trace -- ./no-such-program
expect 0 'no calls' record -o nothing.trace -- "$program" nothing log

# ---- a name that no trace can have is refused before the program runs ----
mkdir -p a-folder && mkfifo -m 600 a-pipe
for name in a-folder a-folder/ a-pipe '' /dev/null; do
    timeout 20 "$replay" record -o "$name" -- touch has-run >out 2>&1
    status=$?
    [ "$status" = 2 ] && grep -q 'does not name a regular file' out || fail "-o '$name': status $status, $(cat out)"
done
[ ! -e has-run ] || fail "the program ran although there is no place for its trace"
rm -rf a-folder a-pipe

# ---- nothing else is left over ----
[ -z "$(find . -name '*.calls')" ] || fail "left behind: $(find . -name '*.calls')"

# ---- empty journals, of processes that were killed before they wrote; no process has these numbers ----
expect 0 'empty.trace: process [0-9]* .*: 2 requests' record -o empty.trace -- sh -c '
    : >"$REPLAY_RECORD_DIR/4194305.0.calls"
    head -c 1048576 /dev/zero >"$REPLAY_RECORD_DIR/4194306.0.calls"
    "$0" driver log' "$program"
[ "$(grep -c 'calls: is empty' out)" = 2 ] || fail "two journals are empty: $(cat out)"
[ ! -e empty.trace.calls ] || fail "left behind: $(find empty.trace.calls)"

# ---- the recorder itself is killed: the journal stays and can be replayed ----
"$replay" record -o cut.trace -- sh -c "\"$program\" driver log; kill -9 \$(ps -o ppid= -p \$PPID)" >out 2>&1
[ "$(find cut.trace.calls -name '*.calls' -type f | wc -l)" = 1 ] || fail "the journal of a killed recorder is gone"
expect 0 '^none ' cut.trace.calls/*.0.calls --policy none
expect 2 'from a run that was cut off' record -o cut.trace -- "$program" driver log

# ---- a process that outlives the program that started it ----
expect 0 'still runs' record -o outlived.trace -- \
    sh -c "\"$program\" lasting log & while ! test -s log.lasting; do sleep 0.05; done"
kill "$(cat log.lasting)"

# ---- a signal to the recorder is passed on to the program; what was recorded is there ----
# expect_ended NAME SIGNAL [VARIABLE=VALUE]: a recording NAME.trace whose recorder, in that environment, gets SIGNAL
expect_ended() {
    rm -f log.lasting
    env --default-signal "${@:3}" "$replay" record -o "$1.trace" -- "$program" lasting log >out 2>&1 &
    recorder=$!
    while ! test -s log.lasting; do sleep 0.05; done
    kill -s "$2" "$recorder"
    wait "$recorder"
    [ "$?" = $((128 + $(kill -l "$2"))) ] || fail "$1: a command that SIG$2 ended: $(cat out)"
    expect 0 'alloc  *2' info "$1.trace"
}
for signal in TERM HUP INT QUIT USR1 USR2; do expect_ended "running$signal" "$signal"; done

# ---- the program inherits the signals that were ignored for the recorder, as nohup and shells do; no other ----
for ignored in HUP INT PIPE CHLD USR1 TERM; do
    env --default-signal --ignore-signal="$ignored" grep SigIgn /proc/self/status >alone
    env --default-signal --ignore-signal="$ignored" "$replay" record -o ignored.trace -- grep SigIgn /proc/self/status \
        >recorded 2>err
    status=$?
    [ "$status" = 0 ] || fail "a recorder for which SIG$ignored is ignored: status $status, $(cat err)"
    cmp -s alone recorded || fail "a program whose recorder ignores SIG$ignored: $(cat alone recorded)"
done
rm -f log.lasting
nohup "$replay" record -o nohup.trace -- "$program" lasting log >out 2>&1 &
recorder=$!
while ! test -s log.lasting; do sleep 0.05; done
kill -HUP "$recorder" "$(cat log.lasting)"
sleep 0.3
kill -0 "$(cat log.lasting)" 2>/dev/null || fail "a program under nohup is ended by SIGHUP: $(cat out)"
kill -TERM "$recorder"
wait "$recorder"

# ---- while the program runs, and after any kill, a native trace has all but the last second ----
events() { "$replay" info "$1" --json - | sed -n 's/^  "events": \([0-9]*\),$/\1/p'; }

# record_slowly: starts a recording in a group of its own, and waits until its trace is there
record_slowly() {
    rm -rf slow.trace* log
    setsid "$replay" record -o slow.trace -- "$program" slow log >slow.out 2>&1 &
    recorder=$!
    growing=
    for _ in $(seq 100); do
        growing=$(find . -path './slow.trace.calls/*.0.gpu0.zst')
        [ -n "$growing" ] && return
        sleep 0.1
    done
    fail "no trace while it runs: $(ls slow.trace.calls)"
}

# kill_later WHOM: waits a second, then kills; calls that had returned before that second must be in the trace
kill_later() {
    local before after
    before=$(wc -l <log)
    sleep 1
    kill -KILL "$@"
    wait "$recorder" 2>/dev/null
    after=$(events "$growing")
    [ "${after:-0}" -ge "$before" ] ||
        fail "killed $*: $before calls had returned a second before, ${after:-none} are there"
}

# expect_journal: the journal has every call that has returned
expect_journal() {
    local said in_journal
    said=$(wc -l <log)
    in_journal=$(events "${growing%.gpu0.zst}.calls")
    [ "${in_journal:-0}" -ge "$said" ] || fail "the journal has $in_journal of $said calls"
}

record_slowly
[ "$(stat -c %a "$growing")" = 600 ] || fail "a trace that grows is for others, too: $(ls -l "$growing")"
[ "$(stat -c %a slow.trace.calls)" = 700 ] || fail "others may look into the folder: $(ls -ld slow.trace.calls)"
sleep 1
expect 0 '^unfinished ' info "$growing"
expect 0 'source  *cuda-calls' info "$growing"
expect 0 'the trace is unfinished' "$growing" --policy none
expect 0 'the trace is unfinished' "$growing" --policy best-fit --audit
sleep "0.$((RANDOM % 900 + 100))"
kill_later "-$recorder"
expect_journal
expect 0 '^none ' "$growing" --policy none
expect 0 '^none ' slow.trace.calls/*.calls --policy none

for _ in 1 2; do
    record_slowly
    sleep "0.$((RANDOM % 900 + 100))"
    kill_later "-$recorder"
    expect_journal
done

record_slowly                                        # the recorder alone: the program goes on, and so does its journal
kill_later "$recorder"
kill -KILL "-$recorder"
expect_journal

record_slowly                                        # the program alone: the trace is made as usual
kill -KILL "$(basename "$growing" .0.gpu0.zst)"
wait "$recorder"
[ $? = 137 ] || fail "a program that was killed: $(cat slow.out)"
[ "$(events slow.trace)" -ge "$(wc -l <log)" ] || fail "calls are missing from the trace of a program that was killed"
[ ! -e slow.trace.calls ] || fail "left behind: $(find slow.trace.calls)"

find_asan "$2"

# ---- a signal that comes before the recorder knows the program's number is passed on, too ----
cat >slow_fork.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>
pid_t fork(void)
{
    pid_t (*const real)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");
    const pid_t pid = real();
    if (pid > 0)
        nanosleep(&(struct timespec){.tv_nsec = 900000000}, NULL);
    return pid;
}
C
cc -shared -fPIC -o slow_fork.so slow_fork.c
expect_ended starting TERM LD_PRELOAD="${asan:+$asan:}$work/slow_fork.so"

# ---- on the simulated card ----
simulated() { LD_PRELOAD=$asan XDG_CACHE_HOME=$work/cache expect "$@"; }
simulated 0 'simulated.trace: process [0-9]* .*: 2 requests, 0 refused' \
    record -o simulated.trace --simulate sim:1GiB -- "$program" driver log
expect 0 'device capacity  *1 GiB' info simulated.trace
cp "$program" $'two\nwords'
simulated 0 'two?words ended' run-sim -- $'./two\nwords' driver log
simulated 2 'tpu' record -o x.trace --simulate tpu:1GiB -- "$program" driver log
[ -z "$(find . -name 'x.trace*')" ] || fail "left behind: $(find . -name 'x.trace*')"

simulated 0 'device 0: peak 8 KiB of 1 GiB\|cudaMalloc\|: 2 requests' \
    record --record same.trace --device 1GiB -- "$program" driver log
expect 0 'device capacity  *1 GiB' info same.trace
simulated 0 'same2.zst: process [0-9]* (record_program ...), device 0: 2 requests' \
    run-sim --simulate 1GiB -o same2.zst -- "$program" driver log

# ---- PyTorch's snapshots, as its hook leaves them ----
snapshot=$3/tests/data/layouts/2.12.1.pickle
expect 0 "torch.oom.zst: PyTorch's requests, process" record -o torch.zst --torch -- sh -c '
    cp "$1" "$REPLAY_TORCH_RECORD/$$.pickle"
    cp "$1" "$REPLAY_TORCH_RECORD/$$.oom.pickle"
    exec "$0" driver log' "$program" "$snapshot"
for file in torch.zst torch.driver.zst torch.pickle torch.oom.zst torch.oom.pickle; do
    [ -e "$file" ] || fail "$file is missing: $(cat out)"
done
[ ! -e torch.zst.calls ] || fail "left behind: $(find torch.zst.calls)"

# ---- the journal's description names every kind of record with its number ----
kinds=$(sed -n '/^enum call_kind/,/CALL_KINDS/p' "$3/capture/call_journal.h" | sed -n 's/^ *CALL_\([A-Z_]*\),.*/\1/p')
number=0
for kind in $kinds; do
    [ "$kind" = NONE ] || grep -q "^| $number | $kind |" "$3/capture/JOURNAL.md" ||
        fail "capture/JOURNAL.md does not say that $number is $kind"
    number=$((number + 1))
done
[ "$number" -gt 20 ] || fail "$number kinds of records were found"

# ---- wrong usage ----
expect 2 'mean the same: give one' record -o x.trace --record y.trace -- "$program" driver log
expect 2 'mean the same: give one' run-sim --device 1GiB --simulate 2GiB -- "$program" driver log
expect 2 'torch-libs is for a program on a simulated card' record -o x.trace --torch-libs . -- "$program" driver log
expect 2 'not standard output' run-sim -o - -- "$program" driver log
expect 2 'record needs a name' record -- "$program" driver log
expect 2 'the program is missing' record -o x.trace
expect 2 'not standard output' record -o - -- "$program" driver log
expect 0 'Examples:' record --help

printf '%d failures\n' "$failures"
[ "$failures" = 0 ]
