#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# `replay run-sim` with programs of many kinds: what they see, what is recorded, and how they may end. They open the
# runtime by its name, so nothing in them is made for us.
set -u
replay=$1
build=$2
. "$3/tests/programs.sh"

# program NAME: compiles the main() on standard input, after what all programs share.
program() {
    {
        cat <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *library(const char *name)
{
    void *l = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (l == NULL) {
        puts(dlerror());
        exit(99);
    }
    return l;
}
#define CALL(l, name, ...) ((int (*)())dlsym(l, #name))(__VA_ARGS__)
C
        cat
    } >"$1.c"
    cc -w -o "$1" "$1.c" -ldl -lpthread || exit 1
}

program runtime <<'C'
int main(void)
{
    void *l = library("libcudart.so.12"), *p[10], *q;
    for (int i = 0; i < 10; i++)
        if (CALL(l, cudaMalloc, &p[i], (size_t)(i + 1) << 20) != 0)
            return 1;
    for (int i = 0; i < 9; i++)
        CALL(l, cudaFree, p[i]);
    return CALL(l, cudaMalloc, &q, (size_t)1 << 40) == 2 ? 7 : 1;
}
C
program driver <<'C'
int main(void)
{
    void *l = library("libcuda.so.1");
    unsigned long p[5], context;
    if (CALL(l, cuInit, 0) != 0 || CALL(l, cuCtxCreate_v2, &context, 0, 1) != 0)
        return 1;
    for (int i = 0; i < 5; i++)
        if (CALL(l, cuMemAlloc_v2, &p[i], (size_t)3 << 20) != 0)
            return 1;
    return 0;
}
C
program unknown <<'C'
int main(void)
{
    void *l = library("libcudart.so.13");
    return CALL(l, cudaImportExternalMemory, NULL, NULL) == 801 && CALL(l, cudaArrayGetPlane, 0, 0, 0) == 801 ? 0 : 1;
}
C
program killed <<'C'
static void *work(void *l)
{
    for (int i = 0; i < 1000; i++) {
        void *p;
        CALL(l, cudaMalloc, &p, (size_t)1 << 20);
    }
    return NULL;
}
int main(void)
{
    void *l = library("libcudart.so.11.0");
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, work, l);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    kill(getpid(), SIGKILL);
}
C
program forks <<'C'
int main(void)
{
    void *l = library("libcudart.so.12"), *p;
    int status;
    if (CALL(l, cudaMalloc, &p, (size_t)1 << 20) != 0)
        return 1;
    const pid_t pid = fork();
    if (pid == 0)
        _exit(CALL(l, cudaMalloc, &p, (size_t)1 << 20));
    waitpid(pid, &status, 0);
    return CALL(l, cudaFree, p) == 0 ? WEXITSTATUS(status) : 1;
}
C
# Before the parent's first call, by the system call itself: the child has a card and a journal of its own. After it:
# the child is told that CUDA is gone.
program bare_fork <<'C'
#include <sys/syscall.h>
int main(void)
{
    void *l = library("libcudart.so.12"), *p;
    int first, second;
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        _exit(CALL(l, cudaMalloc, &p, (size_t)1 << 20));
    waitpid(pid, &first, 0);
    if (CALL(l, cudaMalloc, &p, (size_t)2 << 20) != 0)
        return 1;
    pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        _exit(CALL(l, cudaMalloc, &p, (size_t)4 << 20) == 3 && CALL(l, cudaArrayGetPlane) != 0 ? 0 : 1);
    waitpid(pid, &second, 0);
    return first == 0 && second == 0 ? 0 : 1;
}
C
# A title is written over arguments and environment, as setproctitle does.
program title <<'C'
int main(int argc, char **argv)
{
    static const char title[] = "vllm --api-key hunter3";
    void *l = library("libcudart.so.12"), *p;
    extern char **environ;
    char *end = argv[0];
    for (char **text = argv; *text != NULL; text++)
        end = *text + strlen(*text) + 1;
    for (char **text = environ; *text != NULL; text++)
        end = *text == end ? *text + strlen(*text) + 1 : end;
    memset(argv[0], 0, end - argv[0]);
    memcpy(argv[0], title, sizeof title);
    return CALL(l, cudaMalloc, &p, (size_t)1 << 20);
}
C
program children <<'C'
int main(void)
{
    for (int i = 0; i < 2; i++)
        if (fork() == 0)
            execl("./runtime", "runtime", NULL);
    int status, sum = 0;
    while (wait(&status) > 0)
        sum += WEXITSTATUS(status);
    return sum;
}
C

program replaces <<'C'
int main(int argc, char **argv)
{
    void *l = library("libcudart.so.12"), *p;
    if (CALL(l, cudaMalloc, &p, (size_t)(argc == 1 ? 512 : 1) << 20) != 0)
        return 1;
    if (argc == 1)
        execl("./replaces", "replaces", "again", NULL);
    return 0;
}
C

program pools <<'C'
int main(void)
{
    void *l = library("libcudart.so.12"), *p;
    for (int i = 0; i < 3; i++) {
        if (CALL(l, cudaMallocAsync, &p, (size_t)8 << 20, (void *)0) != 0 || CALL(l, cudaFreeAsync, p, (void *)0) != 0)
            return 1;
        CALL(l, cudaDeviceSynchronize);              /* the pool gives its unit back */
        CALL(l, cudaDeviceSynchronize);              /* this one changes nothing */
    }
    return 0;
}
C

# expect_files COUNT PATTERN: this many names match.
expect_files() {
    local found
    mapfile -t found < <(compgen -G "$2")
    if [[ ${#found[@]} -ne $1 ]]; then
        printf 'FAILED: %d files instead of %d are named %s\n' "${#found[@]}" "$1" "$2"
        failed=1
    fi
}

expect 'the exit status is the program'\''s' 7 'ended with status 7' "$replay" run-sim --device sim:1GiB -- ./runtime
expect 'a program that fails has no range' 7 '--ends: the program was interrupted or failed' \
    "$replay" run-sim --ends --json ends.json -- ./runtime
expect 'in JSON too' 0 '"peak_range": null' cat ends.json
expect 'a program without CUDA ends as it does' 0 'no calls for CUDA memory were recorded' \
    "$replay" run-sim --record none.zst -- true
expect 'and fails as it does' 1 'no calls for CUDA memory were recorded' "$replay" run-sim --record none.zst -- false
expect 'a refusal is counted' 7 '1 was refused for lack of memory, the last for 1 TiB' \
    "$replay" run-sim --device sim:1GiB -- ./runtime
expect 'calls are no requests' 7 '2 were refused for lack of memory, the last for 1 TiB (PyTorch calls twice before' \
    "$replay" run-sim --device sim:1GiB -- sh -c './runtime; ./runtime'
expect 'what a pool gives back is not held' 0 'device 0: peak 32 MiB of' \
    "$replay" run-sim --device 1GiB -o pools.zst -- ./pools
expect 'when the program waits is recorded, if it matters to the pool' 0 'control              3' \
    "$replay" info pools.zst
expect 'why says that these are no requests to PyTorch' 0 "the program's calls to the driver" "$replay" why pools.zst
expect 'and so does tune' 0 "the program's calls to the driver" "$replay" tune pools.zst
expect 'and verify has nothing to verify' 2 "calls to the driver, not what PyTorch's allocator decided" \
    "$replay" verify pools.zst
expect 'so a replay takes its unit and gives it back three times' 0 'the cost of 13 driver calls' \
    "$replay" pools.zst --policy cuda-async
expect 'a journal is for its owner alone' 0 '600' \
    "$replay" run-sim -- sh -c './runtime; stat -c %a "$REPLAY_CUDASIM_JOURNAL"/*.calls'
expect 'a program without CUDA runs as it is' 0 '0 processes used' "$replay" run-sim -- true
expect 'arguments go on unchanged' 3 'a  b|--json' \
    "$replay" run-sim -- sh -c 'printf "%s|%s\n" "$1" "$2"; exit 3' sh 'a  b' --json
expect 'the libraries are in nobody else'\''s way' 99 'libcudart.so.12' ./runtime
expect 'the driver alone, on the second device' 0 'device 1: peak 15 MiB of 1 GiB' \
    "$replay" run-sim --device sim:1GiB,count=2 -- ./driver
expect 'entry points that are not simulated are named, in order' 0 \
    $'not simulated (their calls failed): cudaArrayGetPlane\n    cudaImportExternalMemory' \
    "$replay" run-sim --device sim:1GiB -- ./unknown
expect 'the child of a fork is told that CUDA is gone' 3 'ended with status 3' \
    "$replay" run-sim --device sim:1GiB -- ./forks
expect 'children of the bare system call have journals of their own' 0 '2 processes used' \
    "$replay" run-sim --device sim:1GiB -- ./bare_fork
expect 'a program with a title is on the card that was asked for' 0 ' (vllm ...), device 0: 1 requests' \
    "$replay" run-sim --device sim:3GiB -o title.zst -- ./title
expect 'and its trace says so' 0 'device capacity        3 GiB' "$replay" info title.zst
expect 'a program that is not there' 2 "'./nowhere' cannot be started" "$replay" run-sim -- ./nowhere
expect 'a wrong device' 2 'count= is a number' "$replay" run-sim --device sim:1GiB,count=99 -- true
expect 'a card without an end' 2 'needs a capacity' "$replay" run-sim --device sim:unlimited -- true
expect 'no command' 2 'the program is missing' "$replay" run-sim

expect 'what is recorded' 7 ': process ' "$replay" run-sim --device sim:1GiB --record r.zst -- ./runtime
expect 'is all there' 0 'alloc                10' "$replay" info r.zst
expect 'and its refusal' 0 'oom                  1' "$replay" info r.zst
expect 'killed with -9 in mid-run' 137 ': process ' \
    "$replay" run-sim --device sim:8GiB --record k.zst -- ./killed
expect 'every call that returned is there' 0 'alloc                4000' "$replay" info k.zst
expect 'several processes' 14 ': process ' "$replay" run-sim --device sim:1GiB --record c.zst -- ./children
expect_files 2 'c.*.zst'
expect 'a program that replaces itself' 0 '1 process used' \
    "$replay" run-sim --device sim:1GiB --record e.zst -- ./replaces
expect_files 2 'e.*.zst'
expect 'has what it became' 0 '1 MiB (1048576 bytes)' "$replay" info e.*-1.zst
rm e.*-1.zst
expect 'and what it was before' 0 '512 MiB (536870912 bytes)' "$replay" info e.*.zst
printf '#!/bin/sh\n./replaces; ./replaces\n' >twice
chmod +x twice
expect 'of two processes the larger peak is shown' 0 'peak 512 MiB' "$replay" run-sim --device sim:1GiB -- ./twice
expect 'and their sum' 0 '    of 2 processes, each on an empty card; their peaks add up to 1 GiB' \
    "$replay" run-sim --device sim:1GiB -- ./twice
expect 'at its peak it held what one of the two did' 0 'peak 512 MiB' "$replay" run-sim --device sim:1GiB -- ./replaces

# A signal may interrupt the taking of room on the disk; that does not mean a full disk.
cat >interrupted.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
int posix_fallocate(int fd, off_t at, off_t bytes)
{
    static unsigned n_calls;
    if (n_calls++ % 2 == 0)
        return EINTR;
    return fallocate(fd, 0, at, bytes) == 0 ? 0 : errno;
}
C
cc -shared -fPIC -o interrupted.so interrupted.c
expect 'interrupted while it takes room for a journal' 7 ': process ' \
    env LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$work/interrupted.so" \
    "$replay" run-sim --device sim:1GiB --record i.zst -- ./runtime
expect 'nothing is missing' 0 'alloc                10' "$replay" info i.zst

# Empty journals: their processes were killed before they wrote, or had no room on the disk.
expect 'an empty journal is left out' 0 '9.0.calls: ' \
    "$replay" run-sim --device sim:1GiB,count=2 --record m.zst -- \
    sh -c ': >"$REPLAY_CUDASIM_JOURNAL/9.0.calls"; ./driver'
expect 'with the trace of another' 0 'alloc                5' "$replay" info m.zst
expect 'one of zeros as well' 0 'peak 15 MiB' \
    "$replay" run-sim --device sim:1GiB,count=2 -- \
    sh -c 'head -c 1048576 /dev/zero >"$REPLAY_CUDASIM_JOURNAL/9.0.calls"; ./driver'
expect 'without room on the disk there is no journal' 0 'calls are missing: a journal could not be made' \
    "$replay" run-sim --device sim:1GiB,count=2 -- \
    sh -c '(ulimit -f 0; ./driver) && [ "$(ls "$REPLAY_CUDASIM_JOURNAL")" = unrecorded ]'
expect 'nor a recording' 3 'calls are missing, of processes that could not make a journal' \
    "$replay" run-sim --device sim:1GiB,count=2 -o none.zst -- sh -c 'ulimit -f 0; exec ./driver'
rm -rf "$TMPDIR"/replay-run-sim-*
"$replay" run-sim --device sim:1GiB -- sh -c 'sleep 0.3; exec ./runtime' 2>&1 | true      # nobody reads what is said
expect_files 0 "$TMPDIR/*"

# A snapshot of PyTorch's, as its hook leaves it, makes the trace of the plain name; the driver's calls stand beside it.
snapshot=$3/tests/data/layouts/2.12.1.pickle
expect 'a snapshot is imported' 0 'p.zst: PyTorch'\''s requests, process' \
    "$replay" run-sim --device sim:1GiB,count=2 --record p.zst -- \
    sh -c 'cp "$0" "$REPLAY_TORCH_RECORD/$$.oom.pickle"; exec ./pools' "$snapshot"
expect 'beside the calls' 0 'alloc                3' "$replay" info p.driver.zst
expect 'and kept' 0 '' cmp p.pickle "$snapshot"
expect_files 3 'p.*'

# How the program ended is that of the whole program: after a signal that it caught, or that ended it, no plain end.
cat >ends.sh <<'SH'
sh -c 'cp "$0" "$REPLAY_TORCH_RECORD/$$.pickle"; exec ./pools' "$1"
exit "$2"
SH
for end in 0:exit 130:interrupted 143:interrupted 1:exit; do
    "$replay" run-sim --device sim:1GiB,count=2 -o e.zst -- sh ends.sh "$snapshot" "${end%:*}" >said 2>&1
    expect "a program with status ${end%:*} has ended: ${end#*:}" 0 "\"ends\": \"${end#*:}\"" \
        "$replay" info e.zst --json -
done
cat >asked.sh <<'SH'
trap 'exit 0' TERM
sh -c 'cp "$0" "$REPLAY_TORCH_RECORD/$$.pickle"; exec ./pools' "$1"
touch asked
while :; do sleep 0.1; done
SH
"$replay" run-sim --device sim:1GiB,count=2 -o e.zst -- sh asked.sh "$snapshot" >said 2>&1 &
asked=$!
until [ -e asked ]; do sleep 0.1; done
kill -TERM $asked
wait $asked
expect 'one that caught the signal was interrupted, whatever its status' 0 '"ends": "interrupted"' \
    "$replay" info e.zst --json -
rm -f e.* ends.sh asked* said

# A profile of JAX's, as its hook leaves it: one request to the allocator of card 0.
expect 'a profile of JAX is imported' 0 'j.zst: JAX'\''s requests, process' \
    "$replay" run-sim --device sim:1GiB,count=2 --record j.zst -- \
    sh -c '"$0" "$REPLAY_TORCH_RECORD/$$.xplane.pb" 1000; exec ./pools' "$3/tests/dryrun/write_profile.py"
expect 'with its requests' 0 'requested at most      1000 B' "$replay" info j.zst
expect 'beside the calls' 0 'alloc                3' "$replay" info j.driver.zst
expect_files 3 'j.*'
# Each command speaks of JAX's own choices, and none of PyTorch's, in text, JSON and page.
of_jax() {
    for command in '' fit tune why; do
        # shellcheck disable=SC2086
        "$replay" $command j.zst >>said || echo "replay $command: status $?"
        # shellcheck disable=SC2086
        "$replay" $command --json j.json j.zst >>said && cat j.json >>said
    done
    "$replay" who j.zst >>said
    "$replay" sweep -o j.db j.zst >>said
    "$replay" report j.db >>said
    "$replay" report --html j.html j.zst >>said
    grep -q jax-async j.html || echo 'the page lacks it'
    grep -q '"is_card_named":true' j.html || echo 'the page takes the card for what PyTorch could have'
    grep -i 'PYTORCH_\|expandable_\|max_split\|best-fit\|roundup_power2' said j.html
    grep -o 'jax-[a-z]*' said | sort -u | tr '\n' ' '
    rm -f j.json j.html j.db said
}
expect "all speak of JAX's own choices" 0 "" test "$(of_jax)" = 'jax-async jax-fraction jax-grow jax-platform '
"$replay" run-sim --device sim:1GiB --record big.zst -- \
    sh -c '"$0" "$REPLAY_TORCH_RECORD/$$.xplane.pb" 10485760; exec ./pools' "$3/tests/dryrun/write_profile.py" \
    2>big.said
expect 'and the library as it comes does, where it runs' 0 'jax as it comes does: it runs on a card of' \
    "$replay" fit j.zst
expect 'fit and tune name one' 0 'jax-fraction=0.95 is the first that runs' "$replay" fit --device sim:13MiB big.zst
expect 'where that is too little another way is advised' 0 'export XLA_CLIENT_MEM_FRACTION=0.95' \
    "$replay" tune --device sim:13MiB big.zst
expect 'as by why' 0 'export XLA_CLIENT_MEM_FRACTION=0.95' "$replay" why --device sim:13MiB big.zst
expect 'in JSON too' 0 '"own_recommended": 2' "$replay" why --device sim:13MiB big.zst --json -
expect 'what no way helps is full' 0 "none of JAX's settings" "$replay" why --device sim:8MiB big.zst
expect 'a share is no obstacle to a smallest card' 0 'runs on a card of' \
    "$replay" fit --policy tf-bfc:growth=off,fraction=0.5 j.zst
expect 'a sweep over both runs each under its own' 0 '9 runs: 9 done now' "$replay" sweep -o both.db p.zst j.zst
expect 'and again none of them' 0 '9 runs: 0 done now, 9 there already' "$replay" sweep -o both.db p.zst j.zst
rm both.db
expect 'blame has no rules for it' 2 "whose rules are not explained" "$replay" blame j.zst
expect 'of one that a signal ended' 0 "JAX's requests" \
    "$replay" run-sim --device sim:1GiB,count=2 --record jcut.zst -- \
    sh -c '"$0" "$REPLAY_TORCH_RECORD/$$.cut.xplane.pb" 1000; exec ./pools' "$3/tests/dryrun/write_profile.py"
expect 'an early end makes it no more than so far' 0 'as far as recorded' "$replay" tune jcut.zst
for command in fit tune why; do
    expect "$command says that its end is missing" 0 'end of the recording is missing' "$replay" $command jcut.zst
done
for command in tune why; do
    expect "and no $command says that nothing needs to be done" 0 'Nothing needs to be done as far as recorded' \
        "$replay" $command jcut.zst
done

# The driver's calls of JAX alone: a library of that name asks. No answer is PyTorch's, and none is made of them.
cat >asks.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
static int (*f(const char *name))() { return (int (*)())dlsym(dlopen("libcuda.so.1", RTLD_NOW), name); }
int ask(unsigned long long bytes)
{
    void *context;
    unsigned long long at;
    f("cuInit")(0);
    f("cuDevicePrimaryCtxRetain")(&context, 0);
    f("cuCtxSetCurrent")(context);
    return f("cuMemAlloc_v2")(&at, bytes);
}
C
cc -w -shared -fPIC -o xla_cuda_plugin.so asks.c -ldl || exit 1
program loads <<'C'
int main(int n, char **words)
{
    void *plugin = library("./xla_cuda_plugin.so");
    for (int i = 1; i < n; i++)
        CALL(plugin, ask, atoll(words[i]));
    return 0;
}
C
of_driver() {
    "$replay" run-sim --device sim:1GiB -o "$1" -- ./loads "$2" "$3" >said 2>&1
    for command in '' info why who 'report --html d.html'; do
        # shellcheck disable=SC2086
        "$replay" $command "$1" >>said 2>&1 || [ $? = 1 ] || echo "replay $command: status $?"    # 1: refused
    done
    "$replay" sweep -o d.db "$1" >>said 2>&1 && "$replay" report d.db >>said
    grep -i 'PyTorch\|best-fit\|expandable_\|max_split' said d.html
    rm d.db d.html
}
expect 'of the calls of JAX to the driver no answer is of PyTorch' 0 '' test -z "$(of_driver d.zst 700000000 1000)"
expect 'nor of one that was refused' 0 '' test -z "$(of_driver refused.zst 900000000 800000000)"
expect 'whose they are is known' 0 '"platform": "jax"' "$replay" info d.zst --json -
expect 'what it took is said' 0 'the program takes 667.57 MiB from the driver' "$replay" why --device sim:100MiB d.zst
expect 'a refusal is no verdict' 0 "the driver refused 762.94 MiB to JAX's allocator" "$replay" why refused.zst
for command in fit tune 'fit --policy best-fit'; do
    # shellcheck disable=SC2086
    expect "no $command" 2 "neither a smallest card nor a setting" "$replay" $command d.zst
done

# What cannot be written is not lost.
expect 'what is no journal' 0 'left there' \
    "$replay" run-sim --device sim:1GiB,count=2 --record o.zst -- \
    sh -c 'echo nothing >"$REPLAY_CUDASIM_JOURNAL/9.0.calls"; ./driver'
expect 'spoils no other' 0 'alloc                5' "$replay" info o.zst
expect 'the driver does not tell what is in use' 0 'takes 15 MiB from the driver at most' "$replay" why o.zst
rm -r "$TMPDIR"/*
# one_line COMMAND...: what it prints, as one line
one_line() { "$@" 2>&1 | tr -s ' \n' ' '; }
expect 'what a real card of that name holds besides' 0 'set that aside: --device rtx3070-8g,context=160MiB ' \
    one_line "$replay" run-sim --device rtx3070-8g -- ./runtime
expect 'a context that was given' 0 '160 MiB for the context and other processes' \
    one_line "$replay" run-sim --device rtx3070-8g,context=160MiB -- ./runtime
mkdir gone
expect 'no place for the trace in the end' 3 'journals are left there' \
    "$replay" run-sim --device sim:1GiB,count=2 --record gone/r.zst -- sh -c 'rmdir gone; ./driver'
expect 'no place for the trace at the start' 3 'nowhere/r.zst: cannot be written: No such file' \
    "$replay" run-sim --device sim:1GiB --record nowhere/r.zst -- touch has-run
expect_files 0 has-run
expect_files 1 "$TMPDIR/replay-journals-*/*.0.calls"
rm -r "$TMPDIR"/*
expect 'what a program puts among the journals is not opened blindly' 0 'is not a regular file, and is left out' \
    timeout 20 "$replay" run-sim --device sim:1GiB,count=2 --record s.zst -- sh -c 'cd "$REPLAY_CUDASIM_JOURNAL"
        mkfifo $$.rank stand-ins; ln -s /etc/passwd $$.pickle; mkdir -p sub/below $$.oom.pickle; cd - && exec ./driver'
expect_files 0 's.pickle'
expect_files 0 "$TMPDIR/replay-*"

# Killed: what the program started ends with it, and the next run removes what is left. With -o the journals stay.
killed_leaves_none() {               # killed_leaves_none ARGUMENTS...
    "$replay" run-sim --device sim:1GiB "$@" -- \
        sh -c 'sleep 97.53 & setsid sh -c "sleep 97.53 & sleep 97.53" & touch started; sleep 97.53' &
    until [ -e started ]; do sleep 0.05; done
    kill -9 $!
    wait $! 2>&1 || true
    rm started
    for _ in $(seq 100); do
        LD_PRELOAD='' pgrep -fx 'sleep 97[.]53' >/dev/null || return 0
        sleep 0.05
    done
    return 1
}
expect 'killed' 0 '' killed_leaves_none
expect_files 1 "$TMPDIR/replay-run-sim-*"
expect 'killed while it records' 0 '' killed_leaves_none -o killed.zst
expect_files 0 "$TMPDIR/replay-run-sim-*/*.calls"
expect_files 1 "$TMPDIR/replay-journals-*"
rm -r "$TMPDIR"/*
expect 'the same as JSON' 7 ': process ' \
    "$replay" run-sim --device sim:1GiB --record j.zst --json j.json -- ./runtime
for pattern in '"schema": "replay-run-sim/1"' '"status": 7,' '"processes": 1,' '"total_bytes": 1073741824,' \
    '"path": "j.zst",' '"holds": "calls",'; do
    expect "$pattern" 0 "$pattern" grep -e "$pattern" j.json
done
for key in $(grep -o '^ *"[a-z_]*":' j.json | tr -d ' ":' | sort -u); do
    expect "report/SCHEMA.md names $key" 0 "$key" grep -e "[\`.]$key\`" "$3/report/SCHEMA.md"
done
expect 'nothing is open in a program that shows all' 0 '"open_sources": []' grep -e '"open_sources"' j.json
expect 'what the program does not show is named' 7 'may move this peak: sizes that' \
    "$replay" run-sim --json open.json -- sh -c '
        printf "sizes\nnonsense\n" >>"$REPLAY_CUDASIM_JOURNAL/open-sources"; exec ./runtime'
expect 'and in the JSON' 0 '"sizes"' grep -A 3 -e '"open_sources"' open.json
expect 'so its peak may be another' 0 '"peak_range": null' grep -e '"peak_range"' open.json
expect 'and no other if nothing is open' 0 '"high_bytes"' grep -A 3 -e '"peak_range": {' j.json
expect 'standard output is taken' 2 "belongs to the program" "$replay" run-sim --json - -- ./runtime

# Stand-ins: a library that needs a cuBLAS, on a machine without one.
mkdir libs
printf 'int cublasCreate_v2(void **h){return 0;} int cublasSgemm_v2(void){return 0;}\n' >blas.c
printf 'libcublas.so.12 { global: *; };\n' >blas.map
cc -shared -fPIC -o libcublas.so.12 -Wl,-soname,libcublas.so.12 -Wl,--version-script=blas.map blas.c
printf 'extern int cublasCreate_v2(void **), cublasSgemm_v2(void);\n' >user.c
printf 'int use(void){void *h = 0; return cublasCreate_v2(&h) == 0 && h != 0 && cublasSgemm_v2() == 0;}\n' >>user.c
cc -shared -fPIC -o libs/libuser.so user.c libcublas.so.12
mkdir programs
printf 'extern int use(void); int main(void){return !use();}\n' >main.c
cc -o programs/linked main.c user.c libcublas.so.12
rm libcublas.so.12
program uses <<'C'
int main(void)
{
    return CALL(library("libs/libuser.so"), use) == 1 ? 0 : 1;
}
C
expect 'without a stand-in it does not load' 99 'libcublas.so.12' ./uses
expect 'with one it works' 0 '0 processes used' "$replay" run-sim --torch-libs libs -- ./uses
expect_mode() { expect "$1 of what is preloaded" 0 "$1" sh -c "stat -c %a '$XDG_CACHE_HOME'/replay/standins/*$2"; }
chmod 777 "$XDG_CACHE_HOME"/replay/standins/*
expect 'a cache to which others may write is closed to them' 0 '0 processes used' \
    "$replay" run-sim --torch-libs libs -- ./uses
expect_mode 755 ''
expect_mode 644 '/*.so*'
chmod 666 "$XDG_CACHE_HOME"/replay/standins/*/*
expect 'what others may have written is not preloaded' 2 'others may write to it' \
    "$replay" run-sim --torch-libs libs -- ./uses
rm -r "$XDG_CACHE_HOME"/replay/standins
expect 'a stand-in is made anew' 0 '0 processes used' "$replay" run-sim --torch-libs libs -- ./uses
expect 'a program that is linked with it, without' 127 'libcublas.so.12' "$replay" run-sim -- programs/linked
expect 'and with one' 0 '0 processes used' "$replay" run-sim --torch-libs programs -- programs/linked

# A wrapper hides which Python runs, and so which torch: its stand-ins come when it is imported. A hook of ours that
# does not know this torch is left out, and the program goes on.
mkdir -p hidden/torch/lib
cp libs/libuser.so hidden/torch/lib
cat >hidden/torch/__init__.py <<'PY'
import ctypes
import os
ctypes.CDLL("libcudart.so.12").cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1))
print("stood in for" if ctypes.CDLL(os.path.dirname(__file__) + "/lib/libuser.so").use() == 1 else "not")
PY
printf '#!/bin/sh\nPYTHONPATH=%s/hidden:$PYTHONPATH exec python3 "$@"\n' "$PWD" >wrapper
chmod +x wrapper
expect 'a wrapper of a Python' 0 'stood in for' "$replay" run-sim -- ./wrapper -c 'import torch'
expect 'it is said' 0 'does nothing): libcublas.so.12' "$replay" run-sim -- ./wrapper -c 'import torch'
printf 'all:\n\t./wrapper -c "import torch"\n' >Makefile
expect 'a Python in a makefile' 0 'stood in for' "$replay" run-sim -- make
expect 'a hook that fails is named' 0 'a hook is left out' "$replay" run-sim -- ./wrapper -c 'import torch'

# --libraries real: an installed NVRTC is the program's. Here it is a library of that soname which says who it is.
mkdir -p toolkit/lib64
printf 'int nvrtcVersion(void){return 42;}\n' >nvrtc.c
printf 'libnvrtc.so.97 { global: *; };\n' >nvrtc.map
cc -shared -fPIC -o toolkit/lib64/libnvrtc.so.97 -Wl,-soname,libnvrtc.so.97 -Wl,--version-script=nvrtc.map nvrtc.c
printf 'extern int nvrtcVersion(int *, int *); int who(void){int a, b; return nvrtcVersion(&a, &b);}\n' >compiles.c
cc -shared -fPIC -o libs/libcompiles.so compiles.c toolkit/lib64/libnvrtc.so.97
program compiles <<'C'
int main(void)
{
    void *p;
    CALL(library("libcudart.so.12"), cudaMalloc, &p, (size_t)1);
    return CALL(library("libs/libcompiles.so"), who);
}
C
run_sim=("$replay" run-sim --torch-libs libs)
export CUDA_HOME=$PWD/toolkit
expect 'the stand-in is the default' 0 $': libcublas.so.12\n    libnvrtc.so.97' "${run_sim[@]}" -- ./compiles
expect 'and has a name' 0 $': libcublas.so.12\n    libnvrtc.so.97' "${run_sim[@]}" --libraries stand-in -- ./compiles
expect 'the real one answers itself' 42 "real libraries, as installed: $CUDA_HOME/lib64/libnvrtc.so.97" \
    "${run_sim[@]}" --libraries real --json real.json -- ./compiles
expect 'JSON says which was which' 0 "$CUDA_HOME/lib64/libnvrtc.so.97" grep -A 1 -e '"real_libraries": ' real.json
expect 'the others are stood in for' 0 'libcublas.so.12' grep -A 1 -e '"stand_ins": ' real.json
export CUDA_HOME=$PWD/nowhere
expect 'none is installed' 0 'none that the program wants' "${run_sim[@]}" --libraries real -- ./compiles
expect 'a library of another kind' 2 "'fake': expected stand-in or real" "${run_sim[@]}" --libraries fake -- ./compiles
unset CUDA_HOME

# A library of NVIDIA's with the runtime in it is named, with what to do.
printf 'extern int cuGetExportTable(const void **, const void *); int start(void){return cuGetExportTable(0, 0);}\n' \
    >whole.c
cc -shared -fPIC -o libcuwhole.so.1 -Wl,-soname,libcuwhole.so.1 whole.c
program needs_whole <<'C'
int main(void)
{
    library("libcuda.so.1");
    return CALL(library("./libcuwhole.so.1"), start) == 801 ? 0 : 1;
}
C
expect 'a library that has the runtime in it' 0 'linked into libcuwhole.so.1 and accepts' \
    "$replay" run-sim -- ./needs_whole
expect 'and what to do' 0 '--torch-libs names the folder' "$replay" run-sim -- ./needs_whole

expect 'work ends when the program waits, if that is asked for' 0 'waits: late' \
    "$replay" run-sim --late-uses -- bash -c 'echo "waits: $REPLAY_CUDASIM_WAITS"'

exit "$failed"
