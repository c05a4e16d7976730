/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* An array with a texture of it, which a kernel reads. The card counts the array by its elements. */
#include "said.h"

enum { W = 512, H = 512 };

__global__ void sample(cudaTextureObject_t texture, float *out)
{
    out[threadIdx.x] = tex2D<float>(texture, threadIdx.x + 0.5f, 0.5f);
}

int main(void)
{
    static float rows[W * H];
    cudaArray_t array;
    cudaTextureObject_t texture;
    cudaExtent extent;
    cudaResourceDesc resource = {};
    cudaTextureDesc how = {};
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    OK(cudaMallocArray(&array, &format, W, H));
    said("alloc", sizeof rows);
    OK(cudaArrayGetInfo(NULL, &extent, NULL, array));
    HOLDS(extent.width == W && extent.height == H && extent.depth == 0);
    OK(cudaMemcpy2DToArray(array, 0, 0, rows, W * sizeof *rows, W * sizeof *rows, H, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue,
           cudaMemcpy2DToArray(array, 4, 0, rows, W * sizeof *rows, W * sizeof *rows, H, cudaMemcpyHostToDevice));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    OK(cudaCreateTextureObject(&texture, &resource, &how, NULL));
    float *out = take<float>(32);
    sample<<<1, 32>>>(texture, out);
    OK(cudaDeviceSynchronize());
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFreeArray(array));
    said("free", sizeof rows);
    give(out, 32);
    return 0;
}
