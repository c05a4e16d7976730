/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* One sentence for all who speak of a growth. */
#include "replay/recording/growth_say.h"

#include "base/units.h"
#include "replay/recording/recorded_settings.h"

#include <inttypes.h>
#include <stdio.h>

static const char *line_of(const struct growth *g)
{
    return g->lines.n > 0 ? holder_name(&g->lines, 0) : "an unknown line";
}

const char *growth_turns_word(enum growth_turn turn, uint64_t n)
{
    static const char *const one[] = { "step", "forward pass", "backward pass", "run" };
    static const char *const more[] = { "steps", "forward passes", "backward passes", "runs" };
    return n == 1 ? one[turn] : more[turn];
}

enum { RATE_TEXT = 80 };

/* "172 KiB a step", "4 MiB every 20 steps" */
static const char *rate_text(const struct growth *g, char out[static RATE_TEXT])
{
    char a[TEXT_NUMBER];
    if (g->rhythm.turns > 1)
        snprintf(out, RATE_TEXT, "%s every %" PRIu64 " %s", text_mib(g->rhythm.bytes, a), g->rhythm.turns,
                 growth_turns_word(g->turn, g->rhythm.turns));
    else
        snprintf(out, RATE_TEXT, "%s a %s%s", text_mib(g->bytes_per_turn, a),
                 g->turn == TURN_RUN ? "run of the line" : growth_turns_word(g->turn, 1),
                 g->rhythm.is_uneven ? " on average" : "");
    return out;
}

void growth_say(struct words *w, const struct growth *g)
{
    char a[TEXT_NUMBER], rate[RATE_TEXT];
    const char *or_else = g->may_be_one_pass ? ", or one long forward pass"
                          : g->of_evaluation ? ", results of an evaluation that are kept"
                          : g->may_be_meant  ? ", or a cache that is meant to grow"
                          : g->of_two_sets   ? ", or two copies that are meant to stay"
                          : g->of_two_turns  ? ", as far as two steps tell" : "";
    if (g->of_refusal)
        words_add(w, "A leak: %s are still held from before the program caught an out-of-memory error, at %s.",
                  text_mib(g->bytes, a), line_of(g));
    else if (g->turns == 0)
        words_add(w, "A leak%s: live memory grew by %s, mostly by requests of %s.", or_else, text_mib(g->bytes, a),
                  line_of(g));
    else
        words_add(w, "A leak%s: live memory grows by %s, at %s.", or_else, rate_text(g, rate), line_of(g));
}

/* At the refused request, as `why` looks at it, or at the end with the most that was ever live. */
static enum err find_at_end(struct trace_reader *trace, const struct coverage *c, struct growth *out,
                            struct err_detail *err)
{
    struct holdings h = { .n = 0 };
    *out = (struct growth){ .is_found = false };
    if (c->refusals == 0)
        return growth_find_in_run(trace, out, err);
    const enum err e = holdings_read(trace, MOMENT_REFUSAL, 0, &h, err);
    if (e != ERR_OK)
        return e;
    const uint64_t moment = h.moment, need = add_capped(h.bytes, c->refused_bytes);
    holdings_close(&h);
    return growth_find(trace, moment, need, out, err);
}

enum err growth_warn(struct trace_reader *trace, const struct coverage *coverage, struct words *w,
                     struct err_detail *err)
{
    struct growth g;
    if (recorded_from_driver(trace) || recorded_from_xla(trace))
        return ERR_OK;
    const enum err e = find_at_end(trace, coverage, &g, err);
    if (e == ERR_OK && g.is_found && !g.of_two_sets) {
        growth_say(w, &g);
        words_add(w, g.of_evaluation
                         ? " No setting cures it; a larger card does only if it holds all of them: `replay predict` "
                           "tells, and `replay why` says what to do."
                         : " No setting and no card cures it, they only delay the end: `replay why` says what to do.");
    }
    growth_close(&g);
    return e;
}

void growth_warning_print(FILE *out, const struct words *warning)
{
    if (warning->n == 0)
        return;
    words_print_screen(out, warning);
    fprintf(out, "\n");
}
