/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The platform's policies are those that `fit` runs for such a recording; here one of them is advised. */
#include "replay/advise/own_settings.h"

#include "base/units.h"
#include "replay/results/fresh_start.h"
#include "report/text/json_writer.h"
#include "report/text/text.h"

#include <string.h>

enum { CARD_WORDS = 96 };

enum err own_settings_find(struct trace_reader *trace, const struct device_choice *device, uint64_t price_bytes_per_ms,
                           const struct replay_config *cfg, struct own_settings *out, struct err_detail *err)
{
    const struct fit_request asked = { .device = device->typed, .system = device->platform,
                                       .price_bytes_per_ms = price_bytes_per_ms };
    *out = (struct own_settings){ .platform = recorded_platform(trace), .chosen = WINNER_NONE };
    const enum err e = fit_answer_find(trace, &asked, cfg, &out->fit, err);
    const size_t best = out->fit.best;
    if (e == ERR_OK && best != WINNER_NONE && out->fit.contenders[best].is_ok)
        out->chosen = best;                      /* else it is only the one that needs the smallest card */
    return e;
}

void own_settings_close(struct own_settings *s)
{
    fit_answer_close(&s->fit);
}

bool own_settings_advise(const struct own_settings *s)
{
    return s->chosen != WINNER_NONE && s->chosen > 0;
}

/* "rtx3070-8g", or "a card of 1024 MiB". */
static const char *card_of(const struct own_settings *s, char text[static CARD_WORDS])
{
    const struct device_config *card = &s->fit.device.config;
    char bytes[TEXT_NUMBER];
    if (card->model != NULL)
        snprintf(text, CARD_WORDS, "%s", card->model->name);
    else
        snprintf(text, CARD_WORDS, "a card of %s", card->total_bytes == DEVICE_UNLIMITED
                                                       ? "any size" : text_card(card->total_bytes, bytes));
    return text;
}

/* Where the recording ends early, it may need more. */
static const char *at_least(const struct own_settings *s)
{
    return fit_is_lower_bound(&s->fit) ? "at least " : "";
}

static void add_live(struct words *w, const struct own_settings *s)
{
    char live[TEXT_NUMBER];
    words_add(w, "live data peaks at %s%s in %s's allocator", text_mib(s->fit.bounds.live_bytes, live),
              fit_is_lower_bound(&s->fit) ? " or more" : "", platform_words(s->platform));
}

void own_settings_add_verdict(struct words *w, const struct own_settings *s)
{
    char card[CARD_WORDS], variables[POLICY_VARIABLES];
    const char *whose = platform_words(s->platform);
    card_of(s, card);
    if (s->chosen == WINNER_NONE) {
        words_add(w, "Full: ");
        add_live(w, s);
        words_add(w, ", and none of %s's settings that were tried lets it run on %s.", whose, card);
    } else if (s->chosen == 0) {
        words_add(w, "Nothing was refused: ");
        add_live(w, s);
        words_add(w, ", and %s as it comes runs it on %s%s.", whose, card,
                  fit_is_lower_bound(&s->fit) ? ", as far as recorded" : "");
    } else {
        words_add(w, "%s as it comes runs out of memory on %s: ", whose, card);
        add_live(w, s);
        words_add(w, ". With %s it runs%s.", policy_variables(s->fit.specs[s->chosen].typed, variables),
                  fit_is_lower_bound(&s->fit) ? ", as far as recorded" : "");
    }
}

/* What a person changes in the program. */
static const char *levers_of(enum platform p)
{
    return p == PLATFORM_JAX ? "a smaller batch, arguments that are donated (jax.jit(..., donate_argnums=)), or "
                               "jax.checkpoint, which computes activations again"
                             : "a smaller batch, or tf.recompute_grad, which computes activations again";
}

void own_settings_add_act(struct words *w, const struct own_settings *s)
{
    char size[TEXT_NUMBER], variables[POLICY_VARIABLES];
    const size_t best = s->fit.best;
    if (s->chosen == 0) {
        words_add(w, fit_is_lower_bound(&s->fit) ? "Nothing needs to be done as far as recorded."
                                                 : "Nothing needs to be done.");
    } else if (s->chosen != WINNER_NONE) {
        words_add(w, "Set %s before the program starts.", policy_variables(s->fit.specs[s->chosen].typed, variables));
    } else {
        words_add(w, "Try %s; or take a card of %s%s (%s).", levers_of(s->platform), at_least(s),
                  best == WINNER_NONE ? "more" : text_card(s->fit.fits[best].smallest_bytes, size),
                  best == WINNER_NONE ? "no size was found" : s->fit.specs[best].typed);
    }
}

void own_settings_put_paste(FILE *out, const struct own_settings *s, const char *indent)
{
    char variables[POLICY_VARIABLES];
    if (!own_settings_advise(s))
        return;
    policy_variables(s->fit.specs[s->chosen].typed, variables);
    for (char *at = variables, *next; at != NULL; at = next) {
        char *value = strchr(at, '=');
        next = strchr(at, ' ');
        if (next != NULL)
            *next++ = '\0';
        *value = '\0';
        platform_put_setting(out, platform_shell(s->platform), at, value + 1, indent);
        if (next != NULL)
            fputc('\n', out);
    }
}

void own_settings_add_ways(struct words *w, const struct own_settings *s)
{
    char variables[POLICY_VARIABLES], bytes[TEXT_NUMBER];
    words_add(w, "Of the card it takes");
    for (size_t i = 0; i < s->fit.n; i++) {
        const struct contender *c = &s->fit.contenders[i];
        policy_variables(s->fit.specs[i].typed, variables);
        words_add(w, "%s %s %s %s", i == 0 ? "" : i + 1 == s->fit.n ? ", and" : ",",
                  c->is_ok ? text_mib(c->bytes, bytes) : "too much", variables[0] == '\0' ? "as" : "with",
                  variables[0] == '\0' ? "it comes" : variables);
    }
    words_add(w, ".");
}

enum err own_settings_print(FILE *out, const struct own_settings *s, size_t columns)
{
    struct words verdict = { .n = 0 }, act = { .n = 0 };
    own_settings_add_verdict(&verdict, s);
    own_settings_add_act(&act, s);
    coverage_print(out, &s->fit.coverage);
    first_step_print(out, &s->fit.first);
    words_print(out, &verdict, 0, 2);
    words_print(out, &act, 0, 2);
    fputc('\n', out);
    if (own_settings_advise(s)) {
        own_settings_put_paste(out, s, "  ");
        fputs("\n\n", out);
    }
    return fit_answer_print_tried(out, &s->fit, columns);
}

void own_setting_json(struct json_writer *json, const struct own_setting_at *of)
{
    const struct fit_answer *s = &of->settings->fit;
    const size_t i = of->i;
    char variables[POLICY_VARIABLES];
#define ANSWER_TABLE "answers/own_setting.def"
#include "answers/as_json.def"
}

void own_settings_write_json(FILE *out, const struct own_settings *s, const char *path)
{
    const struct fit_answer *fit = &s->fit;
#define ANSWER_TABLE "answers/tune_own.def"
#include "answers/as_json.def"
}
