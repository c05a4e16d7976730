/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Names and sentences of the errors, from the one list in err.h. */
#include "base/err.h"

#include "base/shown.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static const struct {
    const char *name, *text;
} err_table[] = {
#define ERR_ROW(name, sentence) {#name, sentence},
    ERR_LIST(ERR_ROW)
#undef ERR_ROW
};

const char *err_name(enum err e)
{
    return (unsigned)e < ERR_COUNT ? err_table[e].name : "?";
}

const char *err_text(enum err e)
{
    return (unsigned)e < ERR_COUNT ? err_table[e].text : "unknown error";
}

enum err err_of_open(int reason)
{
    return reason == EMFILE || reason == ENFILE ? ERR_IO : reason == ENOMEM ? ERR_HOST_NOMEM : ERR_INPUT;
}

bool err_is_unread(enum err e)
{
    return e == ERR_INPUT || e == ERR_IO || e == ERR_HOST_NOMEM;
}

enum err err_set(struct err_detail *why, enum err e, uint64_t offset, const char *fmt, ...)
{
    if (why != NULL) {
        va_list args;
        va_start(args, fmt);
        why->offset = offset;
        vsnprintf(why->text, sizeof why->text, fmt, args);
        va_end(args);
        shown_join(why->text);
        shown_clean(why->text, false);
    }
    return e;
}
