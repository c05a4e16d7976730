/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "cudasim/core/visible_cards.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OWN_DIGITS = 8 };             /* fewer may begin another card's UUID */

static const char *skip_spaces(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

/* "GPU-02..." as bytes. Returns how many digits it has; 0: it is no such name. */
static int read_uuid(const char *entry, unsigned char uuid[static CARD_UUID_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    int n = 0;
    memset(uuid, 0, CARD_UUID_BYTES);
    if (strncmp(entry, "GPU-", 4) != 0)
        return 0;
    for (entry += 4; n < 2 * CARD_UUID_BYTES && (isxdigit((unsigned char)*entry) || *entry == '-'); entry++)
        if (*entry != '-') {
            const long digit = strchr(digits, tolower((unsigned char)*entry)) - digits;
            uuid[n / 2] = (unsigned char)(uuid[n / 2] | digit << (n % 2 == 0 ? 4 : 0));
            n++;
        }
    return n;
}

/* The card whose UUID is ours and has this name; -1: none. */
static int card_of_uuid(const char *entry)
{
    unsigned char uuid[CARD_UUID_BYTES], rest = 0;
    if (read_uuid(entry, uuid) < OWN_DIGITS)
        return -1;
    for (int i = 1; i < CARD_UUID_BYTES; i++)
        rest |= uuid[i];
    return rest == 0 ? uuid[0] - 1 : -1;
}

/* The card that one entry names; -1: it ends the list. */
static int card_named(const char *entry, int place)
{
    entry = skip_spaces(entry);
    if (isalpha((unsigned char)*entry)) {
        const int card = card_of_uuid(entry);
        return card >= 0 ? card : place;
    }
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

void visible_card_uuid(const char *text, int card, unsigned char uuid[static CARD_UUID_BYTES])
{
    const char *entry = text;
    for (int i = 0; i < card && entry != NULL; i++) {
        entry = strchr(entry, ',');
        entry = entry == NULL ? NULL : entry + 1;
    }
    if (entry != NULL && read_uuid(skip_spaces(entry), uuid) > 0 && card_of_uuid(skip_spaces(entry)) < 0)
        return;
    memset(uuid, 0, CARD_UUID_BYTES);
    uuid[0] = (unsigned char)(card + 1);
}

int visible_card_uuid_text(int card, char *out, size_t n)
{
    unsigned char u[CARD_UUID_BYTES];
    visible_card_uuid(getenv("CUDA_VISIBLE_DEVICES"), card, u);
    return snprintf(out, n, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
                    u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}
