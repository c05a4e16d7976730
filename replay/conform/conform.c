/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/conform/conform.h"

#include "base/array.h"
#include "policies/spec.h"
#include "replay/conform/case_file.h"
#include "replay/conform/zoo_program.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is asked of each case. */
struct conform_run {
    const char *allocator, *policy;
    struct conform *out;
};

/* Whether a policy as typed, "rmm-pool:initial=0", is the named one. */
static bool is_of(const char *typed, const char *name)
{
    const size_t n = strlen(name);
    return strncmp(typed, name, n) == 0 && (typed[n] == '\0' || typed[n] == ':');
}

static enum err add_case(struct conform *c, const char *name, const struct difference *diff, struct err_detail *err)
{
    struct conform_case *cases = array_grow(c->cases, c->n, &c->cap, sizeof *cases);
    if (cases == NULL)
        return err_no_memory(err);
    c->cases = cases;
    c->cases[c->n] = (struct conform_case){ .name = strdup(name),
                                            .difference = diff->is_found ? strdup(diff->text) : NULL };
    c->n++;
    c->n_equal += !diff->is_found;
    const struct conform_case *added = &c->cases[c->n - 1];
    return added->name == NULL || (diff->is_found && added->difference == NULL) ? err_no_memory(err) : ERR_OK;
}

/* Whether a policy takes the options of a case. */
static bool takes_options(const char *policy)
{
    struct policy_spec spec;
    struct err_detail reason = { .text = "" };
    const enum err e = policy_spec_parse(policy, &spec, &reason);
    if (e == ERR_OK)
        policy_spec_close(&spec);
    return e != ERR_USAGE;
}

static enum err run_case(const struct conform_run *r, const json_t *root, struct err_detail *err)
{
    struct difference diff = { .is_found = false };
    char *real = NULL, *policy = NULL;
    enum err e = zoo_case_policy(root, NULL, &real, err);
    if (e == ERR_OK)
        e = zoo_case_policy(root, r->policy, &policy, err);
    const char *name = json_string_value(json_object_get(root, "case"));
    const char *version = json_string_value(json_object_get(root, "version"));
    const bool is_asked = real != NULL && name != NULL && is_of(real, r->allocator);
    if (e == ERR_OK && is_asked)
        e = zoo_program_run(root, policy, true, &diff, err);
    if (e == ERR_OK && is_asked) {
        r->out->n_refused_options += !takes_options(policy);
        e = add_case(r->out, name, &diff, err);
    }
    if (e == ERR_OK && is_asked && version != NULL)
        snprintf(r->out->version, sizeof r->out->version, "%s", version);
    free(real);
    free(policy);
    return e;
}

static enum err run_file(const struct conform_run *r, const char *path, struct err_detail *err)
{
    json_t *root = NULL;
    enum err e = case_load(path, &root, err);
    if (e == ERR_OK && zoo_is_case(root))
        e = run_case(r, root, err);
    json_decref(root);
    return e;
}

static bool ends_in(const char *name, const char *end)
{
    const size_t n = strlen(name), k = strlen(end);
    return n > k && strcmp(name + n - k, end) == 0;
}

/* A case, or a folder of cases. */
static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.' &&
           (entry->d_type == DT_DIR || ends_in(entry->d_name, ".json") || ends_in(entry->d_name, ".json.gz"));
}

static enum err run_folder(const struct conform_run *r, const char *folder, struct err_detail *err)
{
    struct dirent **entries;
    const int n = scandir(folder, &entries, is_shown, alphasort);
    enum err e = n < 0 ? err_at(err, ERR_IO, 0, folder, "%s", strerror(errno)) : ERR_OK;
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX];
        const int length = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (e == ERR_OK && (length < 0 || (size_t)length >= sizeof path))
            e = err_at(err, ERR_IO, 0, folder, "the path is too long");
        if (e == ERR_OK)
            e = entries[i]->d_type == DT_DIR ? run_folder(r, path, err) : run_file(r, path, err);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return e;
}

/* A policy that cannot be loaded is a mistake of the person, not a difference in every case. */
static enum err check_policy(const char *policy, struct err_detail *err)
{
    struct policy_spec spec;
    if (strchr(policy, ':') != NULL)
        return err_set(err, ERR_USAGE, 0, "'%s': name the policy without options; it gets those of each case", policy);
    const enum err e = policy_spec_parse(policy, &spec, err);
    if (e == ERR_OK)
        policy_spec_close(&spec);
    return e;
}

enum err conform_run(const char *folder, const char *allocator, const char *policy, struct conform *out,
                     struct err_detail *err)
{
    const struct conform_run r = { .allocator = allocator, .policy = policy, .out = out };
    *out = (struct conform){ .cases = NULL };
    enum err e = check_policy(policy, err);
    if (e == ERR_OK)
        e = run_folder(&r, folder, err);
    if (e == ERR_OK && out->n == 0)
        e = err_set(err, ERR_USAGE, 0, "no cases of '%s' were recorded, but of " CONFORM_ALLOCATORS, allocator);
    if (e != ERR_OK)
        conform_close(out);
    return e;
}

void conform_close(struct conform *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->cases[i].name);
        free(c->cases[i].difference);
    }
    free(c->cases);
    *c = (struct conform){ .cases = NULL };
}
