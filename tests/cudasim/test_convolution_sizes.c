/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Workspaces of cuDNN's convolutions against what cuDNN 9.19 answered on an H200 (tests/gpu/convolutions). */
#include "cudasim/standins/convolution_sizes.h"

#include "tests/cudasim/card_answers.h"
#include "tests/random_draws.h"

#include <criterion/criterion.h>

enum { BYTES_OF_ELEMENT, CHANNELS_LAST, BATCH, CHANNELS, FILTERS, WIDTH, KERNEL, STRIDE, PADDING, GROUPS, FIRST_ANSWER,
       KEPT_APART = FIRST_ANSWER + 3, N_COLUMNS };
enum { SLACK_BYTES = 64 << 10, N_PASSES = 3 };

static uint64_t out_width(const uint64_t row[static N_COLUMNS])
{
    return (row[WIDTH] + 2 * row[PADDING] - row[KERNEL]) / row[STRIDE] + 1;
}

static struct convolution_shape shape_of(const uint64_t row[static N_COLUMNS], enum convolution_pass pass)
{
    const uint64_t out = out_width(row);
    return (struct convolution_shape){
        .pass = pass, .is_channels_last = row[CHANNELS_LAST] != 0, .has_stride = row[STRIDE] > 1,
        .element_bytes = (unsigned)row[BYTES_OF_ELEMENT], .batch = row[BATCH], .channels = row[CHANNELS],
        .filters = row[FILTERS], .groups = row[GROUPS], .input_area = row[WIDTH] * row[WIDTH],
        .kernel_area = row[KERNEL] * row[KERNEL], .output_area = out * out,
    };
}

/* Within 1 % or 64 KiB. */
static bool is_near(uint64_t said, uint64_t answer)
{
    const uint64_t off = said > answer ? said - answer : answer - said, share = answer / 100;
    return off <= (share > SLACK_BYTES ? share : SLACK_BYTES);
}

struct score {
    unsigned n, near, within;        /* rows; the likely size is near the answer; the answer is not above the most */
};

/* Of the rows kept apart, or of the others; without those of one group for each channel. */
static struct score score_of(enum convolution_pass pass, unsigned element_bytes, bool are_apart)
{
    uint64_t row[N_COLUMNS];
    struct score score = { .n = 0 };
    FILE *f = card_answers_open(TEST_DATA "/convolutions.csv");
    while (card_answers_read(f, row, N_COLUMNS)) {
        const struct convolution_shape s = shape_of(row, pass);
        const uint64_t answer = row[FIRST_ANSWER + pass];
        if ((row[KEPT_APART] != 0) != are_apart || s.element_bytes != element_bytes || s.groups > 1)
            continue;
        score.n++;
        score.near += is_near(convolution_workspace_bytes(&s), answer);
        score.within += answer <= convolution_workspace_most_bytes(&s);
    }
    fclose(f);
    fprintf(stderr, "pass %d, %u bytes%s: of %u rows %u are near, %u within\n", (int)pass, element_bytes,
            are_apart ? ", kept apart" : "", score.n, score.near, score.within);
    return score;
}

/* What doc/prediction.md says of the rows that no rule was read off, in percent. */
static void check_apart(enum convolution_pass pass, unsigned element_bytes, unsigned near, unsigned within)
{
    const struct score s = score_of(pass, element_bytes, true);
    (void)score_of(pass, element_bytes, false);
    cr_assert_gt(s.n, 100);
    cr_expect_geq(100 * s.near / s.n, near);
    cr_expect_geq(100 * s.within / s.n, within);
}

Test(convolution_sizes, of_rows_kept_apart_are_as_near_as_is_said)
{
    check_apart(CONVOLUTION_FORWARD, 2, 88, 100);
    check_apart(CONVOLUTION_INPUT_GRADIENT, 2, 88, 100);
    check_apart(CONVOLUTION_WEIGHT_GRADIENT, 2, 56, 99);
    check_apart(CONVOLUTION_FORWARD, 4, 72, 100);
    check_apart(CONVOLUTION_INPUT_GRADIENT, 4, 75, 100);
    check_apart(CONVOLUTION_WEIGHT_GRADIENT, 4, 45, 96);
}

/* Any sizes of a program's, also those that no card was asked about. */
Test(convolution_sizes, what_is_likely_is_never_above_the_most)
{
    static const unsigned bytes[] = { 2, 4, 8 };
    uint64_t seed = 55;
    fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < 100000; i++) {
        const uint64_t groups = random_one_in(&seed, 3) ? 1 + random_below(&seed, 64) : 1;
        const struct convolution_shape s = {
            .pass = (enum convolution_pass)random_below(&seed, N_PASSES),
            .is_channels_last = random_one_in(&seed, 2), .has_stride = random_one_in(&seed, 2),
            .element_bytes = bytes[random_below(&seed, 3)], .batch = 1 + random_below(&seed, 64),
            .channels = groups * (1 + random_below(&seed, 256)), .filters = groups * (1 + random_below(&seed, 256)),
            .groups = groups, .input_area = 1 + random_below(&seed, 65536), .kernel_area = 1 + random_below(&seed, 125),
            .output_area = 1 + random_below(&seed, 65536),
        };
        cr_assert_leq(convolution_workspace_bytes(&s), convolution_workspace_most_bytes(&s));
    }
}

/* What the search of a VGG took on the H200, in fp32, for a batch of 16. The last two are gradients of weights. */
Test(convolution_sizes, a_search_takes_no_more_than_is_said)
{
    static const struct { uint64_t channels, filters, width, took; enum convolution_pass pass; } seen[] = {
        { 3, 64, 224, 541072128, CONVOLUTION_FORWARD }, { 64, 128, 112, 1227128832, CONVOLUTION_FORWARD },
        { 128, 256, 56, 1177681920, CONVOLUTION_FORWARD }, { 256, 256, 56, 2355363840, CONVOLUTION_FORWARD },
        { 512, 512, 28, 2362441728, CONVOLUTION_FORWARD }, { 512, 512, 14, 632291328, CONVOLUTION_FORWARD },
        { 512, 512, 14, 1212153856, CONVOLUTION_WEIGHT_GRADIENT },
        { 256, 256, 56, 356515840, CONVOLUTION_WEIGHT_GRADIENT },
    };
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++) {
        const uint64_t width = seen[i].width;
        struct convolution_shape s = {
            .pass = seen[i].pass, .element_bytes = 4, .batch = 16, .channels = seen[i].channels,
            .filters = seen[i].filters, .groups = 1, .input_area = width * width, .kernel_area = 9,
            .output_area = width * width, .n_dimensions = 2, .input_sizes = { width, width }, .kernel_sizes = { 3, 3 },
        };
        cr_expect_geq(convolution_search_bytes(&s), seen[i].took, "row %zu", i);
        s.is_channels_last = true;
        cr_expect_eq(convolution_search_bytes(&s), convolution_workspace_most_bytes(&s), "transforms are not for it");
    }
}

/* The stem of a ViT, 224x224 in patches of 16x16, in fp32: programs on the H200 made no copies for it. */
Test(convolution_sizes, patches_that_do_not_overlap_are_not_copied)
{
    struct convolution_shape s = {
        .pass = CONVOLUTION_FORWARD, .has_stride = true, .element_bytes = 4, .batch = 32, .channels = 3,
        .filters = 384, .groups = 1, .input_area = 224 * 224, .kernel_area = 16 * 16, .output_area = 14 * 14,
    };
    cr_expect_eq(convolution_workspace_bytes(&s), 0);
    s.output_area = 27 * 27;         /* a stride of 8: they overlap */
    cr_expect_gt(convolution_workspace_bytes(&s), 0);
}

/* A layer of an EfficientNet and one of a Conformer. */
Test(convolution_sizes, a_product_of_matrices_takes_no_copies_of_a_large_image_at_most)
{
    struct convolution_shape s = {
        .pass = CONVOLUTION_FORWARD, .element_bytes = 4, .batch = 32, .channels = 16, .filters = 96, .groups = 1,
        .input_area = 112 * 112, .kernel_area = 1, .output_area = 112 * 112,
    };
    cr_expect_leq(convolution_workspace_most_bytes(&s), 512);
    s.pass = CONVOLUTION_INPUT_GRADIENT;
    cr_expect_leq(convolution_workspace_most_bytes(&s), 512);
    s.input_area = s.output_area = 7 * 7;            /* some of these were copied on the card */
    cr_expect_geq(convolution_workspace_most_bytes(&s), 32 * (16 + 96) * 7 * 7 * 4);
}

/* ResNet-18 with autocast on the H200: 131 bytes for a layer, 51,430,416 for the stem, whose input is padded. */
Test(convolution_sizes, sixteen_bits_with_channels_last_are_copied_to_be_padded_only)
{
    struct convolution_shape s = {
        .pass = CONVOLUTION_FORWARD, .is_channels_last = true, .element_bytes = 2, .batch = 64, .channels = 64,
        .filters = 64, .groups = 1, .input_area = 56 * 56, .kernel_area = 9, .output_area = 56 * 56,
    };
    cr_expect_lt(convolution_workspace_most_bytes(&s), 64 * 64 * 56 * 56 * 2);
    s.channels = 3;
    s.has_stride = true;
    s.input_area = 224 * 224;
    s.kernel_area = 49;
    s.output_area = 112 * 112;
    cr_expect_eq(convolution_workspace_bytes(&s), 51430416);
    cr_expect_lt(convolution_workspace_most_bytes(&s), 51430416 + 64 * 64 * 112 * 112 * 2);
}

/* N8 2048 to 512 channels of 7x7: the card took the two images, 4,014,224 bytes, not 33,554,432 of sums. */
Test(convolution_sizes, sums_of_each_image_that_are_far_above_copies_are_not_taken)
{
    const struct convolution_shape s = {
        .pass = CONVOLUTION_WEIGHT_GRADIENT, .element_bytes = 4, .batch = 8, .channels = 2048, .filters = 512,
        .groups = 1, .input_area = 7 * 7, .kernel_area = 1, .output_area = 7 * 7,
    };
    cr_expect_eq(convolution_workspace_bytes(&s), 8 * (2048 + 512) * 7 * 7 * 4);
}
