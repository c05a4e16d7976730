/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The command line: one table of options (flags.def) for all commands, and for each command a list of those it takes.
 */
#ifndef REPLAY_REPLAY_PROGRAM_OPTIONS_H
#define REPLAY_REPLAY_PROGRAM_OPTIONS_H

#include "base/err.h"
#include "import/import.h"
#include "replay/engine/engine.h"
#include "replay/recording/platform.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum flag_id {
#define FLAG(name, ...) FLAG_##name,
#include "replay/program/flags.def"
#undef FLAG
    N_FLAGS
};

/* One option that a command takes. A list of them ends with FLAGS_END. */
struct flag_use {
    enum flag_id id;
    const char  *help;                       /* what it means for this command; NULL: what flags.def says */
};
#define TAKES(name) {.id = FLAG_##name}
#define TAKES_AS(name, text) {.id = FLAG_##name, .help = (text)}
#define FLAGS_END {.id = N_FLAGS}

/* Options that belong together: of every command that reads a recording, and of one that runs it. */
#define TAKES_INPUT TAKES(GPU), TAKES(FROM), TAKES(GIVEN_BACK), TAKES(MEMORY_LIMIT)
#define TAKES_RUN   TAKES(ON_OOM), TAKES(START)

enum { FAIL_IF_MAX = 16 };

/* What was typed. The texts are argv's own. */
struct options {
    bool        is_given[N_FLAGS];
    const char *texts[N_FLAGS];              /* values as typed; NULL: not given, or without a value */
    const char **inputs;                     /* what is not an option, in order */
    size_t      n_inputs;
    const char **policies;
    size_t      n_policies;
    const char **fail_if;
    size_t      n_fail_if;
    const char **devices;                    /* of a command that takes several */
    size_t      n_devices;
    const char *device;                      /* of a command that takes one */
    const char *html, *md, *markdown, *json, *csv, *samples, *perfetto, *out, *from, *torch, *insert, *warm, *to;
    enum platform system;            /* where the program runs; PLATFORM_UNKNOWN: not named */
    const char *optimizer, *states, *accumulate, *checkpoint;    /* of `technique`, which reads the words itself */
    bool        is_in_place;         /* of `technique` */
    const char *as;                          /* of `conform` */
    const char *copies;              /* of `sweep`, which reads it itself */
    const char *keep, *script;               /* of `shrink`, which reads the first itself */
    const char *stratum, *decisions; /* of `bench-suite` */
    uint64_t    edition;             /* of the same; 0: the first */
    const char *captures;            /* of `graphs`, which reads the list itself */
    const char *share;                       /* of `replay`, which reads the list itself */
    const char *part, *part_time, *scale;    /* of `trace`, which reads them itself */
    bool        part_step;
    uint64_t    times;
    const char *range;                       /* of `predict` and `serve`, which read it themselves */
    const char *load;                        /* of `serve`: requests to play */
    uint64_t step_us;
    const char *good, *bad, *package, *more_than;            /* of `bisect`, which reads them itself */
    uint64_t    steps, within_s;
    const char *at_moment, *by, *grew, *folded, *speedscope;     /* of `who`, which reads the words itself */
    uint64_t    sample_every_events, sample_every_ns, seed, events, explain, at;
    enum oom_action on_oom;
    enum start_mode start;
    bool        audit, is_abbreviated, touch, calibrate, formulas, is_wide, is_all, is_host, has_no_replay, has_pools;
    bool        is_loop;             /* of `plan` */
    unsigned    threads;
    struct import_config import;
    uint64_t    calls;               /* of `adversary`; 0: not given */
    uint64_t    capacity, align_bytes, effort;      /* of `plan`; 0: not given, but effort */
    uint64_t    price;                       /* bytes per ms of driver time (report/rows/winner.h) */
    uint64_t    shard, n_shards;             /* 1 <= shard <= n_shards; both 0 without --shard */
};

/* Reads argv[0, argc), which holds neither the program nor the command. ERR_USAGE says what is wrong, with the nearest
 * name for an unknown option; ERR_HOST_NOMEM. The lists are freed by options_close. */
MUST_USE enum err options_parse(int argc, char **argv, const struct flag_use *taken, struct options *out,
                                struct err_detail *err);
void options_close(struct options *o);

/* The table's facts about an option. */
const char *flag_name(enum flag_id id);              /* without the dashes */
char        flag_letter(enum flag_id id);            /* 0: none */
const char *const *flag_words(enum flag_id id);     /* the only values that it takes, up to a NULL; NULL: others, too */
const char *flag_argument(enum flag_id id);          /* NULL: it takes no value */
const char *flag_help(const struct flag_use *use);

/* The taken option called name[0, n); N_FLAGS if there is none. */
enum flag_id flag_find(const struct flag_use *taken, const char *name, size_t n);

/* The values of an option, in order; returns how many there are. 0 also for a switch. */
size_t options_values(const struct options *o, enum flag_id id, const char *const **values);

#endif
