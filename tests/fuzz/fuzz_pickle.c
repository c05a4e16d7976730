/*
 * Fuzz target: any bytes are a snapshot, or are refused with a sentence. They take the whole way of a file, and what the
 * importer makes of them the reader must find valid.
 */
#include "base/input.h"
#include "tests/fuzz/fuzz.h"
#include "traces/import.h"

static void fuzz_line(void *arg, const char *text)
{
    (void)arg;
    (void)text;
}

static void read_back(void *bytes, size_t n)
{
    struct trace_reader *r;
    const struct event *events;
    size_t got = 1;
    enum err e = trace_open_owned(bytes, n, "imported", &r, NULL);
    FUZZ_EXPECT(e == ERR_OK);
    while (e == ERR_OK && got > 0)
        e = trace_next(r, &events, &got, NULL);
    FUZZ_EXPECT(e == ERR_OK);
    trace_close(r);
}

static void try_import(struct input *in)
{
    const struct import_config cfg = {.gpu = -1};
    struct trace_writer *w;
    struct err_detail why = {.text = ""};
    void *bytes;
    size_t n;
    if (trace_create(NULL, &w, &why) != ERR_OK)
        return;
    if (importer_pytorch.import(in, &cfg, w, &why) != ERR_OK) {
        FUZZ_EXPECT(why.text[0] != '\0');
        trace_abandon(w);
    } else if (trace_finish_bytes(w, &bytes, &n, &why) == ERR_OK) {
        read_back(bytes, n);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input *in;
    struct err_detail why = {.text = ""};
    if (input_open_bytes(data, size, &in, NULL) == ERR_OK) {
        try_import(in);
        input_close(in);
    }
    if (input_open_bytes(data, size, &in, NULL) == ERR_OK) {
        if (importer_pytorch.describe(in, fuzz_line, NULL, &why) != ERR_OK)
            FUZZ_EXPECT(why.text[0] != '\0');
        input_close(in);
    }
    return 0;
}
