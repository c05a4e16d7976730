/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Facts first, then which verdicts they support; the first that holds is told. */
#include "replay/why/why.h"

#include "base/torch_sizes.h"
#include "base/units.h"
#include "replay/recording/phases.h"
#include "replay/recording/recorded_settings.h"
#include "replay/recording/telling_lines.h"
#include "report/rows/winner.h"
#include "sim/card_context.h"

#include <stdio.h>
#include <string.h>

/* Before memory ever came down again, or if no setting serves the request, an eighth of the card must be free but of no
 * use. */
enum { DOUBTFUL_UNUSABLE_SHARE = 8 };

/* If at most a quarter is free but of no use, it counts how soon it would be used up. */
enum { FILLS_SHARE = 4 };

/* So many requests of one line that are joined are results that were kept one by one. */
enum { JOINED_LEAST = 3 };

/* Fewer activations live at once may be what the next layers need, and no graph. */
enum { SAVED_LEAST = 8 };

/* So large a share of what is live gets smaller with the batch. */
enum { ACTIVATIONS_SHARE = 10, UNTOLD_SHARE = 50 };

/* A longer recording in which requests wait is not tuned: nobody waits for it. */
#define STALLS_TUNED_MOST (UINT64_C(1) << 18)

/* ---- facts ---- */

static void take_refusal(struct why *w, const struct holdings *live)
{
    const struct trial *t = &w->tune.baseline.trial;
    w->has_refusal = w->coverage.refusals > 0 || !t->fits;
    w->usable = w->tune.usable_bytes;
    w->live = live->bytes;
    if (t->fits || w->falls_short) {
        w->asked = w->coverage.refused_bytes;
        w->reserved = !w->has_refusal && w->recorded_reserved > 0 ? w->recorded_reserved : t->peak_reserved_bytes;
        w->free = w->usable > w->reserved ? w->usable - w->reserved : 0;
    } else {
        w->asked = t->refused_bytes;
        w->reserved = t->refused_reserved_bytes;
        w->free = t->refused_free_bytes;
    }
    const uint64_t need = add_capped(w->live, w->asked);
    w->shortfall = w->has_refusal && need > w->usable ? need - w->usable : 0;
}

/* What PyTorch reserved when it was recorded: at the end, which is all that a state tells, or at most. A card that was
 * named is another question. 0: it was not recorded, or is less than was requested, which cannot be. */
static uint64_t find_recorded_reserved(const struct trace_reader *trace, bool is_state,
                                       const struct device_choice *device)
{
    const struct trace_info *info = trace_info(trace);
    if (is_state)
        return info->recorded_end_reserved_bytes;
    const uint64_t bytes = info->recorded_peak_reserved_bytes;
    return device->has_total || bytes < info->peak_requested_bytes ? 0 : bytes;
}

/* The card that a person named, less what the program could have of it when a request was refused. */
static uint64_t find_outside(const struct trace_reader *trace, const struct device_choice *device)
{
    const struct trace_info *info = trace_info(trace);
    const bool is_known = device->has_total && device->context_source != NULL && info->by_kind[EVENT_OOM] > 0 &&
                          info->capacity_bytes > 0 && info->capacity_bytes < device->config.total_bytes;
    return is_known ? device->config.total_bytes - info->capacity_bytes : OOM_TEXT_UNKNOWN;
}

/* Whether what grows may be the graph of an inner loop: gradients are computed, and neither did live memory come down
 * yet nor an optimizer step. */
static bool may_be_inner_loop(const struct why *w, const struct phases *p)
{
    return w->growth.is_found && !w->growth.of_refusal && w->growth.turn != TURN_STEP &&
           w->input.turns_before < TURNS_OF_STEPS &&
           phase_has_begun(p, PHASE_BACKWARD, w->moment) && !phase_has_begun(p, PHASE_OPTIMIZER, w->moment);
}

/* Whether no turn before the last one, nor a whole step, shows the place of the request that ended the program. */
static enum err read_new_part(struct why *w, struct trace_reader *trace, struct err_detail *err)
{
    const struct coverage *c = &w->coverage;
    const uint64_t until = c->steps.whole > 0 ? c->steps.end : w->input.last_turn;
    if (c->ends != ENDS_REFUSED || (c->steps.whole == 0 && w->input.turns_before < TURNS_OF_STEPS))
        return ERR_OK;
    return new_part_find(trace, c->first_of_end, 0, until, &w->part, err);
}

/* Whether what was refused is as large as all that one line holds in many requests: results that were kept one by one
 * and are joined (torch.cat). */
static bool joins_what_is_held(const struct why *w)
{
    const struct holder *h = w->lines.n > 0 && !w->is_by_size ? &w->lines.at[0] : NULL;
    return w->has_refusal && w->later_live == 0 && h != NULL && h->n >= JOINED_LEAST &&
           h->bytes >= w->live / 2 && align_up(h->bytes, TORCH_MIN_BLOCK) == align_up(w->asked, TORCH_MIN_BLOCK);
}

/* Who holds more and more. What joins results in one request is no growth of its own: they alone must have grown. */
static enum err read_growth(struct why *w, struct trace_reader *trace, struct err_detail *err)
{
    if (!w->has_refusal)
        return growth_find_in_run(trace, &w->growth, err);
    enum err e = growth_find(trace, w->moment, add_capped(w->live, w->asked), &w->growth, err);
    if (e != ERR_OK || w->growth.is_found || !joins_what_is_held(w))
        return e;
    growth_close(&w->growth);
    e = growth_find(trace, w->moment, w->live, &w->growth, err);
    w->joins = w->growth.is_found;
    return e;
}

/* Who holds more and more, whether the last input is larger, and how far the program came. */
static enum err read_course(struct why *w, struct trace_reader *trace, struct err_detail *err)
{
    struct phases phases;
    enum err e = read_growth(w, trace, err);
    if (e == ERR_OK && w->has_refusal && w->moment < trace_info(trace)->events)
        e = telling_line_of_event(trace, w->moment, sizeof w->asked_line, w->asked_line, err);
    if (e != ERR_OK)
        return e;
    e = phases_read(trace, &phases, err);
    if (e == ERR_OK && w->has_refusal)
        e = larger_input_find(trace, &phases, w->moment, w->asked, &w->input, err);
    if (e == ERR_OK && w->has_refusal)
        e = read_new_part(w, trace, err);
    if (e == ERR_OK && w->has_refusal && !w->growth.is_found)
        e = thaw_find(trace, &phases, w->moment, add_capped(w->live, w->asked), &w->thaw, err);
    if (e == ERR_OK) {
        w->reached = reached_at(&w->coverage, &phases, w->moment, w->input.turns_before);
        w->learns = !phases.has_python || phase_has_begun(&phases, PHASE_BACKWARD, w->moment) ||
                    phase_has_begun(&phases, PHASE_OPTIMIZER, w->moment);
        w->growth.may_be_one_pass = w->growth.may_be_one_pass || may_be_inner_loop(w, &phases);
    }
    w->is_checkpointing = phases.is_checkpointing;
    phases_close(&phases);
    return e;
}

/* On the card that it was recorded on our replay is refused a request that the program got: where everything lay when
 * the recording began is not known. */
static bool falls_short(const struct why *w, const struct device_choice *device)
{
    const struct trial *t = &w->tune.baseline.trial;
    return !t->fits && t->stopped_at >= 0 && !device->has_total && w->coverage.ends == ENDS_REFUSED &&
           w->coverage.begins == BEGINS_CUT && (uint64_t)t->stopped_at < w->coverage.first_of_end;
}

/* What was live when the request was refused, or at the peak. */
static enum err read_refusal(struct why *w, struct trace_reader *trace, struct holdings *h, struct err_detail *err)
{
    const struct trial *t = &w->tune.baseline.trial;
    const bool is_ours = !t->fits && t->stopped_at >= 0 && !w->falls_short;
    enum err e = is_ours ? holdings_read(trace, MOMENT_EVENT, (uint64_t)t->stopped_at, h, err)
                         : holdings_read(trace, w->coverage.refusals > 0 ? MOMENT_REFUSAL : MOMENT_PEAK, 0, h, err);
    if (e != ERR_OK)
        return e;
    take_refusal(w, h);
    w->moment = w->has_refusal ? h->moment : trace_info(trace)->events;
    return trace_event_number(trace, is_ours ? t->stopped_at : (int64_t)h->moment - (w->coverage.refusals == 0),
                              &w->event, err);
}

/* On a smaller card than the recorded one the recording goes on after the refused request. If it then has more live at
 * once, and more than the card holds, that is what counts. */
static enum err read_later(struct why *w, struct trace_reader *trace, struct holdings *h, struct err_detail *err)
{
    const uint64_t peak = trace_info(trace)->peak_requested_bytes;
    if (w->tune.baseline.trial.fits || peak <= w->usable || peak <= add_capped(w->live, w->asked))
        return ERR_OK;
    holdings_close(h);
    const enum err e = holdings_read(trace, MOMENT_PEAK, 0, h, err);
    if (e != ERR_OK)
        return e;
    w->later_live = h->bytes;
    w->shortfall = h->bytes > w->usable ? h->bytes - w->usable : 0;
    return trace_event_number(trace, (int64_t)h->moment - 1, &w->later_event, err);
}

/* What of it is more than a category tells. Sets categories anew. */
static enum err read_parts(struct why *w, struct trace_reader *trace, const struct phases *phases, struct holdings *h,
                           struct err_detail *err)
{
    enum err e = loaded_file_find(trace, h, &w->loaded, err);
    if (e != ERR_OK || !w->has_refusal || w->later_live > 0 || w->moment >= trace_info(trace)->events)
        return e;
    e = foreach_step_find(trace, w->moment, w->asked, h, &w->step, err);
    return e == ERR_OK ? to_come_find(trace, phases, w->moment, h, &w->to_come, err) : e;
}

static enum err read_categories(struct why *w, struct trace_reader *trace, struct holdings *h, struct err_detail *err)
{
    struct category_facts facts = { .named_bytes = 0 };
    struct phases phases;
    enum err e = phases_read(trace, &phases, err);
    if (e == ERR_OK)
        e = categories_tell(trace, &phases, h, &facts, err);
    if (e == ERR_OK)
        e = read_parts(w, trace, &phases, h, err);
    if (e == ERR_OK)
        e = holders_group(trace, h, HOLDER_CATEGORY, &w->categories, err);
    w->named_bytes = facts.named_bytes;
    phases_close(&phases);
    return e;
}

static enum err read_holders(struct why *w, struct trace_reader *trace, struct err_detail *err)
{
    struct holdings h = { .n = 0 };
    enum err e = read_refusal(w, trace, &h, err);
    if (e == ERR_OK)
        e = read_later(w, trace, &h, err);
    if (e == ERR_OK)
        e = holders_group(trace, &h, w->is_by_size ? HOLDER_SIZE : HOLDER_LINE, &w->lines, err);
    if (e == ERR_OK)
        e = read_categories(w, trace, &h, err);
    holdings_close(&h);
    return e;
}

static void find_cure(struct why *w)
{
    const struct tune *t = &w->tune;
    w->is_served = w->has_refusal && !t->baseline.trial.fits && !w->falls_short && t->n_entries > 0 &&
                   t->entries[t->winner].trial.fits;
    w->cure = w->stalls.has_setting                                         ? CURE_RECOMMENDED
              : !w->is_served                                               ? CURE_NONE
              : coverage_has_whole_step(&w->coverage) && tune_recommends(t) ? CURE_RECOMMENDED
                                                                            : CURE_SERVES_REFUSED;
}

/* Whether the program goes on under the winner, played on by its own pattern. */
static void find_worth(struct why *w)
{
    const struct tune *t = &w->tune;
    if (!w->is_served || t->pattern.turns == 0)
        return;
    w->lasted = tune_finalist_of(t, t->winner)->lasted;
    w->worth = !pattern_tells(&t->pattern, w->lasted) ? WORTH_UNKNOWN
               : w->lasted == t->pattern.turns        ? WORTH_AS_LONG_AGAIN : WORTH_NOTHING;
    if (w->worth == WORTH_NOTHING)
        w->cure = CURE_NONE;
}

/* ---- the verdict ---- */

/* The recording goes on after the request that this card refuses,
 * so it is known that all of it would fit, unfragmented. */
bool why_is_incurable(const struct why *w)
{
    return w->cure == CURE_NONE && w->shortfall == 0 && !w->tune.baseline.trial.fits && w->tune.n_entries > 0 &&
           !coverage_is_lower_bound(&w->coverage);
}

uint64_t why_unusable(const struct why *w)
{
    return w->usable > w->live ? w->usable - w->live : 0;
}

bool why_is_survived(const struct why *w)
{
    return w->coverage.refusals > 0 && w->coverage.survived == w->coverage.refusals;
}

bool why_fits_by_weight(const struct why *w)
{
    const uint64_t others = w->live > w->step.bytes ? w->live - w->step.bytes : 0;
    return w->step.bytes > 0 && add_capped(others, add_capped(w->step.largest, w->step.largest)) <= w->usable;
}

/* NULL: none are live. */
static const struct holder *find_activations(const struct why *w)
{
    for (size_t i = 0; i < w->categories.n; i++)
        if (strcmp(holder_name(&w->categories, i), category_word(CATEGORY_ACTIVATIONS)) == 0)
            return &w->categories.at[i];
    return NULL;
}

/* A pass without gradients holds a few activations, that of a graph those of all layers. */
static bool may_hold_graph(const struct why *w)
{
    const struct holder *h = find_activations(w);
    return h != NULL && h->n >= SAVED_LEAST;
}

/* Half a batch saves some of what a pass holds, and checkpointing some of a graph: where next to nothing is saved, what
 * they touch was not found, as the pass that was cut off has freed nothing yet. */
static void drop_untold(struct why *w)
{
    const struct holder *h = find_activations(w);
    const bool is_much = h != NULL && h->bytes >= w->live / ACTIVATIONS_SHARE;
    for (int i = LEVER_HALF_BATCH; i <= LEVER_CHECKPOINT; i++)
        if (is_much && w->levers.saves[i] < w->live / UNTOLD_SHARE && (i == LEVER_HALF_BATCH || may_hold_graph(w)))
            w->levers.is_tried[i] = false;
}

bool why_may_checkpoint(const struct why *w)
{
    const struct levers *l = &w->levers;
    const bool is_useless = l->is_tried[LEVER_CHECKPOINT] && l->saves[LEVER_CHECKPOINT] == 0;
    return !w->is_checkpointing && !is_useless && (w->learns || may_hold_graph(w));
}

bool why_end_is_unseen(const struct why *w)
{
    return (w->verdict == VERDICT_CACHE || w->verdict == VERDICT_RETRIES) &&
           (w->coverage.ends == ENDS_OPEN || w->coverage.ends == ENDS_INTERRUPTED || w->coverage.ends == ENDS_CUT);
}

bool why_may_need_no_gradients(const struct why *w)
{
    return !w->learns && may_hold_graph(w);
}

bool why_names_setting(const struct why *w)
{
    return w->verdict == VERDICT_FULL && w->is_served && w->worth != WORTH_NOTHING && w->shortfall == 0 &&
           w->reached == REACHED_STEPS && !why_is_open(w) && !why_turn_exceeds(w);
}

bool why_mentions_setting(const struct why *w)
{
    return (w->verdict == VERDICT_FULL || why_is_open(w)) && w->is_served && w->worth != WORTH_NOTHING &&
           w->shortfall == 0 && !why_names_setting(w);
}

bool why_is_early(const struct why *w)
{
    return reached_is_before_a_step(w->reached) && coverage_is_lower_bound(&w->coverage);
}

bool why_is_in_new_part(const struct why *w)
{
    return w->part.is_new && !reached_is_before_a_step(w->reached);
}

bool why_is_open(const struct why *w)
{
    return (why_is_early(w) || why_is_in_new_part(w)) && (w->verdict == VERDICT_FULL || w->verdict == VERDICT_STREAMS);
}

/* The last input is larger, there was one before it, and one of the largest size before would fit: of the usual size,
 * if inputs get larger and larger. What came of layers that learn now may be more. */
static bool is_larger_input(const struct why *w)
{
    const uint64_t usual = (uint64_t)((double)w->input.bytes / (w->input.times > 0 ? w->input.times : 1));
    const uint64_t excess = w->input.is_trend ? w->input.bytes - usual : w->input.over_most;
    return w->input.is_larger && !reached_is_before_a_step(w->reached) && excess >= w->shortfall &&
           excess >= w->usable / WHY_UNUSABLE_SHARE && excess >= w->thaw.all;
}

/* What is free but of no use is a share of the card that counts. */
static bool is_much_unusable(const struct why *w)
{
    const bool is_first_turn = w->input.turns_before == 0 && !coverage_has_whole_step(&w->coverage);
    const bool is_doubtful = is_first_turn || w->cure == CURE_NONE;
    return why_unusable(w) >= w->usable / (is_doubtful ? DOUBTFUL_UNUSABLE_SHARE : WHY_UNUSABLE_SHARE);
}

/* Fragmentation comes first if there is far to go until live data fills the card. */
static bool is_far_from_full(const struct why *w)
{
    return w->cure != CURE_NONE && add_capped(w->live, w->asked) / TUNE_FAR_THIRDS <= w->usable / 3;
}

/* A setting serves the request, and the whole turn that it is of would fit, as far as its end is known; no larger ones
 * are to be expected. If more is needed already than was to be expected, a little must be left. */
static bool fits_with_cure(const struct why *w)
{
    const uint64_t need = add_capped(w->live, w->asked), some = w->usable / WHY_UNUSABLE_SHARE;
    const bool is_open = w->input.is_larger && w->input.is_open;
    const uint64_t at_least = need > w->input.need_bytes ? add_capped(need, some) : w->input.need_bytes;
    return w->cure != CURE_NONE && !w->input.is_trend && !is_open && at_least <= w->usable;
}

/* More than the card; or half of it and twice any other, unless a setting serves it beside all else. */
static bool is_one_tensor(const struct why *w)
{
    const bool is_huge = w->asked >= w->usable / 2 && w->asked / 2 >= w->input.largest_before;
    return w->asked > w->usable || (is_huge && !fits_with_cure(w));
}

/* The refused request fits on the card, and all else that is larger in the last turn is together as large: it is not
 * one tensor that exceeds, but an input whose tensors are all larger. */
static bool is_one_of_many_larger(const struct why *w)
{
    return w->holds[VERDICT_LARGER_INPUT] && w->asked <= w->usable && w->input.bytes / 2 >= w->asked;
}

/* A request that was survived may have been a try, which is as large as none that follows. */
bool why_turn_exceeds(const struct why *w)
{
    return w->coverage.survived == 0 && w->worth != WORTH_AS_LONG_AGAIN && w->input.turn_bytes > w->usable;
}

/* At least three quarters of the card are live, and were nothing in pieces, live memory would still fill it before the
 * program ran a quarter as long again. */
static bool would_fill_soon(const struct why *w)
{
    const uint64_t need = add_capped(w->live, w->asked), left = w->usable > need ? w->usable - need : 0;
    const bool is_little = why_unusable(w) <= w->usable / FILLS_SHARE && left < w->input.rise_bytes / 2;
    return is_little && w->worth != WORTH_AS_LONG_AGAIN && w->input.turns_before == 0;
}

/* Little is free in pieces, or whole steps tell that it is too little: the setting that serves the request does not
 * bring the program on by a turn, or nothing repeats that tells whether it would. If little is free, a few steps more
 * are no cure either. */
bool why_dies_all_the_same(const struct why *w)
{
    const bool is_little = why_unusable(w) <= w->usable / FILLS_SHARE, by_steps = w->tune.pattern.by_steps;
    const bool dies_soon = w->lasted == 0 ? is_little || by_steps : is_little && by_steps;
    return w->is_served && w->worth != WORTH_AS_LONG_AGAIN && dies_soon && coverage_is_lower_bound(&w->coverage);
}

/* What the walls that were taken out keep. */
static uint64_t walled_bytes(const struct stream_walls *s)
{
    return (s->kind != WALLS_LATE_USES ? s->elsewhere_bytes : 0) + (s->kind != WALLS_STREAMS ? s->late_bytes : 0);
}

/* Without the walls of streams it goes on for as long again, so neither is the card full nor the request too large; but
 * a growth that took more than the walls do comes first. Or the request alone is known to be served, and nothing else
 * explains why it was not. If less than half of what PyTorch had free lies behind walls, all other lies in pieces as
 * well: with one stream other requests meet, and that it then runs may be chance. That it is full explains the refusal
 * only if that is known (`is_full`), and not if it is said because the program died early. */
static void judge_walls(struct why *w, bool is_full)
{
    const struct stream_walls *s = &w->walls;
    const bool is_most = !w->growth.is_found || w->growth.bytes < walled_bytes(s);
    const bool is_explained = w->holds[VERDICT_ONE_TENSOR] || w->holds[VERDICT_LEAK] ||
                              w->holds[VERDICT_LARGER_INPUT] || is_full;
    const uint64_t in_pieces = w->reserved > w->live ? w->reserved - w->live : 0;
    w->holds[VERDICT_STREAMS] = s->kind != WALLS_NONE && walled_bytes(s) >= in_pieces / 2 &&
                                (s->lasts ? is_most : !is_explained);
    if (!w->holds[VERDICT_STREAMS])
        return;
    w->holds[VERDICT_ONE_TENSOR] = w->holds[VERDICT_FULL] = false;
}

/* A setting serves the request, and there is room then for as much again as the new part has asked for so far. */
static bool has_room_for_part(const struct why *w)
{
    const uint64_t need = add_capped(w->live, w->asked);
    return w->cure != CURE_NONE && add_capped(need, add_capped(w->part.bytes, w->asked)) <= w->usable;
}

/* The request was refused on this card. What a program needs that died before a whole step is not known: a setting
 * that serves one request of it is no cure, unless there is far to go until the card is full. */
static void judge_refused(struct why *w)
{
    const bool is_far = is_far_from_full(w);
    const bool is_open = (why_is_early(w) && !is_far) || (why_is_in_new_part(w) && !has_room_for_part(w));
    w->holds[VERDICT_LARGER_INPUT] = is_larger_input(w) &&
                                     (w->growth.grows_in_input || (!is_far && !fits_with_cure(w)));
    w->holds[VERDICT_ONE_TENSOR] = is_one_tensor(w) && !w->joins && !is_one_of_many_larger(w);
    const bool is_full = w->shortfall > 0 || !is_much_unusable(w) || why_turn_exceeds(w) || would_fill_soon(w) ||
                         why_dies_all_the_same(w);
    w->holds[VERDICT_FULL] = is_full || is_open;
    judge_walls(w, is_full);
    w->holds[VERDICT_FRAGMENTED] = !w->holds[VERDICT_FULL] && !w->holds[VERDICT_STREAMS] && w->tune.n_entries > 0;
}

/* Two sets that may be meant are the answer where nothing else is one. */
static void judge_two_sets(struct why *w)
{
    const bool is_told = w->holds[VERDICT_STREAMS] || w->holds[VERDICT_ONE_TENSOR] || w->holds[VERDICT_LARGER_INPUT] ||
                         w->holds[VERDICT_FULL] || w->cure != CURE_NONE;
    if (w->growth.of_two_sets && w->has_refusal && !is_told)
        w->holds[VERDICT_LEAK] = true;
}

static void judge(struct why *w)
{
    const bool fits = w->tune.baseline.trial.fits;
    w->holds[VERDICT_NOT_IN_FORCE] = w->settings.lost[0] != '\0';
    w->holds[VERDICT_SOMEBODY_ELSE] = w->coverage.refusals > 0 && w->outside != OOM_TEXT_UNKNOWN && fits &&
                                      w->outside > CARD_CONTEXT_MOST_BYTES &&
                                      card_others_matter(w->outside - CARD_CONTEXT_MOST_BYTES, w->total);
    w->holds[VERDICT_LIMITED] = w->limit.below > 0 && w->coverage.refusals > 0;
    w->holds[VERDICT_LEAK] = w->growth.is_found && !w->growth.of_two_sets;
    if (w->has_refusal && !fits)
        judge_refused(w);
    judge_two_sets(w);
    w->holds[VERDICT_RETRIES] = w->stalls.times > 0;
    w->holds[VERDICT_CACHE] = !w->has_refusal && !w->is_state;
    w->holds[VERDICT_RECORDING_ENDS] = w->is_state || coverage_is_lower_bound(&w->coverage);
    w->verdict = VERDICT_RECORDING_ENDS;
    for (int v = VERDICT_KINDS; v-- > 0;)
        if (w->holds[v])
            w->verdict = (enum verdict_kind)v;
    if (w->verdict != VERDICT_FULL)
        w->thaw.all = w->step.bytes = 0;
    to_come_keep(&w->to_come, w->reached, w->loaded.bytes);
    w->to_come.is_told = w->to_come.is_told && w->verdict == VERDICT_FULL;
    if (w->verdict != VERDICT_FULL && w->verdict != VERDICT_LARGER_INPUT)
        w->loaded.bytes = 0;
    w->thaw.states -= w->step.bytes < w->thaw.states ? w->step.bytes : w->thaw.states;
    if (w->loaded.bytes < w->usable / WHY_UNUSABLE_SHARE)
        w->loaded.bytes = 0;
    const bool may_cure = w->verdict == VERDICT_FRAGMENTED || w->verdict == VERDICT_STREAMS ||
                          w->verdict == VERDICT_NOT_IN_FORCE || w->verdict == VERDICT_RETRIES;
    if (!may_cure || why_is_open(w))
        w->cure = CURE_NONE;
}

/* What streams keep from each other, if what was asked for would have fitted. */
static enum err find_walls(struct why *w, struct trace_reader *trace, const struct device_choice *device,
                           const struct replay_config *cfg, struct err_detail *err)
{
    const struct trial *t = &w->tune.baseline.trial;
    if (!w->has_refusal || t->fits || t->stopped_at < 0 || w->falls_short || w->shortfall > 0)
        return ERR_OK;
    return stream_walls_find(trace, &w->tune, device, (uint64_t)t->stopped_at, cfg, &w->walls, err);
}

/* If nothing was refused, but requests waited again and again: what takes that away. A driver's calls, XLA's requests
 * and a state tell nothing of it. */
static enum err find_stalls(struct why *w, struct trace_reader *trace, const struct device_choice *device,
                            const struct replay_config *cfg, struct err_detail *err)
{
    const struct tune_request asked = { .price_bytes_per_ms = WINNER_PRICE_BYTES_PER_MS };
    if (w->has_refusal || w->is_state || recorded_from_driver(trace) || recorded_from_xla(trace))
        return ERR_OK;
    enum err e = retry_stalls_find(trace, &w->tune, device, cfg, &w->stalls, err);
    if (e != ERR_OK || w->stalls.replayed == 0 || trace_info(trace)->events > STALLS_TUNED_MOST)
        return e;
    tune_close(&w->tune);
    e = tune_run(trace, device, &asked, cfg, &w->tune, err);
    if (e == ERR_OK)
        retry_stalls_take_setting(&w->stalls, &w->tune);
    return e;
}

/* Results that are kept one by one, or put together again and again, and pieces of the card that are free: a cache that
 * had not filled yet looks so. */
static bool may_be_a_cache(const struct why *w)
{
    const struct growth *g = &w->growth;
    return g->is_found && (g->keeps_one_result || g->may_be_meant) && w->shortfall == 0 && g->bytes_per_turn > 0 &&
           why_unusable(w) >= w->usable / DOUBTFUL_UNUSABLE_SHARE;
}

/* A leak has no setting that cures it, so none is looked for, except where it may be a cache. */
static enum err search_cure(struct why *w, struct trace_reader *trace, const struct device_choice *device,
                            const struct replay_config *cfg, struct err_detail *err)
{
    const struct tune_request asked = { .price_bytes_per_ms = WINNER_PRICE_BYTES_PER_MS, .only_cure = true };
    if ((w->growth.is_found && !w->growth.of_two_sets && !may_be_a_cache(w)) || !w->has_refusal)
        return ERR_OK;
    tune_close(&w->tune);
    return tune_run(trace, device, &asked, cfg, &w->tune, err);
}

/* The card is only what its program had: no request of its allocator's is replayed on it here. */
static void take_library_room(struct why *w, const struct device_choice *device)
{
    const struct device_config *card = &device->config;
    const bool is_known = card->total_bytes != DEVICE_UNLIMITED;
    w->reserved = w->live;                       /* at least */
    w->usable = is_known ? card->total_bytes - card->context_bytes : w->live;
    w->free = w->usable > w->live ? w->usable - w->live : 0;
}

/* What JAX's or TensorFlow's own settings do. The rest was looked at on a card without an end, on which nothing is
 * refused, because PyTorch's allocator would refuse something else. */
static enum err judge_own(struct why *w, struct trace_reader *trace, const struct device_choice *device,
                          const struct replay_config *cfg, struct err_detail *err)
{
    const enum err e = own_settings_find(trace, device, WINNER_PRICE_BYTES_PER_MS, cfg, &w->own, err);
    take_library_room(w, device);
    w->verdict = w->own.chosen == WINNER_NONE ? VERDICT_FULL : w->own.chosen > 0 ? VERDICT_LIMITED : VERDICT_CACHE;
    for (size_t v = 0; v < VERDICT_KINDS; v++)
        w->holds[v] = v == (size_t)w->verdict;
    return e;
}

/* What JAX's or TensorFlow's allocator asks the driver for does not tell what it needs of that. It makes a refused
 * request again with less. */
static void judge_library(struct why *w, const struct device_choice *device)
{
    w->cure = CURE_NONE;
    take_library_room(w, device);
    w->verdict = w->has_refusal ? VERDICT_RECORDING_ENDS : VERDICT_CACHE;
    for (size_t v = 0; v < VERDICT_KINDS; v++)
        w->holds[v] = v == (size_t)w->verdict;
}

/* The card that a recording is looked at on by PyTorch's rules. */
static struct device_choice looked_at_on(const struct trace_reader *trace, const struct device_choice *device)
{
    struct device_choice d = *device;
    if (recorded_from_xla(trace) || recorded_from_library(trace))
        d.config.total_bytes = DEVICE_UNLIMITED;
    return d;
}

enum err why_read(struct trace_reader *trace, bool is_state, const struct device_choice *asked_device,
                  const struct replay_config *cfg, struct why *out, struct err_detail *err)
{
    const struct device_choice on = looked_at_on(trace, asked_device), *device = &on;
    const struct tune_request asked = { .price_bytes_per_ms = WINNER_PRICE_BYTES_PER_MS, .only_baseline = true };
    *out = (struct why){ .event = -1, .is_state = is_state, .is_by_size = trace_info(trace)->n_stacks == 0,
                        .recorded_reserved = find_recorded_reserved(trace, is_state, device) };
    enum err e = coverage_read(trace, &out->coverage, err);
    if (e == ERR_OK)
        e = tune_run(trace, device, &asked, cfg, &out->tune, err);
    out->falls_short = falls_short(out, device);
    if (e == ERR_OK)
        e = read_holders(out, trace, err);
    if (e == ERR_OK)
        e = read_course(out, trace, err);
    if (e == ERR_OK)
        e = find_walls(out, trace, device, cfg, err);
    if (e == ERR_OK)
        e = search_cure(out, trace, device, cfg, err);
    if (e == ERR_OK)
        e = find_stalls(out, trace, device, cfg, err);
    if (e == ERR_OK)
        e = late_uses_find(trace, &out->has_late_uses, err);
    if (e != ERR_OK)
        return e;
    out->is_of_driver = recorded_from_driver(trace);
    out->is_simulated = trace_meta(trace, TRACE_META_CAPABILITY) != NULL;
    out->has_streams = trace_info(trace)->n_streams > 1;
    out->is_shrunk = trace_meta(trace, TRACE_META_SHRUNK) != NULL;
    out->outside = find_outside(trace, device);
    out->total = asked_device->config.total_bytes;
    out->recorded_usable = trace_info(trace)->capacity_bytes;
    out->device = asked_device->typed;
    out->is_card_named = device->has_total;
    out->context_bytes = device->config.context_bytes;
    out->context_source = device->context_source;
    if (!is_state && (out->has_refusal || device->has_total))
        device_say_context(device, out->context_sentence, sizeof out->context_sentence);
    device_say_shared(device->has_total && device->config.model != NULL ? device->config.model->name : NULL,
                      out->shared_sentence, sizeof out->shared_sentence);
    settings_facts_read(trace, &out->tune.rules, &out->settings);
    (void)recorded_limit_read(trace, &out->limit);
    find_cure(out);
    find_worth(out);
    judge(out);
    out->is_of_xla = recorded_from_xla(trace);
    if (out->is_of_xla)
        return judge_own(out, trace, asked_device, cfg, err);
    out->library = recorded_from_library(trace) ? recorded_platform(trace) : PLATFORM_UNKNOWN;
    if (out->library != PLATFORM_UNKNOWN) {
        judge_library(out, asked_device);
        return ERR_OK;
    }
    if (out->verdict == VERDICT_FULL && out->reached == REACHED_STEPS)
        e = levers_try(trace, out->learns, out->is_checkpointing, &out->levers, err);
    drop_untold(out);
    return e;
}

void why_close(struct why *w)
{
    holders_close(&w->lines);
    loaded_file_close(&w->loaded);
    holders_close(&w->categories);
    growth_close(&w->growth);
    stream_walls_close(&w->walls);
    tune_close(&w->tune);
    own_settings_close(&w->own);
}

const char *why_word(enum verdict_kind v)
{
    static const char *const words[VERDICT_KINDS] = { "not-in-force", "somebody-else", "limited", "streams",
                                                      "one-tensor", "leak",
                                                      "larger-input", "full", "fragmented", "retries", "cache",
                                                      "recording-ends",
                                                      "card-had-room", "full-or-fragmented", "host-lent", "host-full",
                                                      "shared-memory", "budget", "broken-size", "kernel-too-large",
                                                      "index-out-of-range",
                                                      "library-refused", "workspace-refused", "untold" };
    return words[v];
}
