/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * schedule_calls PLAN LOG FOLDER -- PROGRAM [ARGUMENT...] [-- PROGRAM [ARGUMENT...]]: runs one or two programs in a
 * folder, one system call at a time. The programs are whole: SQLite, the C library's streams and ours alike.
 *
 * A call counts if it touches the folder: a file's bytes, size, name, lock or mapping. The calls of a program are
 * numbered from 1. While one program runs the other stands before such a call; which goes on next is drawn from the
 * seed. Sleeps take no time, and are not numbered. Clocks are the schedule's, a microsecond for each call and what
 * sleeps asked for; they are not numbered either. So the same plan gives the same run.
 *
 * PLAN is words with commas: seed=N (the order), data (the log has the bytes written), and faults PROGRAM:CALL:FAULT.
 *
 *     error       the call fails as a call of its kind may: no space, an error of the disk, no descriptor, no lock
 *     full        the same, and from here on nothing more fits on the disk
 *     interrupt   EINTR, for calls that a signal may end
 *     short       a read or a write does half of what it was asked to
 *     kill        SIGKILL before the call
 *     cut         SIGKILL of all before the call: the power goes
 *     back        the call happens; before it the time of day was set back by an hour
 *     ahead       the same, ten years ahead, and the machine stood still for ten days
 *     zero        the same, to 1970: the machine lost its clock
 *
 * LOG gets a line for each call that happened: what it changed, and in the end each program's status and number of
 * calls. tests/program/test_schedules.py reads it.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROGRAMS_MAX = 2, FAULTS_MAX = 16, LONGEST_RUN_S = 60 };

enum class { CLASS_CLOCK, CLASS_SLEEP, CLASS_READ, CLASS_WRITE, CLASS_OPEN, CLASS_SYNC, CLASS_SIZE, CLASS_NAME,
             CLASS_LOCK, CLASS_MAP };

/* `fd`: which argument is a file; `path`: which is a name, after its folder if `has_folder`. -1: none. */
static const struct call {
    int        number;
    const char *name;
    enum class class;
    int        fd, path;
    bool       has_folder;
} calls[] = {
    { SYS_clock_gettime, "clock", CLASS_CLOCK, -1, -1, false },
    { SYS_gettimeofday, "clock", CLASS_CLOCK, -1, -1, false },
#ifdef SYS_time
    { SYS_time, "clock", CLASS_CLOCK, -1, -1, false },
#endif
    { SYS_nanosleep, "sleep", CLASS_SLEEP, -1, -1, false },
    { SYS_clock_nanosleep, "sleep", CLASS_SLEEP, -1, -1, false },
    { SYS_read, "read", CLASS_READ, 0, -1, false },
    { SYS_pread64, "pread", CLASS_READ, 0, -1, false },
    { SYS_write, "write", CLASS_WRITE, 0, -1, false },
    { SYS_pwrite64, "pwrite", CLASS_WRITE, 0, -1, false },
    { SYS_openat, "open", CLASS_OPEN, -1, 1, true },
    { SYS_fsync, "fsync", CLASS_SYNC, 0, -1, false },
    { SYS_fdatasync, "fdatasync", CLASS_SYNC, 0, -1, false },
    { SYS_ftruncate, "ftruncate", CLASS_SIZE, 0, -1, false },
    { SYS_fallocate, "fallocate", CLASS_SIZE, 0, -1, false },
    { SYS_renameat2, "rename", CLASS_NAME, -1, 3, true },
    { SYS_renameat, "rename", CLASS_NAME, -1, 3, true },
    { SYS_linkat, "link", CLASS_NAME, -1, 3, true },
    { SYS_unlinkat, "unlink", CLASS_NAME, -1, 1, true },
#ifdef SYS_open
    { SYS_open, "open", CLASS_OPEN, -1, 0, false },
    { SYS_rename, "rename", CLASS_NAME, -1, 1, false },
    { SYS_link, "link", CLASS_NAME, -1, 1, false },
    { SYS_unlink, "unlink", CLASS_NAME, -1, 0, false },
#endif
    { SYS_flock, "flock", CLASS_LOCK, 0, -1, false },
    { SYS_fcntl, "fcntl", CLASS_LOCK, 0, -1, false },
    { SYS_mmap, "mmap", CLASS_MAP, 4, -1, false },
};
enum { N_CALLS = sizeof calls / sizeof calls[0] };

static const int errors[] = { [CLASS_READ] = EIO,  [CLASS_WRITE] = ENOSPC, [CLASS_OPEN] = EMFILE, [CLASS_SYNC] = EIO,
                              [CLASS_SIZE] = ENOSPC, [CLASS_NAME] = EIO,   [CLASS_LOCK] = ENOLCK,
                              [CLASS_MAP] = ENOMEM };

enum fault { FAULT_NONE, FAULT_ERROR, FAULT_FULL, FAULT_INTERRUPT, FAULT_SHORT, FAULT_KILL, FAULT_CUT,
             FAULT_BACK, FAULT_AHEAD, FAULT_ZERO };
static const char *const fault_names[] = { "none", "error", "full", "interrupt", "short", "kill", "cut", "back",
                                           "ahead", "zero" };
enum { N_FAULTS = sizeof fault_names / sizeof fault_names[0] };

struct program {
    pid_t         pid;
    bool          has_ended;
    int           status;
    unsigned long n;                     /* calls so far */
};

static struct {
    uint64_t       random;
    int64_t        up_ns, day_ns;        /* since the machine began; since 1970 */
    bool           with_data, is_full;
    int            n_faults, n_programs;
    struct { int program; unsigned long call; enum fault fault; } faults[FAULTS_MAX];
    struct program programs[PROGRAMS_MAX];
    char           folder[PATH_MAX];
    FILE          *log;
} run;

static void fail(const char *what)
{
    fprintf(stderr, "schedule_calls: %s: %s\n", what, strerror(errno));
    _exit(125);
}

static uint64_t draw(void)                           /* SplitMix64 */
{
    uint64_t z = run.random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* ---- what a call touches ---- */

/* A stop before a call: what it is, and its file or name in the folder. */
struct stop {
    const struct call      *call;        /* NULL: none that counts */
    struct user_regs_struct regs;
    char                    name[NAME_MAX + 1];      /* of a name in the folder; "": the folder, or no name */
    bool                    was_there;
    unsigned long           inode;       /* of an open file */
    bool                    is_folder;
};

static unsigned long long argument(const struct user_regs_struct *r, int n)
{
    const unsigned long long of[] = { r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9 };
    return of[n];
}

static void read_text(pid_t pid, unsigned long long at, char out[PATH_MAX])
{
    size_t n = 0;
    while (n < PATH_MAX - 1) {                       /* no further than the page, which may be the last */
        const size_t room = 4096 - (size_t)((at + n) % 4096), want = room < PATH_MAX - 1 - n ? room : PATH_MAX - 1 - n;
        struct iovec to = { out + n, want }, from = { (void *)(uintptr_t)(at + n), want };
        const ssize_t got = process_vm_readv(pid, &to, 1, &from, 1, 0);
        if (got <= 0)
            break;
        if (memchr(out + n, '\0', (size_t)got) != NULL)
            return;
        n += (size_t)got;
    }
    out[n] = '\0';
}

/* Where a link of /proc leads. */
static void read_proc_link(pid_t pid, const char *what, char out[PATH_MAX])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, what);
    const ssize_t n = readlink(path, out, PATH_MAX - 1);
    out[n > 0 ? n : 0] = '\0';
}

static void file_link(int fd, char out[32])
{
    if (fd == AT_FDCWD)
        snprintf(out, 32, "cwd");
    else
        snprintf(out, 32, "fd/%d", fd);
}

/* The name of a path in the folder itself; false for what lies elsewhere. */
static bool name_in_folder(const char *path, char out[NAME_MAX + 1])
{
    const size_t n = strlen(run.folder);
    if (strncmp(path, run.folder, n) != 0 || path[n] != '/')
        return false;
    const char *name = path + n + 1;
    while (strncmp(name, "./", 2) == 0)
        name += 2;
    snprintf(out, NAME_MAX + 1, "%s", name);
    return strchr(name, '/') == NULL;
}

static bool resolve_name(pid_t pid, const struct user_regs_struct *r, int path_at, bool has_folder,
                         char out[NAME_MAX + 1])
{
    char text[PATH_MAX], base[PATH_MAX], whole[2 * PATH_MAX], link[32];
    read_text(pid, argument(r, path_at), text);
    if (text[0] == '/')
        return name_in_folder(text, out);
    file_link(has_folder ? (int)argument(r, path_at - 1) : AT_FDCWD, link);
    read_proc_link(pid, link, base);
    snprintf(whole, sizeof whole, "%s/%s", base, text);
    return name_in_folder(whole, out);
}

/* Whether an open file is the folder or lies in it; then its inode. */
static bool find_file(pid_t pid, int fd, struct stop *s)
{
    char link[32], target[PATH_MAX], path[64];
    struct stat st;
    const size_t n = strlen(run.folder);
    file_link(fd, link);
    read_proc_link(pid, link, target);
    if (fd < 0 || strncmp(target, run.folder, n) != 0 || (target[n] != '/' && target[n] != '\0'))
        return false;
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, link);
    if (stat(path, &st) != 0)
        return false;
    s->is_folder = target[n] == '\0';
    s->inode = (unsigned long)st.st_ino;
    return true;
}

static bool is_of_folder(pid_t pid, struct stop *s)
{
    if (s->call->class <= CLASS_SLEEP)
        return true;
    if (s->call->number == SYS_fcntl && argument(&s->regs, 1) != F_SETLK && argument(&s->regs, 1) != F_SETLKW)
        return false;
    if (s->call->path < 0)
        return find_file(pid, (int)argument(&s->regs, s->call->fd), s);
    /* a file without a name: its path is a folder's, and it is looked at when it is open */
    const bool is_unnamed = s->call->class == CLASS_OPEN &&
                            (argument(&s->regs, s->call->path + 1) & O_TMPFILE) == O_TMPFILE;
    return is_unnamed || resolve_name(pid, &s->regs, s->call->path, s->call->has_folder, s->name);
}

static struct stop look_at(pid_t pid)
{
    struct stop s = { .call = NULL };
    if (ptrace(PTRACE_GETREGS, pid, NULL, &s.regs) != 0)
        return s;
    for (size_t i = 0; i < N_CALLS; i++)
        if (calls[i].number == (int)s.regs.orig_rax)
            s.call = &calls[i];
    if (s.call != NULL && !is_of_folder(pid, &s))
        s.call = NULL;
    return s;
}

/* ---- the log ---- */

/* 0: there is no such file. */
static unsigned long inode_of_name(const char *name)
{
    char path[PATH_MAX + NAME_MAX + 2];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", run.folder, name);
    return lstat(path, &st) == 0 ? (unsigned long)st.st_ino : 0;
}

static long long offset_of(pid_t pid, int fd)
{
    char path[64];
    long long at = 0;
    snprintf(path, sizeof path, "/proc/%ld/fdinfo/%d", (long)pid, fd);
    FILE *f = fopen(path, "r");
    if (f == NULL || fscanf(f, "pos: %lld", &at) != 1)
        fail("fdinfo");
    fclose(f);
    return at;
}

static void log_data(pid_t pid, unsigned long long at, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char *bytes = malloc(n + 1);
    struct iovec to = { bytes, n }, from = { (void *)(uintptr_t)at, n };
    if (bytes == NULL || process_vm_readv(pid, &to, 1, &from, 1, 0) != (ssize_t)n)
        fail("what is written");
    for (size_t i = 0; i < n; i++) {
        putc(digits[bytes[i] >> 4], run.log);
        putc(digits[bytes[i] & 15], run.log);
    }
    free(bytes);
}

static void log_write(pid_t pid, const struct stop *s, long long result)
{
    const long long at = s->call->number == SYS_pwrite64 ? (long long)argument(&s->regs, 3)
                                                         : offset_of(pid, (int)argument(&s->regs, 0)) - result;
    fprintf(run.log, "write %lu %lld ", s->inode, at);
    if (run.with_data)
        log_data(pid, argument(&s->regs, 1), (size_t)result);
    putc('\n', run.log);
}

static void log_open(pid_t pid, struct stop *s, long long fd)
{
    const unsigned long long flags = argument(&s->regs, s->call->path + 1);
    if (!find_file(pid, (int)fd, s) || s->is_folder)
        return;
    if (s->name[0] == '\0')
        fprintf(run.log, "unnamed %lu\n", s->inode);
    else if ((flags & O_CREAT) != 0 && !s->was_there)
        fprintf(run.log, "new %lu %s\n", s->inode, s->name);
    else if ((flags & O_TRUNC) != 0)
        fprintf(run.log, "size %lu 0\n", s->inode);
}

static void log_name(pid_t pid, const struct stop *s)
{
    char old[NAME_MAX + 1];
    if (strcmp(s->call->name, "unlink") == 0)
        fprintf(run.log, "gone %s\n", s->name);
    else if (strcmp(s->call->name, "link") == 0)
        fprintf(run.log, "name %lu %s\n", inode_of_name(s->name), s->name);
    else if (resolve_name(pid, &s->regs, s->call->path - (s->call->has_folder ? 2 : 1), s->call->has_folder, old))
        fprintf(run.log, "rename %lu %s %s\n", inode_of_name(s->name), old, s->name);
}

static void log_call(pid_t pid, struct stop *s, long long result)
{
    if (result < 0)
        return;
    switch (s->call->class) {
    case CLASS_WRITE: log_write(pid, s, result); break;
    case CLASS_OPEN:  log_open(pid, s, result); break;
    case CLASS_NAME:  log_name(pid, s); break;
    case CLASS_SYNC:
        if (s->is_folder)
            fprintf(run.log, "sync-names\n");
        else
            fprintf(run.log, "sync %lu\n", s->inode);
        break;
    case CLASS_SIZE:
        if (s->call->number == SYS_ftruncate)
            fprintf(run.log, "size %lu %llu\n", s->inode, argument(&s->regs, 1));
        break;
    default: break;
    }
}

/* ---- running ---- */

static void note_end(struct program *p, int status)
{
    p->has_ended = true;
    p->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Hides from a program that has just begun the page by which the C library tells the time without a call. */
static void hide_clock_page(pid_t pid)
{
    struct user_regs_struct regs;
    uint64_t word = 0, at;
    int n_ends = 0;
    if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) != 0)
        fail("the program's beginning");
    for (at = regs.rsp + sizeof word; n_ends < 2; at += sizeof word) {       /* arguments and environment */
        struct iovec to = { &word, sizeof word }, from = { (void *)(uintptr_t)at, sizeof word };
        if (process_vm_readv(pid, &to, 1, &from, 1, 0) != sizeof word)
            fail("the program's arguments");
        n_ends += word == 0;
    }
    for (;; at += 2 * sizeof word) {
        struct iovec to = { &word, sizeof word }, from = { (void *)(uintptr_t)at, sizeof word };
        if (process_vm_readv(pid, &to, 1, &from, 1, 0) != sizeof word || word == AT_NULL)
            return;
        if (word == AT_SYSINFO_EHDR && ptrace(PTRACE_POKEDATA, pid, (void *)(uintptr_t)at, (void *)AT_IGNORE) != 0)
            fail("the clock's page");
    }
}

/* Lets a program go on to its next stop of a kind: before a call (seccomp's), or after it. False: it has ended. */
static bool go_on(struct program *p, enum __ptrace_request how, bool is_before)
{
    int status, signal = 0;
    for (;;) {
        if (ptrace(how, p->pid, NULL, (void *)(intptr_t)signal) != 0 && errno != ESRCH)
            fail("going on");
        while (waitpid(p->pid, &status, 0) < 0)
            if (errno != EINTR)
                fail("waiting");
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            note_end(p, status);
            return false;
        }
        if (is_before ? status >> 8 == (SIGTRAP | PTRACE_EVENT_SECCOMP << 8) : status >> 8 == (SIGTRAP | 0x80))
            return true;
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
            hide_clock_page(p->pid);
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_CLONE << 8))
            fail("a thread, whose calls nobody would answer,");
        signal = WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
    }
}

/* The call does not happen; it gives this. */
static void answer(struct program *p, struct stop *s, long long result)
{
    s->regs.orig_rax = (unsigned long long)-1;
    s->regs.rax = (unsigned long long)result;
    if (ptrace(PTRACE_SETREGS, p->pid, NULL, &s->regs) != 0)
        fail("answering");
}

/* ---- clocks ---- */

static void pass_time(int64_t ns)
{
    run.up_ns += ns;
    run.day_ns += ns;
}

/* Writes what a clock shows to a program's memory. A call for it takes a microsecond. */
static void tell_time(struct program *p, struct stop *s)
{
    const bool is_clock = s->call->number == SYS_clock_gettime;
    const unsigned long long clock = is_clock ? argument(&s->regs, 0) : CLOCK_REALTIME;
    const int64_t now = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? run.day_ns : run.up_ns;
    const int64_t parts[2] = { now / 1000000000, now % 1000000000 / (is_clock ? 1 : 1000) };
    const bool has_parts = is_clock || s->call->number == SYS_gettimeofday;
    const unsigned long long at = argument(&s->regs, is_clock);
    struct iovec from = { (void *)(uintptr_t)parts, has_parts ? sizeof parts : sizeof parts[0] };
    struct iovec to = { (void *)(uintptr_t)at, from.iov_len };
    pass_time(1000);
    if (at != 0 && process_vm_writev(p->pid, &from, 1, &to, 1, 0) < 0)
        fail("the time");
    answer(p, s, has_parts ? 0 : parts[0]);
}

/* A sleep passes without one. */
static void skip_sleep(struct program *p, struct stop *s)
{
    int64_t parts[2] = { 0, 0 };
    const bool is_clock = s->call->number == SYS_clock_nanosleep;
    const unsigned long long at = argument(&s->regs, is_clock ? 2 : 0);
    struct iovec to = { parts, sizeof parts }, from = { (void *)(uintptr_t)at, sizeof parts };
    if (process_vm_readv(p->pid, &to, 1, &from, 1, 0) < 0)
        fail("a sleep");
    int64_t ns = parts[0] * 1000000000 + parts[1];
    if (is_clock && argument(&s->regs, 1) == TIMER_ABSTIME)
        ns -= argument(&s->regs, 0) == CLOCK_REALTIME ? run.day_ns : run.up_ns;
    pass_time(ns > 0 ? ns : 0);
    answer(p, s, 0);
}

static void set_clock(enum fault fault)
{
    static const int64_t hour_ns = INT64_C(3600) * 1000000000;
    if (fault == FAULT_BACK && run.day_ns > hour_ns)
        run.day_ns -= hour_ns;
    else if (fault == FAULT_AHEAD)
        run.day_ns += 10 * 365 * 24 * hour_ns;
    else if (fault == FAULT_ZERO)
        run.day_ns = 0;
    if (fault == FAULT_AHEAD)
        run.up_ns += 10 * 24 * hour_ns;
}

/* Lets a program go on until it stands before a call that counts. */
static void advance(struct program *p, struct stop *s)
{
    s->call = NULL;
    while (!p->has_ended && s->call == NULL) {
        if (go_on(p, PTRACE_CONT, true))
            *s = look_at(p->pid);
        if (s->call != NULL && s->call->class == CLASS_CLOCK) {
            tell_time(p, s);
            s->call = NULL;
        }
    }
}

/* ---- a call ---- */

static enum fault fault_of(const struct program *p)
{
    for (int i = 0; i < run.n_faults; i++)
        if (&run.programs[run.faults[i].program] == p && run.faults[i].call == p->n)
            return run.faults[i].fault;
    return FAULT_NONE;
}

static bool needs_room(const struct stop *s)
{
    return s->call->class == CLASS_WRITE || s->call->number == SYS_fallocate ||
           (s->call->class == CLASS_OPEN && !s->was_there &&
            (argument(&s->regs, s->call->path + 1) & (O_CREAT | O_TMPFILE)) != 0);
}

static bool may_be_interrupted(const struct stop *s)
{
    return s->call->class != CLASS_NAME && s->call->class != CLASS_MAP && s->call->number != SYS_ftruncate;
}

/* The error that a call gives instead of happening; 0: it happens. */
static int error_of(const struct stop *s, enum fault fault)
{
    if (fault == FAULT_INTERRUPT && may_be_interrupted(s))
        return EINTR;
    if (run.is_full && needs_room(s))
        return ENOSPC;
    return fault == FAULT_ERROR || fault == FAULT_FULL ? errors[s->call->class] : 0;
}

static void shorten(struct program *p, struct stop *s)
{
    if ((s->call->class == CLASS_WRITE || s->call->class == CLASS_READ) && s->regs.rdx > 1) {
        s->regs.rdx /= 2;
        ptrace(PTRACE_SETREGS, p->pid, NULL, &s->regs);
    }
}

static void kill_program(struct program *p)
{
    int status;
    if (p->has_ended)
        return;
    kill(p->pid, SIGKILL);
    while (waitpid(p->pid, &status, 0) == p->pid && !WIFSIGNALED(status) && !WIFEXITED(status))
        ;
    note_end(p, SIGKILL);
}

/* The call that a program stands before: happens, or its fault does. */
static void do_call(struct program *p, struct stop *s)
{
    const enum fault fault = (p->n++, fault_of(p));
    if (fault == FAULT_KILL) {
        kill_program(p);
        return;
    }
    for (int i = 0; fault == FAULT_CUT && i < run.n_programs; i++)
        kill_program(&run.programs[i]);
    if (p->has_ended)
        return;
    run.is_full |= fault == FAULT_FULL;
    set_clock(fault);
    pass_time(1000);
    s->was_there = s->name[0] != '\0' && inode_of_name(s->name) != 0;   /* now: the other one may have made it */
    const int error = error_of(s, fault);
    if (error != 0) {
        answer(p, s, -error);
        return;
    }
    if (fault == FAULT_SHORT)
        shorten(p, s);
    if (!go_on(p, PTRACE_SYSCALL, false))
        return;
    struct user_regs_struct after;
    if (ptrace(PTRACE_GETREGS, p->pid, NULL, &after) == 0)
        log_call(p->pid, s, (long long)after.rax);
}

/* Runs all to their ends. How often one gives way to the other is drawn for the run. */
static void run_all(struct stop *stops)
{
    static const unsigned rates[] = { 2, 8, 64 };
    const unsigned rate = rates[draw() % 3];
    int now = 0;
    for (;;) {
        if (run.programs[now].has_ended || draw() % rate == 0 || stops[now].call->class == CLASS_SLEEP)
            now = run.n_programs - 1 - now;
        if (run.programs[now].has_ended)
            now = run.n_programs - 1 - now;
        struct program *p = &run.programs[now];
        if (p->has_ended)
            return;
        if (stops[now].call->class == CLASS_SLEEP)
            skip_sleep(p, &stops[now]);
        else
            do_call(p, &stops[now]);
        advance(p, &stops[now]);
    }
}

/* ---- starting ---- */

static void install_filter(void)
{
    struct sock_filter code[N_CALLS + 4];
    unsigned short n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < N_CALLS; i++)
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i].number,
                                                 (uint8_t)(N_CALLS - i), 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    const struct sock_fprog filter = { .len = n, .filter = code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0)
        fail("seccomp");
}

static void start(struct program *p, char **words)
{
    int status;
    p->pid = fork();
    if (p->pid == 0) {
        personality(ADDR_NO_RANDOMIZE);
        if (chdir(run.folder) != 0 || ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            fail("the program");
        raise(SIGSTOP);
        install_filter();
        execvp(words[0], words);
        fail(words[0]);
    }
    if (waitpid(p->pid, &status, 0) != p->pid ||
        ptrace(PTRACE_SETOPTIONS, p->pid, NULL,
               (void *)(PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE |
                        PTRACE_O_EXITKILL)) != 0)
        fail("starting");
}

static void read_fault(const char *word)
{
    char name[16] = "";
    int program;
    unsigned long call;
    if (run.n_faults == FAULTS_MAX || sscanf(word, "%d:%lu:%15s", &program, &call, name) != 3 || program < 0 ||
        program >= PROGRAMS_MAX)
        fail("the plan");
    for (int f = 0; f < N_FAULTS; f++)
        if (strcmp(name, fault_names[f]) == 0)
            run.faults[run.n_faults].fault = (enum fault)f;
    run.faults[run.n_faults].program = program;
    run.faults[run.n_faults++].call = call;
}

static void read_plan(char *plan)
{
    for (char *word = strtok(plan, ","); word != NULL; word = strtok(NULL, ",")) {
        if (strncmp(word, "seed=", 5) == 0)
            run.random = strtoull(word + 5, NULL, 10);
        else if (strcmp(word, "data") == 0)
            run.with_data = true;
        else
            read_fault(word);
    }
}

int main(int argc, char **argv)
{
    struct stop stops[PROGRAMS_MAX];
    if (argc < 6 || realpath(argv[3], run.folder) == NULL || (run.log = fopen(argv[2], "we")) == NULL)
        return 125;
    run.up_ns = INT64_C(100000) * 1000000000;            /* a day; the other clock, some time in 2026 */
    run.day_ns = INT64_C(1780000000) * 1000000000;
    read_plan(argv[1]);
    alarm(LONGEST_RUN_S);
    for (int i = 4; i < argc && run.n_programs < PROGRAMS_MAX;) {
        char **words = &argv[i + 1];
        for (i++; i < argc && strcmp(argv[i], "--") != 0; i++)
            ;
        argv[i] = NULL;
        start(&run.programs[run.n_programs++], words);
    }
    for (int i = 0; i < run.n_programs; i++)
        advance(&run.programs[i], &stops[i]);
    run_all(stops);
    for (int i = 0; i < run.n_programs; i++)
        fprintf(run.log, "end %d %d %lu\n", i, run.programs[i].status, run.programs[i].n);
    return fclose(run.log) == 0 ? 0 : 125;
}
