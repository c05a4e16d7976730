/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * golden: runs golden cases on a simulated device: PyTorch's against the `pytorch` policy, those of other allocators
 * against the policy that a case names. A folder may hold folders.
 *
 *     golden DIR|FILE [-k NAME] [--verbose] [--explain] [--skip-absent] [--as POLICY]
 *
 * With --as the cases of another allocator run through a policy of yours, such as ./mine.so, which gets the options of
 * the case under the names that our policy for that allocator has: how well does it do what the real one did?
 *
 * Prints a line for each case that is not equal, with its first difference, and last `N of M cases equal`. With
 * --explain each such case also runs with each rule of pytorch_rules.def turned round, and the rules are named with
 * which it is equal. Exit status: 0 if all are equal except those known to differ (known.def), 1 if not, 2 for bad
 * input; 77 with --skip-absent if DIR is not there.
 */
#include "policies/pytorch/pytorch_rules.h"
#include "tests/golden/case.h"
#include "replay/conform/compare.h"
#include "tests/golden/program.h"
#include "replay/conform/zoo_program.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { EXIT_EQUAL = 0, EXIT_DIFFERENT = 1, EXIT_BAD_INPUT = 2, EXIT_SKIPPED = 77 };

struct golden_options {
    const char *path;
    const char *name;                     /* only cases whose name contains it; NULL: all */
    const char *stand_in;                 /* the policy to run instead; NULL: the case's own */
    bool        is_verbose, explains, skips_absent;
};

struct golden_tally {
    size_t n_cases, n_equal;
    size_t n_failed;                      /* different and not listed, or listed and not different */
    bool   is_bad;                        /* a file could not be read */
};

/* ---- known differences ---- */

#define KNOWN(release, name, reason) {release, name, reason},
static const struct {
    const char *release, *name, *reason;
} golden_known[] = {
#include "tests/golden/known.def"
};
#undef KNOWN

/* Why a case is known to differ; NULL if it is not. */
static const char *golden_reason(const char *name, const char *release)
{
    for (size_t i = 0; i < sizeof golden_known / sizeof golden_known[0]; i++)
        if (strcmp(golden_known[i].name, name) == 0 &&
            (strcmp(golden_known[i].release, "*") == 0 || strcmp(golden_known[i].release, release) == 0))
            return golden_known[i].reason;
    return NULL;
}

/* ---- one case ---- */

/* `release`: of PyTorch, or the name of another allocator. */
static void golden_judge(const char *name, const char *release, const struct difference *diff,
                         const struct golden_options *o, struct golden_tally *t)
{
    const char *reason = golden_reason(name, release);
    t->n_cases++;
    t->n_equal += !diff->is_found;
    if (diff->is_found && reason == NULL)
        printf("%s (%s): %s\n", name, release, diff->text);
    else if (diff->is_found)
        printf("%s (%s): known to differ: %s\n", name, release, reason);
    else if (reason != NULL)
        printf("%s (%s): equal, but listed as known to differ: %s\n", name, release, reason);
    else if (o->is_verbose)
        printf("%s (%s): equal\n", name, release);
    if (diff->is_found && reason != NULL && o->is_verbose)
        printf("    %s\n", diff->text);
    t->n_failed += diff->is_found == (reason == NULL);
}

/* Names the rules with which, turned round, the case is equal. A rule that only matters to the text of the settings at
 * the start is not found this way. */
static void golden_explain(struct golden_case *c)
{
    static const char *const rules[][2] = {
#define RULE(name, first, last, says) {#name, says},
#include "policies/pytorch/pytorch_rules.def"
#undef RULE
    };
    bool is_found = false;
    for (int i = 0; i < (int)(sizeof rules / sizeof rules[0]); i++) {
        struct difference diff = {0};
        c->turned_rule = i;
        if (program_run(c, &diff, NULL) != ERR_OK || diff.is_found)
            continue;
        printf("    equal if this rule is turned round: %s (%s)\n", rules[i][0], rules[i][1]);
        is_found = true;
    }
    c->turned_rule = -1;
    if (!is_found)
        printf("    no single rule explains it\n");
}

static enum err golden_run_torch(json_t *root, const char *path, const struct golden_options *o,
                                 struct golden_tally *t, struct err_detail *err)
{
    struct golden_case c;
    struct difference diff = {0};
    enum err e = case_parse(root, path, &c, err);
    if (e != ERR_OK)
        return e;
    e = program_run(&c, &diff, err);
    if (e == ERR_OK)
        golden_judge(c.name, torch_release_name(c.release), &diff, o, t);
    if (e == ERR_OK && o->explains && diff.is_found && golden_reason(c.name, torch_release_name(c.release)) == NULL)
        golden_explain(&c);
    case_close(&c);
    return e;
}

static enum err golden_run_zoo(const json_t *root, const struct golden_options *o, struct golden_tally *t,
                               struct err_detail *err)
{
    struct difference diff = {0};
    char *policy = NULL;
    enum err e = zoo_case_policy(root, o->stand_in, &policy, err);
    if (e == ERR_OK)
        e = zoo_program_run(root, policy, o->stand_in != NULL, &diff, err);
    free(policy);
    if (e == ERR_OK)
        golden_judge(json_string_value(json_object_get(root, "case")),
                     json_string_value(json_object_get(root, "allocator")), &diff, o, t);
    return e;
}

static void golden_run_file(const char *path, const struct golden_options *o, struct golden_tally *t)
{
    struct err_detail err = {0};
    json_t *root = NULL;
    enum err e = case_load(path, &root, &err);
    if (e == ERR_OK)
        e = zoo_is_case(root) ? golden_run_zoo(root, o, t, &err) : golden_run_torch(root, path, o, t, &err);
    json_decref(root);
    if (e != ERR_OK) {
        fprintf(stderr, "golden: %s: %s\n", path, err.text[0] == '\0' ? err_text(e) : err.text);
        t->is_bad = true;
    }
}

/* ---- a folder ---- */

static bool golden_ends_in(const char *name, const char *end)
{
    const size_t n = strlen(name), k = strlen(end);
    return n > k && strcmp(name + n - k, end) == 0;
}

/* A case, or a folder of cases. */
static int golden_is_case(const struct dirent *e)
{
    return (e->d_type == DT_DIR && e->d_name[0] != '.') || golden_ends_in(e->d_name, ".json") ||
           golden_ends_in(e->d_name, ".json.gz");
}

static void golden_run_folder(const char *folder, const struct golden_options *o, struct golden_tally *t)
{
    struct dirent **entries;
    const int n = scandir(folder, &entries, golden_is_case, alphasort);
    if (n < 0) {
        fprintf(stderr, "golden: %s: %s\n", folder, strerror(errno));
        t->is_bad = true;
        return;
    }
    for (int i = 0; i < n; i++) {
        char path[4096];
        const int length = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (length < 0 || (size_t)length >= sizeof path) {
            fprintf(stderr, "golden: %s: the path is too long\n", folder);
            t->is_bad = true;
        } else if (entries[i]->d_type == DT_DIR) {
            golden_run_folder(path, o, t);
        } else if (o->name == NULL || strstr(entries[i]->d_name, o->name) != NULL) {
            golden_run_file(path, o, t);
        }
        free(entries[i]);
    }
    free(entries);
}

static void golden_run_all(const struct golden_options *o, struct golden_tally *t)
{
    golden_run_folder(o->path, o, t);
    if (t->n_cases == 0 && !t->is_bad) {
        fprintf(stderr, "golden: %s: no such cases\n", o->path);
        t->is_bad = true;
    }
}

/* ---- the command line ---- */

static bool golden_parse(int argc, char **argv, struct golden_options *o)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--verbose") == 0)
            o->is_verbose = true;
        else if (strcmp(argv[i], "--explain") == 0)
            o->explains = true;
        else if (strcmp(argv[i], "--skip-absent") == 0)
            o->skips_absent = true;
        else if (strcmp(argv[i], "-k") == 0 && i + 1 < argc)
            o->name = argv[++i];
        else if (strcmp(argv[i], "--as") == 0 && i + 1 < argc)
            o->stand_in = argv[++i];
        else if (argv[i][0] != '-' && o->path == NULL)
            o->path = argv[i];
        else
            return false;
    }
    return o->path != NULL;
}

int main(int argc, char **argv)
{
    struct golden_options o = {0};
    struct golden_tally t = {0};
    struct stat found;
    if (!golden_parse(argc, argv, &o)) {
        fputs("usage: golden DIR|FILE [-k NAME] [--verbose] [--explain] [--skip-absent] [--as POLICY]\n", stderr);
        return EXIT_BAD_INPUT;
    }
    const bool is_there = stat(o.path, &found) == 0;
    if (!is_there && o.skips_absent) {
        printf("golden: %s is not there: skipped\n", o.path);
        return EXIT_SKIPPED;
    }
    if (is_there && !S_ISDIR(found.st_mode))
        golden_run_file(o.path, &o, &t);
    else
        golden_run_all(&o, &t);
    printf("%zu of %zu cases equal\n", t.n_equal, t.n_cases);
    if (t.is_bad)
        return EXIT_BAD_INPUT;
    return t.n_failed == 0 ? EXIT_EQUAL : EXIT_DIFFERENT;
}
