/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Stacks are folded, and frames are read once each. */
#include "replay/export/held_profile.h"

#include "base/intern.h"
#include "base/shown.h"
#include "report/text/json_writer.h"
#include "traces/stack_frame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STACK_TEXT = 4096 };

/* The frames of a request's stack, innermost first; a request without one has a frame that says so. */
static size_t frames_of(struct trace_reader *trace, const struct holding *h, const char *const **frames)
{
    static const char *const before[] = { "(before the recording)" }, *const none[] = { "(no stack recorded)" };
    const size_t n = h->stack == TRACE_NO_STACK ? 0 : trace_stack(trace, h->stack, frames);
    if (n == 0)
        *frames = h->born < 0 ? before : none;
    return n == 0 ? 1 : n;
}

/* What is held, each stack once with the bytes of all its requests: a profile is as long as its stacks, however many
 * requests share one. */
static enum err stacks_of(const struct trace_reader *trace, const struct holdings *held, struct holdings *out,
                          struct err_detail *err)
{
    const uint32_t n_stacks = trace_info(trace)->n_stacks;
    size_t *place_of = calloc((size_t)n_stacks + 2, sizeof *place_of);    /* + 1; the last: from before the recording */
    *out = (struct holdings){ .at = calloc(held->n + 1, sizeof *out->at) };
    if (place_of == NULL || out->at == NULL) {
        free(place_of);
        return err_no_memory(err);
    }
    for (size_t i = 0; i < held->n; i++) {
        const struct holding *h = &held->at[i];
        size_t *place = &place_of[h->born < 0 ? n_stacks + 1 : h->stack];
        if (*place == 0) {
            out->at[out->n] = *h;
            *place = ++out->n;
        } else {
            out->at[*place - 1].bytes += h->bytes;
        }
    }
    free(place_of);
    return ERR_OK;
}

/* Frames as people read them. A trace lends equal frames as one text, so each is read once, by its address, however
 * many stacks it is part of. Zero is valid. */
struct shown_frames {
    struct pair_map   number;        /* (address of the frame, 0) -> number of its text */
    struct text_table texts;
};

static void shown_frames_free(struct shown_frames *f)
{
    pair_map_free(&f->number);
    text_table_free(&f->texts);
}

/* The number of a frame's text; UINT32_MAX without memory. */
static uint32_t shown_frame(struct shown_frames *f, const char *frame)
{
    char text[STACK_TEXT];
    const uint32_t *known = pair_map_find(&f->number, (uintptr_t)frame, 0);
    if (known != NULL)
        return *known;
    stack_frame_show(frame, text, sizeof text);
    const uint32_t id = text_table_put(&f->texts, text, strlen(text));
    return id == UINT32_MAX || !pair_map_add(&f->number, (uintptr_t)frame, 0, id) ? UINT32_MAX : id;
}

/* The frames of all that is held. ERR_HOST_NOMEM. */
static enum err shown_frames_read(struct trace_reader *trace, const struct holdings *held, struct shown_frames *f,
                                  struct err_detail *err)
{
    const char *const *frames;
    for (size_t i = 0; i < held->n; i++)
        for (size_t n = frames_of(trace, &held->at[i], &frames), k = 0; k < n; k++)
            if (shown_frame(f, frames[k]) == UINT32_MAX)
                return err_no_memory(err);
    return ERR_OK;
}

/* Cleans each text where it lies: it gets no longer. Semicolons part frames, so those of a C++ name become commas. */
static void clean_folded(struct shown_frames *f)
{
    for (uint32_t i = 0; i < f->texts.n; i++) {
        char *text = f->texts.text + f->texts.start[i];
        shown_clean(text, false);
        for (char *c = text; (c = strchr(c, ';')) != NULL;)
            *c = ',';
    }
}

static void write_folded(struct trace_reader *trace, const struct holdings *held, struct shown_frames *f, FILE *out)
{
    const char *const *frames;
    clean_folded(f);
    for (size_t i = 0; i < held->n; i++) {
        for (size_t n = frames_of(trace, &held->at[i], &frames), k = n; k-- > 0;) {
            fputs(text_table_at(&f->texts, shown_frame(f, frames[k])), out);
            putc(k > 0 ? ';' : ' ', out);
        }
        fprintf(out, "%" PRIu64 "\n", held->at[i].bytes);
    }
}

static void write_frames(struct json_writer *j, const struct text_table *texts)
{
    json_put_object(j, "shared");
    json_put_array(j, "frames");
    for (uint32_t i = 0; i < texts->n; i++) {
        json_put_object(j, NULL);
        json_put_text(j, "name", text_table_at(texts, i));
        json_end_object(j);
    }
    json_end_array(j);
    json_end_object(j);
}

/* Every frame once; samples hold their numbers, outermost first. */
static void write_speedscope(struct trace_reader *trace, const struct holdings *held, struct shown_frames *f,
                             uint64_t bytes, FILE *out)
{
    struct json_writer j = json_writer(out);
    const char *const *frames;
    j.is_compact = true;
    json_put_object(&j, NULL);
    json_put_text(&j, "$schema", "https://www.speedscope.app/file-format-schema.json");
    write_frames(&j, &f->texts);
    json_put_array(&j, "profiles");
    json_put_object(&j, NULL);
    json_put_text(&j, "type", "sampled");
    json_put_text(&j, "name", "live memory");
    json_put_text(&j, "unit", "bytes");
    json_put_number(&j, "startValue", 0);
    json_put_number(&j, "endValue", bytes);
    json_put_array(&j, "samples");
    for (size_t i = 0; i < held->n; i++) {
        json_put_array(&j, NULL);
        for (size_t k = frames_of(trace, &held->at[i], &frames); k-- > 0;)
            json_put_number(&j, NULL, shown_frame(f, frames[k]));
        json_end_array(&j);
    }
    json_end_array(&j);
    json_put_array(&j, "weights");
    for (size_t i = 0; i < held->n; i++)
        json_put_number(&j, NULL, held->at[i].bytes);
    json_end_array(&j);
    json_end_object(&j);
    json_end_array(&j);
    json_end_object(&j);
}

/* The speedscope first: its texts are as they were recorded. */
enum err held_profile_write(struct trace_reader *trace, const struct holdings *held, FILE *folded, FILE *speedscope,
                            struct err_detail *err)
{
    struct holdings stacks = { .n = 0 };
    struct shown_frames f = { .number = { .n = 0 } };
    enum err e = stacks_of(trace, held, &stacks, err);
    if (e == ERR_OK)
        e = shown_frames_read(trace, &stacks, &f, err);
    if (e == ERR_OK && speedscope != NULL)
        write_speedscope(trace, &stacks, &f, held->bytes, speedscope);
    if (e == ERR_OK && folded != NULL)
        write_folded(trace, &stacks, &f, folded);
    shown_frames_free(&f);
    holdings_close(&stacks);
    return e;
}
