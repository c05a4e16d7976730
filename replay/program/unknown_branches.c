/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Finds the simulated card's lines among what a program printed. */
#include "replay/program/unknown_branches.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 4096 };

/* "replay cudasim: FILE:LINE: branches on a value ..." */
static void take_line(struct unknown_branches *b, char *line)
{
    static const char before[] = "replay cudasim: ", after[] = ": branches on a value";
    char *end = strstr(line, after);
    if (end == NULL || strncmp(line, before, strlen(before)) != 0)
        return;
    *end = '\0';
    if (b->n++ < BRANCHES_SHOWN)
        snprintf(b->places[b->n - 1], BRANCH_PLACE, "%.*s", BRANCH_PLACE - 1, line + strlen(before));
}

enum err unknown_branches_read(const char *log, struct unknown_branches *out, struct err_detail *why)
{
    char line[LINE_BYTES];
    FILE *f = fopen(log, "r");
    *out = (struct unknown_branches){ .n = 0 };
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        take_line(out, line);
    const int reason = f == NULL || ferror(f) ? errno : 0;
    if (f != NULL)
        fclose(f);
    if (reason == 0)
        return ERR_OK;
    return err_set(why, reason == ENOMEM ? ERR_HOST_NOMEM : ERR_IO, 0, "%.150s: cannot be read: %s", log,
                   strerror(reason));
}

void unknown_branches_say(struct words *w, const struct unknown_branches *b)
{
    const unsigned n = b->n < BRANCHES_SHOWN ? b->n : BRANCHES_SHOWN;
    if (n == 0)
        return;
    words_add(w, "It branched on values that are not computed, and may have taken another way there: ");
    for (unsigned i = 0; i < n; i++)
        words_add(w, "%s%s", i == 0 ? "" : ", ", b->places[i]);
    if (b->n > n)
        words_add(w, " and %u more", b->n - n);
    words_add(w, ".");
}
