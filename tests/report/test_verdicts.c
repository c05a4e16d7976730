/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What `why` says of recordings that other people published, and what a recorded refusal says of the card. Of the
 * public recordings at hand one ends with a refusal; no other verdict but "nothing was refused" and "the recording
 * ends" is among them.
 */
#include "replay/why/why.h"

#include "base/units.h"
#include "sim/card_context.h"
#include "tests/recorded_run.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#define MUST(call) cr_assert_eq((call), ERR_OK, "%s", err.text)

/* ---- public recordings ---- */

static const struct { const char *name; enum verdict_kind verdict; bool is_state; } public_ones[] = {
    { "Nesta-gitU-1ab3368e", VERDICT_FULL, false },
    { "HanFa-21506e9c", VERDICT_CACHE, false },
    { "Charan6924-075dd064", VERDICT_CACHE, false },
};

Test(verdicts, of_public_recordings)
{
    for (size_t i = 0; i < sizeof public_ones / sizeof public_ones[0]; i++) {
        char path[512];
        struct err_detail err = { .text = "" };
        struct device_choice device;
        struct why verdict;
        const struct replay_config cfg = { .threads = 1 };
        snprintf(path, sizeof path, SHARED_DIR "/traces/pytorch-snapshot/%s.pickle", public_ones[i].name);
        if (access(path, R_OK) != 0)
            cr_skip_test("needs recordings of others: no %s", path);
        struct trace_reader *trace = recorded_open(path, -1);
        MUST(device_choose_for_advice(NULL, trace, PLATFORM_UNKNOWN, &device, &err));
        MUST(why_read(trace, false, &device, &cfg, &verdict, &err));
        cr_expect_eq(verdict.verdict, public_ones[i].verdict, "%s: %s", public_ones[i].name, why_word(verdict.verdict));
        why_close(&verdict);
        trace_close(trace);
    }
}

/* ---- the context, read off a refusal ---- */

/* A recording whose last request was refused on a card of which the program could have so much. */
static struct trace_reader *refused(uint64_t capacity_bytes, bool has_refusal)
{
    struct trace_writer *w;
    struct trace_reader *trace;
    const struct trace_record request = { .kind = EVENT_ALLOC, .ptr = 1, .bytes = MIB, .record = TRACE_NO_RECORD };
    const struct trace_record refusal = { .kind = EVENT_OOM, .bytes = 64 * GIB, .record = TRACE_NO_RECORD };
    cr_assert_eq(trace_create(NULL, &w, NULL), ERR_OK);
    trace_writer_info(w)->capacity_bytes = capacity_bytes;
    cr_assert_eq(trace_put(w, &request, NULL), ERR_OK);
    if (has_refusal)
        cr_assert_eq(trace_put(w, &refusal, NULL), ERR_OK);
    cr_assert_eq(trace_finish_open(w, "refused", &trace, NULL), ERR_OK);
    return trace;
}

/* On the card that a person names, what the program could not have when a request was refused is the context, up to
 * 2 GiB: more is somebody else. Without a refusal, or with context=, it is not read off. */
Test(verdicts, a_refusal_calibrates_the_context_of_the_card_that_is_named)
{
    const struct card_context *table = card_context_of("a100-40g");
    const struct device_model *card = NULL;
    cr_assert_eq(cards_find("a100-40g", strlen("a100-40g"), &card, 1), 1);
    const uint64_t total = card->total_bytes;
    const struct {
        const char *device; uint64_t capacity; bool has_refusal; uint64_t context; bool is_recorded;
    } cases[] = {
        { "a100-40g", total - 700 * MIB, true, 700 * MIB, true },
        { "a100-40g", total - 2048 * MIB, true, 2048 * MIB, true },
        { "a100-40g", total - 2050 * MIB, true, table->bytes, false },
        { "a100-40g", total - 700 * MIB, false, table->bytes, false },
        { "a100-40g", total + MIB, true, table->bytes, false },
        { "a100-40g", 0, true, table->bytes, false },
        { "sim:a100-40g,context=100MiB", total - 700 * MIB, true, 100 * MIB, false },
        { "24GiB", 20 * GIB, true, 0, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err_detail err = { .text = "" };
        struct device_choice device;
        char text[256];
        struct trace_reader *trace = refused(cases[i].capacity, cases[i].has_refusal);
        MUST(device_choose_for_advice(cases[i].device, trace, PLATFORM_UNKNOWN, &device, &err));
        cr_expect_eq(device.config.context_bytes, cases[i].context, "case %zu", i);
        cr_expect_eq(device.is_context_recorded, cases[i].is_recorded, "case %zu", i);
        cr_expect_eq(device.context_most_bytes, cases[i].context == table->bytes ? table->most_bytes : 0, "case %zu",
                     i);
        device_say_context(&device, text, sizeof text);
        cr_expect_eq(strstr(text, "as when the request was refused") != NULL, cases[i].is_recorded, "%s", text);
        cr_expect_eq(strstr(text, "seen") != NULL, cases[i].context == table->bytes, "%s", text);
        trace_close(trace);
    }
}
