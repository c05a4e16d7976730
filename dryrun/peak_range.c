/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The least and the most of a few replays, and the words for it. */
#include "dryrun/peak_range.h"

#include "base/units.h"

#include <string.h>

struct peak_range peak_range_of(const struct card_answer *expected, const struct card_bounds *bounds)
{
    const uint64_t bytes = expected->card_peak_bytes;
    return (struct peak_range){
        .low_bytes = bounds->least_bytes, .expected_bytes = bytes, .high_bytes = bounds->most_bytes,
        .below_bytes = { [RANGE_ADDRESSES] = bytes - bounds->least_bytes },
        .above_bytes = { [RANGE_ADDRESSES] = bounds->most_bytes - bytes },
    };
}

void peak_range_widen(struct peak_range *r, enum range_source source, const struct card_answer *other,
                      const struct card_bounds *bounds)
{
    const uint64_t bytes = other->card_peak_bytes;
    if (bytes < r->expected_bytes && r->expected_bytes - bytes > r->below_bytes[source])
        r->below_bytes[source] = r->expected_bytes - bytes;
    if (bytes > r->expected_bytes && bytes - r->expected_bytes > r->above_bytes[source])
        r->above_bytes[source] = bytes - r->expected_bytes;
    r->low_bytes = bounds->least_bytes < r->low_bytes ? bounds->least_bytes : r->low_bytes;
    r->high_bytes = bounds->most_bytes > r->high_bytes ? bounds->most_bytes : r->high_bytes;
}

bool peak_range_is_open(const struct peak_range *r)
{
    return r->is_endless || r->low_bytes < r->high_bytes;
}

bool peak_range_shows(const struct peak_range *r)
{
    char low[UNITS_TEXT], high[UNITS_TEXT];
    return r->is_endless ||
           strcmp(units_format_bytes(r->low_bytes, low), units_format_bytes(r->high_bytes, high)) != 0;
}

bool peak_range_has(const struct peak_range *r, enum range_source source)
{
    return r->below_bytes[source] > 0 || r->above_bytes[source] > 0 || (source == RANGE_UNSEEN && r->is_endless);
}

static void say_source(struct words *w, const struct peak_range *r, enum range_source source, bool is_first)
{
    char below[UNITS_TEXT], above[UNITS_TEXT];
    const uint64_t less = r->below_bytes[source], more = r->above_bytes[source];
    words_add(w, "%s%s", is_first ? "" : ", ", range_source_names[source]);
    if (source == RANGE_UNSEEN) {
        words_add(w, " was not seen");
        return;
    }
    words_add(w, " (");
    if (less > 0)
        words_add(w, "-%s%s", units_format_bytes(less, below), more > 0 ? ", " : "");
    if (more > 0)
        words_add(w, "+%s", units_format_bytes(more, above));
    words_add(w, ")");
}

void peak_range_say_sources(struct words *w, const struct peak_range *r)
{
    bool is_first = true;
    for (int i = 0; i < RANGE_SOURCES; i++)
        if (peak_range_has(r, (enum range_source)i)) {
            say_source(w, r, (enum range_source)i, is_first);
            is_first = false;
        }
}

void peak_range_say(struct words *w, const struct peak_range *r)
{
    char low[UNITS_TEXT], high[UNITS_TEXT];
    if (!peak_range_is_open(r))
        return;
    words_add(w, r->is_endless ? "at %s or more: " : "between %s and %s: ", units_format_bytes(r->low_bytes, low),
              units_format_bytes(r->high_bytes, high));
    peak_range_say_sources(w, r);
}

void peak_range_json(struct json_writer *json, const struct peak_range *r)
{
#define ANSWER_TABLE "answers/peak_range.def"
#include "answers/as_json.def"
}
