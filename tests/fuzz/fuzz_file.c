/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: a recording as a file, by its path: every format, every compression, base64 in a page, the reading of
 * windows and sections from disk. It is opened as commands open it, described, and its final state is read. Letters in
 * front of an input compress and pack it first (forged_input.h).
 */
#include "import/import.h"
#include "tests/fuzz/forged_input.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"
#include "tests/fuzz/mutators.h"

#include <stdlib.h>

static void take_line(void *arg, const char *text)
{
    (void)arg;
    FUZZ_EXPECT(text != NULL);
}

static void read_events(struct trace_reader *r)
{
    const struct event *events;
    struct trace_side side;
    size_t n = 1;
    while (n > 0 && trace_next(r, &events, &n, NULL) == ERR_OK)
        ;
    if (trace_info(r)->events > 0)
        (void)!trace_side_at(r, trace_info(r)->events - 1, &side, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct import_config cfg = { .gpu = -1, .memory_limit = 64 << 20 };
    struct trace_reader *r = NULL;
    struct err_detail err = { .text = "" };
    size_t n_file;
    void *file = forged_file(data, n, &n_file);
    const char *path = input_file_write(file, n_file);
    free(file);
    if (path == NULL)
        return 0;
    if (trace_open_any(path, NULL, &cfg, &r, &err) == ERR_OK)
        read_events(r);
    else
        FUZZ_EXPECT(err.text[0] != '\0');
    trace_close(r);
    r = NULL;
    if (trace_open_final_state(path, NULL, &cfg, &r, &err) == ERR_OK)
        trace_close(r);
    (void)!trace_describe(path, NULL, &cfg, take_line, NULL, &err);
    input_file_remove();
    return 0;
}

FUZZ_MUTATOR(mutate_file)
