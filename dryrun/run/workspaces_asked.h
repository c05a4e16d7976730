/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Which of NVIDIA's libraries a program asked for workspaces on a simulated card, and what their stand-ins answered.
 */
#ifndef REPLAY_DRYRUN_RUN_WORKSPACES_ASKED_H
#define REPLAY_DRYRUN_RUN_WORKSPACES_ASKED_H

#include "capture/call_journal.h"
#include "report/text/json_writer.h"
#include "report/text/text.h"
#include "sim/device_workspaces.h"

struct workspaces_asked {
    bool     of[WORKSPACE_LIBRARIES];
    enum device_workspaces answer;   /* workspaces= of the device's text */
    uint64_t bytes;                  /* WORKSPACES_FIXED: of each convolution */
};

/* Takes in a record of the kind CALL_WORKSPACE. */
void workspaces_asked_take(struct workspaces_asked *w, const struct call_record *r);

bool workspaces_asked_any(const struct workspaces_asked *w);

/* A sentence or two of whose they are and what they were; nothing if there were none. */
void workspaces_asked_say(struct words *out, const struct workspaces_asked *w);

/* The members of answers/workspaces.def. */
void workspaces_json(struct json_writer *json, const struct workspaces_asked *w);

#endif
