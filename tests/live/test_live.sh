#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
# The live allocator (libreplay-alloc.so) on the simulated CUDA makes the same driver calls, one by one, as a replay of
# the same requests makes on the simulated device.
set -u
replay=$1
build=$2
source=$3
. "$3/tests/shell.sh"
find_asan "$build"
export XDG_CACHE_HOME=$work/cache

# live POLICY DEVICE [MIB]: runs the program and compares its driver calls with those of a replay of its requests.
live() {
    local policy=$1 device=$2
    rm -rf driver.trace log
    if ! REPLAY_POLICY=$policy LD_PRELOAD=$asan "$replay" record -o driver.trace --simulate "$device" -- \
            "$build/tests/record/live_program" "$build/libreplay-alloc.so" log "${3-40}" >out 2>&1; then
        fail "$policy on $device: $(cat out)"
        return
    fi
    if ! "$build/tests/compare_calls" driver.trace "$policy" "$device" log live >same 2>&1; then
        fail "$policy on $device: $(cat same)"
    fi
    printf '%s on %s: %s; %d refused\n' "$policy" "$device" "$(cat same)" "$(grep -c '^O' log)"
}

cc -std=c11 -fPIC -shared -O2 -D_GNU_SOURCE -I "$source" -o page_fit.so "$source/examples/policy/page_fit.c" || exit 1
live pytorch sim:24GiB
live pytorch:max-split=32MiB sim:24GiB
live none sim:24GiB
live ./page_fit.so:page=64KiB sim:24GiB
live pytorch sim:512MiB 120
grep -q '^O' log || fail 'nothing was refused on a small card'
grep -q 'replay_alloc: CUDA out of memory\. Tried to allocate' out || fail "a refusal is not told: $(cat out)"

live ./page_fit.so:page=64KiB sim:512MiB 120
grep -q '^O' log || fail 'nothing was refused on a small card by a plugin'
grep -q 'replay_alloc: CUDA out of memory\. page-fit: no memory on the card for a request of' out ||
    fail "a refusal is not told: $(cat out)"

# In a program of PyTorch a refusal is a C++ exception. Two libraries by the names of PyTorch's and of C++'s stand for
# them, and a longjmp for the exception. With sanitizers the program has C++'s own library: then it ends in the
# exception, which C cannot catch.
cat >thrown.c <<'C'
#include <setjmp.h>
#include <stdio.h>
jmp_buf caught;
char text[80];
void throw(const char *what) __asm__("_ZSt21__throw_runtime_errorPKc");
void throw(const char *what) { snprintf(text, sizeof text, "%s", what); longjmp(caught, 1); }
C
cat >torch.c <<'C'
#include <dlfcn.h>
#include <setjmp.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *library = dlopen(argv[argc - 1], RTLD_NOW), *torch = dlopen("./libc10.so", RTLD_NOW);
    void *cxx = dlopen("./libstdc++.so.6", RTLD_NOW);
    void *(*alloc)(ssize_t, int, void *) = (void *(*)(ssize_t, int, void *))dlsym(library, "replay_alloc");
    if (torch == NULL || cxx == NULL || setjmp(*(jmp_buf *)dlsym(cxx, "caught")) == 0)
        return alloc((ssize_t)1 << 40, 0, NULL) == NULL ? 8 : 9;
    printf("thrown: %s\n", (const char *)dlsym(cxx, "text"));
    return alloc(4096, 0, NULL) != NULL ? 0 : 7;
}
C
echo 'int stands_for_torch;' >c10.c
{ cc -shared -fPIC -Wl,-soname,libc10.so -o libc10.so c10.c &&
    cc -shared -fPIC -Wl,-soname,libstdc++.so.6 -o libstdc++.so.6 thrown.c &&
    cc -D_GNU_SOURCE -o torch torch.c -ldl; } || exit 1
LD_PRELOAD=$asan "$replay" run-sim --device sim:1GiB -- ./torch "$build/libreplay-alloc.so" >out 2>err
status=$?
if [ -z "$asan" ]; then
    [ "$status" = 0 ] || fail "a program of PyTorch does not go on after a refusal: $(cat out err)"
    grep -q '^thrown: CUDA out of memory. Tried to allocate 10' out || fail "nothing was thrown: $(cat out err)"
else
    grep -q "throwing an instance of 'std::runtime_error'" err || fail "nothing was thrown: $(cat out err)"
    grep -q 'what():  CUDA out of memory. Tried to allocate 10' err || fail "its text is another: $(cat out err)"
fi
! grep -q 'replay_alloc:' err || fail "what was thrown was printed too: $(cat err)"

# Wrong settings are reported, and nothing is placed.
REPLAY_POLICY=nonsense LD_PRELOAD=$asan "$replay" run-sim --device sim:1GiB -- \
    "$build/tests/record/live_program" "$build/libreplay-alloc.so" log >out 2>&1
if grep -q '^[AF]' log || ! grep -q "replay_alloc: .*nonsense" out; then
    fail "a policy that does not exist: $(head -5 out)"
fi

printf '%d failures\n' "$failures"
[ "$failures" = 0 ]
