/*
 * The policy as a recorder: a replay that leaves the snapshot which PyTorch 2.15 would have dumped at its end. For
 * recordings that nobody has made: of a run on a full card, or under another setting.
 */
#ifndef REPLAY_TESTS_RERECORD_H
#define REPLAY_TESTS_RERECORD_H

#include "policies/pytorch.h"
#include "tests/recorded_run.h"

#include <stddef.h>
#include <stdlib.h>

/* One run and its pickle, as far as it is written. */
struct rerecording {
    struct single_run run;
    FILE   *out;
    uint64_t open_segment;               /* start of the segment whose blocks are being written; 0: none */
    uint64_t open_end;                   /* where its last block ends */
};

/* ---- pickle, protocol 2 ---- */

static inline void pickle_text(FILE *out, const char *text)
{
    fprintf(out, "U%c%s", (int)strlen(text), text);
}

static inline void pickle_number(FILE *out, uint64_t v)
{
    fputs("\x8a\x09", out);
    for (unsigned i = 0; i < 8; i++)
        fputc((int)(v >> (8 * i) & 0xff), out);
    fputc(0, out);                       /* not negative */
}

static inline void pickle_entry(FILE *out, const char *key, uint64_t v)
{
    pickle_text(out, key);
    pickle_number(out, v);
}

static inline void pickle_text_entry(FILE *out, const char *key, const char *text)
{
    pickle_text(out, key);
    pickle_text(out, text);
}

static inline void pickle_bool_entry(FILE *out, const char *key, bool is_true)
{
    pickle_text(out, key);
    fputs(is_true ? "\x88" : "\x89", out);
}

/* ---- records, while they are made ---- */

static inline void rerecord_take(void *lane, const struct policy_record *r)
{
    static const char *const actions[RECORD_ACTIONS] = {"alloc",       "free_requested", "free_completed",
                                                        "segment_alloc", "segment_free", "segment_map",
                                                        "segment_unmap", "snapshot",     "oom"};
    struct rerecording *m = (struct rerecording *)((char *)lane - offsetof(struct rerecording, run.lane));
    fputs("}(", m->out);
    pickle_text_entry(m->out, "action", actions[r->action]);
    pickle_entry(m->out, r->action == RECORD_OOM ? "device_free" : "addr", r->addr);
    pickle_entry(m->out, "size", r->bytes);
    pickle_entry(m->out, "stream", trace_streams(m->run.trace)[r->stream].handle);
    fputs("u", m->out);
}

/* ---- the final state ---- */

static inline void rerecord_end_segment(struct rerecording *m)
{
    if (m->open_segment == 0)
        return;
    fputs("e", m->out);
    pickle_entry(m->out, "total_size", m->open_end - m->open_segment);
    fputs("u", m->out);
    m->open_segment = 0;
}

/* A mapped stretch of a range is a segment of its own. */
static inline void rerecord_visit(void *rerecording, const struct block_view *b)
{
    static const char *const states[] = {"inactive", "active_allocated", "active_pending_free"};
    struct rerecording *m = rerecording;
    if (b->state == BLOCK_UNMAPPED || b->addr != m->open_end || b->addr == b->segment_addr)
        rerecord_end_segment(m);
    if (b->state == BLOCK_UNMAPPED)
        return;
    if (m->open_segment == 0) {
        m->open_segment = b->addr;
        fputs("}(", m->out);
        pickle_entry(m->out, "device", trace_info(m->run.trace)->device);
        pickle_entry(m->out, "address", b->addr);
        pickle_entry(m->out, "stream", trace_streams(m->run.trace)[b->stream].handle);
        pickle_text_entry(m->out, "segment_type", b->is_small ? "small" : "large");
        pickle_bool_entry(m->out, "is_expandable", b->is_range);
        pickle_text(m->out, "blocks");
        fputs("](", m->out);
    }
    m->open_end = b->addr + b->bytes;
    fputs("}(", m->out);
    pickle_entry(m->out, "address", b->addr);
    pickle_entry(m->out, "size", b->bytes);
    pickle_entry(m->out, "requested_size", b->requested);
    pickle_text_entry(m->out, "state", states[b->state]);
    fputs("u", m->out);
}

static inline void rerecord_settings(struct rerecording *m, const char *conf)
{
    const struct pytorch_settings *t = &((const struct pytorch *)m->run.lane.policy)->settings;
    char size[24];
    double threshold = t->garbage_collection_threshold;
    uint64_t bits;
    memcpy(&bits, &threshold, sizeof bits);
    pickle_text(m->out, "allocator_settings");
    fputs("}(", m->out);
    pickle_text_entry(m->out, "PYTORCH_CUDA_ALLOC_CONF", conf == NULL ? "" : conf);
    pickle_text(m->out, "max_split_size");
    if (t->max_split_size == UINT64_MAX)
        fputs("\x8a\x01\xff", m->out);   /* -1 */
    else
        pickle_number(m->out, t->max_split_size);
    pickle_text(m->out, "garbage_collection_threshold");
    fputc('G', m->out);
    for (int i = 7; i >= 0; i--)
        fputc((int)(bits >> (8 * i) & 0xff), m->out);
    pickle_bool_entry(m->out, "expandable_segments", t->expandable_segments);
    pickle_text(m->out, "roundup_power2_divisions");
    fputs("}(", m->out);
    for (unsigned i = 0; i < PYTORCH_ROUNDUP_INTERVALS; i++) {
        snprintf(size, sizeof size, "%u", 1u << i);
        pickle_entry(m->out, size, t->roundup_divisions[i]);
    }
    fputs("uu", m->out);
}

/* Replays under `conf` on a card, and imports what was recorded then. Expects the run to end well. */
static inline struct trace_reader *rerecord(struct trace_reader *trace, const char *conf, uint64_t total_bytes)
{
    struct rerecording *m = calloc(1, sizeof *m);
    char path[] = "/tmp/rerecord-XXXXXX";
    const int fd = mkstemp(path);
    cr_assert(m != NULL && fd >= 0);
    m->out = fdopen(fd, "wb");
    fputs("\x80\x02}(", m->out);
    pickle_text(m->out, "device_traces");
    fputs("](](", m->out);
    recorded_start(trace, conf, NULL, total_bytes, &m->run);
    m->run.lane.observer.record = rerecord_take;
    recorded_run(&m->run);
    cr_assert_eq(m->run.lane.outcome, ERR_OK);
    fputs("ee", m->out);
    pickle_text(m->out, "segments");
    fputs("](", m->out);
    m->run.lane.policy->ops->walk(m->run.lane.policy, rerecord_visit, m);
    rerecord_end_segment(m);
    fputs("e", m->out);
    rerecord_settings(m, conf);
    pickle_text(m->out, "host_segments");        /* the mark of 2.15 */
    fputs("]u.", m->out);
    cr_assert_eq(fclose(m->out), 0);
    single_run_close(&m->run);
    free(m);
    struct trace_reader *made = recorded_open(path, -1);
    remove(path);
    return made;
}

#endif
