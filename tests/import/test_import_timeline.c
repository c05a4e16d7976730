/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Memory timelines of torch.profiler: bytes at every entry, ends of the right size, categories, and what is refused. */
#include "base/input.h"
#include "tests/opened_text.h"

#include <jansson.h>
#include <zlib.h>

#define REAL TEST_DATA "/profiles/torch-2.9.1-timeline.raw.json.gz"

Test(import_timeline, requests_end_by_size_and_category_and_live_on_as_their_category_changes)
{
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    char got[256];
    static const char text[] = "[[-1, 1, 64, 0], [1000, 2, 512, 7], [2000, 3, -512, 7], [2000, 3, 512, 4],"
                               " [3000, 2, 512, 7], [4000, 4, -512, 4], [5000, 4, -512, 7], [6000, 4, -8, 7]]";
    cr_assert_eq(opened_text(text, NULL, -1, &r, &err), ERR_OK, "%s", err.text);
    cr_expect_str_eq(events_text(r, got, sizeof got), "+64 +512 +512 -512 -512 ");
    cr_expect_eq(trace_info(r)->duration_ns, 4000);
    cr_expect_eq(trace_info(r)->records, 8);
    cr_expect_not_null(strstr(trace_meta(r, "notes"), "does not begin, left out: 1"));
    trace_close(r);
}

/* Live bytes after each entry of a real timeline, counted here from its JSON, against those of the trace. */
Test(import_timeline, live_bytes_of_a_real_timeline_come_out_at_every_entry)
{
    static char text[1 << 20];
    struct trace_reader *r;
    struct err_detail err = {.text = ""};
    const struct event *events;
    size_t n = 1, at = 0;
    json_int_t live = 0;
    uint64_t got = 0, n_compared = 0;
    gzFile f = gzopen(REAL, "rb");
    cr_assert_not_null(f);
    cr_assert_gt(gzread(f, text, sizeof text - 1), 0);
    gzclose(f);
    json_t *entries = json_loads(text, 0, NULL);
    cr_assert_eq(trace_open_any(REAL, NULL, NULL, &r, &err), ERR_OK, "%s", err.text);
    while (n > 0) {
        cr_assert_eq(trace_next(r, &events, &n, &err), ERR_OK);
        for (size_t i = 0; i < n; i++, at++) {
            while (json_integer_value(json_array_get(json_array_get(entries, at), 1)) == 3)
                at++;                        /* a change of category changes no bytes */
            live += json_integer_value(json_array_get(json_array_get(entries, at), 2));
            got += events[i].kind == EVENT_ALLOC ? events[i].bytes : 0 - events[i].bytes;
            cr_assert_eq(got, (uint64_t)live, "after entry %zu", at);
            n_compared++;
        }
    }
    cr_expect_gt(n_compared, 100);
    json_decref(entries);
    trace_close(r);
}

Test(import_timeline, what_is_no_timeline_is_said)
{
    expect_text_refused("[[1, 2], [[0, 4]]]", NULL, ERR_FORMAT, "let export_memory_timeline write *.raw.json.gz");
    expect_text_refused("[[1, 2, 512, 0], [2, 9, 512, 0]]", NULL, ERR_FORMAT, "entry 1: 9 is not an action");
    expect_text_refused("[[1, 2, 512, 0], [2, 2, \"x\", 0]]", NULL, ERR_FORMAT, "not an entry of a memory timeline");
    expect_text_refused("[[1, 2, 512, 0], [2, 2, 5", NULL, ERR_FORMAT, "cut off");
    expect_text_refused("[[1, 2, 512, 0], 3]", NULL, ERR_FORMAT, "is not a list");
    expect_text_refused("[]", "torch-timeline", ERR_UNSUPPORTED, "is empty");
}
