/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * NVIDIA's libraries that work without NVIDIA's driver, where the person has installed them: NVRTC and nvJitLink. They
 * compile and link, and ask no card. The others have NVIDIA's runtime linked in, which accepts NVIDIA's driver only.
 */
#ifndef REPLAY_CUDASIM_STANDINS_REAL_LIBRARIES_H
#define REPLAY_CUDASIM_STANDINS_REAL_LIBRARIES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct real_library {
    char *path;                      /* absolute; its last part is the soname */
    bool  is_wanted;                 /* the program's libraries name it */
};

struct real_libraries {
    struct real_library *all;
    size_t n;
};

/* Looks in the nvidia/ of folders of Python packages, then in $CUDA_HOME, $CUDA_PATH and /usr/local/cuda. The first
 * library of a soname counts. A path that the loader's lists cannot hold (with ':' or a blank) is passed over.
 * ERR_HOST_NOMEM. */
MUST_USE enum err real_libraries_find(const char *const *packages, size_t n_packages, struct real_libraries *out,
                                      struct err_detail *err);

/* The soname: the last part of the path. */
const char *real_library_soname(const struct real_library *l);

/* NULL: there is none of that soname. */
struct real_library *real_libraries_get(const struct real_libraries *r, const char *soname);
void real_libraries_close(struct real_libraries *r);

#endif
