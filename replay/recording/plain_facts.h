/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Which facts of a recording may be shown to anyone: those whose text is of a closed list.
 */
#ifndef REPLAY_REPLAY_RECORDING_PLAIN_FACTS_H
#define REPLAY_REPLAY_RECORDING_PLAIN_FACTS_H

#include <stdbool.h>

/* A text_rule (traces/trace_edit.h). The release, the kind of source and the allocator's settings are plain in the form
 * in which this program writes them. A settings text is plain if some release of PyTorch takes it word by word. */
bool fact_is_plain(const char *what, const char *text);

#endif
