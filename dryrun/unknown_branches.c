/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Finds the simulated card's lines among what a program printed. */
#include "dryrun/unknown_branches.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 4096 };

/* Of "replay cudasim: FILE:LINE: what it does": the file and the line, in *place. False if it does something else. */
static bool tells(const char *line, const char *what, char place[static BRANCH_PLACE])
{
    static const char before[] = "replay cudasim: ";
    const char *end = strstr(line, what);
    if (end == NULL || strncmp(line, before, strlen(before)) != 0)
        return false;
    const char *from = line + strlen(before);
    const int n = end > from ? (int)(end - from) : 0;
    snprintf(place, BRANCH_PLACE, "%.*s", n < BRANCH_PLACE ? n : BRANCH_PLACE - 1, from);
    return true;
}

bool unknown_branches_grow(const struct unknown_branches *b)
{
    return b->loops.n > b->n_settled;
}

unsigned told_lines_shown(const struct told_lines *t)
{
    return t->n < BRANCHES_SHOWN ? t->n : BRANCHES_SHOWN;
}

/* Takes a line that tells this; whether it does. */
static bool take(struct told_lines *t, const char *line, const char *what)
{
    char place[BRANCH_PLACE];
    if (!tells(line, what, place))
        return false;
    if (t->n++ < BRANCHES_SHOWN)
        memcpy(t->at[t->n - 1], place, sizeof place);
    return true;
}

static void take_loop(struct unknown_branches *b, const char *line)
{
    const char *after = strstr(line, "the other answer after ");
    if (!take(&b->loops, line, ": asks again and again for a value"))
        return;
    b->n_settled += strstr(line, "no longer grew") != NULL;
    if (b->loops.n == 1 && (after == NULL || sscanf(after, "the other answer after %5u looks", &b->looks) != 1))
        b->looks = LOOP_LOOKS;
}

static void take_line(struct unknown_branches *b, const char *line)
{
    char place[BRANCH_PLACE];
    if (take(&b->sizes, line, ": a size depends on values"))
        b->n_nothing += strstr(line, "taken for zeros") != NULL;
    (void)take(&b->places, line, ": branches on a value");
    take_loop(b, line);
    if (b->looked_at_memory[0] == '\0' && tells(line, ": looks at the card's ", place))
        memcpy(b->looked_at_memory, place, sizeof place);
}

enum err unknown_branches_read(const char *log, struct unknown_branches *out, struct err_detail *err)
{
    char line[LINE_BYTES];
    FILE *f = fopen(log, "r");
    *out = (struct unknown_branches){ .n_nothing = 0 };
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        take_line(out, line);
    const int reason = f == NULL || ferror(f) ? errno : 0;
    if (f != NULL)
        fclose(f);
    if (reason == 0)
        return ERR_OK;
    return err_at(err, reason == ENOMEM ? ERR_HOST_NOMEM : ERR_IO, 0, log, "cannot be read: %s", strerror(reason));
}

static void words_add_lines(struct words *w, const struct told_lines *t)
{
    const unsigned n = told_lines_shown(t);
    for (unsigned i = 0; i < n; i++)
        words_add(w, "%s%s", i == 0 ? "" : ", ", t->at[i]);
    if (t->n > n)
        words_add(w, " and %u more", t->n - n);
}

void unknown_branches_say(struct words *w, const struct unknown_branches *b)
{
    if (b->places.n == 0)
        return;
    words_add(w, "It branched on values that are not computed, and may have taken another way there: ");
    words_add_lines(w, &b->places);
    words_add(w, ".");
}

void unknown_sizes_say(struct words *w, const struct unknown_branches *b)
{
    if (b->sizes.n == 0)
        return;
    words_add(w, "How much it asks for depends on values that are not computed (");
    words_add_lines(w, &b->sizes);
    words_add(w, b->n_nothing > 0 ? "). Some have no largest size, and zeros were taken"
                                  : "). The largest sizes are assumed: all of a mask, all different");
}

void ended_loops_say(struct words *w, const struct unknown_branches *b)
{
    if (b->loops.n == 0)
        return;
    words_add(w, "When a loop ends depends on a value that is not computed (");
    words_add_lines(w, &b->loops);
    if (!unknown_branches_grow(b)) {
        words_add(w, "). It was given another answer when further turns took no more memory. The lower end is that of "
                  "a loop which ends within two turns.");
        return;
    }
    words_add(w, "). It was given another answer after %u looks at the value. If the loop keeps memory, the peak holds "
              "for about so many turns only: a program that ends earlier takes less, one that goes on takes more.",
              b->looks);
}

void ended_loops_limit(struct words *w, const struct unknown_branches *b)
{
    words_add(w, ", as far as a loop was followed that ends on a value which is not computed (%s; cut after %u looks)",
              b->loops.at[0], b->looks);
}
