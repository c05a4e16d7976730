/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: any bytes are a journal of CUDA calls, or are refused with a sentence. What is imported is a trace that
 * the reader takes, and the sums of what a simulated card gave can be formed.
 *
 * An input that begins with 'R' holds records alone; they get a head here. After 'G' comes the number of the device to
 * choose, after 'S' the records of a simulated card. Other inputs are whole files.
 */
#include "import/call_journal_read.h"
#include "import/import.h"
#include "import/import_calls.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"

#include <stdlib.h>
#include <string.h>

static const struct call_head good_head = {
    .magic = CALL_JOURNAL_MAGIC, .order = CALL_JOURNAL_ORDER, .version = CALL_JOURNAL_VERSION,
    .record_bytes = sizeof(struct call_record), .head_bytes = sizeof(struct call_head), .command_line = "a"};

static void check_trace(struct trace_writer *w)
{
    struct trace_reader *r;
    const struct event *events;
    void *bytes;
    size_t n, n_events = 1;
    struct err_detail err = {.text = ""};
    if (trace_finish_bytes(w, &bytes, &n, &err) != ERR_OK) {
        FUZZ_EXPECT(err.text[0] != '\0');
        return;
    }
    FUZZ_EXPECT(trace_open_owned(bytes, n, "journal", UINT64_MAX, &r, &err) == ERR_OK);
    while (n_events > 0)
        FUZZ_EXPECT(trace_next(r, &events, &n_events, &err) == ERR_OK);
    trace_close(r);
}

static void check_journal(const void *bytes, size_t n, int64_t gpu)
{
    const struct import_config cfg = {.gpu = gpu};
    struct input *in = fuzz_input(bytes, n);
    struct trace_writer *w;
    struct err_detail err = {.text = ""};
    if (in == NULL)
        return;
    if (trace_create(NULL, &w, &err) == ERR_OK) {
        if (importer_calls.import(in, &cfg, w, &err) == ERR_OK) {
            check_trace(w);
        } else {
            FUZZ_EXPECT(err.text[0] != '\0');
            trace_abandon(w);
        }
    }
    input_close(in);
}

static void check_sums(const void *bytes, size_t n)
{
    static struct call_use use[CALL_DEVICES_MAX];
    struct input *in = fuzz_input(bytes, n);
    struct call_journal *log = NULL;
    struct err_detail err = {.text = ""};
    if (in == NULL)
        return;
    memset(use, 0, sizeof use);
    if (call_journal_read(in, &log, &err) == ERR_OK)
        call_journal_sum(log, use);
    for (size_t i = 0; i < CALL_DEVICES_MAX; i++)
        FUZZ_EXPECT(use[i].held_bytes <= use[i].peak_bytes);
    call_journal_free(log);
    input_close(in);
}

static enum err create_in_memory(void *arg, unsigned device, struct trace_writer **out, struct err_detail *err)
{
    (void)arg, (void)device;
    return trace_create(NULL, out, err);
}

static void check_summary(const char *path)
{
    static struct calls_summary summary;
    struct err_detail err = {.text = ""};
    if (path != NULL && calls_summarise(path, &summary, &err) != ERR_OK)
        FUZZ_EXPECT(err.text[0] != '\0');
    FUZZ_EXPECT(memchr(summary.command_line, '\0', sizeof summary.command_line) != NULL);
}

/* The same journal as a file that is followed while it is written. */
static void check_following(const void *bytes, size_t n)
{
    const struct calls_traces traces = {.create = create_in_memory};
    struct calls_follow *f = NULL;
    struct err_detail err = {.text = ""};
    bool has_more = true;
    const char *path = input_file_write(bytes, n);
    enum err e = path == NULL ? ERR_IO : calls_follow_open(path, &traces, &f, &err);
    while (e == ERR_OK && has_more)
        e = calls_follow_look(f, &has_more, &err);
    if (e == ERR_OK)
        e = calls_follow_finish(f, &err);
    else
        calls_follow_close(f);
    FUZZ_EXPECT(path == NULL || e == ERR_OK || err.text[0] != '\0');
    check_summary(path);
    input_file_remove();
}

static void check_records(const uint8_t *records, size_t n, int64_t gpu, enum call_card card)
{
    unsigned char *file = malloc(sizeof good_head + n + 1);
    struct call_head head = good_head;
    head.card = (uint64_t)card;
    memcpy(file, &head, sizeof head);
    memcpy(file + sizeof good_head, records, n);
    check_journal(file, sizeof good_head + n, gpu);
    check_sums(file, sizeof good_head + n);
    check_following(file, sizeof good_head + n);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n > 0 && data[0] == 'R')
        check_records(data + 1, n - 1, -1, CALL_CARD_REAL);
    else if (n > 1 && data[0] == 'G')
        check_records(data + 2, n - 2, data[1] % 4, CALL_CARD_REAL);
    else if (n > 0 && data[0] == 'S')
        check_records(data + 1, n - 1, -1, CALL_CARD_SIMULATED);
    else
        check_journal(data, n, -1);
    return 0;
}
