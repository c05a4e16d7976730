/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Finds the context of a card. */
#include "sim/card_context.h"

#include "sim/card_table.h"

#include <string.h>

/* The card's own row comes before that of its compute capability. */
static const struct card_context *context_of(const struct device_model *card)
{
    const struct card_table *t = card_table();
    const struct card_context *of_class = NULL;
    for (size_t i = 0; i < t->n_contexts; i++) {
        const struct card_context *c = &t->contexts[i];
        if (c->card != NULL && strcmp(c->card, card->name) == 0)
            return c;
        if (c->card == NULL && c->capability == card->capability)
            of_class = c;
    }
    return of_class;
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
