/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Looks a card up in the table of contexts. */
#include "sim/card_context.h"

#include "base/units.h"
#include "sim/cards.h"

#include <assert.h>
#include <string.h>

static const struct card_context contexts[] = {
#define CARD_CONTEXT(card, typical, most, source) {card, 0, (typical) * MIB, (most) * MIB, source},
#define CLASS_CONTEXT(capability, typical, most, source) {NULL, capability, (typical) * MIB, (most) * MIB, source},
#include "sim/card_context.def"
#undef CARD_CONTEXT
#undef CLASS_CONTEXT
};

static const struct card_context *context_of(const struct device_model *card)
{
    const size_t n = sizeof contexts / sizeof contexts[0];
    for (size_t i = 0; i < n; i++) {                 /* cards come before classes */
        const struct card_context *c = &contexts[i];
        assert(c->bytes > 0 && c->bytes <= c->most_bytes);
        if (c->card != NULL ? strcmp(c->card, card->name) == 0 : c->capability == card->capability)
            return c;
    }
    return NULL;
}

const struct card_context *card_context_of(const char *card)
{
    const struct device_model *model;
    return cards_find(card, strlen(card), &model, 1) == 1 ? context_of(model) : NULL;
}

const struct card_context *card_context_in(const char *device_text)
{
    static const char sim[] = "sim:";
    const struct device_model *model;
    if (strncmp(device_text, sim, strlen(sim)) == 0)
        device_text += strlen(sim);
    return cards_find(device_text, strcspn(device_text, ",:"), &model, 1) == 1 ? context_of(model) : NULL;
}
