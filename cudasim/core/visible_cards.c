/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "cudasim/core/visible_cards.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The card that one entry names; -1: it ends the list. */
static int card_named(const char *entry, int place)
{
    while (isspace((unsigned char)*entry))
        entry++;
    if (isalpha((unsigned char)*entry))
        return place;
    char *end;
    const long number = strtol(entry, &end, 10);
    return end == entry || number < 0 || number > 255 ? -1 : (int)number;
}

int visible_cards_read(const char *text, int n_cards, int most, int *places)
{
    int n = 0;
    if (text == NULL) {
        for (; n < n_cards && n < most; n++)
            places[n] = n;
        return n;
    }
    for (const char *entry = text; entry != NULL && n < most; n++) {
        places[n] = card_named(entry, n);
        if (places[n] < 0)
            break;
        entry = strchr(entry, ',');
        entry = entry == NULL ? NULL : entry + 1;
    }
    return n;
}
