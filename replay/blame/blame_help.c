/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A sentence for each rule, and what segments that grow would do. */
#include "replay/blame/blame_help.h"

#include "policies/pytorch/pytorch.h"

static const struct pytorch *policy_of(const struct single_run *run)
{
    return (const struct pytorch *)run->lane.policy;
}

static bool has_growing(const struct single_run *run, enum platform platform, const char **reason)
{
    *reason = "";
    return policy_of(run)->rules.has_expandable && platform_has_setting(platform, "expandable_segments:True", reason);
}

bool blame_growing_helps(const struct blame *b, const struct single_run *run, enum platform platform)
{
    const char *reason;
    return b->growing_bytes > 0 && b->growing_bytes < b->reserved_bytes && !b->is_growing_refused &&
           has_growing(run, platform, &reason);
}

static void say_growing(struct words *w, const struct blame *b, const struct single_run *run, enum platform platform)
{
    char now[TEXT_NUMBER], then[TEXT_NUMBER];
    const char *reason;
    if (b->growing_bytes == 0)
        return;
    if (!has_growing(run, platform, &reason)) {
        if (reason[0] != '\0')
            words_add(w, " expandable_segments:True is no way out: %s.", reason);
        return;
    }
    text_mib(b->reserved_bytes, now);
    text_mib(b->growing_bytes, then);
    if (blame_growing_helps(b, run, platform))
        words_add(w, " With expandable_segments:True this recording reserves %s instead of %s; replay tune tries it "
                  "beside other settings.", then, now);
    else if (b->growing_bytes == b->reserved_bytes)
        words_add(w, " expandable_segments:True alone makes no difference here.");
    else if (b->is_growing_refused)
        words_add(w, " expandable_segments:True alone would not help: this card then refuses a request.");
    else
        words_add(w, " expandable_segments:True alone would not help here: %s instead of %s.", then, now);
}

static bool has_graphs(const struct single_run *run)
{
    bool has_any = false;
    for (uint32_t i = 1; i < trace_info(run->trace)->n_pools; i++)
        has_any |= trace_pools(run->trace)[i].id[0] != 0;
    return has_any;
}

static bool rounds_more(const struct pytorch *p)
{
    return pytorch_round_by_plan(p, 513 * KIB) != 513 * KIB || pytorch_round_by_plan(p, 65 * MIB) != 65 * MIB;
}

static const char *sentence(enum blame_rule rule, const struct single_run *run)
{
    const struct pytorch *p = policy_of(run);
    switch (rule) {
    case BLAME_ROUNDING:
        return rounds_more(p) ? "A setting rounds sizes to more than 512 bytes here; without it less is lost."
                              : "No setting rounds to less than 512 bytes.";
    case BLAME_SEGMENTS:
        return p->rules.has_large_segment ? "No setting changes the 2 MiB of segments for small requests; "
                                            "large_segment_size_mb changes the 20 MiB, and replay tune tries it."
                                          : "No setting of this release changes the sizes of segments.";
    case BLAME_SIZE_WALL:
        return "No setting lets small and large requests share segments.";
    case BLAME_STREAMS:
        return "No setting shares memory between streams. The fewer streams a program allocates on, the less of it "
               "lies idle on one while another grows.";
    case BLAME_POOLS:
        return has_graphs(run) ? "No setting shares memory between pools; replay graphs compares other arrangements of "
                                 "the captures."
                               : "No setting shares memory between pools.";
    case BLAME_WHOLE:
        return p->settings.max_split_size != PYTORCH_UNLIMITED
                   ? "max_split_size_mb is set: it keeps large blocks whole, and replay tune tries other values."
                   : "A large block is handed out whole if at most 1 MiB of it would be left.";
    case BLAME_LATE:
        return "A block that was given to record_stream stays in use after its free until that stream has passed. "
               "Let the allocating stream wait for the other one and free the tensor after that, without "
               "record_stream.";
    case BLAME_FIXED:
        return "What is free in one segment cannot join what is free in another.";
    default:
        return "What is free lies in pieces that are too small for what is requested.";
    }
}

void blame_say_help(struct words *w, const struct blame *b, const struct single_run *run, enum platform platform)
{
    const enum blame_rule most = blame_largest(b);
    if (most == BLAME_RULES || b->reserved_bytes == b->live_bytes)
        return;
    words_add(w, "Most: %s. %s", blame_words(most), sentence(most, run));
    if (most == BLAME_SEGMENTS || most == BLAME_WHOLE || most == BLAME_FIXED || most == BLAME_ORDER)
        say_growing(w, b, run, platform);
}
