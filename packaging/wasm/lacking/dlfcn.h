/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Shared objects where none can be loaded. */
#ifndef REPLAY_PACKAGING_WASM_LACKING_DLFCN_H
#define REPLAY_PACKAGING_WASM_LACKING_DLFCN_H

#include <stddef.h>

#define RTLD_NOW 2
#define RTLD_LOCAL 0
#define RTLD_GLOBAL 256

static inline void *dlopen(const char *name, int how)
{
    (void)name, (void)how;
    return NULL;
}

static inline void *dlsym(void *library, const char *symbol)
{
    (void)library, (void)symbol;
    return NULL;
}

static inline int dlclose(void *library)
{
    (void)library;
    return 0;
}

static inline const char *dlerror(void)
{
    return "this build of replay loads no shared objects; the one for Linux does";
}

#endif
