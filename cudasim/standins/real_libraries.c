/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Finds NVIDIA's libraries that work without NVIDIA's driver. */
#include "cudasim/standins/real_libraries.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const able[] = { "libnvrtc.so.", "libnvJitLink.so." };

/* "libnvrtc.so.12" is a soname, "libnvrtc.so.12.8.93" and "libnvrtc.alt.so.12" are not. */
static bool is_able(const char *name)
{
    for (size_t i = 0; i < sizeof able / sizeof able[0]; i++) {
        const size_t n = strlen(able[i]);
        if (strncmp(name, able[i], n) == 0 && name[n] != '\0' && name[n + strspn(name + n, "0123456789")] == '\0')
            return true;
    }
    return false;
}

const char *real_library_soname(const struct real_library *l)
{
    return strrchr(l->path, '/') + 1;
}

struct real_library *real_libraries_get(const struct real_libraries *r, const char *soname)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(real_library_soname(&r->all[i]), soname) == 0)
            return &r->all[i];
    return NULL;
}

static enum err put(struct real_libraries *r, const char *path, struct err_detail *err)
{
    struct real_library *all = realloc(r->all, (r->n + 1) * sizeof *all);
    if (all != NULL)
        r->all = all;
    if (all == NULL || (all[r->n].path = strdup(path)) == NULL)
        return err_no_memory(err);
    all[r->n++].is_wanted = false;
    return ERR_OK;
}

/* A folder that cannot be read holds none. */
static enum err look_in(struct real_libraries *r, const char *folder, struct err_detail *err)
{
    char path[PATH_MAX];
    enum err e = ERR_OK;
    DIR *d = folder[0] != '/' || strpbrk(folder, ": ") != NULL ? NULL : opendir(folder);
    for (const struct dirent *f; d != NULL && e == ERR_OK && (f = readdir(d)) != NULL;)
        if (is_able(f->d_name) && real_libraries_get(r, f->d_name) == NULL &&
            (size_t)snprintf(path, sizeof path, "%s/%s", folder, f->d_name) < sizeof path)
            e = put(r, path, err);
    if (d != NULL)
        closedir(d);
    return e;
}

/* PyPI's wheels have their libraries in nvidia/<part>/lib. */
static enum err look_in_package(struct real_libraries *r, const char *package, struct err_detail *err)
{
    char nvidia[PATH_MAX], lib[PATH_MAX];
    enum err e = ERR_OK;
    DIR *d = (size_t)snprintf(nvidia, sizeof nvidia, "%s/nvidia", package) < sizeof nvidia ? opendir(nvidia) : NULL;
    for (const struct dirent *f; d != NULL && e == ERR_OK && (f = readdir(d)) != NULL;)
        if (f->d_name[0] != '.' && (size_t)snprintf(lib, sizeof lib, "%s/%s/lib", nvidia, f->d_name) < sizeof lib)
            e = look_in(r, lib, err);
    if (d != NULL)
        closedir(d);
    return e;
}

enum err real_libraries_find(const char *const *packages, size_t n_packages, struct real_libraries *out,
                             struct err_detail *err)
{
    const char *const toolkits[] = { getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda" };
    char lib[PATH_MAX];
    enum err e = ERR_OK;
    *out = (struct real_libraries){ 0 };
    for (size_t i = 0; e == ERR_OK && i < n_packages; i++)
        e = look_in_package(out, packages[i], err);
    for (size_t i = 0; e == ERR_OK && i < sizeof toolkits / sizeof toolkits[0]; i++)
        if (toolkits[i] != NULL && (size_t)snprintf(lib, sizeof lib, "%s/lib64", toolkits[i]) < sizeof lib)
            e = look_in(out, lib, err);
    if (e != ERR_OK)
        real_libraries_close(out);
    return e;
}

void real_libraries_close(struct real_libraries *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->all[i].path);
    free(r->all);
    *r = (struct real_libraries){ 0 };
}
