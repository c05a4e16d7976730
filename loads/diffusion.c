/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Pictures by latent diffusion: a denoiser shaped like a U runs for some steps on a small latent, then a decoder makes
 * the picture of eight times its side. Sizes of pictures differ, as people ask for them.
 *
 * It is built of the layers that other loads are compared in; as a whole it was not compared with a program. cuDNN's
 * workspaces are not in it.
 */
#include "loads/kinds.h"

#include "base/random.h"
#include "loads/training.h"

#include <inttypes.h>
#include <stdio.h>

enum diffusion_option { PICTURES, STEPS, CHANNELS, LEVELS, IMAGE, BATCH, CARD };
enum { LEVELS_MAX = 5, KERNEL = 9, LATENT_CHANNELS = 4, LATENT_SIDE = 8, DECODER_LEVELS = 3, DECODER_CHANNELS = 128,
       ELEMENT_BYTES = 2, HEAD_WIDTH = 64, COLORS = 3 };

static const struct load_option diffusion_options[] = {
    [PICTURES] = {"pictures", LOAD_NUMBER, 1, 10000, "4", NULL, "one after the other, their sides drawn by the seed"},
    [STEPS] = {"steps", LOAD_NUMBER, 1, 1000, "8", NULL, "of the denoiser, for a picture"},
    [CHANNELS] = {"channels", LOAD_NUMBER, 64, 4096, "320", NULL, "of the first level; each next one has twice"},
    [LEVELS] = {"levels", LOAD_NUMBER, 1, LEVELS_MAX, "3", NULL, "of the U, each with half the side"},
    [IMAGE] = {"image", LOAD_NUMBER, 128, 4096, "768", NULL, "pixels of the longest side"},
    [BATCH] = {"batch", LOAD_NUMBER, 1, 256, "1", NULL, "pictures at once; guidance doubles it in the denoiser"},
    [CARD] = {"card", LOAD_TEXT, 0, 0, "a100-40g", NULL, "cuBLAS's workspace follows it"},
    {.name = NULL},
};

/* Norm, bend, convolve, twice; then what comes in is added. */
struct resnet { struct value norm1[2], norm2[2], first, second, shortcut; uint64_t n_in, n_out; };
struct mixer { struct value norm[2], qkv, out, up, down; uint64_t n; };
struct level { struct resnet down, up; struct mixer mixer; };

struct diffusion {
    struct training base;                    /* tape and card; nothing is trained */
    struct level  levels[LEVELS_MAX];
    struct resnet decoder[DECODER_LEVELS + 1];
    struct value  first, last, colors;
    uint64_t n_levels, channels, batch, width, height;       /* batch, and sides of the latent, of what runs now */
};

static struct layers *layers_of(struct diffusion *d)
{
    return &d->base.layers;
}

static struct value parameter(struct diffusion *d, uint64_t count)
{
    return tape_parameter(layers_of(d)->tape, count, false);
}

static struct resnet resnet_make(struct diffusion *d, uint64_t n_in, uint64_t n_out)
{
    return (struct resnet){
        .norm1 = {parameter(d, n_in), parameter(d, n_in)}, .first = parameter(d, n_in * n_out * KERNEL),
        .norm2 = {parameter(d, n_out), parameter(d, n_out)}, .second = parameter(d, n_out * n_out * KERNEL),
        .shortcut = parameter(d, n_in * n_out), .n_in = n_in, .n_out = n_out};
}

static struct mixer mixer_make(struct diffusion *d, uint64_t n)
{
    return (struct mixer){.norm = {parameter(d, n), parameter(d, n)}, .qkv = parameter(d, 3 * n * n),
                          .out = parameter(d, n * n), .up = parameter(d, 8 * n * n), .down = parameter(d, 4 * n * n),
                          .n = n};
}

static void diffusion_place(struct diffusion *d)
{
    d->first = parameter(d, LATENT_CHANNELS * d->channels * KERNEL);
    for (uint64_t i = 0; i < d->n_levels; i++) {
        const uint64_t n = d->channels << i, n_before = i == 0 ? n : n / 2;
        d->levels[i].down = resnet_make(d, n_before, n);
        d->levels[i].mixer = mixer_make(d, n);
        d->levels[i].up = resnet_make(d, 2 * n, n_before);
    }
    d->last = parameter(d, LATENT_CHANNELS * d->channels * KERNEL);
    uint64_t n_in = LATENT_CHANNELS;
    for (unsigned i = 0; i <= DECODER_LEVELS; i++) {
        const uint64_t n_out = (uint64_t)DECODER_CHANNELS << (DECODER_LEVELS - i < 2 ? DECODER_LEVELS - i : 2);
        d->decoder[i] = resnet_make(d, n_in, n_out);
        n_in = n_out;
    }
    d->colors = parameter(d, n_in * COLORS * KERNEL);
    tape_place_parameters(layers_of(d)->tape);
}

/* ---- parts of the U ---- */

/* `after` in place of `before`, whose reference goes. */
static struct value turn(struct diffusion *d, struct value before, struct value after)
{
    tape_drop(layers_of(d)->tape, before.storage);
    return after;
}

/* A resnet at `side_pixels` pixels. The reference of `x` stays the caller's. */
static struct value resnet_run(struct diffusion *d, const struct resnet *r, struct value x, uint64_t pixels)
{
    struct layers *l = layers_of(d);
    const uint64_t n_out = d->batch * r->n_out * pixels;
    struct value y = layers_norm(l, x, r->norm1[0], r->norm1[1]);
    y = turn(d, y, layers_relu(l, y));
    y = turn(d, y, layers_convolution(l, y, r->first, n_out));
    y = turn(d, y, layers_norm(l, y, r->norm2[0], r->norm2[1]));
    y = turn(d, y, layers_relu(l, y));
    y = turn(d, y, layers_convolution(l, y, r->second, n_out));
    if (r->n_in == r->n_out)
        return turn(d, y, layers_add(l, y, x));
    const struct value shortcut = layers_convolution(l, x, r->shortcut, n_out);
    return turn(d, shortcut, turn(d, y, layers_add(l, y, shortcut)));
}

/* Attention among the pixels, and a feed-forward layer; both add to what comes in, whose reference goes. */
static struct value mixer_run(struct diffusion *d, const struct mixer *m, struct value x, uint64_t pixels)
{
    struct layers *l = layers_of(d);
    const struct value none = {.storage = TAPE_NONE, .node = TAPE_NONE};
    const uint64_t n_rows = d->batch * pixels;
    const struct layers_heads heads = {.batch = d->batch, .length = pixels, .n = m->n / HEAD_WIDTH,
                                       .width = HEAD_WIDTH};
    struct value y = layers_norm(l, x, m->norm[0], m->norm[1]);
    y = turn(d, y, layers_linear(l, y, m->qkv, none, n_rows, 3 * m->n));
    struct value mixed = x;
    mixed.storage = layers_flash_attention(l, &heads, 0, x);
    y = turn(d, y, mixed);
    y = turn(d, y, layers_linear(l, y, m->out, none, n_rows, m->n));
    x = turn(d, x, layers_add(l, x, y));
    y = turn(d, y, layers_linear(l, x, m->up, none, n_rows, 8 * m->n));
    struct value gated = y;
    gated.count = y.count / 2;
    gated.storage = layers_new(l, gated.count, y);
    y = turn(d, y, gated);
    y = turn(d, y, layers_linear(l, y, m->down, none, n_rows, m->n));
    x = turn(d, x, layers_add(l, x, y));
    tape_drop(l->tape, y.storage);
    return x;
}

static uint64_t pixels_at(const struct diffusion *d, uint64_t level)
{
    const uint64_t width = d->width >> level, height = d->height >> level;
    return (width > 0 ? width : 1) * (height > 0 ? height : 1);
}

/* `x` beside what the same level gave on the way down; both references go. */
static struct value join(struct diffusion *d, struct value x, struct value skip, uint64_t count)
{
    struct value joined = x;
    joined.count = count + skip.count;
    joined.storage = layers_new(layers_of(d), joined.count, x);
    tape_drop(layers_of(d)->tape, skip.storage);
    return turn(d, x, joined);
}

static struct value denoise(struct diffusion *d, struct value latent)
{
    struct layers *l = layers_of(d);
    struct value skips[LEVELS_MAX];
    struct value x = layers_convolution(l, latent, d->first, d->batch * d->channels * pixels_at(d, 0));
    for (uint64_t i = 0; i < d->n_levels; i++) {
        x = turn(d, x, resnet_run(d, &d->levels[i].down, x, pixels_at(d, i)));
        x = mixer_run(d, &d->levels[i].mixer, x, pixels_at(d, i));
        tape_keep(l->tape, x.storage);
        skips[i] = x;
        if (i + 1 < d->n_levels)
            x = turn(d, x, layers_convolution(l, x, d->levels[i].down.second,
                                              d->batch * d->levels[i].down.n_out * pixels_at(d, i + 1)));
    }
    for (uint64_t i = d->n_levels; i-- > 0;) {
        x = join(d, x, skips[i], d->batch * d->levels[i].down.n_out * pixels_at(d, i));
        x = turn(d, x, resnet_run(d, &d->levels[i].up, x, pixels_at(d, i)));
    }
    return turn(d, x, layers_convolution(l, x, d->last, latent.count));
}

/* Each level has twice the side of the last. */
static void decode(struct diffusion *d, struct value latent)
{
    struct layers *l = layers_of(d);
    tape_keep(l->tape, latent.storage);
    struct value x = latent;
    uint64_t pixels = d->width * d->height;
    for (unsigned i = 0; i <= DECODER_LEVELS; i++) {
        x = turn(d, x, resnet_run(d, &d->decoder[i], x, pixels));
        if (i == DECODER_LEVELS)
            break;
        pixels *= 4;
        struct value wide = x;
        wide.count = 4 * x.count;
        wide.storage = layers_new(l, wide.count, x);
        x = turn(d, x, wide);
    }
    x = turn(d, x, layers_convolution(l, x, d->colors, d->batch * COLORS * pixels));
    tape_drop(l->tape, x.storage);
}

/* ---- the load ---- */

/* A side in steps of 64 pixels, from half the longest on, in pixels of the latent. */
static uint64_t draw_side(uint64_t *random, uint64_t image)
{
    enum { GRAIN = 64 };
    const uint64_t most = image / GRAIN, least = (most + 1) / 2;
    return (least + random_next(random) % (most - least + 1)) * GRAIN / LATENT_SIDE;
}

static void picture_make(struct diffusion *d, const struct load_value *v, uint64_t *random, uint64_t i)
{
    struct layers *l = layers_of(d);
    char label[32];
    snprintf(label, sizeof label, "picture %" PRIu64, i + 1);
    tape_mark(l->tape, label);
    d->width = draw_side(random, v[IMAGE].number);
    d->height = draw_side(random, v[IMAGE].number);
    const uint64_t count = v[BATCH].number * LATENT_CHANNELS * d->width * d->height;
    struct value latent = {.node = TAPE_NONE, .count = count, .element_bytes = ELEMENT_BYTES};
    latent.storage = layers_new(l, count, latent);
    for (uint64_t step = 0; step < v[STEPS].number; step++) {
        struct value twice = latent;
        d->batch = 2 * v[BATCH].number;
        twice.count = 2 * count;
        twice.storage = layers_new(l, twice.count, latent);
        const struct value noise = denoise(d, twice);
        tape_drop(l->tape, twice.storage);
        struct value next = latent;
        next.storage = layers_new(l, count, latent);
        tape_drop(l->tape, noise.storage);
        latent = turn(d, latent, next);
    }
    d->batch = v[BATCH].number;
    decode(d, latent);
    tape_drop(l->tape, latent.storage);
}

static enum err diffusion_make(const struct load_request *r, struct trace_writer *w, struct err_detail *err)
{
    const struct load_value *v = r->values;
    struct diffusion d = {.n_levels = v[LEVELS].number, .channels = v[CHANNELS].number};
    uint64_t random = r->seed;
    const enum err e = training_open(&d.base, w, v[CARD].text, ELEMENT_BYTES, TRAINING_SGD, err);
    if (e != ERR_OK)
        return e;
    diffusion_place(&d);
    for (uint64_t i = 0; i < v[PICTURES].number; i++)
        picture_make(&d, v, &random, i);
    return training_close(&d.base);
}

const struct load_kind load_diffusion = {
    .name = "diffusion",
    .typed = "diffusion:...",
    .summary = "pictures by latent diffusion, of sizes that differ: a denoiser for some steps, then a decoder",
    .options = diffusion_options,
    .make = diffusion_make,
};
