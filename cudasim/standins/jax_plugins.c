/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Finds the folders of JAX's CUDA plugins by their names. */
#include "cudasim/standins/jax_plugins.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "xla_cuda13" with "xla_cuda" and "" is 13, "jax_cuda12_plugin" with "jax_cuda" and "_plugin" is 12; 0: neither. */
static unsigned number_in(const char *name, const char *before, const char *after)
{
    const size_t n = strlen(before);
    char *end = NULL;
    const unsigned long number = strncmp(name, before, n) == 0 ? strtoul(name + n, &end, 10) : 0;
    return number > 0 && number < 1000 && strcmp(end, after) == 0 ? (unsigned)number : 0;
}

static enum err put(struct jax_plugins *p, const char *folder, const char *name, unsigned cuda, struct err_detail *err)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return ERR_OK;
    struct jax_plugin *all = realloc(p->all, (p->n + 1) * sizeof *all);
    if (all != NULL)
        p->all = all;
    if (all == NULL || (all[p->n].folder = strdup(path)) == NULL)
        return err_no_memory(err);
    all[p->n++].cuda = cuda;
    return ERR_OK;
}

/* Puts the folders in `folder` whose names have a number between the two texts. */
static enum err look_in(struct jax_plugins *p, const char *folder, const char *before, const char *after,
                        struct err_detail *err)
{
    enum err e = ERR_OK;
    DIR *d = opendir(folder);
    for (const struct dirent *f; d != NULL && e == ERR_OK && (f = readdir(d)) != NULL;) {
        const unsigned cuda = number_in(f->d_name, before, after);
        if (cuda != 0)
            e = put(p, folder, f->d_name, cuda, err);
    }
    if (d != NULL)
        closedir(d);
    return e;
}

/* TensorFlow opens NVIDIA's libraries as JAX's plugins do. Its wheels from 2.14 on are built for CUDA 12. */
static enum err look_for_tensorflow(struct jax_plugins *p, const char *folder, struct err_detail *err)
{
    char path[PATH_MAX];
    const bool is_short = (size_t)snprintf(path, sizeof path, "%s/tensorflow/libtensorflow_cc.so.2", folder) <
                          sizeof path;
    return is_short && access(path, F_OK) == 0 ? put(p, folder, "tensorflow", 12, err) : ERR_OK;
}

enum err jax_plugins_find(const char *const *packages, size_t n_packages, struct jax_plugins *out,
                          struct err_detail *err)
{
    char plugins[PATH_MAX];
    enum err e = ERR_OK;
    *out = (struct jax_plugins){ 0 };
    for (size_t i = 0; e == ERR_OK && i < n_packages; i++) {
        e = look_in(out, packages[i], "jax_cuda", "_plugin", err);
        if (e == ERR_OK && (size_t)snprintf(plugins, sizeof plugins, "%s/jax_plugins", packages[i]) < sizeof plugins)
            e = look_in(out, plugins, "xla_cuda", "", err);
        if (e == ERR_OK)
            e = look_for_tensorflow(out, packages[i], err);
    }
    if (e != ERR_OK)
        jax_plugins_close(out);
    return e;
}

void jax_plugins_close(struct jax_plugins *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->all[i].folder);
    free(p->all);
    *p = (struct jax_plugins){ 0 };
}
