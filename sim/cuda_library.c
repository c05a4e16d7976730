/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Opening the host's CUDA libraries at run time. */
#include "sim/cuda_api.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct symbol {
    const char *name;
    size_t      offset;                      /* the function's member in struct cuda_api */
};

#define SYMBOL(result, name, parameters) {#name, offsetof(struct cuda_api, name)},
static const struct symbol runtime_symbols[] = { CUDA_RUNTIME_CALLS(SYMBOL) };
static const struct symbol driver_symbols[] = { CUDA_DRIVER_CALLS(SYMBOL) };
static const struct symbol extra_symbols[] = { CUDA_DRIVER_EXTRAS(SYMBOL) };
static const struct symbol virtual_symbols[] = { CUDA_VIRTUAL_CALLS(SYMBOL) };
static const struct symbol nvml_symbols[] = { CUDA_NVML_CALLS(SYMBOL) };
#undef SYMBOL

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static_assert(sizeof(void *) == sizeof(void (*)(void)), "POSIX: dlsym's answer may be a function");

/* Looks the symbols up. Returns the first that is missing, or NULL. */
static const char *library_take(void *handle, const struct symbol *symbols, size_t n, struct cuda_api *api)
{
    const char *missing = NULL;
    for (size_t i = 0; i < n; i++) {
        const void *found = handle == NULL ? NULL : dlsym(handle, symbols[i].name);
        memcpy((char *)api + symbols[i].offset, &found, sizeof found);
        if (found == NULL && missing == NULL)
            missing = symbols[i].name;
    }
    return missing;
}

static void library_drop(const struct symbol *symbols, size_t n, struct cuda_api *api)
{
    library_take(NULL, symbols, n, api);
}

/* Whether the driver is new enough for the runtime: counting the cards tells, without making a context. That there is
 * no card is reported elsewhere. */
static bool library_runtime_works(const struct cuda_api *api)
{
    int n;
    const int result = api->cudaGetDeviceCount(&n);
    return result == CUDA_DONE || result == CUDA_NO_DEVICE;
}

/* Whether a runtime exists, has all functions and works with the driver. */
static bool library_try_runtime(const char *name, struct cuda_api *api)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char *slash = strrchr(name, '/');
    if (handle == NULL)
        return false;
    if (library_take(handle, runtime_symbols, COUNT(runtime_symbols), api) != NULL || !library_runtime_works(api)) {
        library_drop(runtime_symbols, COUNT(runtime_symbols), api);
        return false;
    }
    snprintf(api->runtime, sizeof api->runtime, "%.31s", slash == NULL ? name : slash + 1);
    (void)api->cudaGetLastError();
    return true;
}

/* Opens the newest runtime that works, of any major version; none is no error. Since CUDA 12 the file is named by the
 * major version. */
static void library_open_runtime(struct cuda_api *api)
{
    enum { NEWEST = 19, OLDEST = 12 };
    static const char *const others[] = {
        "libcudart.so.11.0", "libcudart.so.10.2", "libcudart.so", "/usr/local/cuda/lib64/libcudart.so",
    };
    char name[32];
    for (int major = NEWEST; major >= OLDEST; major--) {
        snprintf(name, sizeof name, "libcudart.so.%d", major);
        if (library_try_runtime(name, api))
            return;
    }
    for (size_t i = 0; i < COUNT(others); i++)
        if (library_try_runtime(others[i], api))
            return;
}

static enum err library_open_driver(struct cuda_api *api, struct err_detail *err)
{
    void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const char *reason = handle != NULL ? NULL : dlerror();          /* starts with the name */
    if (handle == NULL && (reason == NULL || strstr(reason, "No such file") != NULL))
        return err_set(err, ERR_UNSUPPORTED, 0,
                       "no CUDA driver: libcuda.so.1, which comes with NVIDIA's driver, is not on this host");
    if (handle == NULL)
        return err_set(err, ERR_DRIVER, 0, "the CUDA driver's library cannot be opened: %s", reason);
    const char *missing = library_take(handle, driver_symbols, COUNT(driver_symbols), api);
    if (missing != NULL)
        return err_set(err, ERR_UNSUPPORTED, 0, "the CUDA driver's library libcuda.so.1 lacks %s", missing);
    library_take(handle, extra_symbols, COUNT(extra_symbols), api);
    if (library_take(handle, virtual_symbols, COUNT(virtual_symbols), api) != NULL)
        library_drop(virtual_symbols, COUNT(virtual_symbols), api);
    return ERR_OK;
}

enum err cuda_library_open(struct cuda_api *out, struct err_detail *err)
{
    struct cuda_api api = {.runtime = ""};
    const enum err e = library_open_driver(&api, err);
    if (e != ERR_OK)
        return e;
    library_open_runtime(&api);
    const bool can_allocate = api.cuMemAlloc_v2 != NULL && api.cuMemFree_v2 != NULL && api.cuMemGetInfo_v2 != NULL &&
                              api.cuMemsetD8_v2 != NULL && api.cuCtxSynchronize != NULL;
    if (api.runtime[0] == '\0' && !can_allocate)
        return err_set(err, ERR_UNSUPPORTED, 0,
                       "no CUDA runtime (libcudart.so.13, .12, .11.0, ...), and the driver's library has no "
                       "cuMemAlloc");
    library_take(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), nvml_symbols, COUNT(nvml_symbols), &api);
    *out = api;
    return ERR_OK;
}
