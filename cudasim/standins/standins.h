/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Stand-ins for NVIDIA's libraries that a program needs and that cannot work without a GPU.
 *
 * The shared objects of some folders are read (elf_needs.h). For every library of NVIDIA's that they name, a
 * shared object with that soname is written, whose functions succeed and do nothing. Other packages may ask these
 * libraries for more functions. They may also bring NVIDIA's runtime under a name of their own, which the simulated one
 * gets. The folder of the stand-ins is named after its content, so that programs with the same needs share it.
 */
#ifndef REPLAY_CUDASIM_STANDINS_STANDINS_H
#define REPLAY_CUDASIM_STANDINS_STANDINS_H

#include "base/err.h"
#include "cudasim/standins/jax_plugins.h"
#include "cudasim/standins/real_libraries.h"

#include <stddef.h>

struct standins {
    char  *folder;                   /* NULL: no stand-in is needed */
    char **sonames;                  /* those in the folder, ascending; then those that the simulated CUDA has itself */
    size_t n_made, n_sonames;
};

/* Where to look; a file that is no program and no shared object is passed over. */
struct standin_places {
    const char *const *folders;      /* without their subfolders: programs and shared objects there name the
                                      * libraries */
    size_t n_folders;
    const char *const *packages;     /* folders of packages, two folders deep, up to 65,536 names in all: *.so* there
                                      * may ask the same libraries for more. One that cannot be read holds none. */
    size_t n_packages;
    struct jax_plugins plugins;      /* what they open is stood in for as well */
    struct real_libraries real;      /* these get no stand-in; those that the folders name are marked as wanted */
};

/* `cache`: the folder of the stand-ins is made in it. ERR_IO; ERR_UNSUPPORTED. */
MUST_USE enum err standins_make(const struct standin_places *places, const char *cache, struct standins *out,
                                struct err_detail *err);
void standins_close(struct standins *s);

#endif
