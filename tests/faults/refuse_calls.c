/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * refuse_calls KIND N COUNTS LIBRARY PROGRAM [ARGUMENT...]: runs a program whose N-th system call of a kind fails, the
 * C library's own calls included. N = 0: none does. N+ (a plus sign after the number): from the N-th on, all do. The
 * number of calls of the kind is written to the file COUNTS, and the status is the program's (128 + signal if one ended
 * it).
 *
 * A filter (seccomp) stops each such call until this process answers. Calls count from sched_yield on, which the
 * preloaded LIBRARY, refuse_memory.so, makes once the program is loaded. Programs that this one starts are left alone.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS_MAX = 5 };

static const struct kind {
    const char *name;
    int error;
    int n;
    int calls[CALLS_MAX];
} kinds[] = {
    { "read", EIO, 2, { SYS_read, SYS_pread64 } },
    { "write", ENOSPC, 3, { SYS_write, SYS_pwrite64, SYS_writev } },
#ifdef SYS_open
    { "open", EMFILE, 2, { SYS_openat, SYS_open } },
    { "rename", EIO, 5, { SYS_renameat2, SYS_renameat, SYS_rename, SYS_linkat, SYS_link } },
#else
    { "open", EMFILE, 1, { SYS_openat } },
    { "rename", EIO, 3, { SYS_renameat2, SYS_renameat, SYS_linkat } },
#endif
    { "mmap", ENOMEM, 1, { SYS_mmap } },
    { "fsync", EIO, 2, { SYS_fsync, SYS_fdatasync } },
    { "resize", ENOSPC, 2, { SYS_ftruncate, SYS_fallocate } },
    { "thread", EAGAIN, 2, { SYS_clone, SYS_clone3 } },
    { "lock", ENOLCK, 1, { SYS_fcntl } },
};

static void fail(const char *what)
{
    fprintf(stderr, "refuse_calls: %s: %s\n", what, strerror(errno));
    _exit(125);
}

/* The filter hands these calls, and sched_yield, to the listener. */
static int install_filter(const struct kind *k)
{
    struct sock_filter code[CALLS_MAX + 8];
    unsigned short n = 0;
    const int n_calls = k->n + 1;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < n_calls; i++) {
        const int call = i == 0 ? SYS_sched_yield : k->calls[i - 1];
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, (uint8_t)(n_calls - i), 0);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    const struct sock_fprog program = { .len = n, .filter = code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        fail("no_new_privs");
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/* A copy of the child's descriptor, which closes its own when it becomes the program. */
static int take_listener(pid_t child, int number)
{
    const int pid_fd = (int)syscall(SYS_pidfd_open, child, 0);
    const int listener = pid_fd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pid_fd, number, 0);
    close(pid_fd);
    return listener;
}

struct counting {
    uint64_t refused_from, n;
    bool is_lasting, has_begun;
    pid_t program;
};

/* Whether a thread is one of the program's, not of a process that it started. */
static bool is_of_program(const struct counting *c, uint32_t thread)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/task/%lu", (long)c->program, (unsigned long)thread);
    return access(path, F_OK) == 0;
}

static bool is_refused(struct counting *c, const struct seccomp_notif *call)
{
    if (call->data.nr == SYS_sched_yield)
        c->has_begun = true;
    if (call->data.nr == SYS_sched_yield || !c->has_begun || !is_of_program(c, call->pid))
        return false;
    c->n++;
    return c->refused_from > 0 && (c->is_lasting ? c->n >= c->refused_from : c->n == c->refused_from);
}

/* Answers calls until the program has ended. */
static void answer(int listener, const struct kind *k, struct counting *c)
{
    struct pollfd ready = { .fd = listener, .events = POLLIN };
    for (;;) {
        struct seccomp_notif call;
        memset(&call, 0, sizeof call);
        if (poll(&ready, 1, -1) < 0 && errno == EINTR)
            continue;
        if ((ready.revents & POLLIN) == 0)
            return;                                      /* POLLHUP: nobody is left under the filter */
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
            continue;
        struct seccomp_notif_resp answer = { .id = call.id };
        if (is_refused(c, &call))
            answer.error = -k->error;
        else
            answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
}

/* In the child: installs the filter, tells its listener's number, and becomes the program once the parent has it. The
 * pipes are written before the filter may stop writing, and read by a call that no kind holds. */
static void become(const char *preload, char **program, const struct kind *k, int to_parent)
{
    struct msghdr wait = { .msg_iovlen = 1 };
    char go;
    const int listener = install_filter(k);
    if (listener < 0)
        fail("seccomp");
    struct iovec number = { .iov_base = (void *)&listener, .iov_len = sizeof listener };
    struct msghdr tell = { .msg_iov = &number, .msg_iovlen = 1 };
    struct iovec room = { .iov_base = &go, .iov_len = 1 };
    wait.msg_iov = &room;
    if (sendmsg(to_parent, &tell, 0) < 0 || recvmsg(to_parent, &wait, 0) != 1)
        fail("the parent");
    setenv("LD_PRELOAD", preload, 1);
    execvp(program[0], program);
    fail(program[0]);
}

int main(int argc, char **argv)
{
    const struct kind *k = NULL;
    struct counting c = { .n = 0 };
    int ends[2], number = -1, status = 0;
    char *after;
    if (argc < 6)
        return 125;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, argv[1]) == 0)
            k = &kinds[i];
    c.refused_from = strtoull(argv[2], &after, 10);
    c.is_lasting = *after == '+';
    if (k == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return 125;
    const pid_t child = fork();
    if (child == 0)
        become(argv[4], argv + 5, k, ends[1]);
    close(ends[1]);
    c.program = child;
    if (recv(ends[0], &number, sizeof number, 0) != sizeof number)
        return 125;
    const int listener = take_listener(child, number);
    if (listener < 0)
        fail("the listener");
    if (send(ends[0], "g", 1, 0) != 1)
        fail("the program");
    answer(listener, k, &c);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    FILE *counts = fopen(argv[3], "w");
    if (counts == NULL)
        fail(argv[3]);
    fprintf(counts, "%llu\n", (unsigned long long)c.n);
    fclose(counts);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
