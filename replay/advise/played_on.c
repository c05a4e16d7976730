/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The turn that repeats is found, then all settings are run on one longer trace. */
#include "replay/advise/played_on.h"

#include "replay/recording/larger_input.h"
#include "replay/recording/new_part.h"

/* Live memory came down again so often before the last turn: the program does something again and again. */
enum { TURNS_OF_PATTERN = 2 };

/* What comes between steps counts from an 8th of what a step requests on. */
enum { INTERLUDE_SHARE = 8 };

/* A need is far more than what was live before if it exceeds that by a quarter of itself. */
enum { FAR_SHARE = 4 };

/* Live memory, up to event `until`. */
struct live_pass { uint64_t last_turn, until, live, most_before, at_end; };

static void live_event(void *arg, const struct event *ev, uint64_t number)
{
    struct live_pass *p = arg;
    const uint64_t bytes = ev->kind == EVENT_OOM ? 0 : ev->bytes;
    if (number == p->until)
        p->at_end = p->live + ev->bytes;
    if (ev->kind == EVENT_ALLOC)
        p->live += bytes;
    else if (ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED)
        p->live -= bytes;
    if (number < p->last_turn && p->live > p->most_before)
        p->most_before = p->live;
}

/* Whether the last turn needs far more than any before: it was cut off, so how much is not known. */
static enum err find_need(struct trace_reader *trace, uint64_t last_turn, uint64_t moment, bool *is_far_more,
                          struct err_detail *err)
{
    struct live_pass p = { .last_turn = last_turn, .until = moment, .live = steps_start_live_bytes(trace) };
    const enum err e = trace_each_event(trace, live_event, &p, err);
    *is_far_more = p.at_end - p.at_end / FAR_SHARE > p.most_before;
    return e;
}

/* Whether live memory came down again and again before `moment`, and the last turn needs far more than any before. */
static enum err comes_down_again(struct trace_reader *trace, uint64_t moment, bool *does, bool *is_far_more,
                                 struct err_detail *err)
{
    struct phases phases;
    struct larger_input input = { .turns_before = 0 };
    enum err e = phases_read(trace, &phases, err);
    if (e == ERR_OK)
        e = larger_input_find(trace, &phases, moment, 0, &input, err);
    *does = input.turns_before >= TURNS_OF_PATTERN;
    phases_close(&phases);
    return e == ERR_OK && *does ? find_need(trace, input.last_turn, moment, is_far_more, err) : e;
}

struct caught_pass { uint64_t from, until; bool has_caught; };

static void caught_event(void *arg, const struct event *ev, uint64_t number)
{
    struct caught_pass *p = arg;
    p->has_caught = p->has_caught || (ev->kind == EVENT_OOM && number >= p->from && number < p->until);
}

/* Whether a request of the turn was refused and the program caught it: under another setting it may be served, and the
 * turn goes another way, which was not recorded. */
static enum err find_caught(struct trace_reader *trace, const struct continuation *how, bool *has_caught,
                            struct err_detail *err)
{
    struct caught_pass p = { .from = how->from, .until = how->caught_before };
    const enum err e = how->caught_before > how->from ? trace_each_event(trace, caught_event, &p, err) : ERR_OK;
    *has_caught = p.has_caught;
    return e;
}

/* The last whole step again and again, for as long as the recording is. */
static void repeat_step(const struct steps *s, uint64_t events, struct pattern *out)
{
    const uint64_t times = events / (s->end - s->first) + 1;
    out->by_steps = true;
    out->how.from = s->first;
    out->how.until = s->end;
    out->how.times = times < PLAYED_ON_MOST ? (unsigned)times : PLAYED_ON_MOST;
}

/* Whether the program does more than its steps, from the first one and from the later half of the recording on: a
 * validation every so many, a stage between. Steps alone then leave out what comes again. */
static enum err has_interludes(struct trace_reader *trace, const struct steps *s, uint64_t events, bool *has,
                               struct err_detail *err)
{
    struct phases phases;
    struct interlude between = { .bytes = 0 };
    const uint64_t from = s->begin_end > events / 2 ? s->begin_end : events / 2;
    enum err e = phases_read(trace, &phases, err);
    if (e == ERR_OK)
        e = interlude_find(trace, &phases, from, events - 1, s->first, s->end, &between, err);
    *has = between.bytes > 0 && between.bytes >= between.step_bytes / INTERLUDE_SHARE;
    phases_close(&phases);
    return e;
}

/* Whether what was refused at the end is of a part that no turn has shown: of a later half the earlier half must show
 * it. */
static enum err find_new_part(struct trace_reader *trace, const struct coverage *c, const struct pattern *p,
                              struct new_part *part, struct err_detail *err)
{
    *part = (struct new_part){ .is_new = false };
    if (c->ends != ENDS_REFUSED)
        return ERR_OK;
    return new_part_find(trace, c->first_of_end, p->by_steps ? p->how.from : 0,
                         p->by_steps ? p->how.until : p->how.from, part, err);
}

enum err pattern_find(struct trace_reader *trace, const struct coverage *c, uint64_t moment, struct pattern *out,
                      struct err_detail *err)
{
    const struct steps *s = &c->steps;
    const uint64_t events = c->ends == ENDS_REFUSED ? c->first_of_end + 1 : trace_info(trace)->events;
    struct new_part part = { .is_new = false };
    bool repeats = s->whole > 0, has_caught = false;
    *out = (struct pattern){ .how = { .from = events / 2, .until = events, .times = 2,
                                      .caught_before = c->caught_before } };
    if (trace_info(trace)->n_controls > 0)
        return ERR_OK;
    enum err e = repeats ? ERR_OK : comes_down_again(trace, moment, &repeats, &out->leaves_out, err);
    if (e == ERR_OK && s->whole > 0 && s->end > s->first)
        e = has_interludes(trace, s, events, &out->leaves_out, err);
    if (s->whole > 0 && s->end > s->first)
        repeat_step(s, events, out);
    if (e == ERR_OK && repeats)
        e = find_new_part(trace, c, out, &part, err);
    if (e == ERR_OK && repeats)
        e = find_caught(trace, &out->how, &has_caught, err);
    out->turns = repeats && !part.is_new && !has_caught ? out->how.times : 0;
    return e;
}

static unsigned count_lasted(const struct trial *t, const uint64_t *ends, unsigned turns)
{
    unsigned lasted = 0;
    if (!t->fits && t->stopped_at < 0)
        return 0;
    while (lasted < turns && (t->fits || ends[lasted + 1] <= (uint64_t)t->stopped_at))
        lasted++;
    return lasted;
}

enum err pattern_play(struct trace_reader *trace, const struct pattern *pattern, struct trial *trials, size_t n,
                      const struct device_ops *ops, const struct replay_config *cfg, unsigned *lasted,
                      struct err_detail *err)
{
    uint64_t ends[PLAYED_ON_MOST + 1];
    struct trace_reader *longer = NULL;
    struct replay_config whole = *cfg;
    whole.caught_before = 0;                     /* the longer trace has flushes in their place */
    enum err e = trace_continue(trace, &pattern->how, ends, &longer, err);
    if (e == ERR_OK)
        e = trials_run(longer, ops, trials, n, &whole, err);
    trace_close(longer);
    for (size_t i = 0; i < n && e == ERR_OK; i++)
        lasted[i] = count_lasted(&trials[i], ends, pattern->turns);
    return e;
}

bool pattern_tells(const struct pattern *pattern, unsigned lasted)
{
    const bool lasts = lasted == pattern->turns;
    return pattern->turns > 0 && (lasts ? !pattern->leaves_out : pattern->by_steps);
}

void pattern_say(struct words *w, const struct pattern *pattern, unsigned lasted)
{
    if (!pattern_tells(pattern, lasted)) {
        words_add(w, "For how long it goes on then, this recording does not tell.");
        return;
    }
    words_add(w, "Played on by its own pattern (%s) the recording ",
              pattern->by_steps ? "its last whole step again and again" : "its later half twice more");
    if (lasted == pattern->turns)
        words_add(w, "runs under this setting for as long again.");
    else
        words_add(w, "runs out of memory under this setting, too: it buys %u step%s more.", lasted,
                  lasted == 1 ? "" : "s");
}
