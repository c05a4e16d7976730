/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The answer in words: the verdict, what to paste, and at most ten lines of reasons, for a terminal of 80 columns. */
#include "replay/why/why.h"

#include "base/torch_sizes.h"
#include "base/units.h"
#include "replay/advise/settings_paste.h"
#include "replay/recording/growth_say.h"
#include "replay/recording/phases.h"
#include "replay/recording/recorded_settings.h"
#include "replay/why/card_tools.h"
#include "report/text/text.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { HOLDERS_SHOWN = 3, CATEGORIES_SHOWN = 4 };

/* A lever is worth a word from this share of what is live on. */
enum { TRIED_SHARE = 50 };

/* Room for more of a cache is worth a word if it is for an eighth of the turns in which it grew. */
enum { MORE_SHARE = 8 };

/* How many turns what is held came in is said if that many were counted, but for a 20th. */
enum { TURNS_SHARE = 20 };

/* A part of what thawed is worth a word from this share of it on. */
enum { THAW_SHARE = 20 };

/* ---- the first line ---- */

static void add_at_least(struct words *w, const struct why *y)
{
    words_add(w, coverage_is_lower_bound(&y->coverage) ? "at least " : "");
}

static void add_asked_line(struct words *w, const struct why *y, const char *before)
{
    if (y->asked_line[0] != '\0')
        words_add(w, "%s%s", before, y->asked_line);
}

/* What the live data and the request lack, or what is free in pieces. */
static void add_short(struct words *w, const struct why *y)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    if (y->shortfall == 0) {
        words_add(w, "%s were refused with %s free in pieces", text_mib(y->asked, a), text_mib(why_unusable(y), b));
        return;
    }
    words_add(w, "the card is short by ");
    add_at_least(w, y);
    words_add(w, "%s", text_mib(y->shortfall, a));
}

/* A snapshot tells what was reserved and free when a request was refused, and not what others had of the card. */
static const char *share_words(const struct why *y)
{
    return y->outside == OOM_TEXT_UNKNOWN ? "what PyTorch held or could take" : "the card";
}

/* The refused request would have fitted, and that does not help, or may not. */
static void add_short_of_memory(struct words *w, const struct why *y)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    words_add(w, "%s: %s were refused with %s free in pieces. A setting serves this request, ",
              why_names_setting(y) ? "Fragmented and nearly full" : "Short of memory", text_mib(y->asked, a),
              text_mib(why_unusable(y), b));
    words_add(w, y->worth == WORTH_NOTHING ? "and the program runs out of memory all the same"
                                           : "and how much more the program needs is not known");
}

static void add_full(struct words *w, const struct why *y)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER], c[TEXT_NUMBER];
    if (y->shortfall > 0) {
        words_add(w, "Really full: short by ");
        add_at_least(w, y);
        words_add(w, "%s", text_mib(y->shortfall, a));
    } else if (why_is_early(y) || why_is_in_new_part(y)) {
        words_add(w, "Too small, or nearly: %s were asked for with %s of %s live", text_mib(y->asked, a),
                  text_mib(y->live, b), text_mib(y->usable, c));
    } else if (why_turn_exceeds(y)) {
        words_add(w, "Really full: a step as large as the largest before it needs %s, and the program can have %s",
                  text_mib(y->input.turn_bytes, a), text_mib(y->usable, b));
    } else if (why_dies_all_the_same(y) || y->is_served) {
        add_short_of_memory(w, y);
    } else {
        words_add(w, "Really full: %s were asked for, and all but %s (%.1f%%) of %s was live", text_mib(y->asked, a),
                  text_mib(why_unusable(y), b), 100.0 * (double)why_unusable(y) / (double)y->usable, share_words(y));
    }
    if (why_is_early(y) && !why_is_survived(y))
        words_add(w, ". The program died %s%s, so how much more it needs is not known", reached_phrase(y->reached),
                  y->coverage.begins == BEGINS_EMPTY ? "" : " on record");
    else if (why_is_in_new_part(y) && y->thaw.all == 0 && !why_is_survived(y))
        words_add(w, ". The program died in a part that no step before had, so how much more it needs is not known");
    if (y->loaded.bytes > 0)
        words_add(w, ". Of a file that was loaded %s lie on the card, beside %s", text_mib(y->loaded.bytes, a),
                  y->loaded.twin_bytes >= y->loaded.bytes / 2 ? "weights and states of the same sizes"
                                                              : "the model, whose weights are in it once more");
    if (y->thaw.all > 0)
        words_add(w, ". More is held than in any step before, as if layers that were frozen learned now");
    words_add(w, y->shortfall > 0         ? ". No allocator setting can serve this."
                 : why_names_setting(y) ? "."
                                        : ". No allocator setting makes live data smaller.");
}

static void add_not_in_force(struct words *w, const struct why *y)
{
    words_add(w, "The setting is not in force: %s.", y->settings.lost);
}

static void add_somebody_else(struct words *w, const struct why *y)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    words_add(w, "Somebody else has the memory: when the request was refused, %s of the card were not this "
                 "program's. A CUDA context takes about %s.", text_mib(y->outside, a), text_mib(y->context_bytes, b));
}

static void add_limited(struct words *w, const struct why *y)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER], c[TEXT_NUMBER];
    words_add(w, "A limit refused it: the card had room, %s of it free or this program's. The limit is at least %s "
                 "and below %s.", text_mib(y->limit.card, a), text_mib(y->limit.least, b), text_mib(y->limit.below, c));
}

/* What of the free memory lies behind a wall, and behind which. */
static void add_streams(struct words *w, const struct why *y)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER], c[TEXT_NUMBER], d[TEXT_NUMBER];
    words_add(w, "%s hold it: %s were refused with %s free or waiting",
              y->walls.kind == WALLS_LATE_USES ? "Late uses by streams" : "Streams", text_mib(y->asked, a),
              text_mib(why_unusable(y), b));
    if (y->walls.kind != WALLS_LATE_USES)
        words_add(w, ", %s of it in pieces on other streams. PyTorch gives memory of one stream to no other",
                  text_mib(y->walls.elsewhere_bytes, c));
    if (y->walls.kind != WALLS_STREAMS)
        words_add(w, ". Up to %s that the program had freed %s waited for another stream (record_stream)",
                  text_mib(y->walls.late_bytes, d), y->walls.kind == WALLS_BOTH ? "also" : "still");
    words_add(w, why_is_open(y) ? ". How much more the program needs is not known." : ".");
}

static void add_one_tensor(struct words *w, const struct why *y)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    words_add(w, "One tensor is too large: %s were asked for", text_mib(y->asked, a));
    add_asked_line(w, y, " at ");
    words_add(w, ", of %s that the program can have.", text_mib(y->usable, b));
}

/* How long a card lasts on which nothing was refused. */
static void add_lasts(struct words *w, const struct why *y)
{
    const struct growth *g = &y->growth;
    const uint64_t taken = y->reserved > y->recorded_reserved ? y->reserved : y->recorded_reserved;
    const bool is_known = (y->recorded_usable > 0 || y->is_card_named) && y->usable > taken;
    char a[TEXT_NUMBER];
    if (!is_known || g->turns == 0 || g->bytes_per_turn == 0)
        return;
    const uint64_t more = (y->usable - taken) / g->bytes_per_turn;
    words_add(w, " This card lasts for about %s more %s.", text_count(more, a), growth_turns_word(g->turn, more));
}

static void add_grown(struct words *w, const struct why *y)
{
    if (!y->has_refusal)
        words_add(w, "Nothing was refused. ");
    growth_say(w, &y->growth);
    if (!y->has_refusal)
        add_lasts(w, y);
}

static void add_larger_input(struct words *w, const struct why *y)
{
    words_add(w, "A larger input than before: what the last one requests is %.*f times as large as usual, and ",
              y->input.times < 10 ? 1 : 0, y->input.times);
    add_short(w, y);
    words_add(w, ".");
}

static void add_fragmented(struct words *w, const struct why *y)
{
    char a[TEXT_NUMBER];
    if (why_is_incurable(y))
        words_add(w, "Fragmented, and no setting cures it: live data never exceeds the card, but all %zu settings "
                  "tried run out of memory on it. `replay fit` finds a card that is large enough.", y->tune.n_entries);
    else
        words_add(w, "Fragmented: %s would have fitted, but what is free lies in pieces%s.", text_mib(y->asked, a),
                  y->cure != CURE_NONE ? "" : y->is_served ? ". A setting serves this request, and is not worth it"
                                       : ", and no setting that was tried puts them together");
    if (y->cure == CURE_SERVES_REFUSED && y->worth == WORTH_UNKNOWN && coverage_is_lower_bound(&y->coverage))
        words_add(w, " How much more the program needs is not known.");
}

/* Of calls to the driver nobody can tell what is live in what the program's allocator took: JAX takes most of a card by
 * one call. */
static void add_driver_peak(struct words *w, const struct why *y)
{
    char a[TEXT_NUMBER];
    words_add(w, "Nothing was refused: the program takes %s from the driver at most, which %s shows beside what CUDA "
                 "takes for itself. How much of it is in use is not recorded.", text_mib(y->live, a),
              card_tools_shows(y->tune.platform));
}

static void add_cache(struct words *w, const struct why *y)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER], c[TEXT_NUMBER];
    if (y->is_of_driver) {
        add_driver_peak(w, y);
        return;
    }
    const bool is_recorded = y->recorded_reserved > 0;
    words_add(w, "%s: live data peaks at %s, and PyTorch %s %s, which %s %s beside what CUDA takes for itself.",
              y->stalls.seldom > 0 ? "No request of the program failed" : "Nothing was refused",
              text_mib_beside(y->live, y->reserved, a), is_recorded ? "reserves" : "would reserve",
              text_mib(y->reserved, b), card_tools_shows(y->tune.platform), is_recorded ? "shows" : "would show");
    if (y->reserved > y->live)
        words_add(w, " The other %s are cache.", text_mib_beside(y->reserved - y->live, y->reserved, c));
}

static void add_retries(struct words *w, const struct why *y)
{
    const uint64_t steps = y->coverage.steps.whole;
    char a[TEXT_NUMBER];
    words_add(w, "Nothing was refused, but the card was full again and again: %s requests",
              text_count(y->stalls.times, a));
    if (steps > 0 && y->stalls.times >= steps)
        words_add(w, " (about %" PRIu64 " a step)", (y->stalls.times + steps / 2) / steps);
    words_add(w, " were served only after PyTorch had given cached memory back to it. Each time the card stands "
                 "still.");
}

static void add_library_refusal(struct words *w, const struct why *y)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    words_add(w, "The recording does not tell: the driver refused %s to %s's allocator, which had %s of the card. It "
                 "asks for less then, and how much of that is in use is not recorded.", text_mib(y->asked, a),
              platform_words(y->library), text_mib(y->live, b));
}

static void add_untold(struct words *w, const struct why *y)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    if (y->library != PLATFORM_UNKNOWN)
        add_library_refusal(w, y);
    else if (y->is_state)
        words_add(w, "The recording holds only what was there when it was taken: %s live in %s reserved.",
                  text_mib(y->live, a), text_mib(y->reserved, b));
    else if (y->tune.baseline.trial.fits && !y->is_card_named && y->recorded_usable > 0)
        words_add(w, "The recording does not tell: a request was refused when it was recorded, and is served when it "
                     "is replayed%s.", y->coverage.begins == BEGINS_EMPTY ? "" :
                  ": where everything lay when the recording began is not known");
    else if (y->tune.baseline.trial.fits)
        words_add(w, "The recording does not tell: a request was refused when it was recorded, but %s has room for "
                     "it%s.", y->device,
                  y->recorded_usable == 0 ? ", and how much the card had was not recorded" : "");
    else
        words_add(w, "The recording does not tell: the request is refused under every setting tried, though live data "
                     "and the request would fit.");
}

void why_add_verdict(struct words *w, const struct why *y)
{
    static void (*const says[VERDICT_RECORDING_ENDS + 1])(struct words *, const struct why *) = {
        [VERDICT_NOT_IN_FORCE]  = add_not_in_force, [VERDICT_SOMEBODY_ELSE]  = add_somebody_else,
        [VERDICT_LIMITED]       = add_limited,      [VERDICT_ONE_TENSOR]     = add_one_tensor,
        [VERDICT_STREAMS]       = add_streams,
        [VERDICT_LEAK]          = add_grown,        [VERDICT_LARGER_INPUT]   = add_larger_input,
        [VERDICT_FULL]          = add_full,         [VERDICT_FRAGMENTED]     = add_fragmented,
        [VERDICT_RETRIES]       = add_retries,
        [VERDICT_CACHE]         = add_cache,        [VERDICT_RECORDING_ENDS] = add_untold,
    };
    assert(y->verdict <= VERDICT_RECORDING_ENDS);        /* what comes after it is said of texts alone */
    if (y->is_of_xla)
        own_settings_add_verdict(w, &y->own);
    else
        says[y->verdict](w, y);
    if (why_end_is_unseen(y))
        words_add(w, " %s: this is only what happened until then.",
                  y->coverage.ends == ENDS_INTERRUPTED ? "The program was interrupted"
                                                       : "The recording does not show the program's end");
    if (why_is_survived(y))
        words_add(w, " The program survived it, and went on.");
}

void why_add_also(struct words *w, const struct why *y)
{
    static const char *const also[VERDICT_CACHE] = {
        [VERDICT_NOT_IN_FORCE]  = "a setting is not in force",
        [VERDICT_SOMEBODY_ELSE] = "somebody else holds memory",
        [VERDICT_LIMITED]       = "a limit is lower than the card",
        [VERDICT_STREAMS]       = "streams keep memory from each other",
        [VERDICT_ONE_TENSOR]    = "one tensor is too large",
        [VERDICT_LEAK]          = "live memory grows from step to step",
        [VERDICT_LARGER_INPUT]  = "the last input is larger than those before",
        [VERDICT_FULL]          = "it is really full",
        [VERDICT_FRAGMENTED]    = "it is fragmented",
        [VERDICT_RETRIES]       = "requests wait for cached memory",
    };
    const size_t before = w->n;
    for (int v = 0; v < (y->verdict < VERDICT_FULL ? VERDICT_FULL : VERDICT_CACHE); v++)
        if (y->holds[v] && v != (int)y->verdict)
            words_add(w, "%s%s", w->n == before ? "Also: " : "; ", also[v]);
    if (w->n > before)
        words_add(w, ".");
}

static void print_also(FILE *out, const struct why *y)
{
    struct words w = { .n = 0 };
    why_add_also(&w, y);
    if (w.n > 0)
        words_print_screen(out, &w);
}

/* ---- what to paste ---- */

void why_put_paste(FILE *out, const struct why *y, const char *indent)
{
    const struct tune *t = &y->tune;
    if (y->is_of_xla)
        own_settings_put_paste(out, &y->own, indent);
    else if (y->cure != CURE_NONE)
        settings_put_paste(out, &t->entries[t->winner].settings, &t->rules, t->platform, indent);
}

/* "With this setting all that was recorded runs on this card, 3 whole steps of it." */
static void add_recorded(struct words *w, const struct why *y)
{
    const uint64_t whole = y->coverage.steps.whole;
    words_add(w, "With this setting all that was recorded runs on this card");
    if (whole > 0)
        words_add(w, ", %" PRIu64 " whole step%s of it", whole, whole == 1 ? "" : "s");
    words_add(w, ".");
}

static void add_caution(struct words *w, const struct tune *t)
{
    const struct tune_finalist *f = tune_finalist_of(t, t->winner);
    if (t->advice == TUNE_WITH_CAUTION)
        words_add(w, " But it runs out of memory in %zu of %zu changed copies: another run may, too.",
                  t->n_copies - f->runs, t->n_copies);
}

static void add_waits_left(struct words *w, const struct why *y)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    if (y->verdict == VERDICT_RETRIES)
        words_add(w, " Giving back and asking anew takes about %s of the driver's time, and took %s (modelled).",
                  text_time(y->stalls.with_setting_ns, a), text_time(y->stalls.lost_ns, b));
}

void why_add_promise(struct words *w, const struct why *y)
{
    if (y->cure == CURE_RECOMMENDED) {
        add_recorded(w, y);
        if (y->coverage.ends == ENDS_REFUSED)
            words_add(w, " What follows the refused request was not recorded.");
        add_caution(w, &y->tune);
        add_waits_left(w, y);
    } else if (y->cure == CURE_SERVES_REFUSED) {
        words_add(w, coverage_is_lower_bound(&y->coverage)
                         ? TUNE_SERVED_WORDS ". "
                         : "With this setting all that was recorded runs on this card; no step was recorded whole. ");
        words_add(w, "To find out: replay run-sim --device sim:%" PRIu64 "MiB -- python YOUR_PROGRAM", y->usable >> 20);
    }
}

/* For how long the program goes on under the setting. */
static void print_outlook(FILE *out, const struct why *y)
{
    struct words w = { .n = 0 };
    if (!coverage_is_lower_bound(&y->coverage))
        return;
    words_add(&w, "- ");
    pattern_say(&w, &y->tune.pattern, y->lasted);
    words_print_screen(out, &w);
}

/* The second line: what to do where there is nothing to paste. */
static void print_act(FILE *out, const struct why *y)
{
    struct words act = { .n = 0 }, w = { .n = 0 };
    why_add_act(&act, y);
    words_add(&w, "What to do: %s", act.text);
    if (act.n > 0)
        words_print_screen(out, &w);
}

static void print_cure(FILE *out, const struct why *y)
{
    struct words w = { .n = 0 };
    if (y->cure == CURE_NONE)
        return;
    fputc('\n', out);
    why_put_paste(out, y, "  ");
    fprintf(out, "\n\n");
    words_add(&w, "- ");
    why_add_promise(&w, y);
    words_print_screen(out, &w);
    print_outlook(out, y);
}

/* The line of a setting that is named first, and may not be enough. */
static void print_first_setting(FILE *out, const struct why *y)
{
    const struct tune *t = &y->tune;
    if (y->cure != CURE_NONE || !why_names_setting(y))
        return;
    fputc('\n', out);
    settings_put_paste(out, &t->entries[t->winner].settings, &t->rules, t->platform, "  ");
    fputc('\n', out);
}

/* ---- reasons ---- */

/* The card has room for a request that was refused: what that may come from. */
static void add_what_else(struct words *w, const struct why *y)
{
    if (y->verdict == VERDICT_LIMITED)
        words_add(w, " The limit may be torch.cuda.set_per_process_memory_fraction or per_process_memory_fraction in "
                     "the allocator's settings, a MIG slice's or vGPU's quota, or one of the container: the "
                     "recording does not tell which.");
    else if (y->verdict == VERDICT_SOMEBODY_ELSE)
        words_add(w, " Others are processes that %s shows, or a limit such as set_per_process_memory_fraction. If this "
                     "is not the card it ran on, leave out --device.", card_tools_shows(y->tune.platform));
    else if (y->is_card_named)
        words_add(w, " If that is the card it ran on, others had memory of it, or a limit such as "
                     "set_per_process_memory_fraction refused the request: neither is in the recording. The error's "
                     "text tells more: replay why LOG.");
    else if (y->verdict != VERDICT_RECORDING_ENDS && y->recorded_usable > 0 && y->coverage.begins != BEGINS_EMPTY)
        words_add(w, " It was refused then, and is served when it is replayed: where everything lay when the recording "
                     "began is not known.");
    else
        words_add(w, " With --device and the card it ran on, the answer is about that card.");
}

/* Why less than what is free on the card was refused. */
static void add_segment(struct words *w, const struct why *y)
{
    const uint64_t segment = y->asked <= TORCH_SMALL_MAX ? TORCH_SMALL_SEGMENT : TORCH_LARGE_SEGMENT;
    char a[TEXT_NUMBER];
    if (y->asked <= y->free && y->asked < TORCH_OWN_MIN && y->free < segment)
        words_add(w, " For a request of that size PyTorch takes %s of the card at once.", text_mib(segment, a));
}

static void print_refusal(FILE *out, const struct why *y, const char *event_word)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER], c[TEXT_NUMBER], d[TEXT_NUMBER];
    struct words w = { .n = 0 };
    if (!y->has_refusal)
        return;
    if (y->tune.baseline.trial.fits) {
        words_add(&w, "- At %s %" PRId64 " the program asked for %s, with %s live.", event_word, y->event,
                  text_mib(y->asked, a), text_mib(y->live, b));
        if (y->recorded_usable > 0)
            words_add(&w, " Of the card it could have %s.", text_mib(y->recorded_usable, c));
        add_what_else(&w, y);
        words_print_screen(out, &w);
        return;
    }
    words_add(&w, "- At %s %" PRId64 " the program asked for %s", event_word, y->event, text_mib(y->asked, a));
    add_asked_line(&w, y, ", at ");
    words_add(&w, ". PyTorch %s %s reserved, of it %s live, ", y->is_of_driver ? "would have" : "had",
              text_mib(y->reserved, b), text_mib(y->live, c));
    words_add(&w, "and %s %s free on the card.", text_mib(y->free, d), y->is_of_driver ? "would be" : "were");
    if (!y->is_of_driver)
        add_segment(&w, y);
    if (!y->is_of_driver)
        words_add(&w, " " WHY_LIVE_WORDS);
    if (y->later_live > 0)
        words_add(&w, " Later, at %s %" PRId64 ", %s are live at once; the lines below are of that moment.", event_word,
                  y->later_event, text_mib(y->later_live, a));
    words_print_screen(out, &w);
}

/* What is live at the moment that the lines are of. */
static uint64_t held_bytes(const struct why *y)
{
    return y->later_live > 0 ? y->later_live : y->live;
}

static void print_lines(FILE *out, const struct holders *h, bool is_by_size, uint64_t live, const char *what)
{
    char a[TEXT_NUMBER];
    for (size_t i = 0; i < h->n && i < HOLDERS_SHOWN; i++) {
        struct words w = { .n = 0 };
        words_add(&w, "- %s: %s (%.0f%%) in %" PRIu64 " request%s%s%s", i == 0 ? what : "then",
                  text_mib(h->at[i].bytes, a), live > 0 ? 100.0 * (double)h->at[i].bytes / (double)live : 0.0,
                  h->at[i].n, h->at[i].n == 1 ? "" : "s", !is_by_size ? ", " : h->at[i].n == 1 ? " of " : ", each of ",
                  holder_name(h, i));
        words_print_screen(out, &w);
    }
}

/* "- for: 1200 MiB (55%) activations, 400 MiB (18%) optimizer state, ...": what no setting can make smaller. Where most
 * is unknown, the rest is no answer. */
static void print_categories(FILE *out, const struct why *y)
{
    char a[TEXT_NUMBER];
    struct words w = { .n = 0 };
    const struct holders *h = &y->categories;
    if (y->named_bytes == 0 || y->named_bytes < held_bytes(y) / 2)
        return;
    for (size_t i = 0; i < h->n && i < CATEGORIES_SHOWN; i++)
        words_add(&w, "%s%s (%.0f%%) %s%s", i == 0 ? "- for: " : ", ", text_mib(h->at[i].bytes, a),
                  held_bytes(y) > 0 ? 100.0 * (double)h->at[i].bytes / (double)held_bytes(y) : 0.0, holder_name(h, i),
                  holder_is_guess(&h->at[i]) ? " (a guess)" : "");
    words_print_screen(out, &w);
}

/* What came in the step in which frozen layers were unfrozen. */
static void print_thaw(FILE *out, const struct why *y)
{
    const struct thaw *t = &y->thaw;
    const uint64_t bytes[] = { t->activations, t->gradients, t->states };
    static const char *const words[] = { "activations that were freed at once before", "gradients",
                                         "states of the optimizer" };
    char a[TEXT_NUMBER];
    struct words w = { .n = 0 };
    if (t->all == 0)
        return;
    words_add(&w, t->steps > 1 ? "- New in the last %zu steps, beyond the most of any before:"
                               : "- New in this step, beyond the most of any before:", t->steps);
    for (size_t i = 0, n = 0; i < 3; i++)
        if (bytes[i] >= t->all / THAW_SHARE)
            words_add(&w, "%s %s of %s", n++ > 0 ? "," : "", text_mib(bytes[i], a), words[i]);
    words_add(&w, ".");
    words_print_screen(out, &w);
}

/* What a file took of the card. */
static void print_loaded(FILE *out, const struct why *y)
{
    char a[TEXT_NUMBER];
    struct words w = { .n = 0 };
    if (y->loaded.bytes == 0)
        return;
    print_lines(out, &y->loaded.lines, y->is_by_size, held_bytes(y), "loaded from a file");
    words_add(&w, "- For %s of it a weight or a state of just that size is there as well.",
              text_mib(y->loaded.twin_bytes, a));
    if (y->verdict != VERDICT_FULL)
        words_add(&w, " If that is a checkpoint, map_location=\"cpu\" keeps it off the card.");
    words_print_screen(out, &w);
}

/* What the step of the optimizer holds for itself. */
static void print_step(FILE *out, const struct why *y)
{
    char a[TEXT_NUMBER];
    struct words w = { .n = 0 };
    if (y->step.bytes == 0)
        return;
    words_add(&w, "- In its step the optimizer held %s that it frees when the step ends: it computes all weights at "
                  "once (foreach, PyTorch's default). With foreach=False it holds that of one weight%s.",
              text_mib(y->step.bytes, a), y->step.has_fused ? ", with fused=True none of it" : "");
    words_print_screen(out, &w);
}

static void print_coverage(FILE *out, const struct why *y)
{
    struct words w = { .n = 0 }, said = { .n = 0 };
    coverage_say(&said, &y->coverage);
    words_add(&w, "- %s", said.text);
    if (said.n > 0)
        words_print_screen(out, &w);
}

/* The answer that is filled in stands by itself: none of it was recorded. */
static void print_filled(FILE *out, const struct why *y)
{
    static const char *const whose = "the recorded setting";
    const struct filled_step *f = &y->tune.filled;
    struct words w = { .n = 0 };
    if (!f->is_known || y->tune.baseline.trial.fits)
        return;
    words_add(&w, "- ");
    filled_step_say(&w, f, &whose, 1, steps_leak(&y->coverage.steps),
                    y->cure != CURE_NONE ? "the setting above" : NULL);
    words_print_screen(out, &w);
}

static void print_context(FILE *out, const struct why *y)
{
    const char *const said[] = { y->context_sentence, y->shared_sentence };
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        struct words w = { .n = 0 };
        if (said[i][0] == '\0')
            continue;
        words_add(&w, "- %s", said[i]);
        words_print_screen(out, &w);
    }
}

/* Both look alike until a backward pass comes. */
static void print_one_pass(FILE *out, bool is_bare)
{
    struct words w = { .n = 0 };
    words_add(&w, "- %s If each call is a batch of its own, as in an evaluation, it is a leak. If "
                  "the calls are parts of one input, as of a recurrent network, it is one graph: cut it with .detach() "
                  "every few calls, or take a smaller batch.",
              is_bare ? "Without Python stacks one forward pass is not told from many." : "No backward pass came.");
    words_print_screen(out, &w);
}

/* What is full of graphs, and no backward pass came. */
static void print_graphs(FILE *out, const struct why *y)
{
    if (y->verdict == VERDICT_FULL && y->growth.holds_graphs)
        print_one_pass(out, y->is_by_size);
}

/* The setting that serves the request, as in PYTORCH_CUDA_ALLOC_CONF. */
static const char *winner_text(const struct why *y, char *text)
{
    return settings_text(&y->tune.entries[y->tune.winner].settings, &y->tune.rules, false, text);
}

/* A setting that is not worth it. */
static void print_worthless(FILE *out, const struct why *y)
{
    char setting[SETTINGS_TEXT];
    struct words w = { .n = 0 };
    if (y->worth != WORTH_NOTHING || y->verdict < VERDICT_FULL)
        return;
    words_add(&w, "- The setting %s serves this request, but is not worth it. ", winner_text(y, setting));
    pattern_say(&w, &y->tune.pattern, y->lasted);
    words_print_screen(out, &w);
}

/* A program that died early, or is nearly full, may be served for a while. */
static void print_served(FILE *out, const struct why *y)
{
    char a[TEXT_NUMBER], setting[SETTINGS_TEXT];
    struct words w = { .n = 0 };
    if (!why_mentions_setting(y))
        return;
    words_add(&w, "- Of the card %s were free in pieces: the setting %s serves this request. Whether the program gets "
                  "through a step with it is not known.", text_mib(why_unusable(y), a), winner_text(y, setting));
    words_print_screen(out, &w);
}

static void print_driver(FILE *out, const struct why *y)
{
    struct words w = { .n = 0 };
    if (!y->is_of_driver)
        return;
    words_add(&w, "- " RECORDED_DRIVER_WORDS " What a cache such as PyTorch's keeps counts as live here: with its own "
                  "recording (record --torch, run-sim -o) a leak, a full card and a fragmented one are told apart.");
    words_print_screen(out, &w);
}

/* A cache that had not filled yet looks like a leak: how many more a setting makes room for. */
static void print_room_in_pieces(FILE *out, const struct why *y)
{
    const uint64_t need = add_capped(y->live, y->asked);
    const uint64_t more = (y->usable > need ? y->usable - need : 0) / y->growth.bytes_per_turn;
    char a[TEXT_NUMBER], setting[SETTINGS_TEXT];
    struct words w = { .n = 0 };
    if (more == 0 || more < y->growth.turns / MORE_SHARE)
        return;
    words_add(&w, "- If it is a cache with a limit that it had not reached: %s (%.0f%%) of the card are free in "
                  "pieces, and the setting %s makes room for up to %" PRIu64 " more %s of it. A leak it only delays.",
              text_mib(why_unusable(y), a), 100.0 * (double)why_unusable(y) / (double)y->usable,
              winner_text(y, setting), more, growth_turns_word(y->growth.turn, more));
    words_print_screen(out, &w);
}

/* In how many turns what is held came, by what each leaves, if so many were seen. */
static void add_turns(struct words *w, const struct growth *g)
{
    const uint64_t counted = g->turns_held > 0 ? g->turns_held : g->turns, each = g->bytes_per_turn;
    const uint64_t turns = each > 0 ? (g->held_bytes + each / 2) / each : 0;
    const uint64_t apart = turns > counted ? turns - counted : counted - turns;
    if (turns > 0 && apart <= 1 + counted / TURNS_SHARE)
        words_add(w, " It grew in %" PRIu64 " %s.", turns, growth_turns_word(g->turn, turns));
}

/* How much it is, and since when; what to do about it stands before (why_act.c). */
static void print_growth(FILE *out, const struct why *y)
{
    const struct growth *g = &y->growth;
    const uint64_t each = g->bytes_per_turn;
    char a[TEXT_NUMBER];
    struct words w = { .n = 0 };
    print_lines(out, &g->lines, y->is_by_size, held_bytes(y), g->of_refusal ? "still held" : "grows most");
    if (g->of_refusal)
        return;
    words_add(&w, "- All that grows holds %s in %" PRIu64 " request%s.", text_mib(g->held_bytes, a), g->held_requests,
              g->held_requests == 1 ? "" : "s");
    if (g->turns > 0)
        add_turns(&w, g);
    if (g->before_requests > 0)
        words_add(&w, " Of these %" PRIu64 " are from before the recording, and counted because they are of just the "
                      "size that this line goes on leaving.", g->before_requests);
    if (y->has_refusal && each > 0 && !g->of_two_sets)
        words_add(&w, " If it goes on so, a card of twice the size lasts for about %" PRIu64 " more %s.",
                  y->usable / each, growth_turns_word(g->turn, y->usable / each));
    words_print_screen(out, &w);
    if (g->may_be_one_pass)
        print_one_pass(out, y->is_by_size);
    if (y->is_served && (g->keeps_one_result || g->may_be_meant))
        print_room_in_pieces(out, y);
}

static void print_input(FILE *out, const struct why *y)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    struct words w = { .n = 0 };
    words_add(&w, "- So far the last input requested %s. Cut to the largest of the others it would be %s less.",
              text_mib(y->input.bytes, a), text_mib(y->input.over_most, b));
    words_print_screen(out, &w);
}

/* What is a guess does not count: advice builds on it. */
static uint64_t category_bytes(const struct why *y, enum category category)
{
    for (size_t i = 0; i < y->categories.n; i++)
        if (strcmp(holder_name(&y->categories, i), category_word(category)) == 0)
            return y->categories.at[i].bytes - y->categories.at[i].guessed_bytes;
    return 0;
}

/* The levers [first, last) in words, as far as they save a 50th of what is live; returns how many. */
static unsigned add_tried(struct words *w, const struct why *y, enum lever first, enum lever last)
{
    static const char *const words[LEVER_KINDS] = {
        "half the batch", "checkpointed activations", "an optimizer without states (SGD)",
        "weights in bf16 or fp16 by up to",
        "autocast, which keeps the weights and copies them, by up to", "states of the optimizer in 8 bits by about",
    };
    char a[TEXT_NUMBER];
    unsigned n = 0;
    for (int i = (int)first; i < (int)last; i++) {
        if (!y->levers.is_tried[i] || y->levers.saves[i] < held_bytes(y) / TRIED_SHARE)
            continue;
        words_add(w, "%s %s%s %s", n == 0 ? "" : ";", words[i], i < LEVER_BF16 ? " by" : "",
                  text_mib(y->levers.saves[i], a));
        n++;
    }
    words_add(w, ".");
    return n;
}

/* Another precision. A recording tells no type. */
static void print_precision(FILE *out, const struct why *y)
{
    struct words w = { .n = 0 };
    words_add(&w, "- In another precision, if it computes in 32 bits now, which no recording tells, nor whether the "
                  "results stay good:");
    if (add_tried(&w, y, LEVER_BF16, LEVER_KINDS) > 0)
        words_print_screen(out, &w);
}

/* Each lever, tried on the recording; false: none saves enough. */
static bool print_tried(FILE *out, const struct why *y)
{
    struct words w = { .n = 0 };
    words_add(&w, "- What makes it smaller, tried on the recording (replay technique), of the most that was "
                  "live in it:");
    const bool has_some = add_tried(&w, y, LEVER_HALF_BATCH, LEVER_BF16) > 0;
    if (has_some)
        words_print_screen(out, &w);
    print_precision(out, y);
    return has_some;
}

/* What makes live data smaller, by what it is for. What was tried and saves nothing is not told, nor shares of less
 * than a tenth. Before the first forward pass nothing is an activation. */
static void print_levers(FILE *out, const struct why *y)
{
    const bool has_inputs = y->reached != REACHED_UNKNOWN && y->reached != REACHED_SETUP;
    const uint64_t inputs = !has_inputs || y->levers.is_tried[LEVER_HALF_BATCH]
                                ? 0 : category_bytes(y, CATEGORY_ACTIVATIONS) + category_bytes(y, CATEGORY_INPUTS);
    const uint64_t states = y->levers.is_tried[LEVER_SGD] ? 0 : category_bytes(y, CATEGORY_OPTIMIZER);
    const uint64_t least = held_bytes(y) / 10;
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    struct words w = { .n = 0 };
    if (y->verdict != VERDICT_FULL || print_tried(out, y) || (inputs < least && states < least))
        return;
    words_add(&w, "- What makes it smaller:");
    if (inputs >= least)
        words_add(&w, " half the batch, by about %s at that moment%s;", text_mib(inputs / 2, a),
                  !why_may_checkpoint(y)                 ? ""
                  : y->levers.is_taken[LEVER_CHECKPOINT] ? ", or checkpointed activations (replay technique "
                                                           "--checkpoint repeated)"
                                                         : ", or checkpointed activations");
    if (inputs >= least && why_may_need_no_gradients(y))
        words_add(&w, " torch.no_grad() around this pass if it needs no gradients, as of a teacher or an evaluation;");
    if (states >= least && !y->levers.is_tried[LEVER_STATES_8])
        words_add(&w, " an optimizer with smaller states, in 8 bits by about %s, or without any (SGD) "
                      "by %s;", text_mib(states / 4 * 3, a), text_mib(states, b));
    else if (states >= least)
        words_add(&w, " an optimizer without states (SGD), by %s at that moment;", text_mib(states, b));
    w.n--;                               /* the last semicolon */
    w.text[w.n] = '\0';
    words_add(&w, ".");
    words_print_screen(out, &w);
}

/* The way to know what a program needs that died before a whole step. */
static void print_predict(FILE *out, const struct why *y)
{
    struct words w = { .n = 0 };
    if (!why_is_open(y))
        return;
    words_add(&w, "- What it needs in all, without a GPU: replay predict --device %" PRIu64 "MiB -- python "
                  "YOUR_PROGRAM", y->usable >> 20);
    words_print_screen(out, &w);
}

/* What the first step would have asked for besides. */
static void print_to_come(FILE *out, const struct why *y)
{
    struct words said = { .n = 0 }, w = { .n = 0 };
    to_come_say(&said, &y->to_come, y->learns);
    if (said.n == 0)
        return;
    words_add(&w, "- %s", said.text);
    words_print_screen(out, &w);
}

/* What was tried, who holds it, and what to change in the program. */
static void print_walls(FILE *out, const struct why *y)
{
    static const char *const tried[] = { [WALLS_STREAMS] = "all requests on one stream",
                                         [WALLS_LATE_USES] = "all that is freed free at once",
                                         [WALLS_BOTH] = "all requests on one stream, and what is freed free at once" };
    const bool is_late = y->walls.kind == WALLS_LATE_USES;
    char a[TEXT_NUMBER];
    struct words w = { .n = 0 };
    if (y->verdict != VERDICT_STREAMS)
        return;
    words_add(&w, "- Tried: with %s %s on this card, and reserves %s at most.", tried[y->walls.kind],
              y->walls.lasts ? "the recording, played on for as long again, runs" : "the refused request is served",
              text_mib(y->walls.peak_bytes, a));
    if (is_late || y->walls.kind == WALLS_BOTH)
        words_add(&w, y->is_simulated ? " Uses end here when the program waits for them, as late as they can on a "
                                        "card, which may last longer." : "");
    words_print_screen(out, &w);
    print_lines(out, &y->walls.lines, y->is_by_size, is_late ? y->walls.late_bytes : y->live,
                is_late ? "waited most" : "on other streams");
    w = (struct words){ .n = 0 };
    if (y->cure == CURE_NONE)
        return;
    words_add(&w, "- What to change: ");
    why_add_walls_act(&w, y->walls.kind);
    words_add(&w, " No setting takes the walls away: the one above makes room beside them, and may not last.");
    words_print_screen(out, &w);
}

/* What the waiting costs, and what was tried against it. */
static void print_stalls(FILE *out, const struct why *y)
{
    static const char *const tried[] = { [WALLS_STREAMS] = "all requests on one stream",
                                         [WALLS_LATE_USES] = "all that is freed free at once",
                                         [WALLS_BOTH] = "all requests on one stream, and what is freed free at once" };
    const struct retry_stalls *s = &y->stalls;
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    struct words w = { .n = 0 };
    if (y->verdict != VERDICT_RETRIES)
        return;
    words_add(&w, "- ");
    if (s->given_back_bytes > 0)
        words_add(&w, "In all %s were given back and asked for anew. ", text_mib(s->given_back_bytes, a));
    words_add(&w, "Each cudaFree waits until the card has done its work. PyTorch counts such requests as "
                  "num_alloc_retries. On a card with %s for PyTorch none waits.", text_mib(s->room_bytes, b));
    if (s->replayed == 0)
        words_add(&w, " Our replay gives back less often, so no setting was tried%s.",
                  y->recorded_usable == 0 ? ": how large the card was is not recorded (--device)" : "");
    words_print_screen(out, &w);
    if (s->walls == WALLS_NONE)
        return;
    w = (struct words){ .n = 0 };
    words_add(&w, "- Tried: with %s %" PRIu64 " of %" PRIu64 " wait.", tried[s->walls], s->without_walls, s->replayed);
    if (y->cure != CURE_NONE) {
        words_add(&w, " What to change: ");
        why_add_walls_act(&w, s->walls);
    }
    words_print_screen(out, &w);
}

/* Under run-sim work of streams ends at once, unless it is asked to end late. */
static void print_late_uses(FILE *out, const struct why *y)
{
    if (y->is_simulated && y->has_streams && !y->has_late_uses && (y->has_refusal || y->verdict == VERDICT_RETRIES))
        text_print_screen(out, "- Uses by other streams (record_stream) end at once under run-sim. On a card they may "
                               "end as late as the program's next wait: run-sim --late-uses shows that worst case.");
}

/* Two sets are no growth where something else is the answer. */
static bool is_growth_told(const struct why *y)
{
    return y->growth.is_found && (!y->growth.of_two_sets || y->verdict == VERDICT_LEAK);
}

/* Of JAX's requests, or TensorFlow's: who holds most, and what each of their ways takes. */
static void print_own_reasons(FILE *out, const struct why *y)
{
    struct words ways = { .n = 0 }, w = { .n = 0 };
    print_lines(out, &y->lines, y->is_by_size, held_bytes(y), "holds most");
    print_coverage(out, y);
    if (!y->has_refusal && y->own.fit.first.is_cut) {
        words_add(&w, "- ");
        first_step_say(&w, &y->own.fit.first);
        words_print_screen(out, &w);
    }
    w = (struct words){ .n = 0 };
    own_settings_add_ways(&ways, &y->own);
    words_add(&w, "- %s", ways.text);
    words_print_screen(out, &w);
}

/* Of JAX's calls to the driver, or TensorFlow's. */
static void print_library_reasons(FILE *out, const struct why *y)
{
    struct words w = { .n = 0 };
    words_add(&w, "- The recording holds %s's calls to the driver. %s", platform_words(y->library),
              recorded_library_ways(y->library));
    print_lines(out, &y->lines, y->is_by_size, held_bytes(y), "holds most");
    print_coverage(out, y);
    words_print_screen(out, &w);
}

void why_print_reasons(FILE *out, const struct why *y, const char *event_word)
{
    if (y->is_of_xla || y->library != PLATFORM_UNKNOWN) {
        (y->is_of_xla ? print_own_reasons : print_library_reasons)(out, y);
        return;
    }
    print_driver(out, y);
    if (y->is_shrunk)
        text_print_screen(out, "- These calls are what replay shrink left of a recording: what is said here, a setting "
                               "too, holds for them and not for the program.");
    print_refusal(out, y, event_word);
    print_walls(out, y);
    print_stalls(out, y);
    print_thaw(out, y);
    print_loaded(out, y);
    print_step(out, y);
    if (is_growth_told(y))
        print_growth(out, y);
    if (y->input.is_larger && y->verdict == VERDICT_LARGER_INPUT)
        print_input(out, y);
    if (y->verdict == VERDICT_FULL)
        print_categories(out, y);
    if (!is_growth_told(y) || y->growth.held_bytes < held_bytes(y) / 2)
        print_lines(out, &y->lines, y->is_by_size, held_bytes(y), "holds most");
    if (!y->is_state)
        print_coverage(out, y);
    print_levers(out, y);
    print_graphs(out, y);
    print_to_come(out, y);
    print_predict(out, y);
    print_served(out, y);
    print_worthless(out, y);
    print_filled(out, y);
    print_late_uses(out, y);
    print_context(out, y);
}

void why_print(FILE *out, const struct why *y, const char *event_word)
{
    struct words w = { .n = 0 };
    why_add_verdict(&w, y);
    words_print_screen(out, &w);
    print_act(out, y);
    print_also(out, y);
    print_cure(out, y);
    print_first_setting(out, y);
    if (y->is_of_xla && own_settings_advise(&y->own)) {
        fputc('\n', out);
        own_settings_put_paste(out, &y->own, "  ");
        fputc('\n', out);
    }
    if (y->cure == CURE_NONE)
        fputc('\n', out);
    why_print_reasons(out, y, event_word);
}

/* ---- JSON ---- */

static void cure_json(struct json_writer *json, const struct tune *t)
{
#define ANSWER_TABLE "answers/cure.def"
#include "answers/as_json.def"
}

void why_recording_json(struct json_writer *json, const struct why *y)
{
    struct filled_step filled = y->tune.filled;
    filled.has_setting = y->cure != CURE_NONE;
#define ANSWER_TABLE "answers/why_recording.def"
#include "answers/as_json.def"
}
