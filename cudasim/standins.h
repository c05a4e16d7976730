/*
 * Stand-ins: libraries that a program wants and that cannot work without a GPU, made from what it asks of them.
 *
 * The shared objects of some folders are read (cudasim/elf_needs.h); for every library of NVIDIA's that they name, a
 * shared object with that soname is written whose functions succeed and do nothing. They go into a folder named after
 * their content, so that two programs that want the same share one.
 */
#ifndef REPLAY_CUDASIM_STANDINS_H
#define REPLAY_CUDASIM_STANDINS_H

#include "base/err.h"

#include <stddef.h>

struct standins {
    char  *folder;                   /* NULL: nothing was wanted */
    char **sonames;                  /* what is in it, ascending; then those that the simulated CUDA has itself */
    size_t n_made, n_sonames;
};

/* `folders`: searched for *.so*, not below. `cache`: where the stand-ins' folder is made. ERR_IO; ERR_UNSUPPORTED; a
 * file that is no shared object is passed over. */
MUST_USE enum err standins_make(const char *const *folders, size_t n_folders, const char *cache, struct standins *out,
                                struct err_detail *why);
void standins_close(struct standins *s);

#endif
