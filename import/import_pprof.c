/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Heap profiles of pprof: what jax.profiler.save_device_memory_profile writes, and the heap profiles of Go, tcmalloc
 * and jemalloc (jeprof --raw is another format). A profile shows what is live at one moment, with call stacks, and
 * neither order nor times: every object becomes a request that is never freed.
 *
 *     Profile { sample_type, Sample { location ids, values, labels } ..., Location, Function, strings }
 *
 * What samples refer to comes after them, so the file is read twice: for the tables, then for the samples.
 * Source: google/pprof, proto/profile.proto; OpenXLA, xla/python/pprof_profile_builder.cc (labels "kind" and "device").
 */
#include "base/array.h"
#include "base/intern.h"
#include "base/units.h"
#include "import/import.h"
#include "import/live_objects.h"
#include "import/proto_fields.h"

#include <inttypes.h>
#include <pprof.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5, PROFILE_STRING = 6,
       VALUES_MAX = 16, DEVICES = 64, FRAMES_MAX = 256, FRAME_TEXT = 1024 };

/* Of ids and texts: numbers in `texts`. A location's frames are frames[first, first + n), innermost first.
 * `written`: as what frame, + 1; 0: not yet. */
struct pprof_function { uint32_t name, file; };
struct pprof_location { size_t first; uint32_t n; };
struct pprof_frame { uint64_t function; int64_t line; uint32_t written; };

struct pprof {
    const char *name;                        /* the file's */
    struct proto_fields walk;
    struct trace_writer *w;
    struct text_table texts;
    uint32_t *strings;                       /* by number in the profile: number in `texts` */
    size_t   n_strings, strings_room;
    struct pprof_function *functions;
    size_t   n_functions, functions_room;
    struct pprof_location *locations;
    size_t   n_locations, locations_room;
    struct pprof_frame *frames;
    size_t   n_frames, frames_room;
    struct pair_map function_of, location_of;        /* (id, 0) -> index */
    int64_t  types[VALUES_MAX], units[VALUES_MAX];   /* of each value: numbers of strings */
    size_t   n_values;
    size_t   count_at, bytes_at;                     /* which values are read */
    int64_t  device;                                 /* to take */
    uint64_t per_device[DEVICES];
    uint64_t n_samples, n_programs;
    struct live_objects objects;
};

/* ---- the first reading: the tables ---- */

static const char *string_at(const struct pprof *p, int64_t number)
{
    return number >= 0 && (uint64_t)number < p->n_strings ? text_table_at(&p->texts, p->strings[number]) : "";
}

static enum err keep_string(struct pprof *p, const unsigned char *bytes, size_t n, struct err_detail *err)
{
    uint32_t *strings = array_grow(p->strings, p->n_strings, &p->strings_room, sizeof *strings);
    if (strings == NULL)
        return err_no_memory(err);
    p->strings = strings;
    const unsigned char *zero = bytes == NULL ? NULL : memchr(bytes, '\0', n);
    const size_t length = bytes == NULL ? 0 : zero == NULL ? n : (size_t)(zero - bytes);
    const uint32_t id = text_table_put(&p->texts, length == 0 ? "" : (const char *)bytes, length);
    if (id == UINT32_MAX)
        return err_no_memory(err);
    strings[p->n_strings++] = id;
    return ERR_OK;
}

static enum err keep_type(struct pprof *p, const unsigned char *bytes, size_t n, struct err_detail *err)
{
    ProtobufCAllocator memory = proto_memory(&p->walk);
    ReplayProto__ValueType *t = replay_proto__value_type__unpack(&memory, n, bytes);
    if (t == NULL)
        return proto_undecoded(&p->walk, "a type of value does not decode", err);
    if (p->n_values < VALUES_MAX) {
        p->types[p->n_values] = t->type;
        p->units[p->n_values++] = t->unit;
    }
    replay_proto__value_type__free_unpacked(t, &memory);
    return ERR_OK;
}

/* Numbers an id; the first of two equal ones counts. */
static bool keep_id(struct pair_map *map, uint64_t id, size_t index)
{
    return pair_map_find(map, id, 0) != NULL || pair_map_add(map, id, 0, (uint32_t)index);
}

static enum err keep_function(struct pprof *p, const unsigned char *bytes, size_t n, struct err_detail *err)
{
    ProtobufCAllocator memory = proto_memory(&p->walk);
    ReplayProto__Function *f = replay_proto__function__unpack(&memory, n, bytes);
    if (f == NULL)
        return proto_undecoded(&p->walk, "a function does not decode", err);
    struct pprof_function *grown = array_grow(p->functions, p->n_functions, &p->functions_room, sizeof *grown);
    const bool is_kept = grown != NULL && keep_id(&p->function_of, f->id, p->n_functions);
    p->functions = grown != NULL ? grown : p->functions;
    if (is_kept)
        grown[p->n_functions++] = (struct pprof_function){ .name = f->name >= 0 ? (uint32_t)f->name : 0,
                                                           .file = f->filename >= 0 ? (uint32_t)f->filename : 0 };
    replay_proto__function__free_unpacked(f, &memory);
    return is_kept ? ERR_OK : err_no_memory(err);
}

static bool keep_frames(struct pprof *p, const ReplayProto__Location *l)
{
    struct pprof_location *locations = array_grow(p->locations, p->n_locations, &p->locations_room, sizeof *locations);
    if (locations == NULL)
        return false;
    p->locations = locations;
    if (l->n_line > 0) {
        struct pprof_frame *frames = array_reserve(p->frames, p->n_frames, l->n_line, &p->frames_room, sizeof *frames);
        if (frames == NULL)
            return false;
        p->frames = frames;
    }
    locations[p->n_locations] = (struct pprof_location){ .first = p->n_frames, .n = (uint32_t)l->n_line };
    for (size_t i = 0; i < l->n_line; i++)
        p->frames[p->n_frames++] = (struct pprof_frame){ .function = l->line[i]->function_id,
                                                         .line = l->line[i]->line };
    return keep_id(&p->location_of, l->id, p->n_locations++);
}

static enum err keep_location(struct pprof *p, const unsigned char *bytes, size_t n, struct err_detail *err)
{
    ProtobufCAllocator memory = proto_memory(&p->walk);
    ReplayProto__Location *l = replay_proto__location__unpack(&memory, n, bytes);
    if (l == NULL)
        return proto_undecoded(&p->walk, "a location does not decode", err);
    const bool is_kept = keep_frames(p, l);
    replay_proto__location__free_unpacked(l, &memory);
    return is_kept ? ERR_OK : err_no_memory(err);
}

static enum err keep_table(struct pprof *p, const struct proto_field *field, const unsigned char *bytes,
                           struct err_detail *err)
{
    const size_t n = (size_t)field->value;
    switch (field->number) {
    case PROFILE_SAMPLE_TYPE:
        return bytes == NULL ? ERR_OK : keep_type(p, bytes, n, err);
    case PROFILE_LOCATION:
        return bytes == NULL ? ERR_OK : keep_location(p, bytes, n, err);
    case PROFILE_FUNCTION:
        return bytes == NULL ? ERR_OK : keep_function(p, bytes, n, err);
    case PROFILE_STRING:
        return keep_string(p, bytes, n, err);
    default:
        return ERR_OK;
    }
}

/* ---- the second reading: samples ---- */

/* Writes the text of a frame once, however many samples share it; of an unknown function nothing is written. */
static enum err put_frame(struct pprof *p, struct pprof_frame *frame, struct err_detail *err)
{
    char text[FRAME_TEXT];
    uint32_t number;
    const uint32_t *f = frame->written != 0 ? NULL : pair_map_find(&p->function_of, frame->function, 0);
    if (f == NULL)
        return ERR_OK;
    const char *file = string_at(p, p->functions[*f].file);
    snprintf(text, sizeof text, "%.400s %.500s:%" PRIu32, string_at(p, p->functions[*f].name),
             file[0] != '\0' ? file : "??", frame->line > 0 ? (uint32_t)frame->line : 0);
    const enum err e = trace_put_frame(p->w, text, &number, err);
    if (e == ERR_OK)
        frame->written = number + 1;
    return e;
}

static enum err put_stack(struct pprof *p, const ReplayProto__Sample *s, uint32_t *stack, struct err_detail *err)
{
    uint32_t frames[FRAMES_MAX];
    size_t n = 0, n_seen = 0;
    enum err e = ERR_OK;
    for (size_t i = 0; i < s->n_location_id && n_seen < FRAMES_MAX; i++) {
        const uint32_t *at = pair_map_find(&p->location_of, s->location_id[i], 0);
        const struct pprof_location *l = at == NULL ? NULL : &p->locations[*at];
        for (uint32_t k = 0; l != NULL && k < l->n && n_seen < FRAMES_MAX && e == ERR_OK; k++, n_seen++) {
            struct pprof_frame *frame = &p->frames[l->first + k];
            e = put_frame(p, frame, err);
            if (frame->written != 0)
                frames[n++] = frame->written - 1;
        }
    }
    return e == ERR_OK && n > 0 ? trace_put_stack_of(p->w, frames, n, stack, err) : e;
}

/* The number at the end of a device's name, such as "cuda:0"; 0 without one, and of a text too long for a name. */
static int64_t device_number(const char *name)
{
    enum { DEVICE_NAME = 64 };
    const size_t n = strnlen(name, DEVICE_NAME);
    size_t first = n;
    while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9')
        first--;
    return n == DEVICE_NAME ? 0 : (int64_t)(strtoull(name + first, NULL, 10) % DEVICES);
}

/* The device that a label names; 0 without one. */
static int64_t device_of(const struct pprof *p, const ReplayProto__Sample *s, bool *is_program)
{
    int64_t device = 0;
    *is_program = false;
    for (size_t i = 0; i < s->n_label; i++) {
        const char *key = string_at(p, s->label[i]->key), *value = string_at(p, s->label[i]->str);
        if (strcmp(key, "kind") == 0)
            *is_program = strcmp(value, "executable") == 0;
        if (strcmp(key, "device") == 0)
            device = device_number(value);
    }
    return device;
}

static enum err put_sample(struct pprof *p, const ReplayProto__Sample *s, struct err_detail *err)
{
    bool is_program;
    const int64_t device = device_of(p, s, &is_program);
    const int64_t count = p->count_at < s->n_value ? s->value[p->count_at] : 1;
    const int64_t bytes = p->bytes_at < s->n_value ? s->value[p->bytes_at] : 0;
    uint32_t stack = TRACE_NO_STACK;
    p->n_samples++;
    p->n_programs += is_program;
    if (is_program || count <= 0 || bytes <= 0)
        return ERR_OK;
    p->per_device[device]++;
    if (p->device >= 0 && device != p->device)
        return ERR_OK;
    const enum err e = put_stack(p, s, &stack, err);
    return e != ERR_OK ? e : live_objects_put(&p->objects, p->walk.in, p->w, (uint64_t)count, (uint64_t)bytes,
                                              p->n_samples - 1, stack, err);
}

static enum err read_sample(struct pprof *p, const unsigned char *bytes, size_t n, struct err_detail *err)
{
    if (bytes == NULL)
        return ERR_OK;
    ProtobufCAllocator memory = proto_memory(&p->walk);
    ReplayProto__Sample *s = replay_proto__sample__unpack(&memory, n, bytes);
    if (s == NULL)
        return proto_undecoded(&p->walk, "a sample does not decode", err);
    const enum err e = put_sample(p, s, err);
    replay_proto__sample__free_unpacked(s, &memory);
    return e;
}

/* ---- both readings ---- */

static enum err read_profile(struct pprof *p, int fd, bool is_second, const struct import_config *cfg,
                             struct err_detail *err)
{
    struct input *in = NULL;
    struct proto_field field = { .number = 1 };
    const unsigned char *bytes;
    enum err e = input_open_whole(fd, p->name, &in, err);
    p->walk = (struct proto_fields){ .in = in };
    while (e == ERR_OK && field.number != 0) {
        e = proto_next(&p->walk, &field, err);
        if (e != ERR_OK || !field.is_message)
            continue;
        e = proto_take(&p->walk, &field, &bytes, err);
        if (e == ERR_OK && !is_second)
            e = keep_table(p, &field, bytes, err);
        else if (e == ERR_OK && field.number == PROFILE_SAMPLE)
            e = read_sample(p, bytes, (size_t)field.value, err);
        if (cfg->progress != NULL)
            cfg->progress(cfg->progress_arg, input_raw_offset(in), input_raw_size(in));
    }
    input_close(in);
    return e;
}

/* The values to read: what is in use, of a profile that also has what was ever requested; else the last bytes. */
static enum err choose_values(struct pprof *p, struct err_detail *err)
{
    p->bytes_at = p->count_at = VALUES_MAX;
    for (size_t i = 0; i < p->n_values; i++)
        if (strcmp(string_at(p, p->units[i]), "bytes") == 0)
            p->bytes_at = i;
    for (size_t i = 0; i < p->n_values; i++)
        if (strcmp(string_at(p, p->types[i]), "inuse_space") == 0)
            p->bytes_at = i;
    if (p->bytes_at == VALUES_MAX)
        return err_at(err, ERR_UNSUPPORTED, 0, p->name, "is a profile of %s, not of memory",
                      p->n_values > 0 ? string_at(p, p->types[p->n_values - 1]) : "nothing");
    if (p->bytes_at > 0 && strcmp(string_at(p, p->units[p->bytes_at - 1]), "count") == 0)
        p->count_at = p->bytes_at - 1;
    return trace_put_meta(p->w, "source", importer_pprof.name, err);
}

static enum err check_device(const struct pprof *p, struct err_detail *err)
{
    size_t n_devices = 0;
    uint64_t n = 0;
    for (int64_t d = 0; d < DEVICES; d++) {
        n_devices += p->per_device[d] > 0;
        n += p->device < 0 || d == p->device ? p->per_device[d] : 0;
    }
    if (n == 0)
        return err_at(err, ERR_UNSUPPORTED, 0, p->name, "shows no live memory%s",
                      n_devices > 0 ? " of that device; choose another with --gpu" : "");
    if (p->device < 0 && n_devices > 1)
        return err_at(err, ERR_USAGE, 0, p->name, "shows %zu devices; choose one with --gpu", n_devices);
    return ERR_OK;
}

static enum err put_notes(const struct pprof *p, struct err_detail *err)
{
    char notes[512];
    size_t n = (size_t)snprintf(notes, sizeof notes, "shows what is live at one moment; not recorded: order, times, "
                                "frees, addresses, streams");
    if (p->objects.n_together > 0)
        n += (size_t)snprintf(notes + n, sizeof notes - n, "\n" LIVE_OBJECTS_TOGETHER ": %" PRIu64,
                              p->objects.n_together);
    if (p->n_programs > 0)
        snprintf(notes + n, sizeof notes - n, "\ncompiled programs, left out: %" PRIu64, p->n_programs);
    return trace_put_meta(p->w, "notes", notes, err);
}

static enum err write_trace(struct pprof *p, int fd, const struct import_config *cfg, struct err_detail *err)
{
    enum err e = choose_values(p, err);
    if (e == ERR_OK)
        e = trace_put_meta(p->w, TRACE_META_BEGINS, TRACE_CUT, err);
    if (e == ERR_OK)
        e = read_profile(p, fd, true, cfg, err);
    if (e == ERR_OK)
        e = check_device(p, err);
    trace_writer_info(p->w)->records = p->n_samples;
    trace_writer_info(p->w)->device = p->device < 0 ? 0 : (uint32_t)p->device;
    return e == ERR_OK ? put_notes(p, err) : e;
}

static enum err pprof_import(struct input *in, const struct import_config *cfg, struct trace_writer *w,
                             struct err_detail *err)
{
    struct pprof p = { .name = input_name(in), .w = w, .device = cfg->gpu,
                       .objects.n_free = input_free_bytes(in) / LIVE_OBJECTS_FREE_BYTES };
    int fd = -1;
    p.function_of.seed = p.location_of.seed = p.texts.seed = hash_seed();
    enum err e = input_whole_file(in, &fd, err);
    if (e == ERR_OK)
        e = read_profile(&p, fd, false, cfg, err);
    if (e == ERR_OK)
        e = write_trace(&p, fd, cfg, err);
    if (fd >= 0)
        close(fd);
    pair_map_free(&p.function_of);
    pair_map_free(&p.location_of);
    text_table_free(&p.texts);
    free(p.strings);
    free(p.functions);
    free(p.locations);
    free(p.frames);
    return e;
}

/* A profile begins with a type of value: two small numbers at most. */
static bool pprof_sniff(const unsigned char *head, size_t n)
{
    enum { TYPE_MAX = 22 };
    if (n < 8 || head[0] != (PROFILE_SAMPLE_TYPE << 3 | 2) || head[1] > TYPE_MAX || (size_t)head[1] + 3 > n)
        return false;
    const unsigned char next = head[2 + head[1]];
    return (head[1] == 0 || head[2] == 0x08 || head[2] == 0x10) && (next & 7) == 2 && next >> 3 >= 1 && next >> 3 <= 6;
}

const struct importer importer_pprof = {
    .name = "pprof",
    .summary = "a heap profile of pprof: JAX's device memory profile, Go, tcmalloc (what is live at one moment)",
    .sniff = pprof_sniff,
    .import = pprof_import,
};
