/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A first pass finds the moment, a second what is live then and how long it goes on living. */
#include "replay/recording/holders.h"

#include "base/array.h"
#include "base/units.h"
#include "traces/stack_frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 512 };

static bool ends_life(const struct event *ev)
{
    return ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED;
}

/* ---- the moment ---- */

struct moments {
    uint64_t live, peak, peak_moment, refusal;       /* refusal: UINT64_MAX: none */
};

static void moments_visit(void *arg, const struct event *ev, uint64_t number)
{
    struct moments *m = arg;
    if (ev->kind == EVENT_ALLOC) {
        m->live += ev->bytes;
        if (m->live > m->peak) {
            m->peak = m->live;
            m->peak_moment = number + 1;
        }
    } else if (ends_life(ev)) {
        m->live -= ev->bytes;
    } else if (ev->kind == EVENT_OOM) {
        m->refusal = number;
    }
}

static uint64_t start_bytes(const struct trace_reader *trace)
{
    size_t n;
    uint64_t bytes = 0;
    const struct trace_block *blocks = trace_start_blocks(trace, &n);
    for (size_t i = 0; i < n; i++)
        if (blocks[i].slot != TRACE_NO_SLOT && !blocks[i].is_pending)
            bytes += blocks[i].requested;
    return bytes;
}

static enum err choose_moment(struct trace_reader *trace, enum moment_kind kind, uint64_t event, struct holdings *h,
                              struct err_detail *err)
{
    const uint64_t events = trace_info(trace)->events, before = start_bytes(trace);
    struct moments m = { .live = before, .peak = before, .refusal = UINT64_MAX };
    const enum err e = trace_each_event(trace, moments_visit, &m, err);
    if (e != ERR_OK)
        return e;
    if (kind == MOMENT_REFUSAL && m.refusal == UINT64_MAX)
        return err_set(err, ERR_USAGE, 0, "no request was refused in this recording");
    if (kind == MOMENT_EVENT && event > events)
        return err_set(err, ERR_USAGE, 0, "event %" PRIu64 " is not there: the recording has %" PRIu64, event, events);
    h->peak_bytes = m.peak;
    h->peak_moment = m.peak_moment;
    h->moment = kind == MOMENT_PEAK ? m.peak_moment : kind == MOMENT_REFUSAL ? m.refusal
                : kind == MOMENT_END ? events : event;
    return ERR_OK;
}

/* ---- what is live ---- */

struct life_pass {
    struct holding *slots;           /* by slot; bytes 0: vacant */
    uint8_t  *is_held;               /* by slot: live at the moment, its end not met yet */
    struct holdings *out;
    size_t    n_slots;
};

static void take_held(struct life_pass *p)
{
    for (size_t i = 0; i < p->n_slots; i++)
        if (p->slots[i].bytes > 0) {
            p->is_held[i] = 1;
            p->slots[i].died = UINT64_MAX;
        }
}

static void life_visit(void *arg, const struct event *ev, uint64_t number)
{
    struct life_pass *p = arg;
    if (number == p->out->moment)
        take_held(p);
    if (number < p->out->moment) {
        if (ev->kind == EVENT_ALLOC)
            p->slots[ev->slot] = (struct holding){ .bytes = ev->bytes, .born = (int64_t)number, .stream = ev->stream,
                                                   .pool = ev->pool };
        else if (ends_life(ev))
            p->slots[ev->slot].bytes = 0;
    } else if (ends_life(ev) && p->is_held[ev->slot] == 1) {
        p->slots[ev->slot].died = number;
        p->is_held[ev->slot] = 2;
    }
}

static void take_start(struct life_pass *p, const struct trace_reader *trace)
{
    size_t n;
    const struct trace_block *blocks = trace_start_blocks(trace, &n);
    for (size_t i = 0; i < n; i++)
        if (blocks[i].slot != TRACE_NO_SLOT && !blocks[i].is_pending)
            p->slots[blocks[i].slot] = (struct holding){ .bytes = blocks[i].requested, .born = -1,
                                                         .stream = blocks[i].stream, .pool = blocks[i].pool };
}

static enum err read_lives(struct trace_reader *trace, struct holdings *h, struct err_detail *err)
{
    struct life_pass p = { .out = h, .n_slots = trace_info(trace)->peak_live };
    p.slots = calloc(p.n_slots + 1, sizeof *p.slots);
    p.is_held = calloc(p.n_slots + 1, 1);
    h->at = calloc(p.n_slots + 1, sizeof *h->at);
    enum err e = p.slots == NULL || p.is_held == NULL || h->at == NULL ? err_no_memory(err) : ERR_OK;
    if (e == ERR_OK) {
        take_start(&p, trace);
        e = trace_each_event(trace, life_visit, &p, err);
    }
    if (e == ERR_OK && h->moment >= trace_info(trace)->events)
        take_held(&p);
    for (size_t i = 0; i < p.n_slots && e == ERR_OK; i++)
        if (p.is_held[i] != 0) {
            h->at[h->n++] = p.slots[i];
            h->bytes += p.slots[i].bytes;
        }
    free(p.slots);
    free(p.is_held);
    return e;
}

static enum err read_stacks(struct trace_reader *trace, struct holdings *h, struct err_detail *err)
{
    uint64_t *births = malloc((h->n + 1) * sizeof *births);
    uint32_t *stacks = malloc((h->n + 1) * sizeof *stacks);
    for (size_t i = 0; i < h->n && births != NULL; i++)
        births[i] = h->at[i].born < 0 ? TRACE_NO_EVENT : (uint64_t)h->at[i].born;
    const enum err e = births == NULL || stacks == NULL ? err_no_memory(err)
                                                        : trace_stacks_at(trace, births, h->n, stacks, err);
    for (size_t i = 0; i < h->n && e == ERR_OK; i++)
        h->at[i].stack = stacks[i];
    free(births);
    free(stacks);
    return e;
}

enum err holdings_read(struct trace_reader *trace, enum moment_kind kind, uint64_t event, struct holdings *out,
                       struct err_detail *err)
{
    struct holdings h = { .n = 0 };
    enum err e = choose_moment(trace, kind, event, &h, err);
    if (e == ERR_OK)
        e = read_lives(trace, &h, err);
    if (e == ERR_OK)
        e = read_stacks(trace, &h, err);
    if (e != ERR_OK)
        holdings_close(&h);
    else
        *out = h;
    return e;
}

uint64_t holdings_of(const struct holdings *h, enum category category, size_t *n)
{
    uint64_t bytes = 0;
    size_t found = 0;
    for (size_t i = 0; i < h->n; i++)
        if (h->at[i].category == category) {
            bytes += h->at[i].bytes;
            found++;
        }
    if (n != NULL)
        *n = found;
    return bytes;
}

void holdings_keep_new(struct holdings *h, uint64_t since)
{
    size_t kept = 0;
    h->bytes = 0;
    for (size_t i = 0; i < h->n; i++)
        if (h->at[i].born >= 0 && (uint64_t)h->at[i].born >= since) {
            h->bytes += h->at[i].bytes;
            h->at[kept++] = h->at[i];
        }
    h->n = kept;
}

void holdings_close(struct holdings *h)
{
    free(h->at);
    *h = (struct holdings){ .n = 0 };
}

/* ---- groups ---- */

const char *category_word(enum category category)
{
    static const char *const words[] = {
#define CATEGORY(name, word) word,
        CATEGORIES(CATEGORY)
#undef CATEGORY
    };
    return words[category];
}

bool holders_are_labelled(const struct trace_reader *trace)
{
    struct stack_frame label;
    const char *const *frames;
    for (uint32_t i = 1; i <= trace_info(trace)->n_stacks; i++) {
        const size_t n = trace_stack(trace, i, &frames);
        if (stack_frame_label(frames, n, STACK_LABEL_CATEGORY, &label))
            return true;
    }
    return false;
}

static void name_module(const char *const *frames, size_t n, char out[static NAME_BYTES])
{
    struct stack_frame label;
    if (stack_frame_label(frames, n, STACK_LABEL_MODULE, &label))
        snprintf(out, NAME_BYTES, "%.*s", (int)label.n_name, label.name);
    else
        snprintf(out, NAME_BYTES, "(outside of modules)");
}

static void name_frame(const char *frame, bool is_file, char out[static NAME_BYTES])
{
    const struct stack_frame f = stack_frame_parse(frame);
    if (is_file && frame[0] != '(' && f.n_file > 0 && f.file[0] != '?')
        snprintf(out, NAME_BYTES, "%.*s", (int)f.n_file, f.file);
    else
        stack_frame_show_line(frame, out, NAME_BYTES);
}

/* Outermost frame first, parted by semicolons: the form of folded stacks. */
static void name_stack(const char *const *frames, size_t n, char out[static NAME_BYTES])
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = n; i-- > 0 && used + 2 < NAME_BYTES;) {
        char one[256];
        stack_frame_show(frames[i], one, sizeof one);
        const int more = snprintf(out + used, NAME_BYTES - used, "%s%s", used > 0 ? ";" : "", one);
        used += more > 0 ? (size_t)more : 0;
    }
}

/* Whether the recording shows Python. */
static bool has_python(const struct trace_reader *trace)
{
    const char *const *frames;
    bool has = false;
    for (uint32_t i = 1; i <= trace_info(trace)->n_stacks && !has; i++) {
        const size_t n = trace_stack(trace, i, &frames);
        has = stack_frames_any(frames, n, stack_frame_is_python);
    }
    return has;
}

const char *holders_stackless_name(const struct trace_reader *trace)
{
    return has_python(trace) ? "(backward pass, no Python stack)" : "(no stack recorded)";
}

/* A request of the recording is held that has no stack. */
static bool lacks_stack(const struct holdings *h)
{
    size_t i = 0;
    while (i < h->n && (h->at[i].born < 0 || h->at[i].stack != TRACE_NO_STACK))
        i++;
    return i < h->n;
}

/* `none`: what stands for a stack that was not recorded. */
static void name_of(struct trace_reader *trace, const struct holding *h, enum holder_key key, const char *none,
                    char out[static NAME_BYTES])
{
    char bytes[UNITS_TEXT];
    const char *const *frames = NULL;
    const size_t n = h->stack == TRACE_NO_STACK ? 0 : trace_stack(trace, h->stack, &frames);
    switch (key) {
    case HOLDER_SIZE:
        snprintf(out, NAME_BYTES, "%s", units_format_bytes(h->bytes, bytes));
        return;
    case HOLDER_STREAM:
        snprintf(out, NAME_BYTES, "stream %u", h->stream);
        return;
    case HOLDER_POOL:
        snprintf(out, NAME_BYTES, h->pool == 0 ? "shared pool" : "private pool %u", h->pool);
        return;
    case HOLDER_CATEGORY:
        snprintf(out, NAME_BYTES, "%s", category_word((enum category)h->category));
        return;
    default:
        break;
    }
    if (h->born < 0)
        snprintf(out, NAME_BYTES, "(before the recording)");
    else if (n == 0)
        snprintf(out, NAME_BYTES, "%s", none);
    else if (key == HOLDER_MODULE)
        name_module(frames, n, out);
    else if (key == HOLDER_STACK)
        name_stack(frames, n, out);
    else
        name_frame(stack_frame_of_program(frames, n), key == HOLDER_FILE, out);
}

/* The group of that name, its place + 1. */
static enum err group_put(struct holders *g, const char *name, uint32_t *place, struct err_detail *err)
{
    const uint32_t n_before = g->names.n;
    const uint32_t id = text_table_put(&g->names, name, strlen(name));
    struct holder *at = id == UINT32_MAX ? NULL : array_grow(g->at, id, &g->room, sizeof *at);
    if (at == NULL)
        return err_no_memory(err);
    g->at = at;
    if (id == n_before) {
        g->at[id] = (struct holder){ .name = id };
        g->n++;
    }
    *place = id + 1;
    return ERR_OK;
}

static int compare_holders(const void *a, const void *b)
{
    const struct holder *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

enum err holders_put(struct holders *g, const char *name, uint64_t bytes, struct err_detail *err)
{
    uint32_t place = 0;
    const enum err e = group_put(g, name, &place, err);
    if (e != ERR_OK)
        return e;
    g->at[place - 1].bytes += bytes;
    g->at[place - 1].n++;
    return ERR_OK;
}

void holders_sort(struct holders *g)
{
    if (g->n > 0)
        qsort(g->at, g->n, sizeof *g->at, compare_holders);
}

/* Counts a holding in its group. A stack is named once, however many requests share it. */
static enum err group_one(struct trace_reader *trace, const struct holding *h, enum holder_key key, const char *none,
                          struct holders *g, uint32_t *row_of, struct err_detail *err)
{
    const bool is_of_stack = key == HOLDER_LINE || key == HOLDER_FILE || key == HOLDER_STACK || key == HOLDER_MODULE;
    uint32_t one = 0, *row = is_of_stack && h->born >= 0 && h->stack != TRACE_NO_STACK ? &row_of[h->stack] : &one;
    char name[NAME_BYTES];
    if (*row == 0) {
        name_of(trace, h, key, none, name);
        const enum err e = group_put(g, name, row, err);
        if (e != ERR_OK)
            return e;
    }
    g->at[*row - 1].bytes += h->bytes;
    g->at[*row - 1].n++;
    g->at[*row - 1].guessed_bytes += h->is_guess ? h->bytes : 0;
    return ERR_OK;
}

enum err holders_group(struct trace_reader *trace, const struct holdings *h, enum holder_key key, struct holders *out,
                       struct err_detail *err)
{
    struct holders g = { .n = 0 };
    const char *none = lacks_stack(h) ? holders_stackless_name(trace) : "(no stack recorded)";
    uint32_t *row_of = calloc((size_t)trace_info(trace)->n_stacks + 1, sizeof *row_of);      /* by stack: + 1 */
    enum err e = row_of == NULL ? err_no_memory(err) : ERR_OK;
    for (size_t i = 0; i < h->n && e == ERR_OK; i++)
        e = group_one(trace, &h->at[i], key, none, &g, row_of, err);
    free(row_of);
    if (e == ERR_OK)
        holders_sort(&g);
    if (e != ERR_OK)
        holders_close(&g);
    else
        *out = g;
    return e;
}

const char *holder_name(const struct holders *h, size_t i)
{
    return text_table_at(&h->names, h->at[i].name);
}

bool holder_is_guess(const struct holder *one)
{
    return one->guessed_bytes > one->bytes / 2;
}

size_t holders_most(const struct holders *h, size_t most)
{
    return h->n < most ? h->n : most;
}

void holder_json(struct json_writer *json, const struct holder_at *h)
{
#define ANSWER_TABLE "answers/holder.def"
#include "answers/as_json.def"
}

void held_category_json(struct json_writer *json, const struct holder_at *h)
{
#define ANSWER_TABLE "answers/held_category.def"
#include "answers/as_json.def"
}

void holders_close(struct holders *h)
{
    text_table_free(&h->names);
    free(h->at);
    *h = (struct holders){ .n = 0 };
}
