/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A card's name ends in what it is sold with: "a10-24g". */
#include "sim/card_meant.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char exactly[] = ",exactly";

/* "24GiB", "24GB" or "24G" before a comma or the end: how many; 0: another text. */
static unsigned whole_gigabytes(const char *typed)
{
    unsigned n;
    char unit[4] = "", end = '\0';
    const int found = sscanf(typed, "%5u%3[GgiBb]%c", &n, unit, &end);
    const bool is_unit = strcmp(unit, "GiB") == 0 || strcmp(unit, "GB") == 0 || strcmp(unit, "G") == 0;
    return typed[0] >= '1' && typed[0] <= '9' && (found == 2 || (found == 3 && end == ',')) && is_unit ? n : 0;
}

/* Whether a card is sold with so much. A Jetson shares its memory with the host. */
static bool is_sold_with(const struct device_model *m, unsigned gigabytes)
{
    char end[16];
    const int k = snprintf(end, sizeof end, "-%ug", gigabytes);
    const size_t n = strlen(m->name);
    return n > (size_t)k && strcmp(m->name + n - (size_t)k, end) == 0 && strncmp(m->name, "jetson", 6) != 0;
}

static const struct device_model *smallest_sold_with(unsigned gigabytes)
{
    const struct device_model *m;
    for (size_t i = 0; gigabytes > 0 && (m = card_at(i)) != NULL; i++)
        if (is_sold_with(m, gigabytes))
            return m;
    return NULL;
}

static bool is_described(const char *typed)
{
    return strstr(typed, ",capability=") != NULL || strstr(typed, ",multiprocessors=") != NULL;
}

const struct device_model *card_meant(const char *typed, char device[static CARD_BYTES])
{
    const char *options = typed + strcspn(typed, ","), *bare = strstr(typed, exactly);
    const unsigned gigabytes = whole_gigabytes(typed);
    const bool is_bare = gigabytes > 0 && bare != NULL && strchr(",", bare[sizeof exactly - 1]) != NULL;
    const struct device_model *m = is_bare || is_described(typed) ? NULL : smallest_sold_with(gigabytes);
    if (is_bare)
        snprintf(device, CARD_BYTES, "sim:%.*s%s", (int)(bare - typed), typed, bare + sizeof exactly - 1);
    else if (m != NULL)
        snprintf(device, CARD_BYTES, "%s%s", m->name, options);
    else
        snprintf(device, CARD_BYTES, "%s", typed);
    return m;
}
