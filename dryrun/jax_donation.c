/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A run of a program is its requests in a row. Results are paired with buffers of their size that end after it. */
#include "dryrun/jax_donation.h"

#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FACTS_MOST = 1024, TINY = 64 << 10 };     /* TINY: less is a scalar that is read between two steps */
enum { WORTH_A_RUN = 64 };                       /* a gain of less than one part in so many is not */
#define NONE SIZE_MAX

/* XLA's name of a jitted function begins so. */
static const char jitted[] = "jit_";

/* Of one size of a program's results. */
struct fact {
    uint64_t bytes;
    uint32_t arguments, results;
    const char *program;
    size_t n_program;                /* letters */
    size_t of;                       /* the program's number: the first fact of the same name */
    uint32_t seen, paired;           /* in the run that is looked at */
    size_t cursor;                   /* its next result there */
};

struct request {
    uint64_t begin, end, bytes;      /* events; end UINT64_MAX: it lives on */
    size_t program, fact;            /* of whose run it is, and whose result; NONE: of none */
    size_t takes;                    /* the request whose place it takes; NONE */
    bool is_taken;
};

struct donation {
    struct trace_reader *trace;
    struct fact facts[FACTS_MOST];
    size_t n_facts;
    struct request *at;              /* in the order of their begin */
    size_t n;
    size_t *ended, n_ended;          /* in the order of their end */
    size_t *of_slot;
    uint64_t *name;                  /* while they are written; by request */
    struct trace_writer *w;
    size_t next;
    enum err e;
    struct err_detail *err;
    uint32_t arguments[FACTS_MOST];  /* by program, of the run that has most */
    uint64_t bytes[FACTS_MOST];
};

/* ---- what is read ---- */

static size_t program_number(const struct donation *d, const char *name, size_t n)
{
    for (size_t i = 0; i < d->n_facts; i++)
        if (d->facts[i].n_program == n && memcmp(d->facts[i].program, name, n) == 0)
            return d->facts[i].of;
    return NONE;
}

static void read_facts(struct donation *d)
{
    const char *line = trace_meta(d->trace, TRACE_META_DONATABLE);
    while (line != NULL && *line != '\0' && d->n_facts < FACTS_MOST) {
        struct fact f = { .bytes = 0 };
        int used = 0;
        const size_t n = strcspn(line, "\n");
        if (sscanf(line, "%" SCNu64 " %" SCNu32 " %" SCNu32 " %n", &f.bytes, &f.arguments, &f.results, &used) == 3 &&
            used > 0 && (size_t)used < n && f.bytes > 0 && f.arguments > 0 && f.results > 0) {
            f.program = line + used;
            f.n_program = n - (size_t)used;
            const size_t known = program_number(d, f.program, f.n_program);
            f.of = known == NONE ? d->n_facts : known;
            d->facts[d->n_facts++] = f;
        }
        line += n + (line[n] != '\0');
    }
}

static void take_event(void *arg, const struct event *ev, uint64_t number)
{
    struct donation *d = arg;
    if (ev->kind == EVENT_ALLOC) {
        d->of_slot[ev->slot] = d->n;
        d->at[d->n++] = (struct request){ .begin = number, .end = UINT64_MAX, .bytes = ev->bytes, .program = NONE,
                                          .fact = NONE, .takes = NONE };
    } else if (ev->kind == EVENT_FREE && d->of_slot[ev->slot] != NONE) {
        d->at[d->of_slot[ev->slot]].end = number;
        d->ended[d->n_ended++] = d->of_slot[ev->slot];
    }
}

/* The frame in front says "jit_step result ..." or "jit_step temporaries ..." (import/xla_programs.h). */
static size_t program_of(const struct donation *d, uint32_t stack, bool *is_result)
{
    static const char result[] = " result ";
    const char *const *frames;
    if (stack == TRACE_NO_STACK || trace_stack(d->trace, stack, &frames) == 0)
        return NONE;
    const size_t n = strcspn(frames[0], " ");
    *is_result = strncmp(frames[0] + n, result, sizeof result - 1) == 0;
    return program_number(d, frames[0], n);
}

static size_t fact_of(const struct donation *d, size_t program, uint64_t bytes)
{
    for (size_t i = 0; i < d->n_facts; i++)
        if (d->facts[i].of == program && d->facts[i].bytes == bytes)
            return i;
    return NONE;
}

/* Whose run each request is of. What a stack says is looked up once. */
static enum err read_programs(struct donation *d, struct err_detail *err)
{
    const size_t n_stacks = trace_info(d->trace)->n_stacks;
    uint64_t *events = malloc((d->n + 1) * sizeof *events);
    uint32_t *stacks = malloc((d->n + 1) * sizeof *stacks);
    struct said { size_t program; bool is_known, is_result; } *said = calloc(n_stacks + 1, sizeof *said);
    enum err e = events == NULL || stacks == NULL || said == NULL ? err_no_memory(err) : ERR_OK;
    for (size_t i = 0; i < d->n && e == ERR_OK; i++)
        events[i] = d->at[i].begin;
    if (e == ERR_OK)
        e = trace_stacks_at(d->trace, events, d->n, stacks, err);
    for (size_t i = 0; i < d->n && e == ERR_OK; i++) {
        struct said *s = &said[stacks[i] < n_stacks ? stacks[i] : n_stacks];
        if (!s->is_known)
            s->program = program_of(d, stacks[i], &s->is_result);
        s->is_known = true;
        d->at[i].program = s->program;
        if (s->program != NONE && s->is_result)
            d->at[i].fact = fact_of(d, s->program, d->at[i].bytes);
    }
    free(events);
    free(stacks);
    free(said);
    return e;
}

/* ---- pairs ---- */

/* The end of the run that begins at request i: the first request of something else, or of its next run. */
static size_t find_run_end(struct donation *d, size_t i)
{
    size_t end = i;
    for (size_t k = 0; k < d->n_facts; k++)
        if (d->facts[k].of == d->at[i].program) {
            d->facts[k].seen = d->facts[k].paired = 0;
            d->facts[k].cursor = i;
        }
    while (end < d->n && d->at[end].program == d->at[i].program) {
        struct fact *f = d->at[end].fact != NONE ? &d->facts[d->at[end].fact] : NULL;
        if (f != NULL && f->seen++ == f->results)
            break;
        end++;
    }
    return end;
}

/* When the buffers that a run needed have had time to go: its program runs again, or something else asks for more than
 * a scalar. */
static uint64_t find_run_after(const struct donation *d, size_t end, size_t program)
{
    while (end < d->n && d->at[end].program != program && d->at[end].bytes < TINY)
        end++;
    return end < d->n ? d->at[end].begin : UINT64_MAX;
}

/* Gives the place of buffer k to a result of the run [i, end), if one of its size is left. */
static bool pair(struct donation *d, size_t k, size_t i, size_t end)
{
    const size_t fact = fact_of(d, d->at[i].program, d->at[k].bytes);
    struct fact *f = fact != NONE ? &d->facts[fact] : NULL;
    if (f == NULL || k >= i || d->at[k].is_taken || f->paired == f->arguments)
        return false;
    while (f->cursor < end && d->at[f->cursor].fact != fact)
        f->cursor++;
    if (f->cursor == end || d->at[f->cursor].begin > d->at[k].end)
        return false;
    d->at[f->cursor++].takes = k;
    d->at[k].is_taken = true;
    f->paired++;
    return true;
}

static void find_pairs(struct donation *d)
{
    size_t ended = 0, end = 0;
    for (size_t i = 0; i < d->n; i = end) {
        const size_t program = d->at[i].program;
        uint32_t arguments = 0;
        uint64_t bytes = 0;
        end = i + 1;
        if (program == NONE)
            continue;
        end = find_run_end(d, i);
        const uint64_t until = find_run_after(d, end, program);
        while (ended < d->n_ended && d->at[d->ended[ended]].end < d->at[i].begin)
            ended++;
        for (; ended < d->n_ended && d->at[d->ended[ended]].end < until; ended++)
            if (pair(d, d->ended[ended], i, end)) {
                arguments++;
                bytes += d->at[d->ended[ended]].bytes;
            }
        if (bytes > d->bytes[program]) {
            d->bytes[program] = bytes;
            d->arguments[program] = arguments;
        }
    }
}

/* ---- the trace with donated arguments ---- */

static void put_event(void *arg, const struct event *ev, uint64_t number)
{
    struct donation *d = arg;
    (void)number;
    const bool is_free = ev->kind == EVENT_FREE;
    if (d->e != ERR_OK || (ev->kind != EVENT_ALLOC && !is_free))
        return;
    const size_t i = is_free ? d->of_slot[ev->slot] : d->next++;
    if (i == NONE)
        return;
    d->of_slot[ev->slot] = i;
    struct request *r = &d->at[i];
    if (!is_free)
        d->name[i] = r->takes == NONE ? i + 1 : d->name[r->takes];
    const bool is_left_out = is_free ? r->is_taken : r->takes != NONE;
    const struct trace_record record = { .kind = (enum event_kind)ev->kind, .time_ns = ev->time_ns, .ptr = d->name[i],
                                         .bytes = ev->bytes, .record = TRACE_NO_RECORD, .stack = TRACE_NO_STACK };
    if (!is_left_out)
        d->e = trace_put(d->w, &record, d->err);
}

static enum err write_donated(struct donation *d, struct trace_reader **out, struct err_detail *err)
{
    enum err e = trace_create(NULL, &d->w, err);
    if (e != ERR_OK)
        return e;
    d->err = err;
    for (size_t i = 0; i < trace_info(d->trace)->peak_live; i++)
        d->of_slot[i] = NONE;
    e = trace_each_event(d->trace, put_event, d, err);
    e = e == ERR_OK ? d->e : e;
    if (e == ERR_OK)
        return trace_finish_open(d->w, "donated arguments", out, err);
    trace_abandon(d->w);
    return e;
}

static enum err replay_donated(struct donation *d, const struct device_config *device, struct jax_donation *out,
                               struct err_detail *err)
{
    struct trace_reader *donated;
    enum err e = write_donated(d, &donated, err);
    if (e != ERR_OK)
        return e;
    e = jax_need_find(donated, device, &out->need, err);
    out->has_lower_peak = trace_info(donated)->peak_requested_bytes < trace_info(d->trace)->peak_requested_bytes;
    trace_close(donated);
    return e;
}

/* The one that would donate most; if none was paired, the one that has most to donate. */
static void take_largest(const struct donation *d, struct jax_donation *out)
{
    uint64_t most_bytes = 0;
    const struct fact *most = NULL;
    for (size_t i = 0; i < d->n_facts; i++)
        if (d->bytes[i] > out->bytes) {
            out->bytes = d->bytes[i];
            out->arguments = d->arguments[i];
            most = &d->facts[i];
        }
    for (size_t i = 0; i < d->n_facts && out->arguments == 0; i++)
        if (d->facts[i].bytes / TINY * d->facts[i].arguments > most_bytes) {
            most_bytes = d->facts[i].bytes / TINY * d->facts[i].arguments;
            most = &d->facts[i];
        }
    if (most != NULL)
        snprintf(out->program, sizeof out->program, "%.*s", (int)most->n_program, most->program);
}

static enum err read_requests(struct donation *d, struct err_detail *err)
{
    const size_t n = trace_info(d->trace)->by_kind[EVENT_ALLOC], n_slots = trace_info(d->trace)->peak_live;
    d->at = calloc(n + 1, sizeof *d->at);
    d->ended = calloc(n + 1, sizeof *d->ended);
    d->name = calloc(n + 1, sizeof *d->name);
    d->of_slot = calloc(n_slots + 1, sizeof *d->of_slot);
    if (d->at == NULL || d->ended == NULL || d->name == NULL || d->of_slot == NULL)
        return err_no_memory(err);
    for (size_t i = 0; i < n_slots; i++)
        d->of_slot[i] = NONE;
    const enum err e = trace_each_event(d->trace, take_event, d, err);
    return e == ERR_OK ? read_programs(d, err) : e;
}

enum err jax_donation_find(struct trace_reader *trace, const struct device_config *device, struct jax_donation *out,
                           struct err_detail *err)
{
    struct donation *d = calloc(1, sizeof *d);
    *out = (struct jax_donation){ .has_candidates = false };
    if (d == NULL)
        return err_no_memory(err);
    d->trace = trace;
    read_facts(d);
    out->has_candidates = d->n_facts > 0;
    enum err e = out->has_candidates ? read_requests(d, err) : ERR_OK;
    if (e == ERR_OK) {
        find_pairs(d);
        take_largest(d, out);
    }
    if (e == ERR_OK && out->arguments > 0)
        e = replay_donated(d, device, out, err);
    free(d->at);
    free(d->ended);
    free(d->name);
    free(d->of_slot);
    free(d);
    return e;
}

/* ---- the run with them ---- */

bool jax_donation_may_gain(const struct jax_donation *d, const struct jax_need *now)
{
    const bool gains = d->has_lower_peak && d->need.region_bytes < now->region_bytes - now->region_bytes / WORTH_A_RUN;
    return strncmp(d->program, jitted, sizeof jitted - 1) == 0 && now->region_bytes > 0 && (d->arguments == 0 || gains);
}

/* " donates 0,1 shares 2", " donates nothing". */
static void take_numbers(struct jax_donation *d, const char *donates)
{
    const char *shares = strstr(donates, " shares ");
    (void)sscanf(donates, " donates %63[0-9,]", d->donated);
    if (shares != NULL)
        (void)sscanf(shares, " shares %63[0-9,]", d->shared);
}

void jax_donation_take_run(struct jax_donation *d, const char *log, bool has_ended)
{
    static const char said[] = "replay donate: ";
    char line[256];
    const char *donates;
    FILE *f = fopen(log, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, said, sizeof said - 1) == 0 && (donates = strstr(line, " donates ")) != NULL)
            take_numbers(d, donates);
    if (f != NULL)
        fclose(f);
    if (d->donated[0] == '\0')
        return;
    d->trial = has_ended ? DONATION_TRIED : DONATION_FAILED;
    if (!has_ended)
        program_failure_read(log, &d->failure);
}

const struct jax_need *jax_donation_need(const struct jax_donation *d)
{
    return d->trial == DONATION_TRIED ? &d->tried : &d->need;
}

/* Arguments that no run can donate as the program passes them. */
static void say_shared(struct words *out, const struct jax_donation *d)
{
    if (d->shared[0] != '\0')
        words_add(out, "%sArgument%s %s of %s %s not donated in a run: it was called with one array in two places, "
                  "which JAX refuses to donate. Give each a copy of its own first (jax.tree.map(jnp.copy, ...)).",
                  out->n > 0 ? " " : "", strchr(d->shared, ',') != NULL ? "s" : "", d->shared,
                  d->program + sizeof jitted - 1, strchr(d->shared, ',') != NULL ? "were" : "was");
}

/* JAX's words for an array that a later call has in two places, "donate the same buffer twice" among them. */
static bool is_of_shared(const char *line)
{
    return strstr(line, "donate") != NULL && (strstr(line, "twice") != NULL || strstr(line, "same call") != NULL);
}

/* What the run said, which is more than the replay did. */
static void say_trial(struct words *out, const struct jax_donation *d, const struct jax_need *now)
{
    char region[UNITS_TEXT], was[UNITS_TEXT];
    words_add(out, "The program was run once more with jax.jit(%s, donate_argnums=(%s%s)): ",
              d->program + sizeof jitted - 1, d->donated, strchr(d->donated, ',') != NULL ? "" : ",");
    if (d->trial == DONATION_FAILED && is_of_shared(d->failure.line))
        words_add(out, "a call passed one array in two places, and JAX refuses to donate that. Give each a copy of its "
                  "own first (jax.tree.map(jnp.copy, ...)).");
    else if (d->trial == DONATION_FAILED)
        words_add(out, "it ended with \"%s\". If it reads these arguments after the call, they cannot be donated.",
                  d->failure.line);
    else if (d->tried.region_bytes < now->region_bytes)
        words_add(out, "a region of %s is then enough, instead of %s.",
                  units_format_bytes(d->tried.region_bytes, region), units_format_bytes(now->region_bytes, was));
    else
        words_add(out, "the region is not smaller.");
}

static void say_replayed(struct words *out, const struct jax_donation *d, const struct jax_need *now)
{
    char bytes[UNITS_TEXT], region[UNITS_TEXT];
    if (!d->has_candidates) {
        words_add(out, "Donation has nothing to save: no function of the program's own has an argument that is not "
                  "donated and has the shape of a result.");
        return;
    }
    if (d->arguments == 0) {
        words_add(out, "Whether donation would help was not found out: arguments of the shapes of results are not "
                  "donated, but which buffers they are was not found. Try jax.jit(..., donate_argnums=).");
        return;
    }
    words_add(out, "%s does not donate %u argument%s of %s in all, of the shapes of its results, and as much is freed "
              "right after it has run. If these are the arguments, and nothing reads them after the call, "
              "jax.jit(..., donate_argnums=) gives their place to the results: ", d->program, d->arguments,
              d->arguments == 1 ? "" : "s", units_format_bytes(d->bytes, bytes));
    if (!d->has_lower_peak)
        words_add(out, "replayed so, no less is live at the peak, which is elsewhere.");
    else if (d->need.region_bytes < now->region_bytes)
        words_add(out, "replayed so, a region of %s would be needed, or more: XLA compiles the function anew, and "
                  "temporaries can no longer lie in the places of these results. To know it, predict the program with "
                  "donate_argnums.", units_format_bytes(d->need.region_bytes, region));
    else
        words_add(out, "replayed so, the region is not smaller.");
}

void jax_donation_say(struct words *out, const struct jax_donation *d, const struct jax_need *now)
{
    if (d->trial == DONATION_NOT_TRIED)
        say_replayed(out, d, now);
    else
        say_trial(out, d, now);
    say_shared(out, d);
}
