/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Fuzz target: any bytes are a profile of torch.profiler, or are refused with a sentence. What is imported can be read. */
#include "import/import.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct import_config cfg = {.gpu = -1};
    struct input *in;
    struct trace_writer *w;
    struct trace_reader *r = NULL;
    const struct event *events;
    size_t n_events = 1;
    struct err_detail why = {.text = ""};
    if (n > 0)
        importer_profiler.sniff(data, n);
    if (input_open_bytes(data, n, &in, &why) != ERR_OK || trace_create(NULL, &w, &why) != ERR_OK)
        return 0;
    if (importer_profiler.import(in, &cfg, w, &why) != ERR_OK) {
        FUZZ_EXPECT(why.text[0] != '\0');
        trace_abandon(w);
    } else if (trace_finish_open(w, "profile", &r, &why) == ERR_OK) {
        while (n_events > 0)
            FUZZ_EXPECT(trace_next(r, &events, &n_events, &why) == ERR_OK);
    }
    trace_close(r);
    input_close(in);
    return 0;
}
