/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Stand-ins of one Python's torch and JAX: for `replay run-sim`, and as a call for Python. */
#include "cudasim/standins/torch_standins.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATHS_MAX = 64 };

/* Cuts "a:b:c" at its colons. */
static size_t cut_paths(char *paths, const char *out[PATHS_MAX])
{
    size_t n = 0;
    for (char *at = paths; at != NULL && n < PATHS_MAX;) {
        char *colon = strchr(at, ':');
        if (colon != NULL)
            *colon++ = '\0';
        out[n++] = at;
        at = colon;
    }
    return n;
}

enum err torch_standins_make(const char *found, const char *cache, bool wants_real, struct real_libraries *real,
                             struct standins *out, struct err_detail *err)
{
    char lib[PATH_MAX], *copy = strdup(found);
    const char *paths[PATHS_MAX];
    enum err e = ERR_OK;
    if (copy == NULL)
        return err_no_memory(err);
    const size_t n_paths = cut_paths(copy, paths);
    const char *folders[2] = { paths[0], lib };
    snprintf(lib, sizeof lib, "%s/lib", paths[0]);
    struct standin_places places = { .folders = folders, .packages = paths + 1, .n_packages = n_paths - 1 };
    if (paths[0][0] != '\0')
        places.n_folders = access(lib, R_OK) == 0 ? 2 : 1;
    if (wants_real)
        e = real_libraries_find(places.packages, places.n_packages, real, err);
    places.real = *real;
    if (e == ERR_OK)
        e = jax_plugins_find(places.packages, places.n_packages, &places.plugins, err);
    if (e == ERR_OK)
        e = standins_make(&places, cache, out, err);
    jax_plugins_close(&places.plugins);
    free(copy);
    return e;
}

/* The libraries to load, a line each: stand-ins and real ones by path, what the simulated CUDA has itself by soname.
 * false: there is no room. */
static bool list_libraries(const struct standins *s, const struct real_libraries *real, char *out, size_t room)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < s->n_sonames && used < room; i++) {
        const bool is_made = i < s->n_made;
        used += (size_t)snprintf(out + used, room - used, "%s%s%s\n", is_made ? s->folder : "", is_made ? "/" : "",
                                 s->sonames[i]);
    }
    for (size_t i = 0; i < real->n && used < room; i++)
        if (real->all[i].is_wanted)
            used += (size_t)snprintf(out + used, room - used, "%s\n", real->all[i].path);
    return used < room;
}

/* For python/sitecustomize.py. true: `out` lists the libraries to load; false: it says why there are none. */
__attribute__((visibility("default"))) bool replay_torch_standins(const char *found, const char *cache, bool wants_real,
                                                                  char *out, size_t room);

bool replay_torch_standins(const char *found, const char *cache, bool wants_real, char *out, size_t room)
{
    struct standins s = { 0 };
    struct real_libraries real = { 0 };
    struct err_detail err = { 0 };
    bool is_made = torch_standins_make(found, cache, wants_real, &real, &s, &err) == ERR_OK;
    if (!is_made)
        snprintf(out, room, "%s", err.text);
    else if (!list_libraries(&s, &real, out, room)) {
        is_made = false;
        snprintf(out, room, "too many libraries");
    }
    standins_close(&s);
    real_libraries_close(&real);
    return is_made;
}
