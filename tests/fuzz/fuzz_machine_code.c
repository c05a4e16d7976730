/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: any bytes are a fat binary or a cubin whose kernels can be read, or are refused with a sentence.
 */
#include "cudasim/code/cubin.h"
#include "cudasim/code/fat_binary.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { CARD = 80, IMAGE_BYTES_MOST = 1 << 20 };

static void read_cubin(const uint8_t *data, size_t n)
{
    struct cubin c;
    struct err_detail err = { .text = "" };
    size_t length = 0;
    FUZZ_EXPECT(cubin_extent(data, n) <= n);
    if (cubin_read(data, n, &c, &err) != ERR_OK) {
        FUZZ_EXPECT(err.text[0] != '\0');
        return;
    }
    for (size_t i = 0; i < c.n_kernels; i++)
        length += strlen(c.kernels[i].name);
    for (size_t i = 0; i < c.n_variables; i++) {
        const struct cubin_variable *v = &c.variables[i];
        length += strlen(v->name) + (v->initial != NULL && v->bytes > 0 ? v->initial[v->bytes - 1] : 0);
        FUZZ_EXPECT(v->initial == NULL || v->bytes <= n);
    }
    FUZZ_EXPECT(c.n_kernels + c.n_variables == 0 || length > 0);
    cubin_close(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fat_choice c;
    struct err_detail err = { .text = "" };
    unsigned char *image;
    read_cubin(data, n);
    if (fat_binary_choose(data, n, CARD, &c, &err) != ERR_OK) {
        FUZZ_EXPECT(err.text[0] != '\0');
        return 0;
    }
    if (c.image == NULL || c.image_bytes > IMAGE_BYTES_MOST || fat_binary_unpack(&c, &image, &err) != ERR_OK)
        return 0;
    read_cubin(image, c.image_bytes);
    free(image);
    return 0;
}
