/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Arrays take memory of the card, and copies and textures of them are refused where they are wrong. */
#include "tests/cudasim_rig.h"

enum { TO_DEVICE = 1, FROM_DEVICE, ON_DEVICE };

static const struct { int x, y, z, w, kind; } floats = { 32, 0, 0, 0, 2 }, pairs = { 16, 16, 0, 0, 0 },
    triples = { 32, 32, 32, 0, 2 }, odd = { 12, 0, 0, 0, 0 };

struct pitched { void *p; size_t pitch, width, height; };

/* cudaMemcpy3DParms */
struct copy_3d {
    uint64_t from_array;
    struct rig_extent from_place;
    struct pitched from;
    uint64_t to_array;
    struct rig_extent to_place;
    struct pitched to;
    struct rig_extent extent;
    int kind;
};

Test(cudasim_arrays, an_array_takes_the_bytes_of_its_elements)
{
    struct cudasim_rig r;
    uint64_t flat = 0, deep = 0, mips = 0, level = 0, again = 0, gone = 0;
    struct rig_extent e;
    cudasim_rig_open(&r, "sim:1GiB,packing=off", "libcudart.so.12");
    cr_expect_eq(r.cudaMallocArray(&flat, &floats, 1024, 1024, 0), CODE_SUCCESS);
    cr_expect_eq(cudasim_rig_free_bytes(&r), 1020 * MIB);
    cr_expect_eq(r.cudaMalloc3DArray(&deep, &pairs, (struct rig_extent){ 128, 128, 128 }, 0), CODE_SUCCESS);
    cr_expect_eq(cudasim_rig_free_bytes(&r), 1012 * MIB);
    cr_expect_eq(r.cudaMallocMipmappedArray(&mips, &floats, (struct rig_extent){ 1024, 512, 0 }, 30, 0), CODE_SUCCESS);
    cr_expect_eq(cudasim_rig_free_bytes(&r), 1008 * MIB, "2 MiB and a third, in pages");
    cr_expect_eq(r.cudaGetMipmappedArrayLevel(&level, mips, 3), CODE_SUCCESS);
    cr_expect_eq(r.cudaGetMipmappedArrayLevel(&again, mips, 3), CODE_SUCCESS);
    cr_expect_eq(level, again);
    cr_expect(r.cudaArrayGetInfo(NULL, &e, NULL, level) == CODE_SUCCESS && e.width == 128 && e.height == 64 &&
              e.depth == 0);
    cr_expect_eq(r.cudaGetMipmappedArrayLevel(&gone, mips, 11), CODE_INVALID_VALUE, "it has eleven");
    cr_expect_eq(r.cudaFreeArray(level), CODE_INVALID_VALUE, "it goes with the array that it is of");
    cr_expect_eq(r.cudaFreeArray(mips), CODE_INVALID_VALUE);
    cr_expect_eq(r.cudaFreeMipmappedArray(mips), CODE_SUCCESS);
    cr_expect_eq(r.cudaArrayGetInfo(NULL, &e, NULL, level), CODE_INVALID_VALUE);
    cr_expect_eq(r.cudaFreeArray(flat), CODE_SUCCESS);
    cr_expect_eq(r.cudaFreeArray(flat), CODE_INVALID_VALUE, "twice");
    cr_expect_eq(r.cudaFreeArray(0), CODE_SUCCESS);
    cr_expect_eq(cudasim_rig_free_bytes(&r), 1016 * MIB);
    cr_expect_eq(r.cudaMallocMipmappedArray(&mips, &floats, (struct rig_extent){ 64, 64, 0 }, 3, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaGetMipmappedArrayLevel(&level, mips, 0), CODE_SUCCESS);
    cr_expect_eq(r.cudaDeviceReset(), CODE_SUCCESS);
    cr_expect_eq(cudasim_rig_free_bytes(&r), 1024 * MIB);
}

Test(cudasim_arrays, what_no_array_can_be_is_refused)
{
    struct cudasim_rig r;
    uint64_t array = 0;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.13");
    cr_expect_eq(r.cudaMallocArray(NULL, &floats, 16, 16, 0), CODE_INVALID_VALUE);
    cr_expect_eq(r.cudaMallocArray(&array, NULL, 16, 16, 0), CODE_INVALID_VALUE);
    cr_expect_eq(r.cudaMallocArray(&array, &floats, 0, 16, 0), CODE_INVALID_VALUE);
    cr_expect_eq(r.cudaMallocArray(&array, &floats, 131073, 1, 0), CODE_INVALID_VALUE);
    cr_expect_eq(r.cudaMallocArray(&array, &triples, 16, 16, 0), CODE_INVALID_CHANNELS);
    cr_expect_eq(r.cudaMallocArray(&array, &odd, 16, 16, 0), CODE_INVALID_CHANNELS);
    cr_expect_eq(r.cudaMalloc3DArray(&array, &floats, (struct rig_extent){ 16384, 16384, 16384 }, 0),
                 CODE_OUT_OF_MEMORY);
    cr_expect_eq(r.cudaMalloc3DArray(&array, &floats, (struct rig_extent){ 16, 0, 16 }, 0), CODE_INVALID_VALUE);
}

Test(cudasim_arrays, copies_and_textures_stay_within_their_array)
{
    struct cudasim_rig r;
    uint64_t array = 0, cube = 0, texture = 0;
    char rows[64 * 8], *p = NULL;
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cr_assert_eq(r.cudaMallocArray(&array, &floats, 16, 8, 0), CODE_SUCCESS);
    cr_assert_eq(r.cudaMalloc3DArray(&cube, &floats, (struct rig_extent){ 16, 8, 4 }, 0), CODE_SUCCESS);
    cr_assert_eq(r.cudaMalloc((void **)&p, sizeof rows), CODE_SUCCESS);
    memset(rows, 'x', sizeof rows);
    cr_expect_eq(r.cudaMemcpy2DToArray(array, 0, 0, rows, 64, 64, 8, TO_DEVICE), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemcpy2DFromArray(rows, 64, array, 0, 0, 64, 7, FROM_DEVICE), CODE_SUCCESS);
    cr_expect(rows[0] == 0 && rows[64 * 7 - 1] == 0 && rows[64 * 7] == 'x', "zeros, and only where it was asked");
    cr_expect_eq(r.cudaMemcpy2DToArray(array, 4, 0, rows, 64, 64, 8, TO_DEVICE), CODE_INVALID_VALUE, "past a row");
    cr_expect_eq(r.cudaMemcpy2DToArray(array, 0, 1, rows, 64, 64, 8, TO_DEVICE), CODE_INVALID_VALUE, "past the last");
    cr_expect_eq(r.cudaMemcpy2DToArray(array, 0, 0, rows, 8, 64, 8, TO_DEVICE), CODE_INVALID_PITCH);
    cr_expect_eq(r.cudaMemcpy2DFromArray(p, 64, array, 0, 0, 64, 9, ON_DEVICE), CODE_INVALID_VALUE);
    cr_expect_eq(r.cudaMemcpy2DFromArray(p, 64, array, 0, 0, 64, 8, ON_DEVICE), CODE_SUCCESS);
    cr_expect_eq(r.cudaMemcpy2DFromArray(p + 1, 64, array, 0, 0, 64, 8, ON_DEVICE), CODE_INVALID_VALUE, "past p");
    struct copy_3d box = { .from = { p, 64, 16, 2 }, .to_array = cube, .extent = { 16, 2, 4 }, .kind = ON_DEVICE };
    cr_expect_eq(r.cudaMemcpy3D(&box), CODE_SUCCESS);
    box.to_place.depth = 1;
    cr_expect_eq(r.cudaMemcpy3D(&box), CODE_INVALID_VALUE);
    struct { int type; uint64_t value; char rest[128]; } resource = { .value = array };
    cr_expect_eq(r.cudaCreateTextureObject(&texture, &resource, NULL, NULL), CODE_SUCCESS);
    cr_expect_eq(r.cudaDestroyTextureObject(texture), CODE_SUCCESS);
    cr_expect_eq(r.cudaDestroyTextureObject(texture), CODE_INVALID_VALUE);
    cr_expect_eq(r.cudaFreeArray(array), CODE_SUCCESS);
    cr_expect_eq(r.cudaCreateTextureObject(&texture, &resource, NULL, NULL), CODE_INVALID_VALUE, "of what was freed");
    cr_expect_eq(r.cudaMemcpy2DToArray(array, 0, 0, rows, 64, 64, 8, TO_DEVICE), CODE_INVALID_VALUE);
    resource.type = 2;
    resource.value = (uintptr_t)p;
    cr_expect_eq(r.cudaCreateTextureObject(&texture, &resource, NULL, NULL), CODE_SUCCESS, "of linear memory");
}

Test(cudasim_arrays, a_box_of_any_size_has_an_answer_at_once)
{
    enum { PITCH = 64, ROWS = 4, LAYERS = 2 };
    static const struct { size_t pitch, rows; struct rig_extent extent; int wanted; } cases[] = {
        { PITCH, ROWS, { PITCH, ROWS, LAYERS }, CODE_SUCCESS },
        { PITCH, ROWS, { 0, 1, SIZE_MAX }, CODE_SUCCESS },
        { PITCH, ROWS, { 1, 0, SIZE_MAX }, CODE_SUCCESS },
        { PITCH, ROWS, { SIZE_MAX, SIZE_MAX, 0 }, CODE_SUCCESS },
        { PITCH, ROWS, { 1, 1, SIZE_MAX }, CODE_INVALID_VALUE },
        { PITCH, ROWS, { 1, SIZE_MAX, 1 }, CODE_INVALID_VALUE },
        { PITCH, ROWS, { 1, 1, LAYERS + 1 }, CODE_INVALID_VALUE },
        { PITCH, 0, { 1, 1, SIZE_MAX }, CODE_INVALID_VALUE },
        { PITCH, 1, { 1, 2, 2 }, CODE_INVALID_VALUE },
        { 0, ROWS, { 1, 1, SIZE_MAX }, CODE_INVALID_PITCH },
        { SIZE_MAX / 2, ROWS, { 1, 1, 3 }, CODE_INVALID_VALUE },
    };
    struct cudasim_rig r;
    char *p;
    int (*set)(struct pitched, int, struct rig_extent);
    cudasim_rig_open(&r, "sim:1GiB", "libcudart.so.12");
    cudasim_rig_find(cudasim_rig_library("libcudart.so.12"), "cudaMemset3D", &set);
    cr_assert_eq(r.cudaMallocManaged((void **)&p, PITCH * ROWS * LAYERS, 1), CODE_SUCCESS);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct pitched box = { p, cases[i].pitch, PITCH, cases[i].rows };
        const struct copy_3d copy = { .from = box, .to = box, .extent = cases[i].extent, .kind = 4 };
        const int wanted = cases[i].wanted;
        cr_expect_eq(r.cudaMemcpy3D(&copy), wanted, "copy %zu", i);
        cr_expect_eq(set(box, 7, cases[i].extent), wanted == CODE_INVALID_PITCH ? CODE_INVALID_VALUE : wanted,
                     "set %zu", i);
        cr_expect(p[0] == 7 && p[PITCH * ROWS * LAYERS - 1] == 7, "all of it, and nothing of what was refused");
    }
}

Test(cudasim_arrays, the_driver_has_arrays_too)
{
    struct cudasim_rig r;
    uint64_t context = 0, array = 0;
    size_t before = 0, after = 0, total = 0;
    const struct { size_t w, h, d; unsigned format, n, flags; } want = { 256, 256, 0, 0x20, 4, 0 };
    cudasim_rig_open(&r, "sim:1GiB,packing=off", NULL);
    cr_assert(r.cuInit(0) == CODE_SUCCESS && r.cuCtxCreate_v2(&context, 0, 0) == CODE_SUCCESS);
    cr_expect_eq(r.cuMemGetInfo_v2(&before, &total), CODE_SUCCESS);
    cr_expect_eq(r.cuArray3DCreate_v2(&array, &want), CODE_SUCCESS);
    cr_expect_eq(r.cuMemGetInfo_v2(&after, &total), CODE_SUCCESS);
    cr_expect_eq(before - after, 2 * MIB, "1 MiB, in pages");
    cr_expect_eq(r.cuArrayDestroy(array), CODE_SUCCESS);
    cr_expect_eq(r.cuArrayDestroy(array), CODE_INVALID_HANDLE);
}
