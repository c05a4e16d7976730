/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Requests sorted by operation and time. Of each operation the last turn is compared with those before: by the size of
 * single requests, where the last record divides before from now, and by all that it holds at once. */
#include "replay/recording/larger_input.h"

#include "base/intern.h"
#include "base/torch_sizes.h"
#include "replay/recording/steps.h"
#include "traces/stack_frame.h"

#include <stdlib.h>
#include <string.h>

#define REQUESTS_MAX (UINT64_C(1) << 22)

/* Of what is larger, so much must live: the turn goes on, though part of it is freed at once. A size is as large as the
 * record from so much of it on. The record must lie in the last third. It matters if it is so many times as large as is
 * usual. */
#define LIVE_SHARE  0.3
#define AS_LARGE    0.9
enum { LAST_PART = 3 };
#define TIMES_LEAST 1.2

/* The last turn begins where live memory was last within so much of its low towards what is live now. An operation's
 * earlier turns are told apart where it holds that little of the most. */
enum { LOW_SHARE = 8, TURN_SHARE = 16, TURNS_LEAST = 2 };

/* What so many earlier passes requested as large, kept or not, is no record. */
enum { PASSES_AS_LARGE = 2 };

/* An operation that held less than this share of what ever was live tells nothing of how the rest grows. */
enum { TELLS_SHARE = 128 };

/* Loading is over after an 8th of the requests. */
enum { SETUP_SHARE = 8 };

/* Of inputs in any order an operation sets about 0.7 records of size in the later half; so many are a trend. */
enum { TREND_RECORDS = 3 };

struct request {
    uint32_t operation;
    bool     is_live, is_of_turn;    /* is_of_turn: requested in the last turn */
    bool     is_brief;               /* freed before the next request */
    bool     may_count;              /* neither a backward pass nor an optimizer asked for it */
    unsigned turn;                   /* how often live memory had come down again when it came */
    size_t   pass;                   /* how many stretches of backward passes began before it */
    size_t   step;                   /* how many of an optimizer; `pass` if there are none */
    uint64_t number, bytes;          /* number: of the request, in order */
    uint64_t died;                   /* event */
};

struct larger_pass {
    struct request *requests;
    size_t   n;
    uint32_t *of_slot;
    uint64_t moment;
    uint64_t *events;                /* by request; the refused one last */
    uint64_t *live;                  /* before it */
    uint64_t *most;                  /* live at most until then */
    uint64_t  live_now, most_now;
    size_t    turn;                  /* number of the first request of the last turn */
    unsigned  turns_before;
    bool      has_python;
};

static void take_event(void *arg, const struct event *ev, uint64_t number)
{
    struct larger_pass *p = arg;
    if (number >= p->moment)
        return;
    if (ev->kind == EVENT_ALLOC) {
        p->of_slot[ev->slot] = (uint32_t)p->n + 1;
        p->events[p->n] = number;
        p->live[p->n] = p->live_now;
        p->most[p->n] = p->most_now;
        p->live_now += ev->bytes;
        p->most_now = p->live_now > p->most_now ? p->live_now : p->most_now;
        p->requests[p->n] = (struct request){ .is_live = true, .number = p->n, .bytes = ev->bytes, .died = UINT64_MAX };
        p->n++;
    } else if (ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED) {
        p->live_now -= ev->bytes;
        if (p->of_slot[ev->slot] > 0) {
            p->requests[p->of_slot[ev->slot] - 1].is_live = false;
            p->requests[p->of_slot[ev->slot] - 1].died = number;
            p->requests[p->of_slot[ev->slot] - 1].is_brief = p->of_slot[ev->slot] == p->n;
        }
    }
}

/* Numbers the operations: a stack from its innermost frame to the program's line. `of_stack`: 0 for no stack. */
static bool number_operations(struct trace_reader *trace, uint32_t *of_stack)
{
    struct text_table names = { .n = 0 };
    const char *const *frames;
    bool has_memory = true;
    for (uint32_t i = 1; i <= trace_info(trace)->n_stacks && has_memory; i++) {
        const size_t n = trace_stack(trace, i, &frames);
        const size_t last = stack_frame_index_of_program(frames, n);
        char text[2048];
        size_t used = 0;
        for (size_t k = 0; k < n && k <= last && used < sizeof text - 1; k++) {
            const size_t length = strlen(frames[k]);
            const size_t put = length < sizeof text - 1 - used ? length : sizeof text - 1 - used;
            memcpy(text + used, frames[k], put);
            used += put;
        }
        const uint32_t id = text_table_put(&names, text, used);
        has_memory = id != UINT32_MAX;
        of_stack[i] = id + 1;
    }
    text_table_free(&names);
    return has_memory;
}

static int compare_requests(const void *a, const void *b)
{
    const struct request *x = a, *y = b;
    if (x->operation != y->operation)
        return x->operation < y->operation ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_bytes(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Of one operation, in bytes: what the last turn holds, what is usual, and the most before it; and how many times as
 * large it gets. */
struct comparison { uint64_t now, usual, most; double times; };

/* The sums over the operations. */
struct larger_sums {
    uint64_t known;                  /* live in the last turn, of operations that have a past */
    struct comparison larger;        /* of those that are larger now */
    uint64_t first;                  /* number of the first request that is larger */
    uint64_t by_amount;              /* of larger.now, of operations that hold more, not larger, requests */
    double   worst;                  /* the most times that an operation exceeds its largest before */
    unsigned late_records;           /* the most of an operation in the later half */
    uint64_t *scratch;
    struct step *steps;
};

/* A request or a free of an operation that it has done before the last turn. */
struct step { uint64_t event; int64_t bytes; };

static int compare_steps(const void *a, const void *b)
{
    const struct step *x = a, *y = b;
    return (x->event > y->event) - (x->event < y->event);
}

/* Where the requests of an operation get larger than all before for the last time; 0: never. *late: how often they do
 * from number `half` on. What stays, such as a workspace, is no input. */
static size_t last_record(const struct request *r, size_t n, uint64_t half, unsigned *late)
{
    uint64_t most = 0;
    size_t at = 0;
    *late = 0;
    for (size_t i = 0; i < n; i++)
        if (r[i].bytes > most && (!r[i].is_live || r[i].is_of_turn)) {
            at = i;
            most = r[i].bytes;
            *late += r[i].number >= half;
        }
    return at;
}

/* Small requests of the operation, such as a mean, are no inputs: the median is of those that reach half of the most.
 */
static uint64_t median_of_large(uint64_t *bytes, size_t n, uint64_t most)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (bytes[i] >= most / 2)
            bytes[k++] = bytes[i];
    qsort(bytes, k, sizeof *bytes, compare_bytes);
    return k > 0 ? bytes[k / 2] : 0;
}

static uint64_t median_before(const struct request *r, size_t n, uint64_t most, uint64_t *scratch)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = r[i].bytes;
    return median_of_large(scratch, n, most);
}

/* By size: `at` is the last record. */
static struct comparison compare_sizes(const struct larger_sums *s, const struct request *r, size_t n, size_t at)
{
    struct comparison c = { .now = 0 };
    uint64_t now = 0, before = 0;
    size_t n_now = 0;
    for (size_t i = 0; i < n; i++) {
        if (i < at && (!r[i].is_live || r[i].is_of_turn))
            before = r[i].bytes > before ? r[i].bytes : before;
        if (i >= at && (double)r[i].bytes >= AS_LARGE * (double)r[at].bytes && (!r[i].is_live || r[i].is_of_turn)) {
            now += r[i].bytes;
            n_now += r[i].is_live;
            c.now += r[i].is_live ? r[i].bytes : 0;
        }
    }
    if ((double)c.now < LIVE_SHARE * (double)now || before == 0)
        return (struct comparison){ .now = 0 };
    c.usual = n_now * median_before(r, at, before, s->scratch);
    c.most = n_now * before;
    c.times = (double)r[at].bytes / (double)before;
    return c;
}

/* What an operation held before the last turn and freed, in order of time. */
static size_t past_of(const struct request *r, size_t n, struct step *steps, const uint64_t *events)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (!r[i].is_of_turn && !r[i].is_live) {
            steps[k++] = (struct step){ events[r[i].number], (int64_t)r[i].bytes };
            steps[k++] = (struct step){ r[i].died, -(int64_t)r[i].bytes };
        }
    qsort(steps, k, sizeof *steps, compare_steps);
    return k;
}

/* The peaks of an operation's turns, into `peaks`. */
static size_t peaks_of(const struct step *steps, size_t n, uint64_t *peaks)
{
    int64_t live = 0, peak = 0;
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        live += steps[i].bytes;
        peak = live > peak ? live : peak;
        if (peak > 0 && live <= peak / LOW_SHARE) {
            peaks[k++] = (uint64_t)peak;
            peak = 0;
        }
    }
    return k;
}

/* Whether the operation requested more in the last turn than in any before. If not, it holds for longer what it
 * requests: layers that learn again hold what they freed at once while they were frozen. */
static bool requests_more(const struct request *r, size_t n)
{
    uint64_t now = 0, sum = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        sum = r[i].bytes + (i > 0 && r[i].turn == r[i - 1].turn ? sum : 0);
        now += r[i].is_of_turn ? r[i].bytes : 0;
        most = !r[i].is_of_turn && sum > most ? sum : most;
    }
    return now > most;
}

/* Whether the operation requested as many bytes in an earlier pass, or step, as in its last. What is kept of them
 * counts as well: a leak is no larger input. Where nothing tells passes apart, it did not. */
static bool requested_as_many(const struct request *r, size_t n, bool by_step)
{
    uint64_t sum = 0, most = 0;
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        const size_t turn = by_step ? r[i].step : r[i].pass;
        if (!r[i].may_count)
            continue;
        most = turn != last && sum > most ? sum : most;
        sum = r[i].bytes + (turn == last ? sum : 0);
        last = turn;
    }
    return most > 0 && sum <= most;
}

/* Whether so many passes before the last one had requests that are as large, kept or not. */
static bool requested_as_large(const struct request *r, size_t n, uint64_t bytes)
{
    size_t passes = 0, last = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        if (!r[i].may_count || r[i].bytes < bytes || r[i].pass == last || r[i].pass == r[n - 1].pass)
            continue;
        passes++;
        last = r[i].pass;
    }
    return passes >= PASSES_AS_LARGE;
}

/* By all that the operation holds at once: a longer input may be more requests of one size. */
static struct comparison compare_amounts(const struct larger_sums *s, const struct larger_pass *p,
                                         const struct request *r, size_t n)
{
    struct comparison c = { .now = 0 };
    for (size_t i = 0; i < n; i++)
        c.now += r[i].is_live && r[i].is_of_turn ? r[i].bytes : 0;
    if (!r[0].may_count || c.now == 0)
        return (struct comparison){ .now = 0 };
    const size_t peaks = peaks_of(s->steps, past_of(r, n, s->steps, p->events), s->scratch);
    for (size_t i = 0; i < peaks; i++)
        c.most = s->scratch[i] > c.most ? s->scratch[i] : c.most;
    c.usual = median_of_large(s->scratch, peaks, c.most);
    const bool is_larger = peaks >= TURNS_LEAST && (double)c.now >= TIMES_LEAST * (double)c.most &&
                           requests_more(r, n) &&
                           !(requested_as_many(r, n, false) && requested_as_many(r, n, true));
    c.times = c.most > 0 ? (double)c.now / (double)c.most : 0;
    return is_larger ? c : (struct comparison){ .now = 0 };
}

static void take_larger(struct larger_sums *s, const struct larger_pass *p, const struct comparison *c, uint64_t first,
                        unsigned late)
{
    const bool tells = c->most >= p->most_now / TELLS_SHARE;
    s->larger.now += c->now;
    s->larger.usual += c->usual;
    s->larger.most += c->most;
    s->worst = tells && c->times > s->worst ? c->times : s->worst;
    s->first = first < s->first ? first : s->first;
    s->late_records = late > s->late_records ? late : s->late_records;
}

/* The largest size that an operation requests twice in a row to free it before the next request: 0 if there is none. A
 * library asks for a workspace this way, and it does not grow with the input. */
static uint64_t workspace_of(const struct request *r, size_t n)
{
    uint64_t before = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        if (!r[i].is_brief)
            continue;
        if (r[i].bytes == before && before > largest)
            largest = before;
        before = r[i].bytes;
    }
    return largest;
}

/* Of a refused request its block is known, which may be larger than what was asked for. */
static bool is_as_large(uint64_t bytes, uint64_t workspace)
{
    return align_up(bytes, TORCH_MIN_BLOCK) == align_up(workspace, TORCH_MIN_BLOCK);
}

/* Moves an operation's workspaces, also one that was refused, after its other requests; returns how many those are. */
static size_t set_workspaces_apart(struct request *r, size_t n)
{
    const uint64_t workspace = workspace_of(r, n);
    size_t kept = 0;
    for (size_t i = 0; i < n && workspace > 0; i++) {
        if (is_as_large(r[i].bytes, workspace) && (r[i].is_brief || r[i].is_live))
            continue;
        const struct request one = r[i];
        r[i] = r[kept];
        r[kept++] = one;
    }
    return workspace > 0 ? kept : n;
}

/* An operation of a part that comes for the first time after live memory came down last is no larger input of an
 * earlier turn. */
static bool has_earlier_turn(const struct request *r, size_t n, unsigned turns_before)
{
    bool has = false;
    for (size_t i = 0; i < n; i++)
        has = has || r[i].turn < turns_before;
    return has;
}

static bool has_past(const struct request *r, size_t n)
{
    bool has = false;
    for (size_t i = 0; i < n; i++)
        has = has || !r[i].is_live;
    return has;
}

/* By the size of its requests, or by their amount if that tells more. */
static struct comparison compare(const struct larger_sums *s, const struct larger_pass *p, const struct request *r,
                                 size_t n, size_t at, bool *by_amount)
{
    const bool is_record = at > 0 && r[at].number >= p->n - p->n / LAST_PART;
    struct comparison sizes = { .now = 0 }, amounts;
    *by_amount = false;
    if (!has_earlier_turn(r, n, p->turns_before))
        return sizes;
    if (is_record && !requested_as_large(r, n, r[at].bytes))
        sizes = compare_sizes(s, r, n, at);
    amounts = compare_amounts(s, p, r, n);
    *by_amount = amounts.times > sizes.times;
    return *by_amount ? amounts : sizes;
}

static void add_operation(struct larger_sums *s, const struct larger_pass *p, const struct request *r, size_t n)
{
    unsigned late;
    bool by_amount;
    const size_t at = last_record(r, n, p->n / 2, &late);
    uint64_t live = 0;
    for (size_t i = 0; i < n; i++)
        live += r[i].is_live && r[i].is_of_turn ? r[i].bytes : 0;
    if (live == 0 || !has_past(r, n))
        return;
    const struct comparison c = compare(s, p, r, n, at, &by_amount);
    s->by_amount += by_amount ? c.now : 0;
    s->known += c.now > 0 || r[0].may_count || !p->has_python ? live : 0;
    if (c.now > 0)
        take_larger(s, p, &c, by_amount ? p->turn : r[at].number, by_amount ? 0 : late);
}

/* How often live memory rose by a 16th of what it ever did before request `turn`, and came down to its low again. Says
 * of each request in which turn it came. */
static unsigned count_turns(struct larger_pass *p, size_t turn, uint64_t low)
{
    const uint64_t most = p->most[turn] > low ? p->most[turn] - low : 0;
    bool is_high = false;
    unsigned turns = 0;
    for (size_t i = 0; i <= turn; i++) {
        const uint64_t live = p->live[i] > low ? p->live[i] - low : 0;
        const uint64_t bound = is_high ? most / (2 * TURN_SHARE) : most / TURN_SHARE;
        turns += is_high && live <= bound;
        is_high = live > bound;
        p->requests[i].turn = turns;
    }
    for (size_t i = turn + 1; i < p->n; i++)
        p->requests[i].turn = turns;
    return turns;
}

static uint64_t low_between(const struct larger_pass *p, size_t from, size_t to)
{
    uint64_t low = UINT64_MAX;
    for (size_t i = from; i < to; i++)
        low = p->live[i] < low ? p->live[i] : low;
    return low;
}

/* From the second quarter to the last. */
static uint64_t rise_of_low(const struct larger_pass *p)
{
    const uint64_t early = low_between(p, p->n / 4, p->n / 2), late = low_between(p, p->n - p->n / 4, p->n);
    return early < late && late < UINT64_MAX ? late - early : 0;
}

/* The last turn begins where live memory was low for the last time: near the least of the last third. */
static void find_turn(struct larger_pass *p)
{
    const size_t from = p->n - p->n / LAST_PART;
    uint64_t low = UINT64_MAX;
    for (size_t i = from; i < p->n; i++)
        low = p->live[i] < low ? p->live[i] : low;
    if (low == UINT64_MAX)
        return;
    const uint64_t bound = low + (p->live_now > low ? p->live_now - low : 0) / LOW_SHARE;
    for (size_t i = 0; i < p->n; i++)
        if (p->live[i] <= bound)
            p->turn = i;
    while (p->turn > 0 && p->live[p->turn - 1] < p->live[p->turn])
        p->turn--;
    p->turns_before = count_turns(p, p->turn, low);
}

static void sum_up(struct larger_pass *p, struct larger_sums *s)
{
    size_t end;
    qsort(p->requests, p->n, sizeof *p->requests, compare_requests);
    for (size_t begin = 0; begin < p->n; begin = end) {
        for (end = begin; end < p->n && p->requests[end].operation == p->requests[begin].operation;)
            end++;
        const size_t n = set_workspaces_apart(&p->requests[begin], end - begin);
        if (n > 0)
            add_operation(s, p, &p->requests[begin], n);
    }
}

/* Requests of a backward pass and of an optimizer grow with the weights that learn, too. */
static bool may_count(const struct phases *phases, uint32_t stack)
{
    const int phase = phases->has_python ? phases->of_stack[stack] : PHASE_BACKWARD;
    return phase == PHASE_FORWARD || phase == PHASE_OWN;
}

static void name_operations(struct larger_pass *p, const struct phases *phases, const uint32_t *stacks,
                            const uint32_t *of_stack)
{
    const struct phase_starts *passes = &phases->starts[PHASE_BACKWARD], *steps = &phases->starts[PHASE_OPTIMIZER];
    find_turn(p);
    for (size_t i = 0; i < p->n; i++) {
        const uint64_t event = p->events[i] < p->moment ? p->events[i] : p->moment;
        p->requests[i].operation = of_stack[stacks[i]];
        p->requests[i].may_count = may_count(phases, stacks[i]);
        p->requests[i].is_of_turn = i >= p->turn;
        p->requests[i].pass = phase_starts_up_to(passes, (int64_t)event);
        p->requests[i].step = phase_starts_up_to(steps->n > 0 ? steps : passes, (int64_t)event);
    }
}

static enum err read_requests(struct trace_reader *trace, struct larger_pass *p, const struct phases *phases,
                              uint64_t asked_bytes, struct err_detail *err)
{
    const struct trace_info *info = trace_info(trace);
    uint32_t *of_stack = calloc((size_t)info->n_stacks + 1, sizeof *of_stack);
    uint32_t *stacks = calloc(info->by_kind[EVENT_ALLOC] + 2, sizeof *stacks);
    const bool is_ready = of_stack != NULL && stacks != NULL && number_operations(trace, of_stack);
    enum err e = is_ready ? ERR_OK : err_no_memory(err);
    if (e == ERR_OK)
        e = trace_each_event(trace, take_event, p, err);
    if (e == ERR_OK) {
        p->live[p->n] = p->live_now;
        p->most[p->n] = p->most_now;
        p->events[p->n] = p->moment < info->events ? p->moment : TRACE_NO_EVENT;
        p->requests[p->n] = (struct request){ .is_live = true, .number = p->n, .bytes = asked_bytes,
                                              .died = UINT64_MAX };
        p->n += asked_bytes > 0;
        e = trace_stacks_at(trace, p->events, p->n, stacks, err);
    }
    if (e == ERR_OK)
        name_operations(p, phases, stacks, of_stack);
    free(of_stack);
    free(stacks);
    return e;
}

/* What is live when the turn begins stays; what comes on top of it grows as the inputs do. */
static uint64_t need_of_turn(const struct larger_pass *p, const struct larger_sums *s, double times)
{
    const uint64_t base = p->live[s->first], most = p->most[s->first];
    return base + (uint64_t)((double)(most > base ? most - base : 0) * times);
}

static void take_sums(const struct larger_pass *p, const struct larger_sums *s, struct larger_input *out)
{
    const struct comparison *c = &s->larger;
    out->turns_before = p->turns_before;
    out->last_turn = p->events[p->turn];
    out->rise_bytes = rise_of_low(p);
    if (c->now == 0 || c->usual == 0 || c->most == 0)
        return;
    out->bytes = c->now;
    out->times = (double)c->now / (double)c->usual;
    out->times_most = (double)c->now / (double)c->most;
    out->over_most = c->now > c->most ? c->now - c->most : 0;
    out->need_bytes = need_of_turn(p, s, s->worst);
    out->is_open = 2 * s->by_amount >= c->now;
    out->is_trend = s->late_records >= TREND_RECORDS;
    out->is_larger = p->turns_before >= TURNS_LEAST && 2 * c->now >= s->known && out->times >= TIMES_LEAST;
}

/* The first forward pass after the optimizer's last step that one follows. UINT64_MAX: there is none. */
static uint64_t turn_start(const struct larger_pass *p, const struct phases *phases)
{
    const struct phase_starts *steps = &phases->starts[PHASE_OPTIMIZER];
    for (size_t k = steps->n; k-- > 0;) {
        const uint64_t at = phase_starts_after(&phases->starts[PHASE_FORWARD], steps->at[k]);
        if (steps->at[k] < p->moment && at < p->moment)
            return at;
    }
    return UINT64_MAX;
}

/* What is live from before event `turn`, and the most that earlier requests took which were freed by then. Those of
 * the program's begin, such as a file that is loaded, make no turn. */
static uint64_t need_as_before(const struct larger_pass *p, struct larger_sums *s, uint64_t turn)
{
    uint64_t base = 0;
    int64_t live = 0, most = 0;
    size_t k = 0;
    if (turn == UINT64_MAX)
        return 0;
    for (size_t i = 0; i < p->n && p->events[i] < turn; i++) {
        const struct request *r = &p->requests[i];
        base += r->is_live ? r->bytes : 0;
        if (i < p->n / SETUP_SHARE || r->died >= turn)
            continue;
        s->steps[k++] = (struct step){ p->events[i], (int64_t)r->bytes };
        s->steps[k++] = (struct step){ r->died, -(int64_t)r->bytes };
    }
    qsort(s->steps, k, sizeof *s->steps, compare_steps);
    for (size_t i = 0; i < k; i++) {
        live += s->steps[i].bytes;
        most = live > most ? live : most;
    }
    return most > 0 ? base + (uint64_t)most : 0;
}

static bool has_room(struct larger_pass *p, struct larger_sums *s, const struct trace_info *info)
{
    const uint64_t n = info->by_kind[EVENT_ALLOC] + 2;
    p->requests = calloc(n, sizeof *p->requests);
    p->events = calloc(n, sizeof *p->events);
    p->live = calloc(n, sizeof *p->live);
    p->most = calloc(n, sizeof *p->most);
    p->of_slot = calloc((size_t)info->peak_live + 1, sizeof *p->of_slot);
    s->scratch = calloc(n, sizeof *s->scratch);
    s->steps = calloc(2 * n, sizeof *s->steps);
    return p->requests != NULL && p->events != NULL && p->live != NULL && p->most != NULL && p->of_slot != NULL &&
           s->scratch != NULL && s->steps != NULL;
}

static void free_all(struct larger_pass *p, struct larger_sums *s)
{
    free(p->requests);
    free(p->events);
    free(p->live);
    free(p->most);
    free(p->of_slot);
    free(s->scratch);
    free(s->steps);
}

enum err larger_input_find(struct trace_reader *trace, const struct phases *phases, uint64_t moment,
                           uint64_t asked_bytes, struct larger_input *out, struct err_detail *err)
{
    struct larger_pass p = { .moment = moment, .has_python = phases->has_python,
                             .live_now = steps_start_live_bytes(trace) };
    struct larger_sums s = { .first = UINT64_MAX, .worst = 1 };
    *out = (struct larger_input){ .is_larger = false };
    if (trace_info(trace)->by_kind[EVENT_ALLOC] > REQUESTS_MAX)
        return ERR_OK;
    enum err e = has_room(&p, &s, trace_info(trace)) ? read_requests(trace, &p, phases, asked_bytes, err)
                                                     : err_no_memory(err);
    for (size_t i = 0; i + 1 < p.n && e == ERR_OK; i++)
        if (p.requests[i].bytes > out->largest_before)
            out->largest_before = p.requests[i].bytes;
    if (e == ERR_OK) {
        out->turn_bytes = need_as_before(&p, &s, turn_start(&p, phases));
        sum_up(&p, &s);
        take_sums(&p, &s, out);
    }
    free_all(&p, &s);
    return e;
}
