/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Looks a card up in the table of contexts. */
#include "sim/card_context.h"

#include "base/units.h"

#include <assert.h>
#include <string.h>

static const struct card_context contexts[] = {
#define CARD_CONTEXT(card, typical, most, source) {card, (typical) * MIB, (most) * MIB, source},
#include "sim/card_context.def"
#undef CARD_CONTEXT
};

static const struct card_context *find(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof contexts / sizeof contexts[0]; i++)
        if (strlen(contexts[i].card) == n && memcmp(contexts[i].card, name, n) == 0) {
            assert(contexts[i].bytes > 0 && contexts[i].bytes <= contexts[i].most_bytes);
            return &contexts[i];
        }
    return NULL;
}

const struct card_context *card_context_of(const char *card)
{
    return find(card, strlen(card));
}

const struct card_context *card_context_in(const char *device_text)
{
    static const char sim[] = "sim:";
    if (strncmp(device_text, sim, strlen(sim)) == 0)
        device_text += strlen(sim);
    return find(device_text, strcspn(device_text, ",:"));
}
