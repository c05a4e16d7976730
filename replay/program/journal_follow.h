/*
 * The journals of a recording, made into traces while they are written: beside PID.N.calls lies PID.N.gpuD.zst, which
 * can be read at any time, and after any kill, up to some moment of the last second.
 */
#ifndef REPLAY_REPLAY_PROGRAM_JOURNAL_FOLLOW_H
#define REPLAY_REPLAY_PROGRAM_JOURNAL_FOLLOW_H

#include "base/err.h"

#include <stdbool.h>

enum { FOLLOWING_LOOK_MS = 250, FOLLOWING_MAX = 256 };   /* from look to look; processes that are followed at once */

struct following;

/* Follows what comes into a folder, whose name is borrowed. ERR_HOST_NOMEM. */
MUST_USE enum err following_start(const char *folder, struct following **out, struct err_detail *why);

/* Appends what came since the last look, and ends the traces of processes that have ended. A journal of which nothing
 * can be made is left alone; why, is said on standard error, once for each. */
void following_look(struct following *f);

/* Ends the traces; or removes them, where better ones are made. NULL is accepted. */
void following_end(struct following *f, bool is_removed);

#endif
