/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A counter gets at most two points in a stretch of events: its highest value, and its value at the end. So the number
 * of points is limited, and every peak in the file is exact.
 *
 *     values    1 3 9 4 5 | 5 5 5 5 5 | 5 2 2 6 6        three stretches
 *     points        9   5                       6
 */
#include "replay/export/perfetto.h"

#include "base/array.h"
#include "base/temporary_file.h"
#include "base/units.h"
#include "report/text/json_writer.h"
#include "report/text/text.h"
#include "traces/stack_frame.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

static void put_text(const struct perfetto *p, const char *text)
{
    const struct json_writer w = json_writer(p->spool);
    json_quote(&w, text);
}

/* Begins a line with phase, process, and time in microseconds. */
static void line_begin(const struct perfetto *p, char phase, uint64_t time_ns)
{
    fprintf(p->spool, ",\n{\"ph\":\"%c\",\"pid\":%u,\"tid\":0,\"ts\":%" PRIu64 ".%03u", phase, p->pid, time_ns / 1000,
            (unsigned)(time_ns % 1000));
}

/* Counts one more slice or instant. False if there is no room for it. */
static bool mark_fits(struct perfetto *p)
{
    if (p->n_marks < PERFETTO_MARKS_MAX) {
        p->n_marks++;
        return true;
    }
    p->n_left_out++;
    return false;
}

static void put_instant(struct perfetto *p, const char *kind, const char *name, uint64_t time_ns)
{
    line_begin(p, 'i', time_ns);
    fprintf(p->spool, ",\"s\":\"p\",\"cat\":\"%s\",\"name\":", kind);
    put_text(p, name);
}

static void put_metadata(struct perfetto *p, const char *what, const char *name)
{
    line_begin(p, 'M', 0);
    fprintf(p->spool, ",\"name\":\"%s\",\"args\":{\"name\":", what);
    put_text(p, name);
    fputs("}}", p->spool);
}

/* ---- counters ---- */

static void put_value(struct perfetto *p, enum perfetto_counter c, uint64_t time_ns, uint64_t value)
{
    static const char *const names[] = {
#define PERFETTO_NAME(name) #name,
        PERFETTO_COUNTERS(PERFETTO_NAME)
#undef PERFETTO_NAME
    };
    line_begin(p, 'C', time_ns);
    fprintf(p->spool, ",\"name\":\"%s\",\"args\":{\"bytes\":%" PRIu64 "}}", names[c], value);
    p->tracks[c].written = value;
    p->tracks[c].is_written = true;
}

/* Takes the value of a counter after an event. Inside the event it may have been higher; then the peak of the run rose.
 * */
static void track_take(struct perfetto_track *t, uint64_t now, uint64_t total_peak, uint64_t time_ns)
{
    const uint64_t highest = total_peak > t->total_peak ? total_peak : now;
    assert(total_peak >= t->total_peak && now <= total_peak);
    t->total_peak = total_peak;
    t->last = now;
    t->last_ns = time_ns;
    if (highest > t->peak) {
        t->peak = highest;
        t->peak_ns = time_ns;
    }
}

static void take_counters(struct perfetto *p, const struct meter *m)
{
#define TAKE_GAUGE(name, meaning) \
    track_take(&p->tracks[PERFETTO_##name], m->now.name, m->peak.name, p->now_ns);
    METER_GAUGES(TAKE_GAUGE)
#undef TAKE_GAUGE
    track_take(&p->tracks[PERFETTO_inactive_split], meter_inactive_split(m), m->inactive_split_peak, p->now_ns);
}

/* Writes the points of a stretch and begins the next. */
static void end_stretch(struct perfetto *p)
{
    for (unsigned c = 0; c < PERFETTO_COUNTER_COUNT; c++) {
        struct perfetto_track *t = &p->tracks[c];
        if (!t->is_written || t->peak != t->written)
            put_value(p, (enum perfetto_counter)c, t->peak_ns, t->peak);
        if (t->last != t->written)
            put_value(p, (enum perfetto_counter)c, t->last_ns, t->last);
        t->peak = t->last;
        t->peak_ns = t->last_ns;
    }
    p->n_in_stretch = 0;
    p->stretch_ns = p->now_ns;
}

/* ---- refusals, segments ---- */

static void on_oom(void *perfetto, const struct meter_oom *oom)
{
    struct perfetto *p = perfetto;
    p->has_oom = true;
    p->oom = *oom;
}

static void put_oom(struct perfetto *p)
{
    const struct meter_oom *oom = &p->oom;
    if (!p->has_oom || !mark_fits(p))
        return;
    put_instant(p, "oom", "out of memory", p->now_ns);
    fprintf(p->spool, ",\"args\":{\"requested_bytes\":%" PRIu64 ",\"reserved_bytes\":%" PRIu64
            ",\"device_free_bytes\":%" PRIu64 "}}", oom->requested_bytes, oom->reserved_bytes, oom->device_free_bytes);
}

/* Writes the beginning ('b') or the end ('e') of a slice. The viewer pairs them by address. */
static void put_slice(struct perfetto *p, char phase, bool is_range, uint64_t addr, uint64_t bytes)
{
    char size[UNITS_TEXT];
    line_begin(p, phase, p->now_ns);
    fprintf(p->spool, ",\"cat\":\"%s\",\"id2\":{\"local\":\"0x%" PRIx64 "\"},\"name\":\"%s%s\"",
            is_range ? "range" : "segment", addr, is_range ? "range of " : "", units_format_bytes(bytes, size));
    if (phase == 'b')
        fprintf(p->spool, ",\"args\":{\"address\":\"0x%" PRIx64 "\",\"bytes\":%" PRIu64 "}", addr, bytes);
    fputc('}', p->spool);
}

static void slice_begin(struct perfetto *p, bool is_range, const struct device_call *c)
{
    if (pair_map_find(&p->open, c->addr, is_range) != NULL || !mark_fits(p))
        return;
    assert(p->n_slices < PERFETTO_MARKS_MAX);
    struct perfetto_slice *slices = array_grow(p->slices, p->n_slices, &p->room_slices, sizeof *slices);
    if (slices == NULL || !pair_map_add(&p->open, c->addr, is_range, (uint32_t)p->n_slices)) {
        p->failure = ERR_HOST_NOMEM;
        p->slices = slices != NULL ? slices : p->slices;
        return;
    }
    p->slices = slices;
    slices[p->n_slices++] = (struct perfetto_slice){.addr = c->addr, .bytes = c->bytes, .is_range = is_range};
    put_slice(p, 'b', is_range, c->addr, c->bytes);
}

static void slice_end(struct perfetto *p, bool is_range, uint64_t addr)
{
    const uint32_t *slice = pair_map_find(&p->open, addr, is_range);
    if (slice == NULL)
        return;
    assert(*slice < p->n_slices);
    put_slice(p, 'e', is_range, addr, p->slices[*slice].bytes);
    pair_map_remove(&p->open, addr, is_range);
}

/* Writes a slice's beginning or end. Pages mapped inside a range are no slices: the counter shows them. */
static void put_call(struct perfetto *p, const struct device_call *c)
{
    if (c->kind == DEVICE_CALL_MALLOC || c->kind == DEVICE_CALL_RESERVE)
        slice_begin(p, c->kind == DEVICE_CALL_RESERVE, c);
    else if (c->kind == DEVICE_CALL_FREE || c->kind == DEVICE_CALL_UNRESERVE)
        slice_end(p, c->kind == DEVICE_CALL_UNRESERVE, c->addr);
}

static void on_call(void *perfetto, const struct device_call *c)
{
    struct perfetto *p = perfetto;
    struct device_call *calls = array_grow(p->calls, p->n_calls, &p->room_calls, sizeof *calls);
    if (calls == NULL) {
        p->failure = ERR_HOST_NOMEM;
        return;
    }
    p->calls = calls;
    calls[p->n_calls++] = *c;
}

/* ---- requests ---- */

/* A request was served; its slice is written when its end is known. */
static void request_begin(struct perfetto *p, const struct lane *l, const struct perfetto_request *r, uint32_t slot)
{
    const struct block *b = &l->live[slot];
    if (b->bytes == 0)
        return;                              /* refused */
    if (p->n_requests == PERFETTO_REQUESTS_MAX) {
        p->n_requests_left_out++;
        return;
    }
    struct perfetto_request *grown = array_grow(p->requests, p->n_requests, &p->room_requests, sizeof *grown);
    if (grown == NULL) {
        p->failure = ERR_HOST_NOMEM;
        return;
    }
    p->requests = grown;
    grown[p->n_requests] = *r;
    grown[p->n_requests].addr = b->addr;
    grown[p->n_requests].block_bytes = b->bytes;
    grown[p->n_requests].born_ns = p->now_ns;
    grown[p->n_requests].freed_ns = UINT64_MAX;
    p->request_of[slot] = (uint32_t)++p->n_requests;
}

/* The program freed it. */
static void request_end(struct perfetto *p, uint32_t slot)
{
    if (p->request_of[slot] > 0)
        p->requests[p->request_of[slot] - 1].freed_ns = p->now_ns;
    p->request_of[slot] = 0;
}

static void take_start(struct perfetto *p, const struct lane *l)
{
    size_t n;
    const struct trace_block *blocks = trace_start_blocks(p->trace, &n);
    for (size_t i = 0; i < n; i++)
        if (blocks[i].slot != TRACE_NO_SLOT && !blocks[i].is_pending)
            request_begin(p, l, &(struct perfetto_request){ .event = -1, .bytes = blocks[i].requested,
                                                            .stream = blocks[i].stream }, blocks[i].slot);
}

static void take_request(struct perfetto *p, const struct lane *l, const struct event *ev, uint64_t done)
{
    if (ev->kind == EVENT_ALLOC)
        request_begin(p, l, &(struct perfetto_request){ .event = (int64_t)done - 1, .bytes = ev->bytes,
                                                        .stream = ev->stream }, ev->slot);
    else if (ev->kind == EVENT_FREE || ev->kind == EVENT_FREE_REQUESTED)
        request_end(p, ev->slot);
}

/* The frames of Python code as "child train.py:52 < forward train.py:40", innermost first; all frames if none is. Long
 * stacks are cut. */
static void add_stack(struct words *w, const char *const *frames, size_t n)
{
    size_t n_python = 0;
    for (size_t i = 0; i < n; i++) {
        const struct stack_frame f = stack_frame_parse(frames[i]);
        n_python += stack_frame_is_python(&f);
    }
    for (size_t i = 0; i < n && w->n + 1 < sizeof w->text; i++) {
        const struct stack_frame f = stack_frame_parse(frames[i]);
        if (n_python == 0 || stack_frame_is_python(&f))
            words_add(w, "%s%s", w->n > 0 ? " < " : "", frames[i]);
    }
}

/* What the requests of a stack show: its line of the program, and its frames. Each stack is read once, however many
 * requests share it. */
struct shown_stacks {
    struct pair_map  number;         /* (stack, is it the line) -> number of the text */
    struct text_table texts;
};

static enum err read_stack(struct shown_stacks *s, const struct trace_reader *trace, uint32_t stack,
                           struct err_detail *err)
{
    enum { LINE_TEXT = 160 };
    char line[LINE_TEXT] = "request";
    struct words words = { .n = 0 };
    const char *const *frames = NULL;
    if (pair_map_find(&s->number, stack, true) != NULL)
        return ERR_OK;
    const size_t n = stack == TRACE_NO_STACK ? 0 : trace_stack(trace, stack, &frames);
    if (n > 0)
        stack_frame_show_line(stack_frame_of_program(frames, n), line, sizeof line);
    add_stack(&words, frames, n);
    const uint32_t line_text = text_table_put(&s->texts, line, strlen(line));
    const uint32_t stack_text = text_table_put(&s->texts, words.text, words.n);
    const bool has_memory = line_text != UINT32_MAX && stack_text != UINT32_MAX &&
                            pair_map_add(&s->number, stack, true, line_text) &&
                            pair_map_add(&s->number, stack, false, stack_text);
    return has_memory ? ERR_OK : err_no_memory(err);
}

/* Lends the two texts of an event's stack until the next call; the frames are "" without a stack. */
static enum err stack_texts(struct shown_stacks *s, struct trace_reader *trace, int64_t event, const char **line,
                            const char **stack, struct err_detail *err)
{
    struct trace_side side = { .stack = TRACE_NO_STACK };
    enum err e = ERR_OK;
    if (event >= 0 && trace_info(trace)->n_stacks > 0)
        e = trace_side_at(trace, (uint64_t)event, &side, err);
    if (e == ERR_OK)
        e = read_stack(s, trace, side.stack, err);
    if (e != ERR_OK)
        return e;
    *line = text_table_at(&s->texts, *pair_map_find(&s->number, side.stack, true));
    *stack = text_table_at(&s->texts, *pair_map_find(&s->number, side.stack, false));
    return ERR_OK;
}

/* Writes a request as a slice, named by the line that asked for it: slices of one line lie in one track. */
static enum err put_request(FILE *out, const struct perfetto *p, size_t i, struct trace_reader *trace,
                            struct shown_stacks *stacks, struct err_detail *err)
{
    const struct perfetto_request *r = &p->requests[i];
    const struct json_writer w = json_writer(out);
    const uint64_t end_ns = r->freed_ns == UINT64_MAX ? p->now_ns : r->freed_ns;
    const char *line, *stack;
    const enum err e = stack_texts(stacks, trace, r->event, &line, &stack, err);
    if (e != ERR_OK)
        return e;
    for (int is_end = 0; is_end < 2; is_end++) {
        const uint64_t at_ns = is_end ? end_ns : r->born_ns;
        fprintf(out, ",\n{\"ph\":\"%c\",\"pid\":%u,\"tid\":0,\"ts\":%" PRIu64 ".%03u,\"cat\":\"request\",\"id2\":"
                "{\"local\":\"r%zu\"},\"name\":", is_end ? 'e' : 'b', p->pid, at_ns / 1000, (unsigned)(at_ns % 1000),
                i);
        json_quote(&w, line);
        fputs(is_end ? "}" : "", out);
        if (is_end)
            break;
        fprintf(out, ",\"args\":{\"bytes\":%" PRIu64 ",\"block_bytes\":%" PRIu64 ",\"address\":\"0x%" PRIx64
                "\",\"stream\":%u", r->bytes, r->block_bytes, r->addr, (unsigned)r->stream);
        if (stack[0] != '\0') {
            fputs(",\"stack\":", out);
            json_quote(&w, stack);
        }
        fputs("}}", out);
    }
    return ERR_OK;
}

static enum err put_requests(FILE *out, const struct perfetto *p, struct trace_reader *trace,
                             struct shown_stacks *stacks, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t i = 0; i < p->n_requests && e == ERR_OK; i++)
        e = put_request(out, p, i, trace, stacks, err);
    return e;
}

/* ---- events ---- */

/* Writes what happened in the event that has just ended, with its time. */
static void put_happenings(struct perfetto *p)
{
    for (size_t i = 0; i < p->n_calls; i++)
        put_call(p, &p->calls[i]);
    put_oom(p);
    p->n_calls = 0;
    p->has_oom = false;
}

/* After each event; `ev` is NULL when the start state is placed. */
static void take_event(struct lane_watch *watch, const struct lane *l, const struct event *ev, uint64_t done)
{
    struct perfetto *p = (struct perfetto *)watch;
    p->now_ns = ev == NULL ? 0 : p->has_times ? ev->time_ns : done * 1000;
    put_happenings(p);
    if (ev == NULL)
        take_start(p, l);
    else
        take_request(p, l, ev, done);
    take_counters(p, &l->meter);
    p->n_in_stretch++;
    if (p->every_ns != 0 ? p->now_ns - p->stretch_ns >= p->every_ns : p->n_in_stretch >= p->every_events)
        end_stretch(p);
    if (ev == NULL || ev->kind != EVENT_MARK || !mark_fits(p))
        return;
    put_instant(p, "mark", trace_label(p->trace, ev->slot), p->now_ns);
    fputc('}', p->spool);
}

/* ---- the whole ---- */

enum err perfetto_listen(struct perfetto *p, unsigned pid, const char *name, struct lane *l,
                         const struct trace_reader *trace, const struct replay_config *cfg, struct err_detail *err)
{
    *p = (struct perfetto){.watch.event = take_event, .pid = pid, .trace = trace,
                           .has_times = trace_info(trace)->duration_ns > 0,
                           .every_events = cfg->sample_every_events, .every_ns = cfg->sample_every_ns,
                           .request_of = calloc((size_t)l->n_slots + 1, sizeof *p->request_of)};
    if (p->request_of == NULL)
        return err_no_memory(err);
    const enum err e = temporary_stream_open(&p->spool, err);
    if (e != ERR_OK)
        return e;
    p->log = (struct device_log){.call = on_call, .arg = p};
    l->watch = &p->watch;
    l->on_oom = on_oom;
    l->on_oom_arg = p;
    l->device->log = &p->log;
    put_metadata(p, "process_name", name);
    return ERR_OK;
}

static void put_left_out(struct perfetto *p, const char *text, uint64_t n)
{
    if (n == 0)
        return;
    put_instant(p, "note", text, p->now_ns);
    fprintf(p->spool, ",\"args\":{\"left_out\":%" PRIu64 "}}", n);
}

void perfetto_finish(struct perfetto *p, const struct lane *l)
{
    put_happenings(p);
    take_counters(p, &l->meter);
    end_stretch(p);
    for (unsigned c = 0; c < PERFETTO_COUNTER_COUNT; c++)
        put_value(p, (enum perfetto_counter)c, p->now_ns, p->tracks[c].last);      /* draws it to the end */
    for (size_t i = 0; i < p->n_slices; i++) {
        const struct perfetto_slice *s = &p->slices[i];
        const uint32_t *open = pair_map_find(&p->open, s->addr, s->is_range);
        if (open != NULL && *open == i)
            put_slice(p, 'e', s->is_range, s->addr, s->bytes);
    }
    put_left_out(p, "no more slices and instants from here on", p->n_left_out);
    put_left_out(p, "later requests have no slices", p->n_requests_left_out);
}

/* Copies a run's lines to the file. The very first line has no comma before it. */
static enum err copy_lines(FILE *out, const struct perfetto *p, bool is_first, struct err_detail *err)
{
    char bytes[1 << 14];
    size_t n;
    rewind(p->spool);
    if (is_first && (fgetc(p->spool) != ',' || fgetc(p->spool) != '\n'))
        return err_set(err, ERR_IO, 0, "the temporary file of a timeline cannot be read back");
    while ((n = fread(bytes, 1, sizeof bytes, p->spool)) > 0)
        fwrite(bytes, 1, n, out);
    return ferror(p->spool) ? err_set(err, ERR_IO, 0, "the temporary file of a timeline cannot be read back") : ERR_OK;
}

enum err perfetto_write(FILE *out, const struct perfetto *runs, size_t n, struct trace_reader *trace,
                        const char *source, struct err_detail *err)
{
    struct shown_stacks stacks = { .number = { .seed = hash_seed() }, .texts = { .seed = hash_seed() } };
    enum err e = ERR_OK;
    fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"trace\":", out);
    const struct json_writer w = json_writer(out);
    json_quote(&w, source);
    fprintf(out, ",\"time\":\"%s\"},\n\"traceEvents\":[\n",
            n == 0 || runs[0].has_times ? "of the recording" : "numbers of events, as microseconds");
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        if (runs[i].failure != ERR_OK)
            e = err_set(err, runs[i].failure, 0, "no memory for the segments of a timeline");
        else if (fflush(runs[i].spool) != 0 || ferror(runs[i].spool))
            e = err_set(err, ERR_IO, 0, "the temporary file of a timeline cannot be written");
        else
            e = copy_lines(out, &runs[i], i == 0, err);
        if (e == ERR_OK)
            e = put_requests(out, &runs[i], trace, &stacks, err);
    }
    fputs("\n]}\n", out);
    pair_map_free(&stacks.number);
    text_table_free(&stacks.texts);
    return e;
}

void perfetto_close(struct perfetto *p)
{
    if (p->spool != NULL)
        fclose(p->spool);
    pair_map_free(&p->open);
    free(p->slices);
    free(p->requests);
    free(p->request_of);
    free(p->calls);
    *p = (struct perfetto){.spool = NULL};
}
