/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A heap of the live requests, the next end on top; of equal ends the older request goes first. */
#include "loads/schedule.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { SCHEDULE_STEP_NS = 1000 };

struct live { uint64_t death, ptr; };

struct schedule {
    struct trace_writer *w;
    struct live *heap;
    size_t n, room;
    uint64_t next_ptr;
};

enum err schedule_open(struct trace_writer *w, struct schedule **out, struct err_detail *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return err_no_memory(err);
    (*out)->w = w;
    return ERR_OK;
}

static bool is_sooner(const struct live *a, const struct live *b)
{
    return a->death != b->death ? a->death < b->death : a->ptr < b->ptr;
}

static void heap_swap(struct live *heap, size_t i, size_t k)
{
    const struct live kept = heap[i];
    heap[i] = heap[k];
    heap[k] = kept;
}

static void heap_rise(struct live *heap, size_t i)
{
    for (; i > 0 && is_sooner(&heap[i], &heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap_swap(heap, i, (i - 1) / 2);
}

static void heap_sink(struct live *heap, size_t n)
{
    for (size_t i = 0, child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && is_sooner(&heap[child + 1], &heap[child]);
        if (!is_sooner(&heap[child], &heap[i]))
            return;
        heap_swap(heap, i, child);
    }
}

static enum err schedule_free_due(struct schedule *s, uint64_t time, struct err_detail *err)
{
    enum err e = ERR_OK;
    while (e == ERR_OK && s->n > 0 && s->heap[0].death <= time) {
        const struct trace_record r = {.kind = EVENT_FREE, .ptr = s->heap[0].ptr, .record = TRACE_NO_RECORD,
                                       .time_ns = s->heap[0].death * SCHEDULE_STEP_NS};
        e = trace_put(s->w, &r, err);
        s->heap[0] = s->heap[--s->n];
        heap_sink(s->heap, s->n);
    }
    return e;
}

enum err schedule_put(struct schedule *s, const struct planned_request *r, struct err_detail *err)
{
    enum err e = schedule_free_due(s, r->birth, err);
    if (e != ERR_OK)
        return e;
    struct live *heap = array_grow(s->heap, s->n, &s->room, sizeof *heap);
    if (heap == NULL)
        return err_no_memory(err);
    s->heap = heap;
    heap[s->n] = (struct live){.death = r->death, .ptr = ++s->next_ptr};
    heap_rise(heap, s->n++);
    const struct trace_record record = {.kind = EVENT_ALLOC, .ptr = s->next_ptr, .bytes = r->bytes, .stream = r->stream,
                                        .pool = {0, r->pool}, .time_ns = r->birth * SCHEDULE_STEP_NS,
                                        .record = TRACE_NO_RECORD};
    return trace_put(s->w, &record, err);
}

enum err schedule_mark(struct schedule *s, uint64_t time, const char *label, struct err_detail *err)
{
    struct trace_record r = {.kind = EVENT_MARK, .time_ns = time * SCHEDULE_STEP_NS, .record = TRACE_NO_RECORD};
    enum err e = schedule_free_due(s, time, err);
    if (e == ERR_OK)
        e = trace_put_label(s->w, label, strlen(label), &r.label, err);
    return e == ERR_OK ? trace_put(s->w, &r, err) : e;
}

enum err schedule_close(struct schedule *s, enum err e, uint64_t end, struct err_detail *err)
{
    if (e == ERR_OK)
        e = schedule_free_due(s, end, err);
    if (s != NULL)
        free(s->heap);
    free(s);
    return e;
}
