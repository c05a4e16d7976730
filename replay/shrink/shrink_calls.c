/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/shrink/shrink_calls.h"

#include "report/text/text.h"

#include <string.h>

enum { SHOWN_CALLS = 50, NAME_LETTERS = 60 };

const char *shrunk_policy_word(const struct policy_spec *spec, const char *otherwise)
{
    return strlen(spec->typed) <= NAME_LETTERS ? spec->typed : otherwise;
}

static const struct control *control_of(const struct shrunk *s, size_t call)
{
    return s->calls[call].kind == EVENT_CONTROL ? &trace_controls(s->copy)[s->calls[call].slot] : NULL;
}

size_t shrunk_request_number(const struct shrunk *s, size_t call)
{
    const struct control *control = control_of(s, call);
    const uint32_t slot = control != NULL ? control->slot : s->calls[call].slot;
    size_t number = 0, found = 0;
    if (s->calls[call].kind == EVENT_FLUSH || (control != NULL && control->kind != CONTROL_USE))
        return 0;
    for (size_t i = 0; i <= call; i++) {
        number += s->calls[i].kind == EVENT_ALLOC;
        found = s->calls[i].kind == EVENT_ALLOC && s->calls[i].slot == slot ? number : found;
    }
    return found;
}

const char *shrunk_call_word(const struct shrunk *s, size_t call)
{
    switch (s->calls[call].kind) {
    case EVENT_ALLOC:          return "request";
    case EVENT_FREE:           return "free";
    case EVENT_FREE_REQUESTED: return "free-later";
    case EVENT_FREE_COMPLETED: return "complete";
    case EVENT_CONTROL:        return control_text((enum control_kind)control_of(s, call)->kind);
    default:                   return "flush";
    }
}

static void print_control(FILE *out, const struct shrunk *s, size_t i)
{
    const struct control *c = control_of(s, i);
    if (c->kind == CONTROL_USE)
        fprintf(out, "  use     %3zu  by another stream\n", shrunk_request_number(s, i));
    else
        fprintf(out, "  %s%s\n", control_text((enum control_kind)c->kind),
                (c->flags & POOL_USE_ON_OOM) != 0 ? "  that lends (use_on_oom)" : "");
}

static void print_call(FILE *out, const struct shrunk *s, size_t i)
{
    const struct event *c = &s->calls[i];
    char size[TEXT_NUMBER];
    if (c->kind == EVENT_FLUSH) {
        fprintf(out, "  the cache is given back\n");
        return;
    }
    if (c->kind == EVENT_CONTROL) {
        print_control(out, s, i);
        return;
    }
    fprintf(out, "  %-7s %3zu", c->kind == EVENT_ALLOC ? "request" : "free", shrunk_request_number(s, i));
    if (c->kind == EVENT_ALLOC)
        fprintf(out, "  %12s", text_mib(c->bytes, size));
    if (c->kind == EVENT_ALLOC && s->n_streams > 1)
        fprintf(out, "  stream %u", c->stream);
    if (c->kind == EVENT_FREE_REQUESTED)
        fprintf(out, "  while a stream still uses it");
    fprintf(out, "\n");
}

void shrunk_print_calls(FILE *out, const struct shrunk *s)
{
    for (size_t i = 0; i < s->n && i < SHOWN_CALLS; i++)
        print_call(out, s, i);
    if (s->n > SHOWN_CALLS)
        fprintf(out, "  and %zu more\n", s->n - SHOWN_CALLS);
}
