/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a release of PyTorch makes of a settings text, option by option.
 */
#ifndef REPLAY_REPLAY_RECORDING_CONF_REVIEW_H
#define REPLAY_REPLAY_RECORDING_CONF_REVIEW_H

#include "base/err.h"
#include "policies/pytorch/pytorch_rules.h"

#include <stdbool.h>
#include <stddef.h>

enum conf_fate {
    CONF_HONOURED,
    CONF_DEFAULT,                    /* it says what holds anyway */
    CONF_INERT,                      /* accepted, without effect on placement; `says` tells why */
    CONF_CONDITIONAL,                /* it acts only if something else is set; `says` tells what */
    CONF_UNKNOWN,                    /* the release has no such option: the program stops */
    CONF_REFUSED,                    /* the release has it, but not with this value: the program stops */
    CONF_FATES
};

enum { CONF_SAYS = 200, CONF_KEY = 48 };

struct conf_answer {
    size_t from, to;                 /* the option is text[from, to) */
    char   key[CONF_KEY];            /* "max_split_size_mb" */
    enum conf_fate fate;
    char   says[CONF_SAYS];          /* a clause; "" for none */
};

struct conf_review {
    struct pytorch_rules rules;
    bool   is_taken;                 /* the whole text; otherwise PyTorch stops with `refusal` */
    struct err_detail refusal;       /* offset: the place in the text */
    struct conf_answer *answers;
    size_t n;
};

/* Asks one release. ERR_HOST_NOMEM. Released with conf_review_close, also on error. */
MUST_USE enum err conf_review_read(const struct pytorch_rules *rules, const char *text, struct conf_review *out,
                                   struct err_detail *err);
void conf_review_close(struct conf_review *r);

/* "honoured" */
const char *conf_fate_word(enum conf_fate fate);

#endif
