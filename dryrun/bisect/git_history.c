/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Commits: listed by git log, and checked out one after another in a worktree of ours.
 *
 * Nothing of the person's tree is changed. The worktree shares the repository's objects, hooks do not run in it, and it
 * is taken out of the repository's list at the end. One that a killed run left is taken out by the next.
 */
#include "dryrun/bisect/history.h"

#include "base/temporary_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 24, RECORD_SEPARATOR = 1, FIELD_SEPARATOR = 2 };

/* Runs git in a folder, with the words up to NULL. */
static enum err git(const struct history *h, const char *folder, const char *const *words, char **out, int *status,
                    struct err_detail *err)
{
    const char *argv[ARGUMENTS_MAX] = { "git", "-C", folder, "-c", "core.hooksPath=/dev/null", "-c",
                                        "core.quotePath=false", "-c", "advice.detachedHead=false" };
    size_t n = 9;
    for (size_t i = 0; words[i] != NULL && n + 1 < ARGUMENTS_MAX; i++)
        argv[n++] = words[i];
    return quiet_command(argv, h->folder.path, h->asked.interrupted, out, status, err);
}

/* The same, which has to go well: *out is what it printed, without the line feed. What git says is the reason, else. */
static enum err git_line(const struct history *h, const char *folder, const char *const *words, char **out,
                         struct err_detail *err)
{
    int status = 0;
    char reason[QUIET_REASON];
    enum err e = git(h, folder, words, out, &status, err);
    if (e != ERR_OK)
        return e;
    if (status != 0) {
        quiet_reason(*out, reason);
        free(*out);
        *out = NULL;
        return err_set(err, ERR_IO, 0, "git %s: %s", words[0], reason);
    }
    const size_t n = strlen(*out);
    if (n > 0 && (*out)[n - 1] == '\n')
        (*out)[n - 1] = '\0';
    return ERR_OK;
}

static enum err no_git(enum err e, struct err_detail *err)
{
    return e == ERR_USAGE ? err_set(err, ERR_UNSUPPORTED, 0, "git cannot be started, and commits are asked of it; "
                                    "releases of a package need none: --package NAME") : e;
}

/* ---- the repository ---- */

static enum err find_top(struct history *h, struct err_detail *err)
{
    char *out = NULL;
    int status = 0;
    enum err e = no_git(git(h, h->here, (const char *const[]){ "rev-parse", "--show-toplevel", NULL }, &out, &status,
                            err), err);
    if (e == ERR_OK && status != 0)
        e = err_at(err, ERR_USAGE, 0, h->here, "is in no git repository; go to the folder of the program, or name a "
                   "package: --package NAME");
    if (e == ERR_OK && realpath(strtok(out, "\n"), h->top) == NULL)
        e = err_at(err, ERR_IO, 0, out, "cannot be read: %s", strerror(errno));
    free(out);
    if (e != ERR_OK)
        return e;
    const size_t n = strlen(h->top);
    snprintf(h->prefix, sizeof h->prefix, "%s", h->here[n] == '/' ? h->here + n + 1 : "");
    return ERR_OK;
}

/* The whole name of a commit. */
static enum err find_commit(struct history *h, const char *option, const char *typed, char **out,
                            struct err_detail *err)
{
    char name[PATH_MAX];
    int status = 0;
    if (typed[0] == '-' || typed[0] == '\0')
        return err_set(err, ERR_USAGE, 0, "%s '%.80s': names no commit", option, typed);
    snprintf(name, sizeof name, "%s^{commit}", typed);
    enum err e = git(h, h->top, (const char *const[]){ "rev-parse", "--verify", "--quiet", name, NULL }, out, &status,
                     err);
    if (e == ERR_OK && status != 0) {
        free(*out);
        *out = NULL;
        return err_set(err, ERR_USAGE, 0, "%s '%.80s': names no commit of %.200s (a shallow clone lacks its older "
                       "ones: git fetch --unshallow)", option, typed, h->top);
    }
    if (e == ERR_OK)
        (*out)[strcspn(*out, "\n")] = '\0';
    return e;
}

static enum err is_ancestor(struct history *h, const char *older, const char *newer, bool *is, struct err_detail *err)
{
    char *out = NULL;
    int status = 0;
    const enum err e = git(h, h->top, (const char *const[]){ "merge-base", "--is-ancestor", older, newer, NULL }, &out,
                           &status, err);
    free(out);
    *is = status == 0;
    return e;
}

/* The good one must lead to the bad one. */
static enum err check_order(struct history *h, const char *bad, struct err_detail *err)
{
    const char *const a = h->asked.good, *const b = h->asked.bad;
    bool is_before = false, is_after = false;
    if (strcmp(h->good.name, bad) == 0)
        return err_set(err, ERR_USAGE, 0, "--good %.60s and --bad %.60s are one commit: there is nothing between them",
                       a, b);
    enum err e = is_ancestor(h, h->good.name, bad, &is_before, err);
    if (e == ERR_OK && !is_before)
        e = is_ancestor(h, bad, h->good.name, &is_after, err);
    if (e != ERR_OK || is_before)
        return e;
    if (is_after)
        return err_set(err, ERR_USAGE, 0, "--good %.60s comes after --bad %.60s: the good commit is the older one", a,
                       b);
    return err_set(err, ERR_USAGE, 0, "--good %.60s is no ancestor of --bad %.60s: name the commit where their ways "
                   "part as the good one (git merge-base)", a, b);
}

/* ---- the commits ---- */

/* By name, in the order of the list. */
struct commit_name { const char *name; size_t number; };

static int name_order(const void *a, const void *b)
{
    return strcmp(((const struct commit_name *)a)->name, ((const struct commit_name *)b)->name);
}

/* Cuts the next field out of a record; "" at its end. */
static char *take_field(char **record)
{
    char *field = *record, *end = strchr(field, FIELD_SEPARATOR);
    *record = end != NULL ? end + 1 : field + strlen(field);
    if (end != NULL)
        *end = '\0';
    return field;
}

static enum err read_parents(struct history *h, char *parents, const struct commit_name *names, size_t n,
                             struct err_detail *err)
{
    enum err e = ERR_OK;
    for (char *rest = parents, *name; e == ERR_OK && (name = strtok_r(rest, " ", &rest)) != NULL;) {
        const struct commit_name key = { .name = name };
        const struct commit_name *found = bsearch(&key, names, n, sizeof *names, name_order);
        if (found != NULL && found->number + 1 < h->n)       /* otherwise it is good, or before it */
            e = history_add_parent(h, found->number, err);
    }
    return e;
}

static enum err put_text(char **out, const char *text, struct err_detail *err)
{
    free(*out);
    *out = strdup(text);
    return *out != NULL ? ERR_OK : err_no_memory(err);
}

static enum err read_texts(struct version *v, char *record, struct err_detail *err)
{
    enum err e = put_text(&v->author, take_field(&record), err);
    if (e == ERR_OK)
        e = put_text(&v->day, take_field(&record), err);
    record[strcspn(record, "\n")] = '\0';
    return e == ERR_OK ? put_text(&v->subject, record, err) : e;
}

/* Records of what git log printed: "\1HASH\2PARENTS\2AUTHOR\2DAY\2SUBJECT\n". */
static enum err read_commits(struct history *h, char *records, struct err_detail *err)
{
    size_t n = 0, k = 0;
    for (const char *at = records; (at = strchr(at, RECORD_SEPARATOR)) != NULL; at++)
        n++;
    struct commit_name *names = calloc(n + 1, sizeof *names);
    char **rest = calloc(n + 1, sizeof *rest);
    enum err e = names != NULL && rest != NULL ? ERR_OK : err_no_memory(err);
    for (char *at = records; e == ERR_OK && (at = strchr(at, RECORD_SEPARATOR)) != NULL; k++) {
        rest[k] = ++at;
        names[k] = (struct commit_name){ .name = take_field(&rest[k]), .number = k };
        at = rest[k];
    }
    if (e == ERR_OK && k > 1)
        qsort(names, k, sizeof *names, name_order);
    char **hashes = calloc(n + 1, sizeof *hashes);
    e = e == ERR_OK && hashes == NULL ? err_no_memory(err) : e;
    for (size_t i = 0; e == ERR_OK && i < k; i++)
        hashes[names[i].number] = (char *)names[i].name;
    for (size_t i = 0; e == ERR_OK && i < k; i++) {
        e = history_add(h, hashes[i], strlen(hashes[i]), err);
        if (e == ERR_OK)
            e = read_parents(h, take_field(&rest[i]), names, k, err);
        if (e == ERR_OK)
            e = read_texts(&h->at[i], rest[i], err);
    }
    free(hashes);
    free(names);
    free(rest);
    return e;
}

static enum err list_commits(struct history *h, const char *bad, struct err_detail *err)
{
    char between[2 * 128], *out = NULL;
    snprintf(between, sizeof between, "%.120s..%.120s", h->good.name, bad);
    enum err e = git_line(h, h->top, (const char *const[]){ "log", "--reverse", "--topo-order", "--no-show-signature",
                          "--format=%x01%H%x02%P%x02%an%x02%as%x02%s", between, "--", NULL }, &out, err);
    if (e == ERR_OK)
        e = read_commits(h, out, err);
    free(out);
    if (e == ERR_OK && (h->n == 0 || strcmp(h->at[h->n - 1].name, bad) != 0))
        e = err_set(err, ERR_IO, 0, "git log: did not list %.60s last", h->asked.bad);
    return e;
}

static enum err read_good(struct history *h, struct err_detail *err)
{
    char *out = NULL;
    enum err e = git_line(h, h->top, (const char *const[]){ "log", "-1", "--no-show-signature",
                          "--format=%x01%an%x02%as%x02%s", h->good.name, "--", NULL }, &out, err);
    char *at = e == ERR_OK ? strchr(out, RECORD_SEPARATOR) : NULL;
    if (at != NULL)
        e = read_texts(&h->good, at + 1, err);
    free(out);
    return e;
}

/* ---- the program's words ---- */

static bool is_tracked(const struct history *h, const char *path, enum err *e, struct err_detail *err)
{
    char *out = NULL;
    int status = 0;
    *e = git(h, h->here, (const char *const[]){ "ls-files", "--", path, NULL }, &out, &status, err);
    const bool is = *e == ERR_OK && status == 0 && out[0] != '\0';
    free(out);
    return is;
}

static bool is_within(const char *path, const char *folder)
{
    const size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* A file or folder that git does not track, such as data or .venv/bin/python, is the person's own at every commit; one
 * that it tracks is the commit's, also if a word names it from the root. */
static enum err place_word(struct history *h, size_t i, struct err_detail *err)
{
    const char *word = h->asked.program[i];
    const bool is_whole = word[0] == '/';
    struct stat st;
    char path[2 * PATH_MAX];
    enum err e;
    if ((is_whole && !is_within(word, h->top)) || (i == 0 && strchr(word, '/') == NULL) || stat(word, &st) != 0)
        return ERR_OK;
    const bool is_of_commit = is_tracked(h, word, &e, err);
    if (e != ERR_OK || is_of_commit != is_whole)             /* "train.py" and "/repo/data" stay as they are */
        return e;
    if (is_whole)
        snprintf(path, sizeof path, "%s/tree%s", h->folder.path, word + strlen(h->top));
    else
        snprintf(path, sizeof path, "%s/%s", h->here, word);
    h->words[i] = h->made_words[i] = strdup(path);
    return h->words[i] != NULL ? ERR_OK : err_no_memory(err);
}

/* Prints the folders below argv[1] from which modules are imported, without it: "/src:/lib". A package that was
 * installed "editable" is found by a path of its own, or by a finder that maps names to folders. */
static const char PYTHON_FOLDERS[] =
    "import os, sys\n"
    "top, found = os.path.realpath(sys.argv[1]), []\n"
    "paths = [p for p in sys.path if p]\n"
    "for f in sys.meta_path:\n"
    "    name = getattr(f, '__module__', None) or ''\n"
    "    if name.startswith('__editable__'):\n"
    "        m = getattr(sys.modules.get(name), 'MAPPING', {})\n"
    "        paths += [os.path.dirname(p) for p in m.values()]\n"
    "for p in paths:\n"
    "    p = os.path.realpath(p)\n"
    "    if (p + '/').startswith(top + '/') and 'site-packages' not in p and '/lib/python' not in p:\n"
    "        p = p[len(top):] or '/.'\n"
    "        if p not in found and ':' not in p: found.append(p)\n"
    "print('PATHS ' + ':'.join(found))\n";

static enum err find_python_folders(struct history *h, struct err_detail *err)
{
    const char *const argv[] = { h->words[0], "-c", PYTHON_FOLDERS, h->top, NULL };
    char *out = NULL;
    int status = 0;
    if (h->python[0] == '\0')
        return ERR_OK;
    const enum err e = quiet_command(argv, h->folder.path, h->asked.interrupted, &out, &status, err);
    const char *at = e == ERR_OK && status == 0 ? strstr(out, "PATHS ") : NULL;
    if (at != NULL)
        snprintf(h->paths, sizeof h->paths, "%.*s", (int)strcspn(at + strlen("PATHS "), "\n"), at + strlen("PATHS "));
    free(out);
    return e;
}

static enum err put_python_folders(struct history *h, struct err_detail *err)
{
    char all[PATH_MAX] = "", paths[PATH_MAX], *rest = paths, *path;
    size_t n = 0;
    snprintf(paths, sizeof paths, "%s", h->paths);
    while ((path = strtok_r(rest, ":", &rest)) != NULL && n < sizeof all)
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s/tree%s", n > 0 ? ":" : "", h->folder.path, path);
    return n == 0 ? ERR_OK : history_put_python_path(h, all, err);
}

/* ---- the worktree ---- */

/* Takes worktrees of killed runs out of git's list. */
static enum err forget_killed(struct history *h, struct err_detail *err)
{
    char *out = NULL, ours[PATH_MAX];
    enum err e = git_line(h, h->top, (const char *const[]){ "worktree", "list", "--porcelain", NULL }, &out, err);
    const char *slash = strrchr(h->folder.path, '/');
    snprintf(ours, sizeof ours, "worktree %.*s/replay-bisect-", (int)(slash - h->folder.path), h->folder.path);
    for (char *rest = out, *line; e == ERR_OK && (line = strtok_r(rest, "\n", &rest)) != NULL;) {
        char *said = NULL;
        int status = 0;
        if (strncmp(line, ours, strlen(ours)) != 0 || access(line + strlen("worktree "), F_OK) == 0)
            continue;
        e = git(h, h->top, (const char *const[]){ "worktree", "remove", "--force", line + strlen("worktree "), NULL },
                &said, &status, err);
        free(said);
    }
    free(out);
    return e;
}

static enum err make_tree(struct history *h, const char *commit, struct err_detail *err)
{
    char path[PATH_MAX + 8], *out = NULL;
    snprintf(path, sizeof path, "%s/tree", h->folder.path);
    enum err e = forget_killed(h, err);
    h->has_tree = e == ERR_OK;
    if (e == ERR_OK)
        e = git_line(h, h->top, (const char *const[]){ "worktree", "add", "--detach", "--no-checkout", path, commit,
                     NULL }, &out, err);
    free(out);
    return e;
}

void git_history_close(struct history *h)
{
    char path[PATH_MAX + 8], *out = NULL;
    struct err_detail err;
    int status = 0;
    snprintf(path, sizeof path, "%s/tree", h->folder.path);
    const struct history quiet = { .folder = h->folder };    /* an interrupt does not end it */
    const enum err e = git(&quiet, h->top, (const char *const[]){ "worktree", "remove", "--force", path, NULL }, &out,
                           &status, &err);
    struct stat st;
    if ((e != ERR_OK || status != 0) && stat(path, &st) == 0)
        fprintf(stderr, "replay bisect: %s: git did not forget this worktree; git worktree prune does\n", path);
    free(out);
}

static enum err look_for_changes(struct history *h, struct err_detail *err)
{
    char *out = NULL;
    int status = 0;
    const enum err e = git(h, h->top, (const char *const[]){ "status", "--porcelain", "--untracked-files=no", NULL },
                           &out, &status, err);
    h->is_dirty = e == ERR_OK && status == 0 && out[0] != '\0';
    free(out);
    return e;
}

enum err git_history_open(struct history *h, struct err_detail *err)
{
    char *bad = NULL;
    enum err e = find_top(h, err);
    if (e == ERR_OK)
        e = find_commit(h, "--good", h->asked.good, &h->good.name, err);
    if (e == ERR_OK)
        e = find_commit(h, "--bad", h->asked.bad, &bad, err);
    if (e == ERR_OK)
        e = check_order(h, bad, err);
    if (e == ERR_OK)
        e = list_commits(h, bad, err);
    if (e == ERR_OK)
        e = read_good(h, err);
    if (e == ERR_OK)
        e = look_for_changes(h, err);
    for (size_t i = 0; e == ERR_OK && i < h->asked.n_words; i++)
        e = place_word(h, i, err);
    if (e == ERR_OK)
        e = make_tree(h, bad, err);
    if (e == ERR_OK)
        e = find_python_folders(h, err);
    free(bad);
    return e == ERR_OK ? put_python_folders(h, err) : e;
}

enum err git_history_bring(struct history *h, const char *commit, bool *is_there, char reason[static QUIET_REASON],
                           struct err_detail *err)
{
    char tree[PATH_MAX + 8], here[2 * PATH_MAX + 16], *out = NULL;
    int status = 0;
    snprintf(tree, sizeof tree, "%s/tree", h->folder.path);
    snprintf(here, sizeof here, "%s/%s", tree, h->prefix);
    enum err e = history_go_back(h, err);
    if (e == ERR_OK)
        e = git(h, tree, (const char *const[]){ "checkout", "--quiet", "--detach", "--force", commit, NULL }, &out,
                &status, err);
    if (e == ERR_OK && status == 0) {
        free(out);
        e = git(h, tree, (const char *const[]){ "clean", "-ffdxq", NULL }, &out, &status, err);
    }
    if (e == ERR_OK && status != 0)
        quiet_reason(out, reason);
    free(out);
    *is_there = e == ERR_OK && status == 0 && chdir(here) == 0;
    if (e == ERR_OK && status == 0 && !*is_there)
        snprintf(reason, QUIET_REASON, "the folder %.100s is not there", h->prefix);
    return e;
}
