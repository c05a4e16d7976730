/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Rules for the workspaces of cuDNN's convolutions.
 *
 * What the answers show: cuDNN's fast kernels want channels last, and as many of them as fit 16 bytes. A tensor that is
 * not so is copied: the workspace holds the input, the weights, the output, or some of them, padded. Small convolutions
 * are done by kernels that take any layout. The gradient of the weights is summed in parts, each in fp32, so that all
 * multiprocessors have work: the parts lie in the workspace as well. How many there are was found for a few kinds only.
 */
#include "cudasim/standins/convolution_sizes.h"

#include "base/units.h"

/* Thresholds between kernels, as read off the answers. */
enum {
    FEW_PRODUCTS = 512,              /* fp32: of one output */
    FEW_PRODUCTS_HALF = 128,
    FEW_CHANNELS = 16,
    PATCH = 16,                      /* 4x4 */
    LARGE_KERNEL = 49,               /* 7x7 */
    LARGE_IMAGE = 112 * 112,
    SMALL_TENSORS = 240000,          /* bytes of all three */
    LONG_SUM = 22500,                /* elements that are summed up for one weight */
    SHORT_SUM = 3400, NARROW = 80,   /* channels or filters */
};
#define LITTLE_WORK_INPUT   104000000            /* multiplications */
#define LITTLE_WORK_WEIGHTS 256000000

#define PARTS_BYTES (4 * MIB)        /* of sums in parts, fp32; half as much of the others: the middle of the answers */
#define MOST_PARTS_BYTES (9 * MIB)   /* 132 multiprocessors with 64 KiB each, and a little */
enum { REST_BYTES = 16, NOTE_BYTES = 512 };      /* after copies; without any, at most */
enum { MOST_PARTS = 16, MOST_PARTS_LARGE = 32, LARGER_KERNEL = 25 };

/* Of 1x1 convolutions. */
enum { SMALL_IMAGE = 256, HALF_SUMS_OF_COPIES = 7, THIN = 32, THINNEST = 16 };
#define LITTLE_WORK_THIN 700000000

/* Of convolutions by Fourier transforms. */
enum { TILE_AREA = 32 * 17, COMPLEX_BYTES = 8 };

/* Bytes of the three tensors as a fast kernel wants them. The input of a forward pass in fp32 is copied as it is. */
struct copies {
    uint64_t input, weights, output;
    bool     is_input_padded, is_output_padded;
};

static uint64_t padded(uint64_t channels, unsigned element_bytes)
{
    const uint64_t unit = element_bytes < 16 ? 16 / element_bytes : 1;
    return divide_up(channels, unit) * unit;
}

static struct copies copies_of(const struct convolution_shape *s)
{
    const bool is_input_as_it_is = s->pass == CONVOLUTION_FORWARD && s->element_bytes == 4;
    const uint64_t channels = is_input_as_it_is ? s->channels : padded(s->channels, s->element_bytes);
    const uint64_t filters = padded(s->filters, s->element_bytes);
    return (struct copies){
        .input = s->batch * channels * s->input_area * s->element_bytes,
        .weights = filters * channels * s->kernel_area * s->element_bytes,
        .output = s->batch * filters * s->output_area * s->element_bytes,
        .is_input_padded = channels != s->channels,
        .is_output_padded = filters != s->filters,
    };
}

static uint64_t all_of(const struct copies *c)
{
    return c->input + c->weights + c->output;
}

/* Tensors with channels last are copied only to pad them. */
static uint64_t padded_of(const struct copies *c)
{
    if (!c->is_input_padded && !c->is_output_padded)
        return 0;
    return c->weights + (c->is_input_padded ? c->input : 0) + (c->is_output_padded ? c->output : 0);
}

/* Products that one output sums up. */
static uint64_t products(const struct convolution_shape *s)
{
    return s->channels * s->kernel_area;
}

static uint64_t work(const struct convolution_shape *s)
{
    return s->batch * s->output_area * s->filters * products(s);
}

static uint64_t weights_in_fp32(const struct convolution_shape *s)
{
    return s->filters * (s->channels / s->groups) * s->kernel_area * 4;
}

/* ---- the passes ---- */

static uint64_t forward_half(const struct convolution_shape *s, const struct copies *c)
{
    if (s->is_channels_last)
        return padded_of(c);
    if (s->kernel_area == 1)
        return s->has_stride ? c->input + c->output : 0;
    return products(s) < FEW_PRODUCTS_HALF ? 0 : all_of(c);
}

static uint64_t forward_channels_last(const struct convolution_shape *s, const struct copies *c)
{
    if (s->kernel_area >= LARGE_KERNEL)
        return c->input + c->weights;
    return c->is_output_padded ? c->weights + c->output : 0;
}

/* Patches that do not overlap (the first layer of a vision transformer): a product of matrices. No such shape was asked
 * by itself; the stems of a ViT and a ConvNeXt in fp32, and 13 smaller layers with channels last, took no copies on the
 * H200, but 2x2x2 in the usual layout did. */
static bool is_of_patches(const struct convolution_shape *s)
{
    const bool is_seen = s->is_channels_last || s->kernel_area >= PATCH;
    return is_seen && s->has_stride && s->kernel_area > 1 && s->output_area > 1 &&
           s->kernel_area * s->output_area == s->input_area;
}

static uint64_t forward(const struct convolution_shape *s, const struct copies *c)
{
    if (s->element_bytes == 2)
        return forward_half(s, c);
    if (is_of_patches(s))
        return 0;
    if (s->is_channels_last)
        return forward_channels_last(s, c);
    if (s->kernel_area == 1)                     /* a product of matrices, also of a large image */
        return 0;
    if (products(s) < FEW_PRODUCTS)
        return s->input_area < LARGE_IMAGE ? 0 : all_of(c);
    return s->channels < 3 * FEW_CHANNELS ? c->input + c->weights : all_of(c);
}

static uint64_t input_gradient_half(const struct convolution_shape *s, const struct copies *c)
{
    if (s->is_channels_last)
        return padded_of(c);
    if (s->kernel_area == 1)
        return s->has_stride ? c->input + c->output : 0;
    return all_of(c);
}

/* Too small for copies, in fp32 and the usual layout. */
static bool is_small_input(const struct convolution_shape *s, const struct copies *c)
{
    const bool is_narrow = s->channels <= NARROW || s->filters <= NARROW;
    return s->kernel_area == 1 || work(s) < LITTLE_WORK_INPUT || c->is_input_padded ||
           (is_narrow && s->batch * s->output_area <= SHORT_SUM);
}

static uint64_t input_gradient(const struct convolution_shape *s, const struct copies *c)
{
    if (s->element_bytes == 2)
        return input_gradient_half(s, c);
    if (!s->is_channels_last)
        return is_small_input(s, c) ? 0 : all_of(c);
    if (s->filters < FEW_CHANNELS || c->is_output_padded)
        return c->weights + (c->is_output_padded ? c->output : 0);
    if (s->channels < FEW_CHANNELS)
        return c->weights + (s->kernel_area == 1 ? 0 : c->input);
    return 0;
}

/* A 1x1 convolution in the usual layout is a product of matrices for each image: their sums are added up later. */
static bool is_summed_by_image(const struct convolution_shape *s)
{
    return s->pass == CONVOLUTION_WEIGHT_GRADIENT && !s->is_channels_last && s->kernel_area == 1 && !s->has_stride;
}

static uint64_t weight_gradient(const struct convolution_shape *s, const struct copies *c)
{
    if (s->is_channels_last)
        return s->element_bytes == 2 ? padded_of(c) : 0;
    if (s->element_bytes == 4)
        return work(s) < LITTLE_WORK_WEIGHTS ? 0 : all_of(c) + PARTS_BYTES;
    if (s->batch * s->output_area >= LONG_SUM)
        return all_of(c) + PARTS_BYTES / 2;
    return all_of(c) < SMALL_TENSORS ? 0 : all_of(c);
}

/* One group for each channel. PyTorch has kernels of its own for most; of cuDNN's only the last gradient asks. */
static uint64_t depthwise(const struct convolution_shape *s)
{
    const bool asks = s->pass == CONVOLUTION_WEIGHT_GRADIENT && s->is_channels_last && s->element_bytes == 2;
    return asks ? 8 * s->batch * weights_in_fp32(s) : 0;
}

/* All 816 depthwise passes of these kinds that were asked took none. */
static bool asks_for_none(const struct convolution_shape *s)
{
    return s->kernel_area > 1 && (s->pass != CONVOLUTION_WEIGHT_GRADIENT || !s->is_channels_last);
}

/* The sums of all images may take far more than copies would. Thin layers of large images take copies as well. */
static uint64_t summed_by_image(const struct convolution_shape *s, const struct copies *c)
{
    const uint64_t sums = s->batch * weights_in_fp32(s);
    const bool is_thin = s->element_bytes == 4 && s->channels >= THINNEST && s->channels <= THIN &&
                         s->filters >= THINNEST;
    if (2 * sums > HALF_SUMS_OF_COPIES * all_of(c))
        return c->input + c->output;
    return is_thin && work(s) < LITTLE_WORK_THIN && s->input_area > SMALL_IMAGE ? all_of(c) : sums;
}

uint64_t convolution_workspace_bytes(const struct convolution_shape *s)
{
    const struct copies c = copies_of(s);
    uint64_t bytes = 0;
    if (s->groups > 1)
        return depthwise(s);
    if (is_summed_by_image(s))
        return summed_by_image(s, &c);
    switch (s->pass) {
    case CONVOLUTION_FORWARD: bytes = forward(s, &c); break;
    case CONVOLUTION_INPUT_GRADIENT: bytes = input_gradient(s, &c); break;
    case CONVOLUTION_WEIGHT_GRADIENT: bytes = weight_gradient(s, &c); break;
    }
    return bytes == 0 ? 0 : bytes + REST_BYTES;
}

/* Parts of a sum: of the weights' gradient as many as were seen, of the other passes one for each multiprocessor. */
static uint64_t most_of_parts(const struct convolution_shape *s)
{
    const bool is_of_weights = s->pass == CONVOLUTION_WEIGHT_GRADIENT;
    const bool is_long = is_of_weights && s->batch * s->output_area >= LONG_SUM;
    const uint64_t n = s->kernel_area >= LARGER_KERNEL ? MOST_PARTS_LARGE : MOST_PARTS;
    const uint64_t bytes = is_of_weights ? n * weights_in_fp32(s) : 0, least = is_long ? 2 * MOST_PARTS_BYTES
                                                                                      : MOST_PARTS_BYTES;
    return bytes > least ? bytes : least;
}

/* A product of matrices as it lies: a 1x1 convolution of an image that is not small. */
static bool is_plain_product(const struct convolution_shape *s)
{
    const bool is_of_weights = s->pass == CONVOLUTION_WEIGHT_GRADIENT;
    if (s->kernel_area > 1 || s->has_stride || s->is_channels_last || is_of_weights || s->input_area <= SMALL_IMAGE)
        return false;
    return s->element_bytes == 4 || s->pass == CONVOLUTION_INPUT_GRADIENT;
}

/* With channels last and 16 bits the fast kernels take tensors as they lie; not the large kernels (7x7), if the input
 * need not be padded anyway, and a stride without a kernel. */
static bool is_as_it_lies(const struct convolution_shape *s, const struct copies *c)
{
    if (!s->is_channels_last || s->element_bytes != 2)
        return false;
    if (s->pass == CONVOLUTION_WEIGHT_GRADIENT || c->is_input_padded)
        return true;
    return s->kernel_area == 1 ? !s->has_stride : s->kernel_area < LARGE_KERNEL;
}

static uint64_t most_of_copies(const struct convolution_shape *s, const struct copies *c)
{
    if (is_as_it_lies(s, c))
        return padded_of(c);
    return s->pass == CONVOLUTION_FORWARD && s->element_bytes == 4 && is_of_patches(s) ? 0 : all_of(c);
}

/* Groups of several channels were not asked: copies may be as large as without groups. */
uint64_t convolution_workspace_most_bytes(const struct convolution_shape *s)
{
    const struct copies c = copies_of(s);
    const uint64_t likely = convolution_workspace_bytes(s);
    const bool is_depthwise = s->groups == s->channels && s->groups > 1;
    if ((is_depthwise && asks_for_none(s)) || (s->groups == 1 && is_plain_product(s)))
        return likely == 0 && !is_depthwise ? NOTE_BYTES : likely;
    const uint64_t most = is_depthwise ? depthwise(s) + MOST_PARTS_BYTES : most_of_copies(s, &c) + most_of_parts(s);
    return most > likely ? most : likely;
}

/* Elements of a tensor's transform: each size is padded for the kernel's rim, to a power of two; of the last one half
 * is enough, because the signal is real. */
static uint64_t transformed_area(const struct convolution_shape *s)
{
    uint64_t area = s->n_dimensions > 0;
    for (int i = 0; i < s->n_dimensions; i++) {
        uint64_t size = 1;
        while (size < s->input_sizes[i] + s->kernel_sizes[i] - 1)
            size *= 2;
        area *= i == s->n_dimensions - 1 ? size / 2 + 1 : size;
    }
    return 2 * area > TILE_AREA || area == 0 ? 2 * area : TILE_AREA;
}

/* NVIDIA documents a convolution by Fourier transforms for the usual layout, without strides, in single and half
 * precision. It holds the transforms of all three tensors, in single precision. The H200's search took 0.81 to 0.99
 * of twice that for six convolutions of 3x3, and for gradients of the weights a tile of 32x32 of each channel. */
static uint64_t by_transforms(const struct convolution_shape *s)
{
    const uint64_t channels = s->batch * (s->channels + s->filters) + s->channels * s->filters / s->groups;
    const bool is_for = !s->is_channels_last && !s->has_stride && s->kernel_area > 1 && s->element_bytes <= 4;
    return is_for ? channels * transformed_area(s) * COMPLEX_BYTES : 0;
}

uint64_t convolution_search_bytes(const struct convolution_shape *s)
{
    const uint64_t most = convolution_workspace_most_bytes(s), tried = by_transforms(s);
    return tried > most ? tried : most;
}
