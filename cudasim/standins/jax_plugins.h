/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The folders of JAX's CUDA plugins: jax_plugins/xla_cuda13 and jax_cuda13_plugin, for a CUDA of that number. Their
 * shared objects name no library of NVIDIA's. They open each one when they first need it, so it is stood in for by the
 * number that NVIDIA gave it in that CUDA. TensorFlow's folder is read as such a plugin's.
 */
#ifndef REPLAY_CUDASIM_STANDINS_JAX_PLUGINS_H
#define REPLAY_CUDASIM_STANDINS_JAX_PLUGINS_H

#include "base/err.h"

#include <stddef.h>

struct jax_plugin {
    char    *folder;
    unsigned cuda;                   /* the major version in its name */
};

struct jax_plugins {
    struct jax_plugin *all;
    size_t n;
};

/* Those in folders of packages. A folder that cannot be read holds none. ERR_HOST_NOMEM. */
MUST_USE enum err jax_plugins_find(const char *const *packages, size_t n_packages, struct jax_plugins *out,
                                   struct err_detail *err);
void jax_plugins_close(struct jax_plugins *p);

#endif
