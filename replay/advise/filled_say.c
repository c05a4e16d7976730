/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The one sentence on a step that is filled in, and its JSON. */
#include "replay/advise/filled_step.h"

#include "report/text/json_writer.h"

void filled_step_say(struct words *w, const struct filled_step *f, const char *const *whose, size_t n, bool leaks,
                     const char *setting)
{
    char size[TEXT_NUMBER];
    words_add(w, "If the cut step goes on as the one before (filled in from it, not recorded), live data peaks at %s",
              text_mib(f[0].live_bytes, size));
    for (size_t i = 0; i < n; i++)
        if (f[i].smallest_bytes > 0)
            words_add(w, "; %s needs a card of %s", whose[i], text_card(f[i].smallest_bytes, size));
        else
            words_add(w, "; no card was found for %s", whose[i]);
    words_add(w, "%s", leaks ? ", until the next step" : "");
    if (setting != NULL)
        words_add(w, "; %s %s on this card", setting, f[0].runs_with_setting ? "runs" : "runs out of memory");
    words_add(w, ".");
}

void filled_step_json(struct json_writer *json, const struct filled_step *f)
{
#define ANSWER_TABLE "answers/filled_step.def"
#include "answers/as_json.def"
}
