/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Finding policies: the built-in list and shared objects, both checked the same way.
 */
#include "policies/policy.h"

#include "policies/kept_blocks.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define POLICY(name) extern const struct policy_ops policy_##name;
#include "policies/policies.def"
#undef POLICY

static const struct policy_ops *const policy_table[] = {
#define POLICY(name) &policy_##name,
#include "policies/policies.def"
#undef POLICY
};

enum { N_POLICIES = sizeof policy_table / sizeof policy_table[0] };

const struct policy_ops *policy_at(size_t i)
{
    return i < N_POLICIES ? policy_table[i] : NULL;
}

const struct policy_ops *policy_find(const char *name)
{
    for (size_t i = 0; i < N_POLICIES; i++)
        if (strcmp(policy_table[i]->name, name) == 0)
            return policy_table[i];
    return NULL;
}

/* ---- shared objects ---- */

static bool policy_name_is_valid(const char *name)
{
    return name != NULL && name[0] != '\0' && name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
}

static bool policy_options_are_valid(const struct policy_option *options)
{
    for (size_t i = 0; options != NULL && i <= POLICY_OPTIONS_MAX; i++) {
        if (options[i].name == NULL)
            return true;
        if (options[i].name[0] == '\0' || (unsigned)options[i].kind > OPTION_UPSTREAM || options[i].help == NULL)
            return false;
        for (size_t k = 0; k < i; k++)
            if (strcmp(options[i].name, options[k].name) == 0)
                return false;
    }
    return options == NULL;
}

/* Whether a plugin was built with structs of our sizes; says which is another. */
static bool policy_sizes_agree(const struct policy_size *theirs, const char *path, struct err_detail *err)
{
    for (size_t i = 0; policy_sizes[i].name != NULL; i++) {
        const struct policy_size ours = policy_sizes[i];
        if (theirs == NULL || theirs[i].name == NULL || strcmp(theirs[i].name, ours.name) != 0) {
            err_at(err, ERR_ABI, 0, path, "its table does not tell the size of struct %s (POLICY_HEAD does)",
                   ours.name);
            return false;
        }
        if (theirs[i].bytes != ours.bytes) {
            err_at(err, ERR_ABI, 0, path, "its struct %s has %zu bytes, this program's has %zu: build it with the "
                   "headers of this program", ours.name, theirs[i].bytes, ours.bytes);
            return false;
        }
    }
    return true;
}

/* Whether a plugin's table can be used; says what is wrong with it. Reads nothing beyond its `size`. */
static enum err policy_ops_check(const struct policy_ops *ops, const char *path, struct err_detail *err)
{
    const size_t least = offsetof(struct policy_ops, free) + sizeof ops->free;
    if (ops->abi != POLICY_ABI)
        return err_at(err, ERR_ABI, 0, path, "built for policy interface %u, this program has %u", ops->abi,
                      POLICY_ABI);
    if (ops->size < least)
        return err_at(err, ERR_ABI, 0, path, "its table has %u bytes, the interface needs %zu at least", ops->size,
                      least);
    if (ops->size % sizeof ops->free != 0)
        return err_at(err, ERR_ABI, 0, path, "its table has %u bytes, so it ends within a member", ops->size);
    if (!policy_sizes_agree(ops->sizes, path, err))
        return ERR_ABI;
    if (!policy_name_is_valid(ops->name) || ops->summary == NULL)
        return err_at(err, ERR_FORMAT, 0, path, "its table lacks a name of a-z, 0-9 and '-', or a summary");
    if (!policy_options_are_valid(ops->options))
        return err_at(err, ERR_FORMAT, 0, path, "its options are incomplete, of one name, or more than %d",
                      POLICY_OPTIONS_MAX);
    if (ops->create == NULL || ops->destroy == NULL || ops->alloc == NULL || ops->free == NULL)
        return err_at(err, ERR_FORMAT, 0, path, "its table lacks create, destroy, alloc or free");
    return ERR_OK;
}

static enum err policy_open_library(const char *path, void **handle, struct err_detail *err)
{
    /* dlopen searches the system's folders for a name without a slash, but the person means a file. */
    const size_t n = strlen(path);
    char *file = malloc(n + sizeof "./");
    if (file == NULL)
        return err_no_memory(err);
    memcpy(file, "./", 2);
    memcpy(file + 2, path, n + 1);
    *handle = dlopen(strchr(path, '/') == NULL ? file : path, RTLD_NOW | RTLD_LOCAL);
    free(file);
    if (*handle == NULL) {
        const char *reason = dlerror();         /* starts with the path */
        return err_set(err, ERR_INPUT, 0, "cannot load plugin: %s", reason == NULL ? path : reason);
    }
    return ERR_OK;
}

/* The table that a loaded library hands out; NULL if it has none. */
static const struct policy_ops *policy_library_ops(void *handle)
{
    union {                                     /* ISO C has no cast from an object's to a function's pointer */
        void *object;
        const struct policy_ops *(*entry)(void);
    } symbol = {.object = dlsym(handle, POLICY_PLUGIN_SYMBOL)};
    return symbol.object == NULL ? NULL : symbol.entry();
}

enum err policy_take_table(const struct policy_ops *ops, const char *path, struct policy_ops **out,
                           struct err_detail *err)
{
    const enum err e = policy_ops_check(ops, path, err);
    if (e != ERR_OK)
        return e;
    struct policy_ops *copy = calloc(1, sizeof *copy);
    if (copy == NULL)
        return err_no_memory(err);
    memcpy(copy, ops, ops->size < sizeof *copy ? ops->size : sizeof *copy);
    copy->size = sizeof *copy;
    *out = copy;
    return ERR_OK;
}

enum err policy_load(const char *path, const struct policy_ops **out, void **handle, struct err_detail *err)
{
    void *library;
    struct policy_ops *copy = NULL;
    enum err e = policy_open_library(path, &library, err);
    if (e != ERR_OK)
        return e;
    const struct policy_ops *ops = policy_library_ops(library);
    e = ops == NULL ? err_at(err, ERR_FORMAT, 0, path, "no function %s in it: not a policy plugin",
                             POLICY_PLUGIN_SYMBOL)
                    : policy_take_table(ops, path, &copy, err);
    if (e != ERR_OK) {
        dlclose(library);
        return e;
    }
    *out = copy;
    *handle = library;
    return ERR_OK;
}

void policy_unload(const struct policy_ops *ops, void *handle)
{
    if (handle == NULL)
        return;
    free((void *)ops);                          /* policy_load's own copy */
    dlclose(handle);
}

/* ---- one policy ---- */

static const struct policy_observer nobody;

/* Stands in for a policy whose `create` was refused its memory by the device. */
static void refused_destroy(struct policy *p)
{
    free(p);
}

static enum err refused_alloc(struct policy *p, const struct event *req, struct block *out)
{
    (void)p;
    (void)req;
    (void)out;
    return ERR_DEVICE_OOM;
}

static void refused_free(struct policy *p, const struct event *req, const struct block *b)
{
    (void)p;
    (void)req;
    (void)b;
}

static const struct policy_ops policy_refused = {
    POLICY_HEAD,
    .name = "refused",
    .summary = "stands in for a policy that the device refused its memory",
    .destroy = refused_destroy, .alloc = refused_alloc, .free = refused_free,
};

static enum err refused_create(struct policy **out, struct err_detail *err)
{
    *out = calloc(1, sizeof **out);
    return *out == NULL ? err_no_memory(err) : ERR_OK;
}

/* A `create` that failed without a sentence failed in the device, or has no memory. */
static enum err policy_explain(enum err e, const struct device *dev, const struct err_detail *reason,
                               struct err_detail *err)
{
    const char *text = reason->text[0] != '\0' ? reason->text : dev->err.text[0] != '\0' ? dev->err.text : err_text(e);
    return err_set(err, e, reason->offset, "%s", text);
}

bool policy_is_refused(const struct policy *p, uint64_t *bytes)
{
    *bytes = p->device->refused_bytes;
    return p->ops == &policy_refused;
}

enum err policy_create(const struct policy_ops *ops, const struct policy_config *cfg, struct policy **out,
                       struct err_detail *err)
{
    if ((ops->needs & POLICY_NEEDS_VMM) != 0 && !device_has_ranges(cfg->device))
        return err_set(err, ERR_UNSUPPORTED, 0, "policy %s needs virtual memory calls, which device %s does not have",
                       ops->name, cfg->device->ops->name);
    struct policy *p = NULL;
    struct err_detail reason = {.text = ""};
    enum err e = ops->create(cfg, &p, &reason);
    if (e == ERR_DEVICE_OOM) {
        ops = &policy_refused;
        e = refused_create(&p, &reason);
    }
    if (e != ERR_OK)
        return policy_explain(e, cfg->device, &reason, err);
    if (p == NULL)
        return err_set(err, ERR_FORMAT, 0, "policy %s: its create() succeeds without a policy", ops->name);
    p->ops = ops;
    p->device = cfg->device;
    p->observer = &nobody;
    if (ops->walk == NULL && ops->walk_free != NULL && (e = kept_blocks_wrap(&p)) != ERR_OK) {
        policy_destroy(p);
        return err_set(err, e, 0, "no memory for the blocks of policy %s", ops->name);
    }
    *out = p;
    return ERR_OK;
}

void policy_destroy(struct policy *p)
{
    if (p != NULL)
        p->ops->destroy(p);
}

static void policy_note_largest(void *arg, const struct block_view *b)
{
    uint64_t *largest = arg;
    if (b->state == BLOCK_FREE && b->bytes > *largest)
        *largest = b->bytes;
}

uint64_t policy_largest_free(const struct policy *p)
{
    if (p->ops->largest_free != NULL)
        return p->ops->largest_free(p);
    uint64_t largest = 0;
    if (p->ops->walk == NULL || p->ops->walk(p, policy_note_largest, &largest) != ERR_OK)
        return 0;
    return largest;
}
