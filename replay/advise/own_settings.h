/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What the settings of JAX and of TensorFlow do for a recording of requests to their allocator: each of the platform's
 * policies on one card (replay/recording/platform_policies.def). PyTorch's settings mean nothing to them.
 */
#ifndef REPLAY_REPLAY_ADVISE_OWN_SETTINGS_H
#define REPLAY_REPLAY_ADVISE_OWN_SETTINGS_H

#include "replay/advise/fit_answer.h"

/* Zero is valid: own_settings_close accepts it. */
struct own_settings {
    struct fit_answer fit;           /* the platform's policies, in their order, which is from the mildest on */
    enum platform platform;
    size_t   chosen;                 /* the first that runs on the card; WINNER_NONE: none does */
};

/* On the card that was chosen (`device` is borrowed), for a recording of which recorded_from_xla holds. Close *out also
 * after an error. fit_answer_find's errors. */
MUST_USE enum err own_settings_find(struct trace_reader *trace, const struct device_choice *device,
                                    uint64_t price_bytes_per_ms, const struct replay_config *cfg,
                                    struct own_settings *out, struct err_detail *err);
void own_settings_close(struct own_settings *s);

/* Whether a setting is advised, because the library as it comes is refused a request and another way is not. */
bool own_settings_advise(const struct own_settings *s);

/* The verdict in a sentence, and what to do. */
void own_settings_add_verdict(struct words *w, const struct own_settings *s);
void own_settings_add_act(struct words *w, const struct own_settings *s);

/* An `export` for each variable of what is advised, each after `indent`, the last without its end; else nothing. */
void own_settings_put_paste(FILE *out, const struct own_settings *s, const char *indent);

/* What each way takes of the card, a sentence. */
void own_settings_add_ways(struct words *w, const struct own_settings *s);

/* `replay tune`: all of it, and a table. terminal_table_print's errors. */
MUST_USE enum err own_settings_print(FILE *out, const struct own_settings *s, size_t columns);

/* "replay-tune-own/1" (report/SCHEMA.md); the stream keeps its own error. */
void own_settings_write_json(FILE *out, const struct own_settings *s, const char *path);

/* A row of it (answers/own_setting.def). */
struct own_setting_at {
    const struct own_settings *settings;
    size_t i;
};
struct json_writer;
void own_setting_json(struct json_writer *json, const struct own_setting_at *of);

#endif
