/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Fuzz target: any bytes are a log of requests, or are refused with a sentence. What is imported can be read. The first
 * line is a mapping, as after --from csv:, if it begins with '='. */
#include "import/import.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check(const void *bytes, size_t n, const char *columns)
{
    const struct import_config cfg = {.gpu = -1, .columns = columns};
    struct input *in;
    struct trace_writer *w;
    struct trace_reader *r = NULL;
    const struct event *events;
    size_t n_events = 1;
    struct err_detail why = {.text = ""};
    if (input_open_bytes(bytes, n, &in, &why) != ERR_OK || trace_create(NULL, &w, &why) != ERR_OK)
        return;
    if (importer_csv.import(in, &cfg, w, &why) != ERR_OK) {
        FUZZ_EXPECT(why.text[0] != '\0');
        trace_abandon(w);
    } else if (trace_finish_open(w, "log", &r, &why) == ERR_OK) {
        while (n_events > 0)
            FUZZ_EXPECT(trace_next(r, &events, &n_events, &why) == ERR_OK);
    }
    trace_close(r);
    input_close(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const uint8_t *end = n > 0 && data[0] == '=' ? memchr(data, '\n', n) : NULL;
    char *columns = end == NULL ? NULL : strndup((const char *)data + 1, (size_t)(end - data) - 1);
    const size_t skipped = end == NULL ? 0 : (size_t)(end - data) + 1;
    if (n > 0)
        importer_csv.sniff(data, n);
    check(data + skipped, n - skipped, columns);
    free(columns);
    return 0;
}
