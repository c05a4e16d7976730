/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The versions between a good one and a bad one, and how each is brought to where the program runs: commits of a git
 * repository in a worktree of ours, or releases of a package in a folder of ours.
 *
 *     /tmp/replay-bisect-a8K2xz/tree       the worktree: the program runs here, at one commit after another
 *     /tmp/replay-bisect-a8K2xz/package    or the package: in front of what is installed (PYTHONPATH)
 */
#ifndef REPLAY_DRYRUN_BISECT_HISTORY_H
#define REPLAY_DRYRUN_BISECT_HISTORY_H

#include "dryrun/bisect/quiet_command.h"
#include "dryrun/safe/scratch_folder.h"

#include <stddef.h>

/* Texts are malloc'ed; "" where there is none. */
struct version {
    char *name;                      /* a commit's whole name; the number of a release */
    char *author, *day, *subject;    /* of a commit */
};

struct history_request {
    const char *good, *bad;          /* as typed; borrowed */
    const char *package;             /* NULL: commits */
    const char *const *program;      /* its words, a list that NULL ends */
    size_t      n_words;
    const volatile sig_atomic_t *interrupted;
};

struct history {
    struct history_request asked;
    struct scratch_folder folder;    /* of all that is made */
    struct version  good;
    struct version *at;              /* those after the good one; the last is the bad one */
    size_t  n, room;
    size_t *first_parent, *parents;  /* as in struct bisection; a parent that is good, or before it, is not listed */
    size_t  n_parents, room_parents;
    char    here[PATH_MAX];          /* the working folder at the start, absolute and without links */
    char   *python_path;             /* PYTHONPATH as it was; NULL: it was not set */
    bool    has_python_path;         /* ours is set instead */

    /* Commits. */
    char    top[PATH_MAX];           /* of the person's tree */
    char    prefix[PATH_MAX];        /* the working folder below it, "" or "a/b/" */
    bool    is_dirty;                /* the tree has changes that are in no commit */
    bool    has_tree;                /* our worktree is known to git */
    char    paths[PATH_MAX];         /* folders below `top` that the program's Python imports from, as
                                      * "/src:/lib"; "": none */
    char    python[PATH_MAX];        /* of the program; "": its first word is no Python */
    const char **words;              /* the program with what git does not track named from anywhere */
    char  **made_words;              /* those of them that were made, or NULL */
};

/* Finds the versions, oldest first. ERR_USAGE if a name is none, or the good one is not before the bad one;
 * ERR_UNSUPPORTED without git or pip; ERR_INTERRUPTED; ERR_IO, ERR_HOST_NOMEM. Close it also after an error. */
MUST_USE enum err history_open(const struct history_request *request, struct history *h, struct err_detail *err);

/* Brings a version; the good one's number is SIZE_MAX. False in *is_there: it cannot be had, for a reason. */
MUST_USE enum err history_bring(struct history *h, size_t version, bool *is_there, char reason[static QUIET_REASON],
                                struct err_detail *err);

/* The version's own texts. */
const struct version *history_version(const struct history *h, size_t version);

/* Its name for a person: twelve letters of a commit, "2.1" of a release. */
enum { VERSION_NAME = 64 };
const char *history_name(const struct history *h, size_t version, char out[static VERSION_NAME]);

/* Goes back to the working folder, from which names are typed. */
MUST_USE enum err history_go_back(const struct history *h, struct err_detail *err);

/* Removes all that was made. */
void history_close(struct history *h);

/* For the two kinds. */
MUST_USE enum err git_history_open(struct history *h, struct err_detail *err);
MUST_USE enum err git_history_bring(struct history *h, const char *commit, bool *is_there,
                                    char reason[static QUIET_REASON], struct err_detail *err);
void git_history_close(struct history *h);
MUST_USE enum err package_history_open(struct history *h, struct err_detail *err);
MUST_USE enum err package_history_bring(struct history *h, const char *version, bool *is_there,
                                        char reason[static QUIET_REASON], struct err_detail *err);

/* Adds a version with empty texts. ERR_HOST_NOMEM. */
MUST_USE enum err history_add(struct history *h, const char *name, size_t n_name, struct err_detail *err);
MUST_USE enum err history_add_parent(struct history *h, size_t parent, struct err_detail *err);

/* Programs that start from now on look into these folders first, "A:B"; what PYTHONPATH was follows. */
MUST_USE enum err history_put_python_path(struct history *h, const char *folders, struct err_detail *err);

#endif
