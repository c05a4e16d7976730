/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: any bytes are a snapshot, or are refused with a sentence. They are imported like a file, once for their
 * events, once for their final state, and once for the host's records if they may have some. The reader must accept
 * every trace that the importer makes, and must read the same events whether they were encoded or handed over directly.
 */
#define _GNU_SOURCE                                  /* memmem */
#include "import/import.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutators.h"

#include <string.h>

static void fuzz_line(void *arg, const char *text)
{
    (void)arg;
    (void)text;
}

/* NULL if refused. `is_at_once`: the writer opens the trace itself, without encoding events. */
static struct trace_reader *import_it(const uint8_t *data, size_t size, const struct import_config *cfg,
                                      bool is_at_once)
{
    struct input *in = fuzz_input(data, size);
    struct trace_writer *w;
    struct trace_reader *r = NULL;
    struct err_detail err = {.text = ""};
    void *bytes;
    size_t n;
    if (in == NULL)
        return NULL;
    if (trace_create(NULL, &w, &err) == ERR_OK) {
        if (importer_pytorch.import(in, cfg, w, &err) != ERR_OK) {
            FUZZ_EXPECT(err.text[0] != '\0');
            trace_abandon(w);
        } else if (is_at_once) {
            FUZZ_EXPECT(trace_finish_open(w, "imported", &r, NULL) == ERR_OK);
        } else if (trace_finish_bytes(w, &bytes, &n, &err) == ERR_OK) {
            FUZZ_EXPECT(trace_open_owned(bytes, n, "imported", UINT64_MAX, &r, NULL) == ERR_OK);
        }
    }
    input_close(in);
    return r;
}

static void expect_same_events(struct trace_reader *a, struct trace_reader *b)
{
    const struct event *x, *y;
    size_t n = 1, m = 1;
    while (n > 0) {
        FUZZ_EXPECT(trace_next(a, &x, &n, NULL) == ERR_OK && trace_next(b, &y, &m, NULL) == ERR_OK);
        FUZZ_EXPECT(n == m && (n == 0 || memcmp(x, y, n * sizeof *x) == 0));
    }
}

static void check_import(const uint8_t *data, size_t size, const struct import_config *cfg)
{
    struct trace_reader *packed = import_it(data, size, cfg, false);
    struct trace_reader *at_once = import_it(data, size, cfg, true);
    FUZZ_EXPECT((packed == NULL) == (at_once == NULL));
    if (packed != NULL)
        expect_same_events(packed, at_once);
    FUZZ_EXPECT(packed == NULL || !cfg->final_state || trace_info(packed)->events == 0);
    trace_close(packed);
    trace_close(at_once);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input *in = fuzz_input(data, size);
    struct err_detail err = {.text = ""};
    /* The length chooses. */
    const struct import_config events = {.gpu = size % 5 == 4 ? 0 : -1, .segment_frees = size % 3};
    const struct import_config state = {.gpu = -1, .final_state = true};
    const struct import_config host = {.gpu = -1, .columns = "host"};
    check_import(data, size, &events);
    check_import(data, size, &state);
    if (memmem(data, size, "host_", 5) != NULL)
        check_import(data, size, &host);
    if (in != NULL) {
        if (importer_pytorch.describe(in, fuzz_line, NULL, &err) != ERR_OK)
            FUZZ_EXPECT(err.text[0] != '\0');
        input_close(in);
    }
    return 0;
}

FUZZ_MUTATOR(mutate_pickle)
