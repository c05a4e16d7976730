/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Recording of CUDA memory calls. Programs (tests/record) run with the library preloaded, and their journals are
 * compared with what the programs themselves say has returned.
 */
#define _GNU_SOURCE
#include "import/call_journal_read.h"
#include "import/import.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JOURNALS_MAX = 4, THREADS_MAX = 16, CALLS_MAX = 1 << 16 };

/* A run: its folder, what the program says, and its journals in order of their names. */
struct run {
    char folder[64], log[96], stderr_path[96];
    int  status;                      /* as waitpid gives it */
    struct call_journal *journals[JOURNALS_MAX];
    size_t n_journals;
};

struct said {
    char     kind;                    /* 'A', 'F' */
    unsigned thread, device;
    uint64_t addr, bytes, stream;
};

/* ---- running ---- */

static void child_start(const struct run *r, const char *program, const char *what, bool has_stacks, rlim_t file_bytes)
{
    const struct rlimit limit = {.rlim_cur = file_bytes, .rlim_max = file_bytes};
    const int status = open(r->stderr_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(status, STDERR_FILENO);
    close(status);
    setenv("LD_LIBRARY_PATH", FAKE_CUDA_DIR, 1);
    setenv("LD_PRELOAD", RECORD_LIBRARY, 1);
    setenv("REPLAY_RECORD_DIR", r->folder, 1);
    setenv("FAKE_CUDA_BYTES", strcmp(what, "failing") == 0 ? "10000" : "1099511627776", 1);
    if (has_stacks)
        setenv("REPLAY_RECORD_STACKS", "1", 1);
    if (file_bytes != RLIM_INFINITY)
        setrlimit(RLIMIT_FSIZE, &limit);
    execl(program, program, what, r->log, (char *)NULL);
    _exit(127);
}

static int is_journal(const struct dirent *f)
{
    return strstr(f->d_name, ".calls") != NULL;
}

static void read_journals(struct run *r)
{
    struct dirent **files;
    const int n = scandir(r->folder, &files, is_journal, versionsort);
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX];
        struct input *in;
        struct err_detail err = {.text = ""};
        snprintf(path, sizeof path, "%s/%s", r->folder, files[i]->d_name);
        cr_assert_lt(r->n_journals, (size_t)JOURNALS_MAX);
        cr_assert_eq(input_open(path, &in, &err), ERR_OK, "%s", err.text);
        cr_assert_eq(call_journal_read(in, &r->journals[r->n_journals++], &err), ERR_OK, "%s", err.text);
        input_close(in);
        free(files[i]);
    }
    free(files);
}

static void run_limited(struct run *r, const char *program, const char *what, bool has_stacks, rlim_t file_bytes)
{
    *r = (struct run){.folder = "/tmp/replay-test-record-XXXXXX"};
    cr_assert_not_null(mkdtemp(r->folder));
    snprintf(r->log, sizeof r->log, "%s/log", r->folder);
    snprintf(r->stderr_path, sizeof r->stderr_path, "%s/stderr", r->folder);
    const pid_t pid = fork();
    if (pid == 0)
        child_start(r, program, what, has_stacks, file_bytes);
    cr_assert_eq(waitpid(pid, &r->status, 0), pid);
    read_journals(r);
}

static void run_program(struct run *r, const char *what)
{
    run_limited(r, RECORD_PROGRAM, what, false, RLIM_INFINITY);
    cr_assert(WIFEXITED(r->status) && WEXITSTATUS(r->status) == 0, "%s: status %x", what, (unsigned)r->status);
}

static void run_close(struct run *r)
{
    char command[128];
    for (size_t i = 0; i < r->n_journals; i++)
        call_journal_free(r->journals[i]);
    snprintf(command, sizeof command, "rm -rf %s", r->folder);
    cr_expect_eq(system(command), 0);
}

/* ---- what was said and what was recorded ---- */

/* If the last line has no end, the program was killed while it wrote it. */
static size_t read_said(const struct run *r, struct said *said)
{
    FILE *f = fopen(r->log, "r");
    char line[160];
    size_t n = 0;
    cr_assert_not_null(f);
    while (n < CALLS_MAX && fgets(line, sizeof line, f) != NULL && strchr(line, '\n') != NULL) {
        unsigned long long addr = 0, bytes = 0, stream = 0;
        struct said *s = &said[n];
        *s = (struct said){.kind = line[0]};
        const int got = sscanf(line + 1, "%u %llx %llu %llu %u", &s->thread, &addr, &bytes, &stream, &s->device);
        cr_assert_eq(got, line[0] == 'A' ? 5 : 2, "%s", line);
        s->addr = addr, s->bytes = bytes, s->stream = stream;
        n++;
    }
    fclose(f);
    return n;
}

static bool is_same(const struct said *s, const struct call_record *r)
{
    if (s->kind == 'F')
        return r->kind == CALL_FREE && r->addr == s->addr;
    return r->kind == CALL_ALLOC && r->addr == s->addr && r->bytes == s->bytes && r->stream == s->stream &&
           r->device == s->device;
}

/* One thread's next allocation or free from *at on; NULL after the last. */
static const struct call_record *next_of(const struct run *r, unsigned thread, size_t *journal, uint32_t *at)
{
    for (; *journal < r->n_journals; ++*journal, *at = 0)
        while (*at < r->journals[*journal]->n) {
            const struct call_record *c = &r->journals[*journal]->records[(*at)++];
            if (c->thread == thread && (c->kind == CALL_ALLOC || c->kind == CALL_FREE))
                return c;
        }
    return NULL;
}

/* Every call of a thread that had returned, as it says, is recorded, in that order. At most `more` records follow: of
 * calls that had not returned. */
static void expect_thread(const struct run *r, const struct said *said, size_t n, unsigned thread, size_t more)
{
    size_t journal = 0, n_more = 0;
    uint32_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (said[i].thread != thread)
            continue;
        const struct call_record *c = next_of(r, thread, &journal, &at);
        cr_assert(c != NULL && is_same(&said[i], c), "call %zu, of thread %u, is not what is recorded", i, thread);
    }
    while (next_of(r, thread, &journal, &at) != NULL)
        n_more++;
    cr_expect_leq(n_more, more, "%zu calls too many of thread %u", n_more, thread);
}

/* The same for all threads. Returns how many calls the program says. */
static size_t expect_said(const struct run *r, size_t n_threads, size_t more)
{
    static struct said said[CALLS_MAX];
    unsigned threads[THREADS_MAX];
    size_t n_seen = 0;
    const size_t n = read_said(r, said);
    for (size_t i = 0; i < n; i++) {
        bool is_known = false;
        for (size_t k = 0; k < n_seen; k++)
            is_known = is_known || threads[k] == said[i].thread;
        if (is_known)
            continue;
        cr_assert_lt(n_seen, (size_t)THREADS_MAX);
        threads[n_seen++] = said[i].thread;
        expect_thread(r, said, n, said[i].thread, more);
    }
    cr_expect_eq(n_seen, n_threads);
    return n;
}

static size_t count_kind(const struct call_journal *log, enum call_kind kind)
{
    size_t n = 0;
    for (uint32_t i = 0; i < log->n; i++)
        n += log->records[i].kind == kind;
    return n;
}

/* ---- promises ---- */

Test(record, every_call_that_returned_before_kill_9_is_there)
{
    struct run r;
    run_limited(&r, RECORD_PROGRAM, "killed", false, RLIM_INFINITY);
    cr_assert(WIFSIGNALED(r.status) && WTERMSIG(r.status) == SIGKILL, "status %x", (unsigned)r.status);
    cr_assert_eq(r.n_journals, 1);
    cr_expect_geq(expect_said(&r, 4, 1), 20000);
    cr_expect_leq(r.journals[0]->n_torn, 4, "at most a record a thread was on its way");
    run_close(&r);
}

Test(record, a_forked_child_has_a_journal_of_its_own)
{
    struct run r;
    run_program(&r, "fork");
    cr_assert_eq(r.n_journals, 2);
    cr_expect_eq(expect_said(&r, 2, 0), 260);
    cr_expect_eq(r.journals[1]->head.parent, r.journals[0]->head.pid);
    cr_expect_eq(count_kind(r.journals[0], CALL_ALLOC) + count_kind(r.journals[0], CALL_FREE), 200);
    run_close(&r);
}

Test(record, a_child_of_the_bare_system_call_has_a_journal_of_its_own)
{
    for (int has_stacks = 0; has_stacks <= 1; has_stacks++) {
        struct run r;
        run_limited(&r, RECORD_PROGRAM, "bare-fork", has_stacks == 1, RLIM_INFINITY);
        cr_assert_eq(r.status, 0, "status %x", (unsigned)r.status);
        cr_assert_eq(r.n_journals, 2);
        const bool is_child_first = r.journals[0]->head.parent == r.journals[1]->head.pid;
        const struct call_journal *child = r.journals[is_child_first ? 0 : 1];
        cr_expect_eq(count_kind(child, CALL_ALLOC) + count_kind(child, CALL_FREE), 60);
        run_close(&r);
    }
}

Test(record, a_program_of_driver_calls_is_recorded)
{
    struct run r;
    run_program(&r, "driver");
    cr_expect_eq(expect_said(&r, 1, 0), 3);
    run_close(&r);
}

Test(record, a_runtime_that_is_opened_by_name_is_recorded)
{
    struct run r;
    run_limited(&r, RECORD_OPENER, "opened", false, RLIM_INFINITY);
    cr_assert_eq(r.status, 0, "status %x", (unsigned)r.status);
    cr_assert_eq(r.n_journals, 1);
    cr_expect_eq(expect_said(&r, 1, 0), 20);
    run_close(&r);
}

Test(record, a_program_with_the_runtime_linked_in_is_recorded_at_the_driver)
{
    struct run r;
    run_limited(&r, RECORD_LINKED, "linked", false, RLIM_INFINITY);
    cr_assert_eq(r.status, 0, "status %x", (unsigned)r.status);
    cr_assert_eq(r.n_journals, 1);
    cr_expect_eq(expect_said(&r, 1, 0), 6);
    run_close(&r);
}

Test(record, a_program_that_replaces_itself_has_two_journals)
{
    struct run r;
    run_program(&r, "exec");
    cr_assert_eq(r.n_journals, 2);
    cr_expect_eq(r.journals[0]->head.pid, r.journals[1]->head.pid);
    cr_expect_eq(expect_said(&r, 1, 0), 6);
    run_close(&r);
}

Test(record, failed_calls_leave_no_trace_but_a_refusal)
{
    struct run r;
    run_program(&r, "failing");
    cr_expect_eq(expect_said(&r, 1, 0), 2, "two failed frees are not there");
    cr_expect_eq(count_kind(r.journals[0], CALL_OOM), 1);
    cr_expect_eq(r.journals[0]->devices[0].ooms, 1);
    cr_expect_eq(r.journals[0]->devices[0].total_bytes, 10000);
    run_close(&r);
}

Test(record, each_kind_of_memory_is_told_and_each_call_recorded_once)
{
    static const struct { enum call_space space; unsigned device; uint64_t bytes; } want[] = {
        {CALL_SPACE_HOST, 0, 1000}, {CALL_SPACE_MANAGED, 0, 2000}, {CALL_SPACE_POOL, 0, 3000},
        {CALL_SPACE_DEVICE, 0, 4000}, {CALL_SPACE_DEVICE, 1, 5000}, {CALL_SPACE_DEVICE, 0, 6000}};
    struct run r;
    size_t n = 0;
    run_program(&r, "kinds");
    cr_assert_eq(r.n_journals, 1);
    const struct call_journal *log = r.journals[0];
    for (uint32_t i = 0; i < log->n; i++) {
        const struct call_record *c = &log->records[i];
        if (c->kind != CALL_ALLOC)
            continue;
        cr_assert_lt(n, sizeof want / sizeof want[0]);
        cr_expect(c->space == want[n].space && c->device == want[n].device && c->bytes == want[n].bytes,
                  "%zu: space %d, device %d, %llu bytes", n, c->space, c->device, (unsigned long long)c->bytes);
        n++;
    }
    cr_expect_eq(n, sizeof want / sizeof want[0]);
    cr_expect_eq(count_kind(log, CALL_CREATE), 1);
    cr_expect_eq(count_kind(log, CALL_MAP) + count_kind(log, CALL_UNMAP) + count_kind(log, CALL_RELEASE), 3);
    cr_expect_eq(log->devices[1].requests, 2, "physical memory is where its properties say");
    run_close(&r);
}

Test(record, arrays_are_told_with_the_bytes_of_their_elements)
{
    static const uint64_t want[] = {4 * 100, 4 * 10 * 20 * 30, 4 * 2 * (16 * 16 + 8 * 8 + 4 * 4), 4 * 64 * 8};
    struct run r;
    size_t n = 0;
    run_program(&r, "arrays");
    cr_assert_eq(r.n_journals, 1);
    const struct call_journal *log = r.journals[0];
    for (uint32_t i = 0; i < log->n; i++)
        if (log->records[i].kind == CALL_ALLOC) {
            cr_assert_lt(n, sizeof want / sizeof want[0]);
            cr_expect_eq(log->records[i].space, CALL_SPACE_ARRAY);
            cr_expect_eq(log->records[i].bytes, want[n], "%zu: %llu bytes", n,
                         (unsigned long long)log->records[i].bytes);
            n++;
        }
    cr_expect_eq(n, sizeof want / sizeof want[0]);
    cr_expect_eq(count_kind(log, CALL_FREE), n);
    run_close(&r);
}

Test(record, a_reset_of_a_device_is_recorded_and_one_that_failed_is_not)
{
    static const uint8_t want[] = {0, 1};
    struct run r;
    size_t n = 0;
    run_program(&r, "reset");
    cr_assert_eq(r.n_journals, 1);
    const struct call_journal *log = r.journals[0];
    for (uint32_t i = 0; i < log->n; i++)
        if (log->records[i].kind == CALL_RESET) {
            cr_assert_lt(n, sizeof want / sizeof want[0]);
            cr_expect_eq(log->records[i].device, want[n++]);
        }
    cr_expect_eq(n, sizeof want / sizeof want[0]);
    run_close(&r);
}

Test(record, no_descriptor_stays_open_and_none_is_needed)
{
    struct run r;
    run_program(&r, "closing");
    cr_expect_eq(expect_said(&r, 1, 0), 41000);
    cr_expect_eq(r.journals[0]->head.lost, 0);
    run_close(&r);
}

Test(record, a_program_without_cuda_calls_leaves_no_file)
{
    struct run r;
    run_program(&r, "nothing");
    cr_expect_eq(r.n_journals, 0);
    run_close(&r);
}

/* A limit on the size of files, whose signal would end the program. The limit is a window and a half: the journal
 * reaches it before the log does. */
Test(record, a_full_disk_is_reported_once_and_survived)
{
    struct run r;
    char text[4096];
    run_limited(&r, RECORD_PROGRAM, "closing", false, 3 << 19);
    cr_assert(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0, "status %x", (unsigned)r.status);
    cr_assert_eq(r.n_journals, 1);
    const struct call_journal *log = r.journals[0];
    cr_expect_gt(log->n, 16000);
    cr_expect_eq(count_kind(log, CALL_ALLOC) + count_kind(log, CALL_FREE) + log->head.lost, 41000);
    FILE *f = fopen(r.stderr_path, "r");
    cr_assert_not_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    const char *report = strstr(text, "replay: ");
    cr_assert(report != NULL && strstr(report, "File too large") != NULL, "%s", text);
    cr_expect_null(strstr(report + 1, "replay: "), "once: %s", text);
    run_close(&r);
}

Test(record, equal_stacks_are_kept_once_and_frames_have_names)
{
    struct run r;
    uint32_t texts[32];
    struct call_frames frames = {.n = 0};
    run_limited(&r, RECORD_PROGRAM, "stacks", true, RLIM_INFINITY);
    cr_assert_eq(r.status, 0);
    struct call_journal *log = r.journals[0];
    cr_assert_eq(count_kind(log, CALL_ALLOC), 100);
    cr_expect_lt(count_kind(log, CALL_FRAME), 20);
    const struct call_record *last = &log->records[log->n - 1];
    cr_assert_eq(last->kind, CALL_ALLOC);
    for (uint32_t i = 0; i < log->n; i++)
        cr_assert(call_frames_take(&frames, i, &log->records[i]));
    cr_assert_geq(call_frames_stack(&frames, last, texts, 32), 2);
    const char *innermost = text_table_at(&frames.texts, texts[0]);
    cr_expect(strncmp(innermost, "named_caller+0x", 15) == 0, "%s", innermost);
    cr_expect(strstr(innermost, "record_program") != NULL, "%s", innermost);
    call_frames_free(&frames);
    run_close(&r);
}

/* One thread records a call in a constructor, under the dynamic linker's lock. Another records a call whose frames have
 * no names yet, and asks the linker for them. */
Test(record, a_constructor_that_allocates_and_another_thread_do_not_wait_for_each_other)
{
    struct run r;
    run_limited(&r, RECORD_PROGRAM, "loading", true, RLIM_INFINITY);
    cr_assert_eq(r.status, 0, "status %x", (unsigned)r.status);
    cr_assert_eq(r.n_journals, 1);
    cr_expect_eq(count_kind(r.journals[0], CALL_ALLOC), 3);
    run_close(&r);
}
