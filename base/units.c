/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Sizes as people write and read them. */
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char unit_letters[] = "KMGTPE";

/* The power of 1024 that a unit names, -1 if it names none. */
static int units_power(const char *unit, size_t n)
{
    if (n == 0 || (n == 1 && strncasecmp(unit, "b", 1) == 0))
        return 0;
    const char letter = (char)(unit[0] >= 'a' && unit[0] <= 'z' ? unit[0] - 'a' + 'A' : unit[0]);
    const char *at = strchr(unit_letters, letter);
    if (at == NULL || letter == '\0')
        return -1;
    if (n == 1 || (n == 2 && strncasecmp(unit + 1, "b", 1) == 0) || (n == 3 && strncasecmp(unit + 1, "ib", 2) == 0))
        return (int)(at - unit_letters) + 1;
    return -1;
}

bool units_parse_bytes(const char *text, size_t n, uint64_t *out)
{
    uint64_t whole = 0;
    double fraction = 0, place = 1;
    size_t i = 0, digits = 0;
    for (; i < n && text[i] >= '0' && text[i] <= '9'; i++, digits++) {
        const uint64_t d = (uint64_t)(text[i] - '0');
        if (whole > (UINT64_MAX - d) / 10)
            return false;
        whole = whole * 10 + d;
    }
    if (i < n && text[i] == '.')
        for (i++; i < n && text[i] >= '0' && text[i] <= '9'; i++, digits++)
            fraction += (text[i] - '0') * (place /= 10);
    while (i < n && text[i] == ' ')
        i++;
    const int power = units_power(text + i, n - i);
    if (digits == 0 || power < 0)
        return false;
    const unsigned shift = 10u * (unsigned)power;
    if (shift > 0 && whole > UINT64_MAX >> shift)
        return false;
    *out = add_capped(whole << shift, (uint64_t)llround(ldexp(fraction, (int)shift)));
    return true;
}

const char *units_format_bytes(uint64_t bytes, char buf[UNITS_TEXT])
{
    int power = 0;
    while (power < 6 && bytes >> (10 * (power + 1)) != 0)
        power++;
    if (power == 0) {
        snprintf(buf, UNITS_TEXT, "%" PRIu64 " B", bytes);
    } else {
        const double value = ldexp((double)bytes, -10 * power);
        const bool is_whole = (bytes & ((UINT64_C(1) << (10 * power)) - 1)) == 0;
        snprintf(buf, UNITS_TEXT, is_whole ? "%.0f %ciB" : "%.2f %ciB", value, unit_letters[power - 1]);
    }
    return buf;
}
