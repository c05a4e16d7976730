/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/export/request_export.h"

#include "report/text/json_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DAY_US UINT64_C(86400000000)

/* One request, or its end, or a refused request, as a format writes it. */
struct request {
    enum event_kind kind;
    uint64_t time_ns, number;                /* number of the event; of a request from before the first, 0 */
    uint64_t ptr;                            /* unique among what is live */
    uint64_t bytes;
    uint64_t stream;                         /* handle */
    uint64_t serial, born_number;            /* of an end: the number of its request, and when that began */
    uint64_t live_bytes;                     /* after it */
};

struct request_format {
    const char *name;
    unsigned holds;                          /* bits of enum request_loss that it does not lose */
    void (*begin)(FILE *out, const struct trace_info *info);
    void (*put)(FILE *out, const struct request *r, const struct trace_info *info);
    void (*mark)(FILE *out, uint64_t time_ns, const char *label);      /* NULL: the format has none */
    void (*put_open)(FILE *out, const struct request *r, const struct trace_info *info);  /* live at the end; or NULL */
    void (*end)(FILE *out);                  /* NULL: nothing */
};

#define HOLDS(name) (1u << REQUEST_LOSS_##name)

/* ---- csv ---- */

static void csv_begin(FILE *out, const struct trace_info *info)
{
    (void)info;
    fputs("time,op,ptr,size,stream\n", out);
}

static void csv_put(FILE *out, const struct request *r, const struct trace_info *info)
{
    (void)info;
    const char *op = r->kind == EVENT_ALLOC ? "alloc" : r->kind == EVENT_OOM ? "oom" : "free";
    fprintf(out, "%" PRIu64 ",%s,0x%" PRIx64 ",%" PRIu64 ",%" PRIx64 "\n", r->time_ns, op, r->ptr, r->bytes, r->stream);
}

/* ---- rmm ---- */

static void rmm_begin(FILE *out, const struct trace_info *info)
{
    (void)info;
    fputs("Thread,Time,Action,Pointer,Size,Stream\n", out);
}

/* The time of day, in UTC if the recording tells it. */
static void rmm_put(FILE *out, const struct request *r, const struct trace_info *info)
{
    const uint64_t us = (info->epoch_us + r->time_ns / 1000) % DAY_US, s = us / 1000000;
    const char *action = r->kind == EVENT_ALLOC ? "allocate" : r->kind == EVENT_OOM ? "allocate failure" : "free";
    fprintf(out, "0,%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64 ".%06" PRIu64 ",%s,", s / 3600, s / 60 % 60, s % 60,
            us % 1000000, action);
    if (r->kind == EVENT_OOM)
        fputs("(nil)", out);
    else
        fprintf(out, "0x%" PRIx64, r->ptr);
    fprintf(out, ",%" PRIu64 ",%" PRIx64 "\n", r->bytes, r->stream);
}

/* ---- minimalloc ---- */

static void minimalloc_begin(FILE *out, const struct trace_info *info)
{
    (void)info;
    fputs("id,lower,upper,size\n", out);
}

/* A life is written at its end; its times are numbers of events. */
static void minimalloc_life(FILE *out, const struct request *r, uint64_t upper)
{
    fprintf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", r->serial, r->born_number, upper, r->bytes);
}

static void minimalloc_put(FILE *out, const struct request *r, const struct trace_info *info)
{
    (void)info;
    if (r->kind == EVENT_FREE)
        minimalloc_life(out, r, r->number);
}

static void minimalloc_put_open(FILE *out, const struct request *r, const struct trace_info *info)
{
    minimalloc_life(out, r, info->events + 1);
}

/* ---- chrome ---- */

static void chrome_begin(FILE *out, const struct trace_info *info)
{
    (void)info;
    fputs("{\"schemaVersion\": 1, \"traceEvents\": [\n"
          "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 0, \"args\": {\"name\": \"replay\"}}", out);
}

static void chrome_put(FILE *out, const struct request *r, const struct trace_info *info)
{
    fprintf(out, ",\n{\"ph\": \"i\", \"s\": \"t\", \"name\": \"[memory]\", \"pid\": 0, \"tid\": 0, "
            "\"ts\": %" PRIu64 ".%03" PRIu64
            ", \"args\": {\"Device Type\": 1, \"Device Id\": %" PRIu32 ", \"Addr\": %" PRIu64 ", \"Bytes\": %s%" PRIu64
            ", \"Total Allocated\": %" PRIu64 ", \"Total Reserved\": 0}}", r->time_ns / 1000, r->time_ns % 1000,
            info->device, r->ptr, r->kind == EVENT_FREE ? "-" : "", r->bytes, r->live_bytes);
}

/* A step of the profiler's is read back as a mark; viewers show every mark. */
static void chrome_mark(FILE *out, uint64_t time_ns, const char *label)
{
    const struct json_writer w = json_writer(out);
    fputs(",\n{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": ", out);
    json_quote(&w, strcmp(label, "ProfilerStep") == 0 ? "ProfilerStep#0" : label);
    fprintf(out, ", \"pid\": 0, \"tid\": 0, \"ts\": %" PRIu64 ".%03" PRIu64 ", \"dur\": 0}", time_ns / 1000,
            time_ns % 1000);
}

static void chrome_end(FILE *out)
{
    fputs("\n]}\n", out);
}

static const struct request_format formats[] = {
    { .name = "csv", .begin = csv_begin, .put = csv_put,
      .holds = HOLDS(TIMES) | HOLDS(NANOSECONDS) | HOLDS(STREAMS) | HOLDS(REFUSED) },
    { .name = "minimalloc", .begin = minimalloc_begin, .put = minimalloc_put, .put_open = minimalloc_put_open,
      .holds = HOLDS(NANOSECONDS) },
    { .name = "rmm", .begin = rmm_begin, .put = rmm_put,
      .holds = HOLDS(TIMES) | HOLDS(STREAMS) | HOLDS(REFUSED) },
    { .name = "chrome", .begin = chrome_begin, .put = chrome_put, .mark = chrome_mark, .end = chrome_end,
      .holds = HOLDS(TIMES) | HOLDS(NANOSECONDS) | HOLDS(MARKS) },
};

const struct request_format *request_format_at(size_t i)
{
    return i < sizeof formats / sizeof formats[0] ? &formats[i] : NULL;
}

const struct request_format *request_format_find(const char *name)
{
    const struct request_format *f;
    for (size_t i = 0; (f = request_format_at(i)) != NULL; i++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

const char *request_format_name(const struct request_format *f)
{
    return f->name;
}

const char *request_loss_text(enum request_loss loss)
{
    static const char *const texts[] = {
#define LOSS(name, text) text,
        REQUEST_LOSSES(LOSS)
#undef LOSS
    };
    return texts[loss];
}

/* ---- the walk ---- */

struct exporter {
    struct trace_reader *in;
    const struct request_format *format;
    FILE    *out;
    uint64_t *lost;
    struct request *live;                    /* by slot; bytes 0: vacant */
    uint64_t next_serial, live_bytes, number;
};

static void put_alloc(struct exporter *x, uint32_t slot, struct request *r, uint64_t addr)
{
    r->kind = EVENT_ALLOC;
    r->serial = x->next_serial++;
    r->ptr = addr != 0 ? addr : r->serial + 1;
    r->born_number = r->number;
    r->live_bytes = x->live_bytes += r->bytes;
    x->live[slot] = *r;
    x->format->put(x->out, r, trace_info(x->in));
}

static void put_start(struct exporter *x)
{
    size_t n;
    const struct trace_block *blocks = trace_start_blocks(x->in, &n);
    for (size_t i = 0; i < n; i++) {
        const struct trace_block *b = &blocks[i];
        struct request r = { .bytes = b->requested, .stream = trace_streams(x->in)[b->stream].handle };
        if (b->slot == TRACE_NO_SLOT)
            continue;
        x->lost[REQUEST_LOSS_START]++;
        put_alloc(x, b->slot, &r, trace_info(x->in)->has_addresses ? b->addr : 0);
    }
}

static void put_free(struct exporter *x, const struct event *ev)
{
    struct request r = x->live[ev->slot];
    r.kind = EVENT_FREE;
    r.time_ns = ev->time_ns;
    r.number = x->number + 1;
    r.live_bytes = x->live_bytes -= r.bytes;
    x->live[ev->slot].bytes = 0;
    x->format->put(x->out, &r, trace_info(x->in));
}

/* What comes out at this event; event numbers are moved up by one, so that the start lies before them all. */
static enum err put_event(struct exporter *x, const struct event *ev, struct err_detail *err)
{
    struct trace_side side = { .addr = 0 };
    struct request r = { .kind = EVENT_OOM, .time_ns = ev->time_ns, .number = x->number + 1, .bytes = ev->bytes,
                         .stream = trace_streams(x->in)[ev->stream].handle, .live_bytes = x->live_bytes };
    x->lost[REQUEST_LOSS_STREAMS] += ev->kind == EVENT_ALLOC && ev->stream != 0;
    x->lost[REQUEST_LOSS_POOLS] += ev->kind == EVENT_ALLOC && ev->pool != 0;
    switch ((enum event_kind)ev->kind) {
    case EVENT_ALLOC:
        if (trace_info(x->in)->has_addresses || trace_info(x->in)->n_stacks > 0) {
            const enum err e = trace_side_at(x->in, x->number, &side, err);
            if (e != ERR_OK)
                return e;
        }
        x->lost[REQUEST_LOSS_STACKS] += side.stack != TRACE_NO_STACK;
        put_alloc(x, ev->slot, &r, side.addr);
        break;
    case EVENT_FREE:
    case EVENT_FREE_COMPLETED:
        put_free(x, ev);
        break;
    case EVENT_FREE_REQUESTED:
        x->lost[REQUEST_LOSS_PENDING]++;
        break;
    case EVENT_OOM:
        x->lost[REQUEST_LOSS_REFUSED]++;
        if ((x->format->holds & HOLDS(REFUSED)) != 0)
            x->format->put(x->out, &r, trace_info(x->in));
        break;
    case EVENT_MARK:
        x->lost[REQUEST_LOSS_MARKS]++;
        if (x->format->mark != NULL)
            x->format->mark(x->out, ev->time_ns, trace_label(x->in, ev->slot));
        break;
    case EVENT_FLUSH:
        x->lost[REQUEST_LOSS_FLUSHES]++;
        break;
    default:
        x->lost[REQUEST_LOSS_CONTROLS]++;
        break;
    }
    return ERR_OK;
}

static enum err put_events(struct exporter *x, struct err_detail *err)
{
    const struct event *events;
    size_t n = 1;
    enum err e = trace_seek(x->in, 0, err);
    while (e == ERR_OK && n > 0) {
        e = trace_next(x->in, &events, &n, err);
        for (size_t i = 0; e == ERR_OK && i < n; i++, x->number++)
            e = put_event(x, &events[i], err);
    }
    for (uint32_t s = 0; e == ERR_OK && x->format->put_open != NULL && s < trace_info(x->in)->peak_live; s++)
        if (x->live[s].bytes > 0) {
            x->lost[REQUEST_LOSS_OPEN]++;
            x->format->put_open(x->out, &x->live[s], trace_info(x->in));
        }
    return e;
}

enum err request_export(struct trace_reader *in, const struct request_format *format, FILE *out,
                        uint64_t lost[static REQUEST_LOSS_KINDS], struct err_detail *err)
{
    const struct trace_info *info = trace_info(in);
    struct exporter x = { .in = in, .format = format, .out = out, .lost = lost };
    memset(lost, 0, REQUEST_LOSS_KINDS * sizeof *lost);
    x.live = calloc((size_t)info->peak_live + 1, sizeof *x.live);
    if (x.live == NULL)
        return err_no_memory(err);
    format->begin(out, info);
    put_start(&x);
    const enum err e = put_events(&x, err);
    if (format->end != NULL)
        format->end(out);
    lost[REQUEST_LOSS_TIMES] = lost[REQUEST_LOSS_NANOSECONDS] = info->duration_ns > 0 ? info->events : 0;
    for (int k = 0; k < REQUEST_LOSS_KINDS; k++)
        lost[k] = (format->holds & 1u << k) != 0 ? 0 : lost[k];
    if (lost[REQUEST_LOSS_TIMES] > 0)
        lost[REQUEST_LOSS_NANOSECONDS] = 0;
    free(x.live);
    return e;
}
