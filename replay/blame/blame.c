/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Copies of the trace without walls; on each, a lane for each set of the policy's own rules. */
#include "replay/blame/blame.h"

#include "policies/pytorch/pytorch.h"
#include "replay/blame/fair_shares.h"
#include "replay/blame/moved_blocks.h"
#include "replay/trials/altered_trace.h"

#include <stdlib.h>

static_assert((int)BLAME_RULES == (int)FAIR_SHARES_MAX, "each rule has a share");

enum { LARGER_MAX = 12 };                        /* about four times the card */
enum { SETS = 1 << BLAME_RULES, LANES_AT_ONCE = 32, LANES_SLOTS = 1 << 22 };     /* the slots bound the memory */

/* A set of rules is a set of bits 1 << enum blame_rule: those that are taken out. */
#define RULE_BIT(name) (1u << BLAME_##name)
#define FOLDS (RULE_BIT(STREAMS) | RULE_BIT(POOLS) | RULE_BIT(LATE))         /* taken out of the trace */
#define OF_SIZES (RULE_BIT(ROUNDING) | RULE_BIT(SEGMENTS) | RULE_BIT(SIZE_WALL))     /* count if blocks may move */
#define OF_PLACES (RULE_BIT(WHOLE) | RULE_BIT(FIXED))                                /* do not */

const char *blame_key(enum blame_rule rule)
{
#define BLAME_KEY(name, key, words, does) key,
    static const char *const keys[] = { BLAME_LIST(BLAME_KEY) };
#undef BLAME_KEY
    return keys[rule];
}

const char *blame_words(enum blame_rule rule)
{
#define BLAME_WORDS(name, key, words, does) words,
    static const char *const all[] = { BLAME_LIST(BLAME_WORDS) };
#undef BLAME_WORDS
    return all[rule];
}

const char *blame_does(enum blame_rule rule)
{
#define BLAME_DOES(name, key, words, does) does,
    static const char *const all[] = { BLAME_LIST(BLAME_DOES) };
#undef BLAME_DOES
    return all[rule];
}

struct blamer {
    const struct single_run *run;
    struct trace_reader *trace;      /* the copy that is explained */
    unsigned  threads;
    unsigned  active;                /* rules that can matter */
    uint64_t  page_bytes;
    void    (*progress)(void *arg, uint64_t done, uint64_t total);
    void     *progress_arg;
    uint64_t  done, total;           /* events of all lanes */
    unsigned  n_lanes;               /* under way */
    uint64_t  peaks[SETS];           /* by set */
    bool      is_refused[SETS];      /* by the last card that was tried */
    unsigned  larger[SETS];          /* that card */
    struct blame *out;
};

static const struct pytorch *rules_of(const struct blamer *b)
{
    return (const struct pytorch *)b->run->lane.policy;
}

/* ---- lanes ---- */

/* The rules of a set that the policy takes out. */
static unsigned policy_rules(unsigned set)
{
    static const struct { unsigned bit, rule; } rules[] = {
        { RULE_BIT(ROUNDING), RULE_ROUNDING },   { RULE_BIT(SEGMENTS), RULE_SEGMENT_SIZES },
        { RULE_BIT(SIZE_WALL), RULE_SIZE_WALL }, { RULE_BIT(WHOLE), RULE_WHOLE_BLOCKS },
        { RULE_BIT(FIXED), RULE_FIXED_SEGMENTS },
    };
    unsigned out = 0;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        out |= set & rules[i].bit ? rules[i].rule : 0;
    return out;
}

static void tell_progress(void *arg, uint64_t done, uint64_t total)
{
    const struct blamer *b = arg;
    (void)total;
    if (b->progress != NULL)
        b->progress(b->progress_arg, b->done + done * b->n_lanes, b->total);
}

/* A card that is an eighth larger, so many times; at last one without end. */
static uint64_t card_bytes(uint64_t bytes, unsigned larger)
{
    if (larger == LARGER_MAX || bytes == DEVICE_UNLIMITED)
        return DEVICE_UNLIMITED;
    for (unsigned i = 0; i < larger; i++)
        bytes = add_capped(bytes, bytes / 8);
    return bytes;
}

static enum err open_lane(const struct blamer *b, struct trace_reader *trace, unsigned set, unsigned larger,
                          struct lane *out, struct err_detail *err)
{
    struct device_config device = b->run->device.config;
    device.total_bytes = card_bytes(device.total_bytes, larger);
    device.page_bytes = set & RULE_BIT(SEGMENTS) ? b->page_bytes : 0;
    const enum err e = lane_open(&b->run->spec, b->run->device.ops, &device, trace, 0, out, err);
    if (e == ERR_OK && policy_rules(set) != 0)
        pytorch_take_out((struct pytorch *)out->policy, policy_rules(set));
    return e;
}

/* Runs a lane for each of the sets, and notes their peaks. `larger`: of card_bytes. */
static enum err run_lanes(struct blamer *b, struct trace_reader *trace, const unsigned *sets, unsigned n,
                          unsigned larger, struct err_detail *err)
{
    const struct replay_config cfg = { .threads = b->threads, .progress = tell_progress, .progress_arg = b };
    struct lane *lanes = calloc(n, sizeof *lanes);
    unsigned n_open = 0;
    enum err e = lanes != NULL ? ERR_OK : err_no_memory(err);
    for (; n_open < n && e == ERR_OK; n_open++)
        e = open_lane(b, trace, sets[n_open], larger, &lanes[n_open], err);
    b->n_lanes = n;
    if (e == ERR_OK)
        e = replay_run(trace, lanes, n, &cfg, err);
    for (unsigned i = 0; i < n && e == ERR_OK; i++) {
        e = lane_failure(&lanes[i], err);
        b->peaks[sets[i]] = lanes[i].meter.peak.reserved;
        b->is_refused[sets[i]] = lanes[i].outcome == ERR_DEVICE_OOM;
        b->larger[sets[i]] = larger;
    }
    for (unsigned i = 0; i < n_open && lanes != NULL; i++)
        lane_close(&lanes[i]);
    free(lanes);
    b->done += n * trace_info(trace)->events;
    b->out->n_replays += n;
    return e;
}

/* A set that this card refuses a request is run again on larger cards: its peak is what it takes on the first that
 * serves all. On a card without end it would never give back what it caches. */
static enum err run_sets(struct blamer *b, struct trace_reader *trace, unsigned *sets, unsigned n,
                         struct err_detail *err)
{
    enum err e = run_lanes(b, trace, sets, n, 0, err);
    for (unsigned larger = 1; larger <= LARGER_MAX && e == ERR_OK; larger++) {
        unsigned n_refused = 0;
        for (unsigned i = 0; i < n; i++)
            if (b->is_refused[sets[i]])
                sets[n_refused++] = sets[i];
        n = n_refused;
        if (n == 0)
            break;
        b->total += n * trace_info(trace)->events;
        e = run_lanes(b, trace, sets, n, larger, err);
    }
    return e;
}

/* ---- one copy of the trace ---- */

/* The most that the allocator may hold on this card. */
static uint64_t held_limit(const struct blamer *b)
{
    const struct device_config *d = &b->run->lane.device->cfg;
    const uint64_t taken = add_capped(d->context_bytes, d->others_bytes), limit = rules_of(b)->limit;
    if (d->total_bytes == DEVICE_UNLIMITED)
        return limit;
    const uint64_t room = d->total_bytes > taken ? d->total_bytes - taken : 0;
    return room < limit ? room : limit;
}

/* All sets of the rules that count if blocks may be moved. */
static enum err move_sets(struct blamer *b, struct trace_reader *trace, unsigned folds, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (unsigned set = 0; set < SETS && e == ERR_OK; set++)
        if ((set & ~(b->active & OF_SIZES)) == 0)
            e = moved_blocks_peak(trace, rules_of(b), policy_rules(set), held_limit(b),
                                  &b->peaks[set | folds | RULE_BIT(ORDER)], err);
    return e;
}

/* All sets of the rules that are not taken out of the trace, on a copy without those that are. */
static enum err explain_copy(struct blamer *b, struct trace_reader *trace, unsigned folds, struct err_detail *err)
{
    const unsigned rules = b->active & ~(FOLDS | RULE_BIT(ORDER));
    const unsigned affordable = (unsigned)(LANES_SLOTS / ((size_t)trace_info(trace)->peak_live + 1)) + 1;
    const unsigned at_once = affordable < LANES_AT_ONCE ? affordable : LANES_AT_ONCE;
    unsigned sets[LANES_AT_ONCE], n = 0;
    enum err e = move_sets(b, trace, folds, err);
    for (unsigned set = 0; set < SETS && e == ERR_OK; set++) {
        if ((set & ~rules) == 0)
            sets[n++] = set | folds;
        if (n > 0 && (n == at_once || set == SETS - 1)) {
            e = run_sets(b, trace, sets, n, err);
            n = 0;
        }
    }
    return e;
}

static enum err explain_folded(struct blamer *b, unsigned folds, struct err_detail *err)
{
    const struct rewrite how = { .rounds = 1, .events = UINT64_MAX, .folds_streams = (folds & RULE_BIT(STREAMS)) != 0,
                                 .folds_pools = (folds & RULE_BIT(POOLS)) != 0,
                                 .ends_uses = (folds & RULE_BIT(LATE)) != 0 };
    struct trace_reader *copy;
    if (folds == 0)
        return explain_copy(b, b->trace, folds, err);
    enum err e = trace_rewrite(b->trace, &how, &copy, err);
    if (e != ERR_OK)
        return e;
    e = explain_copy(b, copy, folds, err);
    trace_close(copy);
    return e;
}

/* ---- which rules can matter ---- */

struct seen {
    const struct blamer *b;
    unsigned rules;
    bool     has_small, has_large;
};

/* What one event shows. */
static void see_event(void *arg, const struct event *ev, uint64_t number)
{
    struct seen *s = arg;
    (void)number;
    if (ev->kind == EVENT_FREE_REQUESTED)
        s->rules |= RULE_BIT(LATE);
    if (ev->kind == EVENT_CONTROL) {
        const enum control_kind kind = (enum control_kind)trace_controls(s->b->trace)[ev->slot].kind;
        s->rules |= kind == CONTROL_USE ? RULE_BIT(LATE) : 0;
        s->rules |= kind >= CONTROL_POOL_CREATE && kind <= CONTROL_GRAPH_RESET ? RULE_BIT(POOLS) : 0;
    }
    if (ev->kind != EVENT_ALLOC)
        return;
    const uint64_t S = pytorch_round_by_plan(rules_of(s->b), ev->bytes);
    s->rules |= ev->stream != 0 ? RULE_BIT(STREAMS) : 0;
    s->rules |= ev->pool != 0 ? RULE_BIT(POOLS) : 0;
    s->rules |= S != ev->bytes ? RULE_BIT(ROUNDING) : 0;
    s->has_small |= S <= TORCH_SMALL_MAX;
    s->has_large |= S > TORCH_SMALL_MAX;
}

static enum err find_active(struct blamer *b, struct err_detail *err)
{
    struct seen s = { .b = b, .rules = RULE_BIT(SEGMENTS) | RULE_BIT(WHOLE) | RULE_BIT(ORDER) };
    const enum err e = trace_each_event(b->trace, see_event, &s, err);
    if (s.has_small && s.has_large)
        s.rules |= RULE_BIT(SIZE_WALL);
    if (!rules_of(b)->settings.expandable_segments)
        s.rules |= RULE_BIT(FIXED);
    b->active = s.rules;
    return e;
}

/* ---- the whole ---- */

/* Sets that differ only in what does not count have the same peak; those in `b->active` alone were found. */
static uint64_t peak_of(const struct blamer *b, unsigned set)
{
    return b->peaks[set & RULE_BIT(ORDER) ? set & ~OF_PLACES : set];
}

static void share_out(const struct blamer *b, struct blame *out)
{
    uint64_t left[SETS];
    int64_t shares[BLAME_RULES];
    unsigned rules[BLAME_RULES], n = 0;
    for (unsigned i = 0; i < BLAME_RULES; i++)
        if (b->active >> i & 1)
            rules[n++] = i;
    for (unsigned s = 0; s < 1u << n; s++) {
        unsigned set = 0;
        for (unsigned i = 0; i < n; i++)
            set |= (s >> i & 1) << rules[i];
        left[s] = peak_of(b, set);
    }
    fair_shares(left, n, shares);
    for (unsigned i = 0; i < n; i++)
        out->parts[rules[i]] = (struct blame_part){ .matters = true, .bytes = shares[i] };
    out->reserved_bytes = left[0];
    out->live_bytes = left[(1u << n) - 1];
    out->growing_bytes = b->active & RULE_BIT(FIXED) ? b->peaks[RULE_BIT(FIXED)] : 0;
    out->is_growing_refused = b->larger[RULE_BIT(FIXED)] > 0;
}

/* Of all sets, with as few pages as keep a small recording exact and a large one quick. */
static uint64_t page_for(uint64_t peak_bytes)
{
    uint64_t page = TORCH_MIN_BLOCK;
    while (page < TORCH_SMALL_SEGMENT && peak_bytes / page > 1u << 14)
        page *= 2;
    return page;
}

static enum err cut_copy(struct blamer *b, uint64_t events, struct err_detail *err)
{
    const struct rewrite how = { .rounds = 1, .events = events };
    struct trace_reader *part = NULL;
    const enum err e = trace_rewrite(b->trace, &how, &part, err);
    if (e != ERR_OK)
        return e;
    trace_close(b->trace);
    b->trace = part;
    b->out->is_cut = true;
    return e;
}

/* The copy that is explained: up to the request that the card refuses, and with what was live at the start in front. */
static enum err find_copy(struct blamer *b, struct err_detail *err)
{
    const struct rewrite how = { .rounds = 1, .events = UINT64_MAX, .caught_before = UINT64_MAX };
    const struct replay_config cfg = { .threads = 1 };
    struct lane lane = { .spec = NULL };
    enum err e = trace_rewrite(b->run->trace, &how, &b->trace, err);
    if (e == ERR_OK)
        e = open_lane(b, b->trace, 0, 0, &lane, err);
    if (e == ERR_OK)
        e = replay_run(b->trace, &lane, 1, &cfg, err);
    if (e == ERR_OK)
        e = lane_failure(&lane, err);
    if (e == ERR_OK)
        b->page_bytes = page_for(lane.meter.peak.reserved);
    const uint64_t end = lane.is_stopped ? (uint64_t)lane.stopped_at : UINT64_MAX;
    lane_close(&lane);
    return e == ERR_OK && end != UINT64_MAX ? cut_copy(b, end, err) : e;
}

static enum err explain(struct blamer *b, struct err_detail *err)
{
    unsigned n_sets = 1;
    enum err e = find_active(b, err);
    for (unsigned i = 0; i < BLAME_RULES; i++)
        n_sets <<= i != BLAME_ORDER && (b->active >> i & 1);
    b->out->n_events = trace_info(b->trace)->events;
    b->total = n_sets * b->out->n_events;
    for (unsigned set = 0; set < SETS && e == ERR_OK; set++)
        if ((set & ~(b->active & FOLDS)) == 0)
            e = explain_folded(b, set, err);
    return e;
}

enum err blame_find(const struct single_run *run, unsigned threads,
                    void (*progress)(void *arg, uint64_t done, uint64_t total), void *progress_arg,
                    struct blame *out, struct err_detail *err)
{
    *out = (struct blame){ .reserved_bytes = 0 };
    if (run->spec.ops != &policy_pytorch || ((const struct pytorch *)run->lane.policy)->has_no_cache)
        return err_set(err, ERR_UNSUPPORTED, 0, "the policy %s: blame knows the rules of PyTorch's caching allocator "
                       "alone", run->spec.typed);
    struct blamer *b = calloc(1, sizeof *b);
    if (b == NULL)
        return err_no_memory(err);
    *b = (struct blamer){ .run = run, .threads = threads, .progress = progress, .progress_arg = progress_arg,
                          .out = out };
    enum err e = find_copy(b, err);
    if (e == ERR_OK)
        e = explain(b, err);
    if (e == ERR_OK)
        share_out(b, out);
    trace_close(b->trace);
    free(b);
    return e;
}

enum blame_rule blame_largest(const struct blame *b)
{
    enum blame_rule most = BLAME_RULES;
    for (enum blame_rule r = 0; r < BLAME_RULES; r++)
        if (b->parts[r].bytes > (most == BLAME_RULES ? 0 : b->parts[most].bytes))
            most = r;
    return most;
}
