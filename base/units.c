/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Sizes and times as people write and read them. */
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TIME_TEXT = 64 };

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

/* Reads digits from text[*i] on, and moves *i behind them; false if the number is too large. */
static bool units_digits(const char *text, size_t n, size_t *i, uint64_t *out)
{
    for (*out = 0; *i < n && text[*i] >= '0' && text[*i] <= '9'; ++*i) {
        const uint64_t d = (uint64_t)(text[*i] - '0');
        if (*out > (UINT64_MAX - d) / 10)
            return false;
        *out = *out * 10 + d;
    }
    return true;
}

bool units_parse_number(const char *text, size_t n, uint64_t *out)
{
    uint64_t number;
    size_t i = 0;
    if (n == 0 || !units_digits(text, n, &i, &number) || i < n)
        return false;
    *out = number;
    return true;
}

bool units_parse_bytes(const char *text, size_t n, uint64_t *out)
{
    uint64_t whole;
    double fraction = 0, place = 1;
    size_t i = 0;
    if (!units_digits(text, n, &i, &whole))
        return false;
    size_t digits = i;
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

uint64_t units_time_ns(const char *text, size_t n)
{
    static const struct { const char *name; uint64_t ns; } units[] = {
        { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 }, { "min", UINT64_C(60000000000) },
    };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strlen(units[i].name) == n && memcmp(units[i].name, text, n) == 0)
            return units[i].ns;
    return 0;
}

bool units_parse_time(const char *text, size_t n, double *ns)
{
    static const double most_ns = 9e18;
    char copy[TIME_TEXT], *unit;             /* strtod wants an end */
    if (n >= sizeof copy)
        return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    const double number = strtod(copy, &unit);
    const uint64_t unit_ns = units_time_ns(unit, strlen(unit));
    const double value = number * (double)unit_ns;
    if (unit == copy || unit_ns == 0 || !(value >= -most_ns && value <= most_ns))
        return false;
    *ns = value;
    return true;
}
