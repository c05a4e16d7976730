/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/bisect/peak_rise.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

#define SHARE_MAX 1000.0

bool rise_threshold_read(const char *text, struct rise_threshold *out)
{
    char *end = NULL;
    const double percent = strtod(text, &end);
    const bool is_number = text[0] >= '0' && text[0] <= '9' && strspn(text, "0123456789.") == (size_t)(end - text);
    *out = (struct rise_threshold){ .is_typed = true };
    if (is_number && strcmp(end, "%") == 0) {
        out->share = percent / 100;
        return out->share <= SHARE_MAX;
    }
    return units_parse_bytes(text, strlen(text), &out->bytes);
}

uint64_t rise_none_above(const struct rise_threshold *t, uint64_t good_bytes)
{
    const double share = t->is_typed ? t->share : RISE_LEAST_SHARE;
    const uint64_t more = t->bytes + (uint64_t)(share * (double)good_bytes);
    return good_bytes > UINT64_MAX - more ? UINT64_MAX : good_bytes + more;
}

uint64_t rise_low_limit(const struct rise_threshold *t, uint64_t good_bytes, uint64_t bad_bytes)
{
    return t->is_typed ? rise_none_above(t, good_bytes) : good_bytes + (bad_bytes - good_bytes) / 2;
}
