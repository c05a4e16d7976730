/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * jansson says of some calls without memory that the text is no JSON, leaves members out after others, and has no
 * limit: an empty object of three bytes takes a hundred. So its calls for memory are watched meanwhile.
 */
#include "base/load_json.h"

#include "base/units.h"

#include <stdlib.h>

static _Thread_local struct {
    uint64_t taken, most;
    bool     has_failed;
} json_memory;

static void *json_malloc(size_t n)
{
    json_memory.taken = add_capped(json_memory.taken, n);
    void *p = json_memory.taken <= json_memory.most ? malloc(n) : NULL;
    json_memory.has_failed = json_memory.has_failed || p == NULL;
    return p;
}

enum err load_json(const char *bytes, size_t n, size_t flags, uint64_t most_memory, const char *name, json_t **out,
                   struct err_detail *why)
{
    json_malloc_t usual_malloc;
    json_free_t usual_free;
    json_error_t error;
    json_get_alloc_funcs(&usual_malloc, &usual_free);
    json_set_alloc_funcs(json_malloc, free);
    json_memory.taken = 0;
    json_memory.most = most_memory;
    json_memory.has_failed = false;
    json_t *root = json_loadb(bytes, n, flags, &error);
    json_set_alloc_funcs(usual_malloc, usual_free);
    if (root != NULL && !json_memory.has_failed) {
        *out = root;
        return ERR_OK;
    }
    json_decref(root);                       /* without memory it may lack a member */
    if (json_memory.taken > most_memory)
        return err_set(why, ERR_FORMAT, 0, "%.100s: takes more memory than a JSON of this size can need; "
                       "--memory-limit SIZE allows that", name);
    if (json_memory.has_failed)
        return err_set(why, ERR_HOST_NOMEM, 0, "%.100s: no memory to read it", name);
    return err_set(why, ERR_FORMAT, (uint64_t)error.position, "%.100s: no JSON, at byte %d: %.80s", name,
                   error.position, error.text);
}
