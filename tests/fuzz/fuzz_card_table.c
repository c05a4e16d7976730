/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: a user's file of cards and contexts. What is added is whole and in order.
 */
#include "sim/card_table.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct card_table t;
    struct err_detail err = { .text = "" };
    t.n_cards = t.n_contexts = t.n_text = 0;
    if (card_table_read(&t, "own.csv", (const char *)data, n, &err) != ERR_OK)
        FUZZ_EXPECT(strncmp(err.text, "own.csv:", 8) == 0 && err.offset > 0);
    for (size_t i = 0; i < t.n_cards; i++) {
        const struct device_model *m = &t.cards[i];
        FUZZ_EXPECT(m->name[0] != '\0' && m->title[0] != '\0' && m->source[0] != '\0');
        FUZZ_EXPECT(m->total_bytes > 0 && m->smi_bytes >= m->total_bytes && compute_class_of(m->capability) != NULL);
        FUZZ_EXPECT(i == 0 || t.cards[i - 1].total_bytes <= m->total_bytes);
    }
    for (size_t i = 0; i < t.n_contexts; i++)
        FUZZ_EXPECT(t.contexts[i].bytes > 0 && t.contexts[i].bytes <= t.contexts[i].most_bytes);
    return 0;
}
