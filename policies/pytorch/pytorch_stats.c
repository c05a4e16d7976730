/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Resets, and the keys as memory_stats() spells them. */
#include "policies/pytorch/pytorch_stats.h"

#include <assert.h>
#include <string.h>

void pytorch_stats_wait(struct pytorch_stats *s)
{
    if (s->has_waited)
        return;
    s->active = s->allocation;
    s->active_bytes = s->allocated_bytes;
    s->has_waited = true;
}

struct pytorch_stats pytorch_stats_read(const struct pytorch_stats *s)
{
    struct pytorch_stats all = *s;
    pytorch_stats_wait(&all);
    return all;
}

void pytorch_stat_reset_peak(struct pytorch_stat *s)
{
    memcpy(s->peak, s->current, sizeof s->peak);
}

void pytorch_stat_reset_accumulated(struct pytorch_stat *s)
{
    memset(s->allocated, 0, sizeof s->allocated);
    memcpy(s->current_at_reset, s->current, sizeof s->current_at_reset);
}

void pytorch_stats_reset_peak(struct pytorch_stats *s)
{
#define PYTORCH_STAT(name) pytorch_stat_reset_peak(&s->name);
    PYTORCH_STATS(PYTORCH_STAT)
#undef PYTORCH_STAT
    pytorch_stat_reset_peak(&s->oversize_allocations);
    pytorch_stat_reset_peak(&s->oversize_segments);
}

void pytorch_stats_reset_accumulated(struct pytorch_stats *s)
{
#define PYTORCH_STAT(name) pytorch_stat_reset_accumulated(&s->name);
    PYTORCH_STATS(PYTORCH_STAT)
#undef PYTORCH_STAT
    pytorch_stat_reset_accumulated(&s->oversize_allocations);
    pytorch_stat_reset_accumulated(&s->oversize_segments);
    s->num_alloc_retries = s->num_ooms = s->num_sync_all_streams = 0;
    s->num_device_alloc = s->num_device_free = s->num_oom_rejections = 0;
}

/* Increases since the reset. */
static uint64_t stat_allocated(const struct pytorch_stat *s, enum pytorch_size_class c)
{
    return c == CLASS_ALL ? s->allocated[CLASS_SMALL] + s->allocated[CLASS_LARGE] : s->allocated[c];
}

/* Decreases since the reset. */
static uint64_t stat_freed(const struct pytorch_stat *s, enum pytorch_size_class c)
{
    if (c == CLASS_ALL)
        return stat_freed(s, CLASS_SMALL) + stat_freed(s, CLASS_LARGE);
    return s->allocated[c] - (s->current[c] - s->current_at_reset[c]);
}

/* A key is at most so long, with its end. All names are ours. */
enum { STAT_KEY = 128 };

/* Appends a word to a key that has `n` letters; returns how many it has then. printf would take most of the time of who
 * walks at each event. */
static size_t stat_key_add(char key[STAT_KEY], size_t n, const char *word)
{
    const size_t more = strlen(word);
    assert(n + more < STAT_KEY);
    memcpy(key + n, word, more + 1);
    return n + more;
}

static void stat_walk_class(const struct pytorch_stat *s, enum pytorch_size_class c, const char *prefix,
                            pytorch_stat_visit visit, void *arg)
{
    const struct {
        const char *name;
        uint64_t    value;
    } counters[] = {{"allocated", stat_allocated(s, c)},
                    {"current", s->current[c]},
                    {"freed", stat_freed(s, c)},
                    {"peak", s->peak[c]}};
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        char key[STAT_KEY];
        (void)stat_key_add(key, stat_key_add(key, stat_key_add(key, 0, prefix), "."), counters[i].name);
        visit(arg, key, (int64_t)counters[i].value);
    }
}

void pytorch_stat_walk(const struct pytorch_stat *s, const char *name, pytorch_stat_visit visit, void *arg)
{
    static const struct {
        const char             *name;
        enum pytorch_size_class class;
    } classes[] = {{"all", CLASS_ALL}, {"large_pool", CLASS_LARGE}, {"small_pool", CLASS_SMALL}};
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        char prefix[STAT_KEY];
        (void)stat_key_add(prefix, stat_key_add(prefix, stat_key_add(prefix, 0, name), "."), classes[i].name);
        stat_walk_class(s, classes[i].class, prefix, visit, arg);
    }
}

void pytorch_stat_walk_one(const struct pytorch_stat *s, const char *name, pytorch_stat_visit visit, void *arg)
{
    stat_walk_class(s, CLASS_ALL, name, visit, arg);
}
