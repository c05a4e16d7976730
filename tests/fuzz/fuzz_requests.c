/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Fuzz target: any bytes are a request trace of a server, or are refused with a sentence. */
#include "loads/request_trace.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct err_detail err = {.text = ""};
    struct request_trace t;
    struct input *in = fuzz_input(data, n);
    if (in == NULL)
        return 0;
    if (request_trace_read_input(in, "requests", 1000, &t, &err) != ERR_OK)
        FUZZ_EXPECT(err.text[0] != '\0');
    for (size_t i = 0; i < t.n_requests; i++) {
        FUZZ_EXPECT(t.requests[i].prompt > 0 && t.requests[i].prompt <= REQUEST_TOKENS_MAX);
        FUZZ_EXPECT(t.requests[i].first_id + t.requests[i].n_ids <= t.n_ids);
        FUZZ_EXPECT(i == 0 || t.requests[i].arrival_us >= t.requests[i - 1].arrival_us);
    }
    request_trace_free(&t);
    input_close(in);
    return 0;
}
