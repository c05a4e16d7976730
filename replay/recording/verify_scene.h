/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What the two passes of verify share: the recording in memory (scene), and a device with a policy to compare it with
 * (stage). Each pass opens a stage of its own on the same scene.
 */
#ifndef REPLAY_REPLAY_RECORDING_VERIFY_SCENE_H
#define REPLAY_REPLAY_RECORDING_VERIFY_SCENE_H

#include "policies/policy.h"
#include "policies/spec.h"
#include "replay/engine/start_state.h"
#include "replay/recording/verify.h"
#include "sim/device.h"
#include "traces/trace.h"

/* Everything that was recorded. Borrowed pointers are the trace's. */
struct scene {
    struct trace_reader *trace;
    const struct trace_info *info;
    struct event *events;
    struct trace_side *sides;
    size_t n_events;
    const struct trace_segment_event *segments;
    size_t n_segments;
    bool *takes_addresses;               /* by segment event: the driver chose an address for it, because it makes a
                                          * segment or the first mapping of a range */
    size_t n_taking;                     /* number of segment events up to the last that does */
    const struct trace_segment *start_segments;
    size_t n_start;
    const struct trace_block *live;
    size_t n_live;
    struct start_state start;
    uint64_t room_bytes;                 /* the card had at least this much: the recorded peak, in whole pages */
    uint64_t total_bytes;                /* memory of the recorded card, given or from an OOM record; 0: unknown */
};

static inline bool segment_grows(const struct trace_segment_event *g)
{
    return g->kind == TRACE_SEGMENT_ALLOC || g->kind == TRACE_SEGMENT_MAP;
}

/* Reads a trace into memory. total_bytes: memory of the recorded card, 0 for unknown. Close it with scene_close, also
 * after an error. ERR_UNSUPPORTED if the trace has no recorded addresses; ERR_HOST_NOMEM; the reader's errors. */
enum err scene_open(struct trace_reader *in, uint64_t total_bytes, struct scene *s, struct err_detail *err);
void scene_close(struct scene *s);

/* Finds which mappings began an address range, on a card of total_bytes (0: unknown). ERR_HOST_NOMEM. */
enum err scene_mark_reservations(struct scene *s, uint64_t total_bytes);

/* How a pass is set up. */
struct setting {
    const struct policy_spec *policy;
    const char *version;                 /* used if the policy names none */
    uint64_t total_bytes;                /* memory of the card; 0: unknown */
    bool     is_total_given;             /* the person gave it, so nothing that depends on it is guessed */
    uint64_t limit_bytes;                /* memory limit on trial; 0: as the policy sets it */
};

/* A device and a policy for one pass. */
struct stage {
    struct device *device;
    struct policy *policy;
    struct block *blocks;                /* by slot */
    uint64_t offered;                    /* the address that the device gives next */
    bool     is_nomem;                   /* the host ran out of memory: the pass compared nothing */
};

/* Opens a device and the policy in its start state. is_full: the device has room for the recorded peak and no more (or
 * for what the person gave); otherwise it has room for everything. Close it with stage_close, also after an error.
 * ERR_FORMAT for a start state that contradicts itself; policy_create's errors. */
enum err stage_open(const struct scene *s, const struct setting *t, bool is_full, struct stage *g,
                    struct err_detail *err);

/* Returns `e`, or ERR_HOST_NOMEM if the host ran out of memory on the way: nothing was compared then. */
MUST_USE enum err stage_close(struct stage *g, enum err e, struct err_detail *err);

/* Gives this address to the device's next segment or range. */
void stage_offer(struct stage *g, uint64_t addr);

/* The same with a recorded address, for the request of event i: that of the next recorded segment, or of the next
 * recorded range for requests of its stream, pool and size class, from segment event `next` on. */
void stage_offer_recorded(struct stage *g, const struct scene *s, size_t i, size_t next);

/* Frees a request, unless the policy has ended its free early. */
void stage_free(struct stage *g, const struct event *ev);

/* An observer's `completed`; the argument is the stage. */
void stage_on_completed(void *stage, uint32_t slot);

/* The index of an option in the policy's list. The policy must have it. */
size_t verify_option_index(const struct policy_ops *ops, const char *name);

/* ---- comparing ---- */

/* "segment_alloc", by enum trace_segment_kind. */
extern const char *const verify_segment_words[];

/* Keeps the first difference, at event i. False if there was one before. */
bool pass_differ(struct verify_pass *pass, const struct scene *s, size_t i, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* Adds the blocks around an address to the text of the first difference. */
void pass_show_around(struct verify_pass *pass, const struct policy *p, uint64_t addr);

/* Compares the bytes reserved after event i, by the record and by the policy (`ours`). */
void pass_compare_reserved(struct verify_pass *pass, const struct scene *s, size_t i, uint64_t recorded, uint64_t ours);

/* ---- the passes ---- */

enum err verify_following(const struct scene *s, const struct setting *t, struct verify_pass *pass,
                          struct err_detail *err);

/* *collected_too_much: if the pass ended in a difference, whether garbage collection had just freed a segment that the
 * record kept. */
enum err verify_running_free(const struct scene *s, const struct setting *t, struct verify_pass *pass,
                             bool *collected_too_much, struct err_detail *err);

#endif
