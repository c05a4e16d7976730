/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/recording/conf_review.h"

#include "policies/pytorch/pytorch_conf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct review_visit {
    struct conf_review *review;
    const char *text;
    struct pytorch_settings settings;    /* of the whole text, as far as it was read */
    size_t room;
    enum err result;
};

/* Whether text[from, to) alone leaves every setting as it is without it. Without memory v->result says so. */
static bool changes_nothing(struct review_visit *v, const struct conf_option *o)
{
    const struct pytorch_settings before = pytorch_settings_default();
    struct pytorch_settings after = before;
    struct err_detail ignored;
    char *alone = strndup(v->text + o->from, o->to - o->from);
    const enum err e = alone == NULL ? ERR_HOST_NOMEM
                                     : pytorch_conf_apply(&v->review->rules, CONF_AT_START, alone, &after, &ignored);
    free(alone);
    v->result = e == ERR_HOST_NOMEM ? e : v->result;
    return e == ERR_OK && pytorch_settings_equal(&before, &after);
}

/* What else must be set before the option acts; NULL: nothing. The rest of the text may set it. */
static const char *condition(const struct review_visit *v, const char *key)
{
    const struct pytorch_settings *s = &v->settings;
    const bool has_option = v->review->rules.has_fraction_option;
    if (strcmp(key, "garbage_collection_threshold") == 0 && !(has_option && s->fraction < 1.0))
        return has_option ? "only with a memory fraction below 1 (per_process_memory_fraction)"
                          : "only with a memory fraction below 1 (torch.cuda.set_per_process_memory_fraction)";
    if (strcmp(key, "max_non_split_rounding_mb") == 0 && s->max_split_size == PYTORCH_UNLIMITED)
        return "only with max_split_size_mb";
    return NULL;
}

/* Of PyTorch's own allocator: with backend:cudaMallocAsync the driver's is used, and this option is ignored. */
static bool is_native_only(const char *key)
{
    static const char *const keys[] = { "max_split_size_mb", "garbage_collection_threshold", "roundup_power2_divisions",
                                        "expandable_segments", "max_non_split_rounding_mb", "large_segment_size_mb" };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

static void judge(struct review_visit *v, const struct conf_option *o, struct conf_answer *out)
{
    const struct conf_review *r = v->review;
    const char *says = o->inert;
    const bool is_blamed = !r->is_taken && r->refusal.offset >= o->from && r->refusal.offset <= o->to;
    out->fate = CONF_HONOURED;
    if (!o->is_known) {
        out->fate = CONF_UNKNOWN;
    } else if (is_blamed) {
        out->fate = CONF_REFUSED;
    } else if (says != NULL) {
        out->fate = CONF_INERT;
    } else if (v->settings.is_async && is_native_only(o->key)) {
        out->fate = CONF_INERT;
        says = "backend:cudaMallocAsync ignores it";
    } else if (changes_nothing(v, o)) {
        out->fate = CONF_DEFAULT;
    } else if ((says = condition(v, o->key)) != NULL) {
        out->fate = CONF_CONDITIONAL;
    }
    snprintf(out->says, sizeof out->says, "%s", says == NULL ? "" : says);
}

static void take_option(void *arg, const struct conf_option *o)
{
    struct review_visit *v = arg;
    struct conf_review *r = v->review;
    if (r->n == v->room) {
        const size_t room = v->room == 0 ? 8 : 2 * v->room;
        struct conf_answer *grown = realloc(r->answers, room * sizeof *grown);
        if (grown == NULL) {
            v->result = ERR_HOST_NOMEM;
            return;
        }
        r->answers = grown;
        v->room = room;
    }
    r->answers[r->n] = (struct conf_answer){ .from = o->from, .to = o->to };
    snprintf(r->answers[r->n].key, CONF_KEY, "%s", o->key);
    judge(v, o, &r->answers[r->n++]);
}

enum err conf_review_read(const struct pytorch_rules *rules, const char *text, struct conf_review *out,
                          struct err_detail *err)
{
    struct review_visit v = { .review = out, .text = text, .settings = pytorch_settings_default() };
    *out = (struct conf_review){ .rules = *rules };
    enum err e = pytorch_conf_apply(rules, CONF_AT_START, text, &v.settings, &out->refusal);
    out->is_taken = e == ERR_OK;
    if (e != ERR_HOST_NOMEM)
        e = pytorch_conf_each(rules, text, take_option, &v);
    return e == ERR_HOST_NOMEM || v.result == ERR_HOST_NOMEM
               ? err_no_memory(err)
               : ERR_OK;
}

void conf_review_close(struct conf_review *r)
{
    free(r->answers);
    r->answers = NULL;
}

const char *conf_fate_word(enum conf_fate fate)
{
    static const char *const words[CONF_FATES] = { "honoured", "default", "inert", "conditional", "unknown",
                                                   "refused" };
    return words[fate];
}
