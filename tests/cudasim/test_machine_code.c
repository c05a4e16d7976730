/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fat binaries, packed and not, and cubins: what they say is read, and damage is refused.
 */
#include "cudasim/code/cubin.h"
#include "cudasim/code/fat_binary.h"
#include "tests/made_cubin.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <zstd.h>

/* `n` bytes in memory of exactly that size, so that a sanitizer sees what is read beyond. */
static unsigned char *exactly(const void *bytes, size_t n)
{
    unsigned char *copy = malloc(n == 0 ? 1 : n);
    cr_assert_not_null(copy);
    memcpy(copy, bytes, n);
    return copy;
}

Test(cubin, says_what_its_kernel_takes)
{
    static const unsigned capabilities[] = { 52, 80, 90, 120 };
    for (size_t i = 0; i < sizeof capabilities / sizeof capabilities[0]; i++) {
        unsigned char bytes[MADE_CUBIN_BYTES] = { 0 };
        struct cubin c;
        struct err_detail err;
        const size_t n = made_cubin(bytes, capabilities[i]);
        cr_assert_eq(cubin_read(bytes, n, &c, &err), ERR_OK, "%s", err.text);
        const struct cubin_kernel *k = cubin_kernel(&c, "add");
        cr_assert_not_null(k);
        cr_expect_eq(c.capability, capabilities[i]);
        cr_expect_eq(c.constant_bytes, MADE_CONSTANTS);
        cr_expect_eq(k->registers, MADE_REGISTERS);
        cr_expect_eq(k->shared_bytes, MADE_SHARED, "sm_%u: %u", capabilities[i], k->shared_bytes);
        cr_expect_eq(k->local_bytes, MADE_LOCAL);
        cr_expect_eq(k->parameter_bytes, MADE_PARAMETERS);
        cr_expect_eq(k->max_threads, MADE_THREADS);
        cr_expect_null(cubin_kernel(&c, "sub"));
        cubin_close(&c);
    }
}

Test(cubin, names_its_variables_with_their_sizes_and_first_values)
{
    unsigned char bytes[MADE_CUBIN_BYTES] = { 0 };
    struct cubin c;
    uint32_t ready = 0;
    const size_t n = made_cubin(bytes, 80);
    cr_assert_eq(cubin_read(bytes, n, &c, NULL), ERR_OK);
    cr_assert_eq(c.n_variables, 4);
    cr_expect_eq(cubin_variable(&c, "table")->bytes, MADE_TABLE);
    cr_expect_null(cubin_variable(&c, "table")->initial);
    cr_expect(cubin_variable(&c, "weights")->is_constant);
    cr_expect(cubin_variable(&c, "count")->is_managed && !cubin_variable(&c, "ready")->is_managed);
    memcpy(&ready, cubin_variable(&c, "ready")->initial, sizeof ready);
    cr_expect_eq(ready, MADE_READY);
    cr_expect_null(cubin_variable(&c, "add"));
    cubin_close(&c);
}

Test(cubin, is_as_long_as_its_headers_say)
{
    unsigned char bytes[MADE_CUBIN_BYTES] = { 0 };
    const size_t n = made_cubin(bytes, 80);
    const size_t extent = cubin_extent(bytes, SIZE_MAX);
    cr_expect(extent <= n && n - extent < 8, "%zu of %zu", extent, n);
    cr_expect_eq(cubin_extent(bytes, extent), extent);
    cr_expect_eq(cubin_extent(bytes, extent - 1), 0);
    cr_expect_eq(cubin_extent((const unsigned char *)"", 1), 0);
}

Test(cubin, that_is_cut_off_anywhere_is_refused_or_read_within_its_bytes)
{
    unsigned char bytes[MADE_CUBIN_BYTES] = { 0 };
    const size_t n = cubin_extent(bytes, made_cubin(bytes, 80));
    for (size_t cut = 0; cut < n; cut++) {
        unsigned char *part = exactly(bytes, cut);
        struct cubin c;
        struct err_detail err = { .text = "" };
        cr_expect_eq(cubin_read(part, cut, &c, &err), ERR_FORMAT, "%zu", cut);
        cr_expect(err.text[0] != '\0');
        cr_expect_eq(cubin_extent(part, cut), 0);
        free(part);
    }
}

Test(fat_binary, gives_the_best_code_that_the_card_takes)
{
    static const struct made_entry entries[] = { { 2, 75, "75", 2, 0, 0 }, { 2, 80, "80", 2, 0, 0 },
                                                 { 2, 86, "86", 2, 0, 0 }, { 1, 86, "ptx", 3, 0, 0 } };
    static const struct { unsigned card, code, ptx; } cases[] = {
        { 70, 0, 0 }, { 75, 75, 0 }, { 80, 80, 0 }, { 86, 86, 86 }, { 89, 86, 86 }, { 90, 0, 86 },
    };
    unsigned char bytes[512];
    const size_t n = made_fat_binary(bytes, entries, 4);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fat_choice c;
        cr_assert_eq(fat_binary_choose(bytes, n, cases[i].card, &c, NULL), ERR_OK);
        cr_expect_eq(c.code, cases[i].code, "card %u: %u", cases[i].card, c.code);
        cr_expect_eq(c.ptx, cases[i].ptx, "card %u: %u", cases[i].card, c.ptx);
        cr_expect_eq(c.image == NULL, cases[i].code == 0);
    }
}

/* "abcabcabcabc" and five bytes: literals, a match that overlaps itself, and literals at the end. */
static const unsigned char lz4_block[] = { 0x35, 'a', 'b', 'c', 3, 0, 0x50, 'v', 'w', 'x', 'y', 'z' };
static const char lz4_text[] = "abcabcabcabcvwxyz";
enum { LZ4_TEXT = sizeof lz4_text - 1, PACKED_LZ4 = 0x2000, PACKED_ZSTD = 0x8000 };

Test(fat_binary, unpacks_what_nvcc_packs)
{
    unsigned char packed[128], bytes[512], *out;
    const size_t n_packed = ZSTD_compress(packed, sizeof packed, lz4_text, LZ4_TEXT, 3);
    const struct made_entry cases[] = {
        { 2, 80, lz4_text, LZ4_TEXT, 0, 0 },
        { 2, 80, lz4_block, sizeof lz4_block, LZ4_TEXT, PACKED_LZ4 },
        { 2, 80, packed, n_packed, LZ4_TEXT, PACKED_ZSTD },
    };
    cr_assert(!ZSTD_isError(n_packed));
    for (size_t i = 0; i < 3; i++) {
        struct fat_choice c;
        const size_t n = made_fat_binary(bytes, &cases[i], 1);
        cr_assert_eq(fat_binary_choose(bytes, n, 80, &c, NULL), ERR_OK);
        cr_assert_eq(fat_binary_unpack(&c, &out, NULL), ERR_OK, "case %zu", i);
        cr_assert_eq(c.image_bytes, LZ4_TEXT);
        cr_expect(memcmp(out, lz4_text, LZ4_TEXT) == 0, "case %zu", i);
        free(out);
        struct err_detail err;
        c.stored_bytes = i == 0 ? c.stored_bytes : c.stored_bytes - 1;
        cr_expect_eq(fat_binary_unpack(&c, &out, &err), i == 0 ? ERR_OK : ERR_FORMAT, "case %zu", i);
        if (i == 0)
            free(out);
    }
}

Test(fat_binary, packed_code_of_another_length_is_refused)
{
    for (size_t i = 0; i < 2 * LZ4_TEXT; i++) {
        unsigned char bytes[512], *out = NULL;
        struct fat_choice c;
        const struct made_entry entry = { 2, 80, lz4_block, sizeof lz4_block, i, PACKED_LZ4 };
        const size_t n = made_fat_binary(bytes, &entry, 1);
        cr_assert_eq(fat_binary_choose(bytes, n, 80, &c, NULL), ERR_OK);
        cr_expect_eq(fat_binary_unpack(&c, &out, NULL), i == LZ4_TEXT ? ERR_OK : ERR_FORMAT, "%zu bytes", i);
        free(out);
    }
}

Test(fat_binary, that_is_wrong_about_its_length_is_refused)
{
    static const struct made_entry entry = { 2, 80, "80", 2, 0, 0 };
    unsigned char bytes[128];
    struct fat_choice c;
    struct err_detail err;
    const size_t n = made_fat_binary(bytes, &entry, 1);
    for (size_t cut = 0; cut < n; cut++) {
        unsigned char *part = exactly(bytes, cut);
        cr_expect_eq(fat_binary_choose(part, cut, 80, &c, &err), ERR_FORMAT, "%zu", cut);
        free(part);
    }
    memcpy(bytes + 16 + 8, &(uint64_t){ UINT64_MAX - 63 }, 8);       /* the entry's own length */
    cr_assert_eq(fat_binary_choose(bytes, n, 80, &c, &err), ERR_OK);
    cr_expect_null(c.image);
}
