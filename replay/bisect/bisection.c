/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Counts, for each candidate, the candidates among its ancestors; picks the one in the middle. */
#include "replay/bisect/bisection.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Visits a version and all its ancestors; `take` says whether to go on beyond it. */
static void walk(struct bisection *b, size_t from, bool (*take)(struct bisection *b, size_t version))
{
    size_t n = 0;
    if (take(b, from))
        b->stack[n++] = from;
    while (n > 0) {
        const size_t at = b->stack[--n];
        for (size_t i = b->first_parent[at]; i < b->first_parent[at + 1]; i++)
            if (take(b, b->parents[i]))
                b->stack[n++] = b->parents[i];
    }
}

static bool take_below(struct bisection *b, size_t version)
{
    const bool is_new = !b->is_below[version];
    b->is_below[version] = 1;
    return is_new;
}

static bool take_candidate(struct bisection *b, size_t version)
{
    const bool is_new = !b->is_below[version] && !b->is_candidate[version];
    if (is_new) {
        b->is_candidate[version] = 1;
        b->n_candidates++;
        b->n_skipped += b->state[version] == VERSION_SKIPPED;
    }
    return is_new;
}

/* The only candidate among the parents; n: there is none. More than one: *is_merge. */
static size_t only_parent(const struct bisection *b, size_t version, bool *is_merge)
{
    size_t found = b->n;
    *is_merge = false;
    for (size_t i = b->first_parent[version]; i < b->first_parent[version + 1]; i++) {
        const size_t parent = b->parents[i];
        if (!b->is_candidate[parent] || parent == found)
            continue;
        *is_merge = found != b->n;
        found = parent;
        if (*is_merge)
            break;
    }
    return found;
}

/* By a walk, which sees each ancestor once. */
static size_t count_of_merge(struct bisection *b, size_t version)
{
    size_t n = 0, count = 0;
    b->stack[n++] = version;
    b->seen[version] = version + 1;
    while (n > 0) {
        const size_t at = b->stack[--n];
        count++;
        for (size_t i = b->first_parent[at]; i < b->first_parent[at + 1]; i++) {
            const size_t parent = b->parents[i];
            if (b->is_candidate[parent] && b->seen[parent] != version + 1) {
                b->seen[parent] = version + 1;
                b->stack[n++] = parent;
            }
        }
    }
    return count;
}

static void count_ancestors(struct bisection *b)
{
    memset(b->seen, 0, b->n * sizeof *b->seen);
    for (size_t i = 0; i < b->n; i++) {
        bool is_merge;
        if (!b->is_candidate[i])
            continue;
        const size_t parent = only_parent(b, i, &is_merge);
        b->n_ancestors[i] = is_merge ? count_of_merge(b, i) : parent < b->n ? b->n_ancestors[parent] + 1 : 1;
    }
}

static void find_candidates(struct bisection *b)
{
    memset(b->is_candidate, 0, b->n);
    b->n_candidates = b->n_skipped = 0;
    walk(b, b->high, take_candidate);
    count_ancestors(b);
}

static bool copy_lists(struct bisection *b, const size_t *first_parent, const size_t *parents)
{
    const size_t n_parents = first_parent[b->n];
    b->first_parent = malloc((b->n + 1) * sizeof *first_parent);
    b->parents = malloc((n_parents + 1) * sizeof *parents);
    if (b->first_parent == NULL || b->parents == NULL)
        return false;
    memcpy(b->first_parent, first_parent, (b->n + 1) * sizeof *first_parent);
    if (n_parents > 0)
        memcpy(b->parents, parents, n_parents * sizeof *parents);
    return true;
}

enum err bisection_open(size_t n, const size_t *first_parent, const size_t *parents, struct bisection *out,
                        struct err_detail *err)
{
    assert(n > 0);
    *out = (struct bisection){
        .n = n, .high = n - 1, .state = calloc(n, 1), .is_below = calloc(n, 1), .is_candidate = calloc(n, 1),
        .n_ancestors = calloc(n, sizeof *out->n_ancestors), .stack = calloc(n + 1, sizeof *out->stack),
        .seen = calloc(n, sizeof *out->seen),
    };
    const bool has_room = out->state != NULL && out->is_below != NULL && out->is_candidate != NULL &&
                          out->n_ancestors != NULL && out->stack != NULL && out->seen != NULL;
    if (!has_room || !copy_lists(out, first_parent, parents)) {
        bisection_close(out);
        return err_no_memory(err);
    }
    out->state[out->high] = VERSION_HIGH;
    find_candidates(out);
    return ERR_OK;
}

void bisection_close(struct bisection *b)
{
    free(b->first_parent);
    free(b->parents);
    free(b->state);
    free(b->is_below);
    free(b->is_candidate);
    free(b->n_ancestors);
    free(b->stack);
    free(b->seen);
    *b = (struct bisection){ .n = 0 };
}

void bisection_mark(struct bisection *b, size_t version, enum version_state state)
{
    assert(version < b->n && b->is_candidate[version] && state != VERSION_OPEN);
    b->state[version] = (unsigned char)state;
    if (state == VERSION_HIGH)
        b->high = version;
    if (state == VERSION_LOW)
        walk(b, version, take_below);
    find_candidates(b);
}

/* Where among the candidates to look, as a share: a half; after versions that were skipped a quarter, three quarters,
 * an eighth and so on, because what does not run has neighbours that do not either. Source: van der Corput, 1935. */
static double share_to_try(size_t n_skipped)
{
    double share = 0, digit = 0.5;
    for (size_t k = n_skipped + 1; k > 0; k /= 2, digit /= 2)
        share += k % 2 > 0 ? digit : 0;
    return share;
}

bool bisection_next(const struct bisection *b, size_t *version)
{
    const double wanted = share_to_try(b->n_skipped) * (double)b->n_candidates;
    double best = -1;
    for (size_t i = 0; i < b->n; i++) {
        const double away = (double)b->n_ancestors[i] - wanted, distance = away < 0 ? -away : away;
        if (!b->is_candidate[i] || b->state[i] != VERSION_OPEN || (best >= 0 && distance >= best))
            continue;
        best = distance;
        *version = i;
    }
    return best >= 0;
}

unsigned bisection_left(const struct bisection *b)
{
    unsigned left = 0;
    for (size_t n = b->n_candidates - b->n_skipped; n > 1; n = (n + 1) / 2)
        left++;
    return left;
}
