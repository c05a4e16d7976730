/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a program does not show of its peak, so that the peak is a range.
 */
#ifndef REPLAY_DRYRUN_RUN_RANGE_SOURCES_H
#define REPLAY_DRYRUN_RUN_RANGE_SOURCES_H

#include <stdbool.h>

enum range_source {
    RANGE_ADDRESSES,                 /* the order in which the driver gives them */
    RANGE_WORKSPACES,                /* of libraries */
    RANGE_SIZES,                     /* of tensors, by values that are not computed */
    RANGE_WAITS,                     /* when other streams have done their work */
    RANGE_LOOPS,                     /* that end on a number which is not computed */
    RANGE_BRANCHES,                  /* on numbers that are not computed */
    RANGE_CUT,                       /* what follows loops that were cut short finds another cache */
    RANGE_UNSEEN,                    /* what follows the steps that were seen */
    RANGE_SEARCH,                    /* of the fastest algorithms of convolutions */
    RANGE_SOURCES
};

/* For a person, and for JSON. */
extern const char *const range_source_names[RANGE_SOURCES];
extern const char *const range_source_keys[RANGE_SOURCES];

/* Sets those that PyTorch's hook (cudasim/python/replay_values.py) named in the folder of the journals, and removes its
 * file. The others are left as they are. */
void range_sources_read(const char *journals, bool is_open[static RANGE_SOURCES]);

#endif
