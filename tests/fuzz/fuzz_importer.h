/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What every importer owes for any bytes: they are imported, and can then be read, or are refused with a sentence. */
#ifndef REPLAY_TESTS_FUZZ_FUZZ_IMPORTER_H
#define REPLAY_TESTS_FUZZ_FUZZ_IMPORTER_H

#include "import/import.h"
#include "tests/fuzz/fuzz.h"

static inline void fuzz_importer(const struct importer *importer, const char *columns, const void *data, size_t n)
{
    const struct import_config cfg = {.gpu = -1, .columns = columns};
    struct input *in = fuzz_input(data, n);
    struct trace_writer *w;
    struct trace_reader *r = NULL;
    const struct event *events;
    size_t n_events = 1;
    struct err_detail err = {.text = ""};
    if (n > 0)
        importer->sniff(data, n);
    if (in == NULL || trace_create(NULL, &w, &err) != ERR_OK)
        return;
    if (importer->import(in, &cfg, w, &err) != ERR_OK) {
        FUZZ_EXPECT(err.text[0] != '\0');
        trace_abandon(w);
    } else if (trace_finish_open(w, importer->name, &r, &err) == ERR_OK) {
        while (n_events > 0)
            FUZZ_EXPECT(trace_next(r, &events, &n_events, &err) == ERR_OK);
    }
    trace_close(r);
    input_close(in);
}

#endif
