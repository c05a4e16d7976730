/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The settings that `tune` tries: points in the space of PYTORCH_CUDA_ALLOC_CONF, and their neighbours.
 */
#ifndef REPLAY_REPLAY_ADVISE_CANDIDATE_SETTINGS_H
#define REPLAY_REPLAY_ADVISE_CANDIDATE_SETTINGS_H

#include "policies/pytorch/pytorch_rules.h"
#include "replay/recording/platform.h"
#include "traces/trace.h"

enum { SETTINGS_TEXT = 320, SETTINGS_SPLITS_MAX = 16, SETTINGS_ROUNDUP = 32 };

/* One point; zeros are the defaults. gc and fraction come together or not at all, because the collector never runs
 * without a limit. non_split needs max_split. */
struct settings {
    bool     expandable;
    uint32_t max_split_mib, non_split_mib, large_segment_mib;
    unsigned gc_percent, fraction_percent;
    char     roundup[SETTINGS_ROUNDUP];      /* "4", "[16:8,64:2,>:1]", "" */
};

/* A growing set of points, none twice. */
struct settings_set {
    struct settings *at;
    size_t n;
};

/* The values that a trace suggests. */
struct settings_space {
    struct pytorch_rules rules;
    enum platform platform;                      /* whose settings these are */
    const char *spread_engine;                   /* recorded_spread_engine: without expandable segments; or NULL */
    uint32_t splits_mib[SETTINGS_SPLITS_MAX];    /* thresholds at popular large sizes, most bytes first */
    size_t   n_splits;
    uint64_t largest_bytes;                      /* largest request */
};

/* Reads the trace's sizes. ERR_HOST_NOMEM and the reader's errors. */
MUST_USE enum err settings_space_read(struct trace_reader *trace, const struct pytorch_rules *rules,
                                      enum platform platform, struct settings_space *out, struct err_detail *err);

/* Add the coarse cross product, or all points that differ from `around` in one setting. Points that the release
 * refuses or lacks, or that do not exist on the platform, are left out. ERR_HOST_NOMEM. */
MUST_USE enum err settings_add_cross(const struct settings_space *space, struct settings_set *set,
                                     struct err_detail *err);
MUST_USE enum err settings_add_neighbours(const struct settings_space *space, const struct settings *around,
                                          struct settings_set *set, struct err_detail *err);
/* Adds the points that lack one of the settings of `s`. ERR_HOST_NOMEM. */
MUST_USE enum err settings_add_simpler(const struct settings_space *space, const struct settings *s,
                                       struct settings_set *set, struct err_detail *err);
void settings_set_close(struct settings_set *set);

/* Whether `part` is not `whole`, and each of its settings is the default or as in `whole`. */
bool settings_are_part(const struct settings *part, const struct settings *whole);

/* How many settings differ from the defaults; gc with its limit counts as two. */
unsigned settings_count(const struct settings *s);

/* The text of PYTORCH_CUDA_ALLOC_CONF, "" for the defaults; with `as_policy` the whole policy as after --policy. Before
 * 2.10 per_process_memory_fraction was no option. Then only the policy has the limit, and a program must call
 * torch.cuda.set_per_process_memory_fraction. Returns `buf`. */
const char *settings_text(const struct settings *s, const struct pytorch_rules *rules, bool as_policy,
                          char buf[SETTINGS_TEXT]);

#endif
