/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The workspace that a convolution of cuDNN's asks for, by its shape.
 *
 * NVIDIA does not document it. cuDNN 9.19 was asked on an H200 (tests/gpu/convolutions), 1,627 shapes with three passes
 * each, and convolution_sizes.c holds rules that were read off two thirds of the answers. They are no formula of
 * NVIDIA's: of the third kept apart, doc/prediction.md says how many passes come out. So there are three answers, and
 * the truth lies between the least and the most in 99 of 100 passes. tests/cudasim/test_convolution_sizes.c holds them
 * against the card's.
 */
#ifndef REPLAY_CUDASIM_STANDINS_CONVOLUTION_SIZES_H
#define REPLAY_CUDASIM_STANDINS_CONVOLUTION_SIZES_H

#include <stdbool.h>
#include <stdint.h>

enum { CONVOLUTION_DIMENSIONS = 3 };

enum convolution_pass { CONVOLUTION_FORWARD, CONVOLUTION_INPUT_GRADIENT, CONVOLUTION_WEIGHT_GRADIENT };

/* Areas are products of the spatial sizes, of one dimension or of three as well. */
struct convolution_shape {
    enum convolution_pass pass;
    bool     is_channels_last;
    bool     has_stride;             /* one above 1 */
    unsigned element_bytes;          /* 4: fp32, of which PyTorch lets cuDNN use the first bits (TF32); 2: bf16, fp16 */
    uint64_t batch;
    uint64_t channels, filters, groups;
    uint64_t input_area, kernel_area, output_area;
    int      n_dimensions;           /* spatial ones; 0: they are not known */
    uint64_t input_sizes[CONVOLUTION_DIMENSIONS], kernel_sizes[CONVOLUTION_DIMENSIONS];
};

/* What is likely, and what was the most on the card but for one pass in a hundred. The least is none. */
uint64_t convolution_workspace_bytes(const struct convolution_shape *s);
uint64_t convolution_workspace_most_bytes(const struct convolution_shape *s);

/* What a search of the fastest algorithm (cudnn.benchmark) takes at most, because it tries algorithms that are never
 * likely. Read off one program, a VGG on an H200. */
uint64_t convolution_search_bytes(const struct convolution_shape *s);

#endif
