/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Arrays, with and without mipmaps, and textures and surfaces of them.
 *
 * An array takes a segment of the card, as large as its elements are together. Nobody sees its address, so what is
 * copied into an array is not kept: it reads as zeros.
 */
#include "cudasim/core/state.h"

#include "capture/array_bytes.h"
#include "cudasim/core/values.h"

#include <stdlib.h>
#include <string.h>

struct cudasim_array {
    struct cudasim_handle handle;    /* first, so the two pointers convert */
    struct cudasim_array_facts facts;
    int      device;
    uint64_t bytes;                  /* 0: a level of a mipmapped array, which has the memory */
    struct segment segment;
    uint64_t levels[CUDASIM_LEVELS_MAX];     /* of a mipmapped one: their handles; 0: nobody asked for it yet */
};

static struct cudasim_array *array_get(uint64_t name, enum cudasim_handle_kind kind)
{
    return (struct cudasim_array *)cudasim_handle_get(name, kind);
}

/* The most elements in x, y and z, by dimensions and layers: cudaDeviceProp of all cards since compute capability 5. */
static bool is_extent_valid(const struct cudasim_array_facts *f)
{
    const uint64_t w = f->extent[0], h = f->extent[1], d = f->extent[2];
    if (w == 0)
        return false;
    if ((f->flags & (ARRAY_LAYERED | ARRAY_CUBEMAP)) != 0)
        return d >= 1 && d <= 2048 && w <= 32768 && h <= 32768;
    return d > 0 ? h > 0 && w <= 16384 && h <= 16384 && d <= 16384
         : h > 0 ? w <= 131072 && h <= 65536 : w <= 131072;
}

/* One, two or four channels of the same 8, 16 or 32 bits. */
static bool are_channels_valid(const struct cudasim_array_facts *f)
{
    const int bits = f->bits[0];
    int n = 0;
    while (n < 4 && f->bits[n] == bits)
        n++;
    for (int i = n; i < 4; i++)
        if (f->bits[i] != 0)
            return false;
    return (bits == 8 || bits == 16 || bits == 32) && n != 3;
}

uint64_t cudasim_element_bytes(const struct cudasim_array_facts *f)
{
    return (uint64_t)(f->bits[0] + f->bits[1] + f->bits[2] + f->bits[3]) / 8;
}

static enum cudasim_handle_kind kind_of(const struct cudasim_array_facts *f)
{
    return f->levels == 0 ? HANDLE_ARRAY : HANDLE_MIPMAPS;
}

static void array_note(enum call_kind kind, const struct cudasim_array *a)
{
    cudasim_note((struct call_record){ .kind = (uint8_t)kind, .space = CALL_SPACE_ARRAY, .device = (uint8_t)a->device,
                                       .addr = kind == CALL_OOM ? 0 : a->handle.name, .bytes = a->bytes });
}

enum cudasim_code cudasim_array_create(const struct cudasim_array_facts *f, uint64_t *array)
{
    if (array == NULL || !is_extent_valid(f) || f->levels > CUDASIM_LEVELS_MAX)
        return CODE_INVALID_VALUE;
    if (!are_channels_valid(f))
        return CODE_INVALID_CHANNELS;
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct cudasim_array *a = calloc(1, sizeof *a);
    if (a == NULL || !cudasim_handle_put(&a->handle, kind_of(f)))
        return cudasim_end(CODE_OUT_OF_MEMORY);
    a->facts = *f;
    a->device = cudasim_current_device();
    a->bytes = array_memory_bytes(cudasim_element_bytes(f), f->extent, f->flags, f->levels == 0 ? 1 : f->levels);
    const enum err e = device_segment_alloc(cudasim.devices[a->device].device, a->bytes, &a->segment);
    if (e != ERR_OK) {
        array_note(CALL_OOM, a);
        cudasim_handle_drop(&a->handle);
        return cudasim_end(cudasim_code_of(e));
    }
    *array = a->handle.name;
    array_note(CALL_ALLOC, a);
    return cudasim_end(CODE_SUCCESS);
}

static void array_give(struct cudasim_array *a)
{
    for (unsigned i = 0; i < a->facts.levels; i++)
        if (a->levels[i] != 0)
            cudasim_handle_drop(cudasim_handle_get(a->levels[i], HANDLE_ARRAY));
    array_note(CALL_FREE, a);
    device_segment_free(cudasim.devices[a->device].device, &a->segment);
    cudasim_handle_drop(&a->handle);
}

void cudasim_arrays_reset(int device)
{
    const struct address_extent *e;
    for (uint64_t name = 0; (e = address_map_from(&cudasim.handles, name)) != NULL;) {
        struct cudasim_handle *h = e->value;
        struct cudasim_array *a = (struct cudasim_array *)h;
        name = h->name + 1;
        if ((h->kind == HANDLE_ARRAY || h->kind == HANDLE_MIPMAPS) && a->device == device && a->bytes > 0)
            array_give(a);                           /* with its levels, which come after it */
    }
}

/* A level is no array of the program's: it goes with the one that it is of. */
enum cudasim_code cudasim_array_free(uint64_t array, bool has_levels)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct cudasim_array *a = array_get(array, has_levels ? HANDLE_MIPMAPS : HANDLE_ARRAY);
    if (a == NULL || a->bytes == 0)
        return cudasim_end(CODE_INVALID_VALUE);
    array_give(a);
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_array_facts(uint64_t array, struct cudasim_array_facts *out)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    const struct cudasim_array *a = array_get(array, HANDLE_ARRAY);
    if (a != NULL)
        *out = a->facts;
    return cudasim_end(a != NULL ? CODE_SUCCESS : CODE_INVALID_VALUE);
}

static uint64_t level_size(uint64_t size, unsigned level)
{
    return size == 0 ? 0 : size >> level == 0 ? 1 : size >> level;
}

static enum cudasim_code level_put(const struct cudasim_array *of, unsigned level, uint64_t *name)
{
    const bool has_layers = (of->facts.flags & (ARRAY_LAYERED | ARRAY_CUBEMAP)) != 0;
    struct cudasim_array *a = calloc(1, sizeof *a);
    if (a == NULL || !cudasim_handle_put(&a->handle, HANDLE_ARRAY))
        return CODE_OUT_OF_MEMORY;
    a->facts = of->facts;
    a->facts.levels = 0;
    a->device = of->device;
    for (int i = 0; i < 3; i++)
        a->facts.extent[i] = i == 2 && has_layers ? of->facts.extent[i] : level_size(of->facts.extent[i], level);
    *name = a->handle.name;
    return CODE_SUCCESS;
}

enum cudasim_code cudasim_array_level(uint64_t array, unsigned level, uint64_t *out)
{
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct cudasim_array *a = array_get(array, HANDLE_MIPMAPS);
    if (a == NULL || out == NULL || level >= a->facts.levels)
        return cudasim_end(CODE_INVALID_VALUE);
    code = a->levels[level] != 0 ? CODE_SUCCESS : level_put(a, level, &a->levels[level]);
    *out = a->levels[level];
    return cudasim_end(code);
}

/* ---- textures and surfaces ---- */

enum { RESOURCE_ARRAY, RESOURCE_MIPMAPS, RESOURCE_LINEAR, RESOURCE_PITCHED };        /* cudaResourceType */

static bool is_resource(int type, uint64_t value)
{
    return type == RESOURCE_ARRAY   ? array_get(value, HANDLE_ARRAY) != NULL
         : type == RESOURCE_MIPMAPS ? array_get(value, HANDLE_MIPMAPS) != NULL
         : type == RESOURCE_LINEAR || type == RESOURCE_PITCHED ? address_map_find(&cudasim.pointers, value) != NULL
                                                               : false;
}

enum cudasim_code cudasim_view_create(int resource, uint64_t value, uint64_t *view)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    if (view == NULL || !is_resource(resource, value))
        return cudasim_end(CODE_INVALID_VALUE);
    struct cudasim_handle *h = calloc(1, sizeof *h);
    if (h == NULL || !cudasim_handle_put(h, HANDLE_VIEW))
        return cudasim_end(CODE_OUT_OF_MEMORY);
    *view = h->name;
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_view_destroy(uint64_t view)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct cudasim_handle *h = cudasim_handle_get(view, HANDLE_VIEW);
    if (h != NULL)
        cudasim_handle_drop(h);
    return cudasim_end(h != NULL ? CODE_SUCCESS : CODE_INVALID_VALUE);
}

/* ---- copies ---- */

/* Whether a box of `width` bytes lies in an array. */
static bool is_box_within(uint64_t array, const struct cudasim_side *s, uint64_t width, uint64_t height, uint64_t depth)
{
    struct cudasim_array_facts f;
    if (cudasim_array_facts(array, &f) != CODE_SUCCESS)
        return false;
    const uint64_t sizes[] = { f.extent[0] * cudasim_element_bytes(&f), level_size(f.extent[1], 0),
                               level_size(f.extent[2], 0) };
    const uint64_t wanted[] = { width, height, depth };
    for (int i = 0; i < 3; i++) {
        const uint64_t size = sizes[i] == 0 ? 1 : sizes[i];
        if (s->at[i] > size || wanted[i] > size - s->at[i])
            return false;
    }
    return true;
}

static char *row_at(const struct cudasim_side *s, uint64_t z)
{
    return (char *)s->p + ((s->at[2] + z) * s->height + s->at[1]) * s->pitch + s->at[0];
}

/* Whether rows and layers come one after the other, and within their allocation as a whole. So their number is bounded
 * by its size. */
static enum cudasim_code check_linear(const struct cudasim_side *s, const uint64_t extent[3])
{
    const uint64_t width = extent[0], height = extent[1], last_layer = extent[2] - 1;
    uint64_t layer, before, rows, all;
    if (width > s->pitch && (height > 1 || last_layer > 0))
        return CODE_INVALID_PITCH;
    if (height > s->height && last_layer > 0)
        return CODE_INVALID_VALUE;
    const bool has_size = !__builtin_mul_overflow(s->pitch, s->height, &layer) &&
                          !__builtin_mul_overflow(layer, last_layer, &before) &&
                          !__builtin_mul_overflow(s->pitch, height - 1, &rows) &&
                          !__builtin_add_overflow(before, rows, &all) && !__builtin_add_overflow(all, width, &all);
    return has_size && cudasim_is_within((uintptr_t)row_at(s, 0), all) ? CODE_SUCCESS : CODE_INVALID_VALUE;
}

enum cudasim_code cudasim_set_3d(const struct cudasim_side *to, unsigned value, const uint64_t extent[3],
                                 uint64_t stream)
{
    if (extent[0] == 0 || extent[1] == 0 || extent[2] == 0)
        return CODE_SUCCESS;
    enum cudasim_code code = check_linear(to, extent) == CODE_SUCCESS ? CODE_SUCCESS : CODE_INVALID_VALUE;
    for (uint64_t z = 0; code == CODE_SUCCESS && z < extent[2]; z++)
        code = cudasim_set_2d((uintptr_t)row_at(to, z), to->pitch, value, 1, extent[0], extent[1], stream);
    return code;
}

/* Rows of linear memory on one side, an array on the other. What comes from an array is not known. */
static enum cudasim_code copy_layer(const struct cudasim_side *to, const struct cudasim_side *from, uint64_t z,
                                    uint64_t width, uint64_t height, uint64_t stream)
{
    const struct cudasim_side *linear = to->array != 0 ? from : to;
    char *row = row_at(linear, z);
    const struct cudasim_pointer p = cudasim_pointer((uintptr_t)row);
    cudasim_lock();
    const bool was_given = cudasim_was_given((uintptr_t)row);
    cudasim_unlock();
    if (p.kind != MEMORY_UNKNOWN || was_given)
        return linear == to ? cudasim_set_2d((uintptr_t)row, to->pitch, 0, 1, width, height, stream)
             : p.kind == MEMORY_UNKNOWN ? CODE_INVALID_VALUE : CODE_SUCCESS;
    for (uint64_t y = 0; linear == to && y < height; y++)
        memset(row + y * to->pitch, 0, width);
    return CODE_SUCCESS;
}

enum cudasim_code cudasim_copy_3d(const struct cudasim_side *to, const struct cudasim_side *from,
                                  const uint64_t extent[3], enum cudasim_direction d, uint64_t stream)
{
    const uint64_t width = extent[0], height = extent[1], depth = extent[2];
    enum cudasim_code code = CODE_SUCCESS;
    if ((to->array != 0 && !is_box_within(to->array, to, width, height, depth)) ||
        (from->array != 0 && !is_box_within(from->array, from, width, height, depth)))
        return CODE_INVALID_VALUE;
    if (to->array != 0 && from->array != 0)
        return cudasim_stream_work(stream, 0, NODE_COPY);
    if (width == 0 || height == 0 || depth == 0)
        return CODE_SUCCESS;
    const bool is_linear = to->array == 0 && from->array == 0;
    if (to->array == 0)
        code = check_linear(to, extent);
    if (code == CODE_SUCCESS && from->array == 0)
        code = check_linear(from, extent);
    for (uint64_t z = 0; code == CODE_SUCCESS && z < depth; z++)
        code = is_linear ? cudasim_copy_2d(row_at(to, z), to->pitch, row_at(from, z), from->pitch, width, height,
                                           d, stream)
             : copy_layer(to, from, z, width, height, stream);
    return code;
}
