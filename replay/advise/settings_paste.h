/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A setting as people paste it, and as machines read it: the environment variable, and the call that goes with it where
 * a release has no option for the limit of memory.
 */
#ifndef REPLAY_REPLAY_ADVISE_SETTINGS_PASTE_H
#define REPLAY_REPLAY_ADVISE_SETTINGS_PASTE_H

#include "replay/advise/candidate_settings.h"
#include "report/text/json_writer.h"

#include <stdio.h>

/* The percentage for set_per_process_memory_fraction(). 0: not needed, because nothing limits the memory or because an
 * option of the release sets the limit. */
unsigned settings_fraction_call(const struct settings *s, const struct pytorch_rules *rules);

/* Lines that a person pastes, each after `indent`, the last without its end. The first ones are for the platform's
 * shell:
 * `export`, `set` and `$env:`, or `unset` for the defaults. Another, if there is one, is for the program. */
void settings_put_paste(FILE *out, const struct settings *s, const struct pytorch_rules *rules, enum platform platform,
                        const char *indent);

/* The members conf and set_per_process_memory_fraction (null: not needed) of the object that is open. */
void settings_put_json(struct json_writer *w, const struct settings *s, const struct pytorch_rules *rules);

/* The same, the members of answers/setting_words.def. */
struct setting_words {
    const struct settings      *settings;
    const struct pytorch_rules *rules;
};
void setting_words_json(struct json_writer *json, const struct setting_words *s);

#endif
