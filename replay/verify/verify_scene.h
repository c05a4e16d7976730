/*
 * verify, inside: the recording in memory, a device and a policy to compare it with, and the two passes.
 */
#ifndef REPLAY_REPLAY_VERIFY_VERIFY_SCENE_H
#define REPLAY_REPLAY_VERIFY_VERIFY_SCENE_H

#include "policies/policy.h"
#include "policies/spec.h"
#include "replay/engine/start_state.h"
#include "replay/verify/verify.h"
#include "sim/device.h"
#include "traces/trace.h"

/* Everything that was recorded. */
struct scene {
    struct trace_reader *trace;
    const struct trace_info *info;
    struct event *events;
    struct trace_side *sides;
    size_t n_events;
    const struct trace_segment_event *segments;
    size_t n_segments;
    bool *takes_addresses;               /* by segment event: a new segment, or the first mapping of a reservation */
    size_t n_taking;                     /* behind the last event that does */
    const struct trace_segment *start_segments;
    size_t n_start;
    const struct trace_block *live;
    size_t n_live;
    struct start_state start;
    uint64_t room_bytes;                 /* that the device had at least: the recorded peak, in whole pages */
    uint64_t total_bytes;                /* of the recorded device, as given or as an OOM record shows it; 0: unknown */
};

static inline bool segment_grows(const struct trace_segment_event *g)
{
    return g->kind == TRACE_SEGMENT_ALLOC || g->kind == TRACE_SEGMENT_MAP;
}

/* Reads a trace. total_bytes: of the recorded device, 0 for unknown. Closed with scene_close, also after an error. */
enum err scene_open(struct trace_reader *in, uint64_t total_bytes, struct scene *s, struct err_detail *why);
void scene_close(struct scene *s);

/* Tells which mappings began a reservation, on a device of total_bytes (0: unknown). ERR_HOST_NOMEM. */
enum err scene_mark_reservations(struct scene *s, uint64_t total_bytes);

/* How a pass is set up. */
struct setting {
    const struct policy_spec *policy;
    const char *version;                 /* used where the policy names none */
    uint64_t total_bytes;                /* 0: unknown */
    bool     is_total_given;             /* by the person, and with it all that depends on it */
    uint64_t limit_bytes;                /* memory limit found by trial; 0: as the policy sets it */
};

struct stage {
    struct device *device;
    struct policy *policy;
    struct block *blocks;                /* by slot */
    uint64_t offered;                    /* the address that the device hands out next */
    bool     is_nomem;                   /* the policy refused a step because the host's memory ran out */
};

/* Opens a device and the policy in its start state. is_full: the device has room for what was recorded and no more (or
 * what the person gave), else for everything. Closed with stage_close, also after an error. ERR_FORMAT for a start
 * state that contradicts itself. */
enum err stage_open(const struct scene *s, const struct setting *t, bool is_full, struct stage *g,
                    struct err_detail *why);

/* Passes `e` on, or ERR_HOST_NOMEM where the host's memory ran out on the way: nothing was then compared. */
MUST_USE enum err stage_close(struct stage *g, enum err e, struct err_detail *why);

/* The device's next segment or reservation gets this address. */
void stage_offer(struct stage *g, uint64_t addr);

/* The same, for the request of event i: the address that the record gives to the next segment, or to the next
 * reservation for requests of that kind, from segment event `next` on. */
void stage_offer_recorded(struct stage *g, const struct scene *s, size_t i, size_t next);

/* Frees a request, unless the policy has ended its free early. */
void stage_free(struct stage *g, const struct event *ev);

/* An observer's `completed`; the argument is the stage. */
void stage_on_completed(void *stage, uint32_t slot);

/* Where an option of that name stands in the policy's list. */
size_t verify_option_index(const struct policy_ops *ops, const char *name);

/* ---- comparing ---- */

/* "segment_alloc", by enum trace_segment_kind. */
extern const char *const verify_segment_words[];

/* Keeps the first difference, at event i; false where there was one before. */
bool pass_differ(struct verify_pass *pass, const struct scene *s, size_t i, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* Adds the blocks around an address to it. */
void pass_show_around(struct verify_pass *pass, const struct policy *p, uint64_t addr);

/* After an event: bytes held by the policy and by the record. */
void pass_compare_reserved(struct verify_pass *pass, const struct scene *s, size_t i, uint64_t recorded, uint64_t ours);

/* ---- the passes ---- */

enum err verify_following(const struct scene *s, const struct setting *t, struct verify_pass *pass,
                          struct err_detail *why);

/* *collected_too_much: where the pass ended in a difference, whether the policy had just given back by age what the
 * record kept. */
enum err verify_running_free(const struct scene *s, const struct setting *t, struct verify_pass *pass,
                             bool *collected_too_much, struct err_detail *why);

#endif
