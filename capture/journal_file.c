/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Windows of a file, mapped one by one. A thread claims a record by one atomic addition to `next`; the number says
 * which window the record lies in and where.
 *
 *     window 0 (1 MiB)              window 1             window 2
 *     +------+----+----+-----+----+----+-----+-----------+- - - - -
 *     | head | #0 | #1 | ... | ## | ## | ... | #n | free |  not mapped yet
 *     +------+----+----+-----+----+----+-----+-----------+- - - - -
 *                                              ^ next = n + 1
 *
 * The head takes the place of the first four records. The lock is for opening the file and mapping windows only.
 */
#define _GNU_SOURCE                   /* MAP_POPULATE, MADV_DONTFORK, MADV_WIPEONFORK */
#include "capture/journal_file.h"

#include "base/file_room.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    WINDOW_BYTES = 1 << 20,
    WINDOW_RECORDS = WINDOW_BYTES / (int)sizeof(struct call_record),
    WINDOWS_MAX = 1 << 14,                               /* 16 GiB: 268 million records */
    HEAD_RECORDS = sizeof(struct call_head) / sizeof(struct call_record),
    DEVICE_WORDS = (UINT8_MAX + 1) / 64,
    KEPT_DESCRIPTOR = 1000,                              /* the least number: programs close and reuse low ones */
};

static_assert(WINDOW_BYTES % sizeof(struct call_record) == 0, "no record lies in two windows");
static_assert((uint64_t)WINDOWS_MAX * WINDOW_RECORDS <= UINT32_MAX, "readers number records with 32 bits");

/* What the page of fork_mark says. The kernel fills it with zeros in the child of a fork. */
enum { MARK_FORKED, MARK_BEING_SET, MARK_OURS };

static struct {
    char             folder[PATH_MAX];                   /* "": there is none */
    enum call_card   card;
    bool             has_stacks, is_whole_command_line;
    void           (*forked)(void);                      /* NULL: nobody asks */
    _Atomic(atomic_int *) fork_mark;                     /* NULL: the kernel has no such pages (before 4.14) */
    uint64_t        *unrecorded;                         /* mapped, for all processes; NULL: nobody counts */
    pthread_mutex_t  lock;                               /* held while files are opened and windows mapped */
    char             path[PATH_MAX + sizeof "/PID.N" + 24];
    int              kept;                               /* a descriptor of the file, unless the program closed it */
    dev_t            device;                             /* this and the next tell the file from all others */
    ino_t            inode;
    _Atomic uint64_t next;
    _Atomic uint64_t devices[DEVICE_WORDS];              /* one bit per device: it has its first record */
    _Atomic uint32_t owner;
    atomic_bool      is_off;                             /* there is no journal and there will be none */
    bool             is_reported;
    uint32_t         n_windows;                          /* windows that were tried, from the first on */
    _Atomic(struct call_record *) windows[WINDOWS_MAX];  /* NULL: not tried yet; &no_window: there was no room for it */
} journal = {.lock = PTHREAD_MUTEX_INITIALIZER, .kept = -1};

static struct call_record no_window;

static void fork_mark_begin(void)
{
    atomic_int *mark = mmap(NULL, sizeof *mark, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mark == MAP_FAILED)
        return;
    if (madvise(mark, sizeof *mark, MADV_WIPEONFORK) != 0) {
        munmap(mark, sizeof *mark);
        return;
    }
    atomic_store(mark, MARK_OURS);
    atomic_store(&journal.fork_mark, mark);
}

/* Maps the count of calls without a journal while it can still be opened: a program may use up descriptors, or give up
 * its rights. The children of a fork share the mapping. */
static void map_unrecorded(void)
{
    char path[PATH_MAX + sizeof CALL_UNRECORDED_NAME + 1];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", journal.folder, CALL_UNRECORDED_NAME);
    const int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const bool is_count = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                          status.st_size == (off_t)sizeof *journal.unrecorded;
    void *count = is_count ? mmap(NULL, sizeof *journal.unrecorded, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                           : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    journal.unrecorded = count == MAP_FAILED ? NULL : count;
}

/* A program may overwrite its environment, for a title in the list of processes: all that is asked of it is kept. */
void journal_file_begin(const char *folder, enum call_card card, bool has_stacks, void (*forked)(void))
{
    const char *whole = getenv("REPLAY_RECORD_COMMAND_LINE");
    const size_t n = folder == NULL ? 0 : strlen(folder);
    if (n > 0 && n < sizeof journal.folder)
        memcpy(journal.folder, folder, n + 1);
    journal.is_whole_command_line = whole != NULL && strcmp(whole, "1") == 0;
    journal.card = card;
    journal.has_stacks = has_stacks;
    journal.forked = forked;
    if (atomic_load(&journal.fork_mark) == NULL)
        fork_mark_begin();
    if (journal.folder[0] != '\0' && journal.unrecorded == NULL)
        map_unrecorded();
    atomic_store(&journal.is_off, journal.folder[0] == '\0');
}

/* Reports once: a full disk would otherwise fill the terminal as well. The next window may find room again. */
static void journal_report(int reason)
{
    if (journal.is_reported)
        return;
    journal.is_reported = true;
    dprintf(STDERR_FILENO, "replay: %s: %s: the program goes on, but its calls are not recorded while that lasts\n",
            journal.path, strerror(reason));
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Maps window w of an open file; &no_window if that fails. The child of a fork does not inherit the mapping: its
 * records would otherwise land in the parent's file. */
static struct call_record *window_map(int fd, uint32_t w)
{
    const off_t at = (off_t)w * WINDOW_BYTES;
    const int reason = file_room_take(fd, at, WINDOW_BYTES);
    if (reason != 0) {
        journal_report(reason);
        return &no_window;
    }
    void *window = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, at);
    if (window == MAP_FAILED) {
        journal_report(errno);
        return &no_window;
    }
    madvise(window, WINDOW_BYTES, MADV_DONTFORK);
    return window;
}

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Whether a program is one that runs scripts: by its name, of which a version may be the end ("python3.11"). */
static bool is_interpreter(const char *program)
{
    static const char *const names[] = {"python", "pypy", "bash", "sh", "dash", "zsh", "ksh", "perl", "node", "ruby",
                                        "lua", "php", "julia", "Rscript"};
    const char *slash = strrchr(program, '/'), *name = slash == NULL ? program : slash + 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const size_t n = strlen(names[i]);
        if (strncmp(name, names[i], n) == 0 && name[n + strspn(name + n, "0123456789.")] == '\0')
            return true;
    }
    return false;
}

/* Whether a word says that the script is no file: -c COMMAND, -m MODULE, -e PROGRAM, also with other letters; - and a
 * shell's -s, standard input. */
static bool is_instead_of_script(const char *word)
{
    const size_t n = strlen(word);
    return word[0] == '-' && word[1] != '-' &&
           (n == 1 || strchr("cmes", word[1]) != NULL || strchr("cmes", word[n - 1]) != NULL);
}

/* The place of an interpreter's script among n bytes of words, from the word at `at` on; n if there is none. */
static size_t find_script(const char *words, size_t at, size_t n)
{
    while (at < n && !is_instead_of_script(words + at) && (words[at] == '-' || !is_file(words + at)))
        at += strlen(words + at) + 1;
    return at < n && !is_instead_of_script(words + at) ? at : n;
}

/* Leaves of a command line what tells which program it is: the first word, up to a blank, and an interpreter's script.
 * The rest may hold passwords and tokens, and so may a title that the program gave itself; "..." stands for it. `n`
 * bytes of words, each with its terminator. */
static void keep_program(char *words, size_t n)
{
    static const char rest[] = "...";
    const size_t first = strlen(words) + 1, name = strcspn(words, " \t\n");
    size_t used = name + 1;
    words[name] = '\0';
    const size_t at = is_interpreter(words) ? find_script(words, first, n) : n;
    if (at < n) {
        const size_t length = strlen(words + at) + 1;
        memmove(words + used, words + at, length);
        used += length;
    }
    if (used < n && used + sizeof rest <= CALL_COMMAND_LINE_BYTES) {
        memcpy(words + used, rest, sizeof rest);
        used += sizeof rest;
    }
    if (used < CALL_COMMAND_LINE_BYTES)
        memset(words + used, 0, CALL_COMMAND_LINE_BYTES - used);
}

/* The program's command line; whole only if that was asked for. */
static void read_command_line(char words[CALL_COMMAND_LINE_BYTES])
{
    const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? 0 : read(fd, words, CALL_COMMAND_LINE_BYTES - 1);
    if (fd >= 0)
        close(fd);
    words[n > 0 ? n : 0] = '\0';
    if (n > 0 && !journal.is_whole_command_line)
        keep_program(words, (size_t)n);
}

static void head_fill(struct call_head *head, uint32_t pid)
{
    static const char magic[sizeof head->magic] = CALL_JOURNAL_MAGIC;
    read_command_line(head->command_line);
    head->order = CALL_JOURNAL_ORDER;
    head->version = CALL_JOURNAL_VERSION;
    head->record_bytes = sizeof(struct call_record);
    head->head_bytes = sizeof *head;
    head->pid = pid;
    head->parent = (uint32_t)getppid();
    head->start_ns = journal.card == CALL_CARD_SIMULATED ? 0 : clock_ns(CLOCK_MONOTONIC);
    head->epoch_ns = clock_ns(CLOCK_REALTIME);
    head->has_stacks = journal.has_stacks;
    head->card = (uint64_t)journal.card;
    memcpy(head->magic + 1, magic + 1, sizeof magic - 1);
    __atomic_store_n(head->magic, magic[0], __ATOMIC_RELEASE);                   /* last: the rest is there */
}

/* Makes a new file, readable by its owner only: it holds addresses and a command line. N counts up because a program
 * that replaces itself by exec keeps its process number, and the kernel reuses numbers. */
static int journal_create(uint32_t pid)
{
    int fd = -1;
    errno = 0;
    for (unsigned n = 0; fd < 0 && (n == 0 || errno == EEXIST); n++) {
        snprintf(journal.path, sizeof journal.path, "%s/%u.%u" CALL_JOURNAL_ENDING, journal.folder, (unsigned)pid, n);
        fd = open(journal.path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    }
    if (fd >= 0)
        (void)fchmod(fd, 0600);                          /* whatever the program's mask takes away */
    return fd;
}

static bool is_journal(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_dev == journal.device && status.st_ino == journal.inode;
}

/* Keeps a descriptor of a new journal: a program that gives up its rights, or its root, finds the file no more. */
static void journal_keep(int fd)
{
    struct rlimit limit = {.rlim_cur = 0};
    struct stat status = {.st_ino = 0};
    getrlimit(RLIMIT_NOFILE, &limit);
    fstat(fd, &status);
    journal.device = status.st_dev;
    journal.inode = status.st_ino;
    journal.kept = fcntl(fd, F_DUPFD_CLOEXEC, limit.rlim_cur > KEPT_DESCRIPTOR ? KEPT_DESCRIPTOR
                                                                               : (int)limit.rlim_cur / 2);
}

/* Opens the journal again; -1 with errno. The program may have closed the kept descriptor and reused its number. The
 * duplicate is looked at, because nobody else knows its number. */
static int journal_open_again(void)
{
    int fd = journal.kept < 0 ? -1 : fcntl(journal.kept, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (fd >= 0 && is_journal(fd))
        return fd;
    if (fd >= 0)
        close(fd);
    fd = open(journal.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || is_journal(fd))
        return fd;
    close(fd);
    errno = ENOENT;                                      /* another file has the journal's name */
    return -1;
}

/* Maps window w, which was not tried before; the caller holds the lock. Window 0 comes with a new file and its head. */
static struct call_record *window_open(uint32_t w)
{
    const uint32_t pid = (uint32_t)getpid();
    const int fd = w == 0 ? journal_create(pid) : journal_open_again();
    if (fd < 0) {
        journal_report(errno);
        return &no_window;
    }
    struct call_record *window = window_map(fd, w);
    if (w == 0 && window != &no_window)
        journal_keep(fd);
    close(fd);
    if (w == 0 && window == &no_window)
        unlink(journal.path);
    if (w == 0 && window != &no_window) {
        head_fill((struct call_head *)window, pid);
        atomic_store(&journal.owner, pid);
    }
    if (w == 0)
        atomic_store(&journal.is_off, window == &no_window);
    return window;
}

static struct call_record *window_find(uint64_t w)
{
    struct call_record *window = atomic_load_explicit(&journal.windows[w], memory_order_acquire);
    if (window != NULL)
        return window;
    pthread_mutex_lock(&journal.lock);
    for (uint32_t i = journal.n_windows; i <= w; i++) {
        atomic_store_explicit(&journal.windows[i], window_open(i), memory_order_release);
        journal.n_windows = i + 1;
    }
    window = atomic_load_explicit(&journal.windows[w], memory_order_acquire);
    pthread_mutex_unlock(&journal.lock);
    return window;
}

static void count_lost(void)
{
    struct call_record *first = atomic_load_explicit(&journal.windows[0], memory_order_acquire);
    if (first != NULL && first != &no_window)
        __atomic_fetch_add(&((struct call_head *)first)->lost, 1, __ATOMIC_RELAXED);
    else if (journal.unrecorded != NULL)
        __atomic_fetch_add(journal.unrecorded, 1, __ATOMIC_RELAXED);
}

uint64_t journal_file_put(const struct call_record *r)
{
    journal_file_notice_fork();
    if (atomic_load_explicit(&journal.is_off, memory_order_relaxed)) {
        count_lost();
        return JOURNAL_FILE_LOST;
    }
    const uint64_t number = atomic_fetch_add_explicit(&journal.next, 1, memory_order_relaxed);
    const uint64_t place = number + HEAD_RECORDS, w = place / WINDOW_RECORDS;
    struct call_record *window = w < WINDOWS_MAX ? window_find(w) : &no_window;
    if (window == &no_window) {
        count_lost();
        return JOURNAL_FILE_LOST;
    }
    struct call_record *out = &window[place % WINDOW_RECORDS];
    memcpy(out, r, offsetof(struct call_record, is_whole));
    __atomic_store_n(&out->is_whole, (uint32_t)CALL_WHOLE, __ATOMIC_RELEASE);
    return number;
}

bool journal_file_first_of(uint8_t device)
{
    _Atomic uint64_t *const word = &journal.devices[device / 64];
    const uint64_t bit = UINT64_C(1) << (device % 64);
    if ((atomic_load_explicit(word, memory_order_relaxed) & bit) != 0)
        return false;
    return (atomic_fetch_or(word, bit) & bit) == 0;
}

uint32_t journal_file_owner(void)
{
    return atomic_load_explicit(&journal.owner, memory_order_relaxed);
}

static void begin_again(void)
{
    const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
    journal.lock = unlocked;
    for (uint32_t i = 0; i <= journal.n_windows && i < WINDOWS_MAX; i++)     /* the last may not be counted yet */
        atomic_store(&journal.windows[i], NULL);
    journal.n_windows = 0;
    if (journal.kept >= 0 && is_journal(journal.kept))                       /* the parent's, which has its own */
        close(journal.kept);
    journal.kept = -1;
    journal.is_reported = false;
    atomic_store(&journal.next, 0);
    for (int i = 0; i < DEVICE_WORDS; i++)
        atomic_store(&journal.devices[i], 0);
    atomic_store(&journal.owner, 0);
    atomic_store(&journal.is_off, journal.folder[0] == '\0');
    if (journal.forked != NULL)
        journal.forked();
}

void journal_file_forked(void)
{
    atomic_int *mark = atomic_load(&journal.fork_mark);
    begin_again();
    if (mark != NULL)
        atomic_store(mark, MARK_OURS);
}

/* One thread begins again; others of the child, which it may have by now, wait for it. */
void journal_file_notice_fork(void)
{
    atomic_int *mark = atomic_load_explicit(&journal.fork_mark, memory_order_acquire);
    int wiped = MARK_FORKED;
    if (mark == NULL || atomic_load_explicit(mark, memory_order_acquire) == MARK_OURS)
        return;
    if (atomic_compare_exchange_strong(mark, &wiped, MARK_BEING_SET))
        journal_file_forked();
    while (atomic_load_explicit(mark, memory_order_acquire) != MARK_OURS)
        sched_yield();
}
