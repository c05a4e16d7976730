/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Walks two JSON values in step, as deep as both go. */
#include "replay/conform/compare.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMPARE_SHOWN = 160, COMPARE_BEFORE = 24, COMPARE_PATH = 160 };

void difference_note(struct difference *d, const char *fmt, ...)
{
    if (d->is_found)
        return;
    d->is_found = true;
    va_list args;
    va_start(args, fmt);
    vsnprintf(d->text, sizeof d->text, fmt, args);
    va_end(args);
}

/* Long texts mostly differ late, so both are shown from shortly before that place. */
static void compare_note_texts(const char *where, const char *want, const char *got, struct difference *d)
{
    size_t same = 0;
    while (want[same] != '\0' && want[same] == got[same])
        same++;
    const size_t from = same < COMPARE_BEFORE ? 0 : same - COMPARE_BEFORE;
    difference_note(d, "%s: from character %zu: expected \"%.*s\", got \"%.*s\"", where, from, COMPARE_SHOWN,
                    want + from, COMPARE_SHOWN, got + from);
}

static void compare_note(const char *where, const json_t *want, const json_t *got, struct difference *d)
{
    if (json_is_string(want) && json_is_string(got)) {
        compare_note_texts(where, json_string_value(want), json_string_value(got), d);
        return;
    }
    const size_t flags = JSON_ENCODE_ANY | JSON_COMPACT;
    char *w = want == NULL ? NULL : json_dumps(want, flags), *g = got == NULL ? NULL : json_dumps(got, flags);
    difference_note(d, "%s: expected %.*s, got %.*s", where, COMPARE_SHOWN, w == NULL ? "nothing" : w, COMPARE_SHOWN,
                    g == NULL ? "nothing" : g);
    free(w);
    free(g);
}

static void compare_walk(const char *where, const json_t *want, const json_t *got, struct difference *d);

static void compare_arrays(const char *where, const json_t *want, const json_t *got, struct difference *d)
{
    const size_t n_want = json_array_size(want), n_got = json_array_size(got);
    char below[COMPARE_PATH];
    for (size_t i = 0; i < (n_want > n_got ? n_want : n_got) && !d->is_found; i++) {
        const json_t *w = json_array_get(want, i), *g = json_array_get(got, i);
        if (json_equal(w, g))
            continue;                     /* the usual case, in which no path is needed */
        snprintf(below, sizeof below, "%s[%zu]", where, i);
        compare_walk(below, w, g, d);
    }
}

/* A member that is null on one side was not recorded, or does not exist in that release. */
static void compare_objects(const char *where, const json_t *want, const json_t *got, struct difference *d)
{
    const char *key;
    json_t *v;
    char below[COMPARE_PATH];
    json_object_foreach((json_t *)want, key, v) {
        snprintf(below, sizeof below, "%s.%s", where, key);
        if (!json_is_null(v))
            compare_walk(below, v, json_object_get(got, key), d);
    }
    json_object_foreach((json_t *)got, key, v) {
        snprintf(below, sizeof below, "%s.%s", where, key);
        if (json_object_get(want, key) == NULL)
            compare_note(below, NULL, v, d);
    }
}

static void compare_walk(const char *where, const json_t *want, const json_t *got, struct difference *d)
{
    if (json_is_array(want) && json_is_array(got))
        compare_arrays(where, want, got, d);
    else if (json_is_object(want) && json_is_object(got))
        compare_objects(where, want, got, d);
    else if (!json_equal(want, got))
        compare_note(where, want, got, d);
}

void compare_values(const char *where, const json_t *want, json_t *got, struct difference *d)
{
    d->is_short |= got == NULL;
    if (want != NULL && got != NULL && !d->is_found)
        compare_walk(where, want, got, d);
    json_decref(got);
}

void compare_errors(const char *where, const char *want_type, const char *want_text, const char *got,
                    struct difference *d)
{
    if (strstr(want_text, "INTERNAL ASSERT") != NULL)
        return;
    char want[sizeof((struct err_detail *)0)->text];        /* ours is cut at this length as well */
    snprintf(want, sizeof want, "%s: %s", want_type, want_text);
    if (strcmp(want, got) != 0)
        compare_note_texts(where, want, got, d);
}
