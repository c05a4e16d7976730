/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: a plugin that does what the input says. Its table may lack parts or be of another build; its blocks may
 * overlap, lie nowhere or be of any size; its calls may fail as they like. The table is refused with a sentence, or the
 * run ends, with a reason if the policy is to blame.
 */
#include "base/array.h"
#include "replay/engine/explain_run.h"
#include "tests/engine_rig.h"
#include "tests/fuzz/fuzz.h"
#include "traces/columns.h"

#include <string.h>

enum { TABLE_OPTIONS = 48, REQUESTS = 24, SCRIPT_SEGMENTS = 8 };

static struct cursor script;

static uint64_t next(unsigned n)
{
    const uint64_t v = cursor_le(&script, n);
    return script.is_bad ? 0 : v;
}

/* ---- the policy ---- */

struct scripted {
    struct policy  base;
    struct segment segments[SCRIPT_SEGMENTS];
    size_t         n_segments;
    struct block   last;
};

static enum err scripted_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    const uint64_t what = next(1);
    (void)cfg, (void)err;
    if (what == 1)
        return ERR_OK;                               /* without a policy */
    if (what == 2)
        return ERR_DEVICE_OOM;
    if (what == 3)
        return ERR_USAGE;
    struct scripted *s = calloc(1, sizeof *s);
    *out = s == NULL ? NULL : &s->base;
    return s == NULL ? ERR_HOST_NOMEM : ERR_OK;
}

static void scripted_destroy(struct policy *p)
{
    free(p);
}

static struct segment *segment_of(struct scripted *s, uint64_t bytes)
{
    const size_t i = (size_t)next(1) % SCRIPT_SEGMENTS;
    if (i < s->n_segments || s->n_segments == SCRIPT_SEGMENTS)
        return &s->segments[i];
    struct segment *segment = &s->segments[s->n_segments];
    if (device_segment_alloc(s->base.device, align_up(bytes, 2 << 20), segment) != ERR_OK)
        return NULL;
    s->n_segments++;
    return segment;
}

static enum err scripted_alloc(struct policy *p, const struct event *req, struct block *out)
{
    struct scripted *s = (struct scripted *)p;
    const struct segment *segment = segment_of(s, req->bytes);
    if (segment == NULL)
        return ERR_DEVICE_OOM;
    *out = (struct block){ .addr = segment->addr + 512 * next(1), .bytes = req->bytes, .segment = segment->id };
    switch (next(1)) {
    case 1: *out = s->last; break;
    case 2: out->addr = next(8); break;
    case 3: out->bytes = next(8); break;
    case 4: out->segment = (uint32_t)next(4); break;
    case 5: out->bytes = UINT64_MAX; break;
    case 6: return ERR_DEVICE_OOM;
    case 7: return ERR_HOST_NOMEM;
    case 8: p->failure = ERR_IO; break;
    case 9:
        if (p->observer->completed != NULL)
            p->observer->completed(p->observer->arg, (uint32_t)next(1));
        break;
    default: break;
    }
    s->last = *out;
    return ERR_OK;
}

static void scripted_free(struct policy *p, const struct event *req, const struct block *b)
{
    struct scripted *s = (struct scripted *)p;
    (void)req, (void)b;
    if (next(1) == 1 && s->n_segments > 0)
        device_segment_free(p->device, &s->segments[--s->n_segments]);
}

static enum err scripted_walk(const struct policy *p, block_visit visit, void *arg)
{
    (void)p;
    for (uint64_t left = next(1) % 8; left > 0; left--) {
        const struct block_view b = { .addr = next(8), .bytes = next(8), .requested = next(8), .segment_addr = next(8),
                                      .segment = (uint32_t)next(2), .stream = (uint16_t)next(2),
                                      .pool = (uint8_t)next(1), .state = (uint8_t)next(1), .page_bytes = next(4) };
        visit(arg, &b);
    }
    return next(1) == 1 ? ERR_HOST_NOMEM : ERR_OK;
}

static uint64_t scripted_largest_free(const struct policy *p)
{
    (void)p;
    return next(8);
}

static void scripted_refusal(const struct policy *p, struct refusal *out)
{
    (void)p;
    out->type = "Error";
    memset(out->text, (int)next(1) | 1, sizeof out->text - 1);
    out->rounded_bytes = next(8);
    out->segment_bytes = next(8);
}

/* ---- its table ---- */

static struct policy_option options[TABLE_OPTIONS + 1];
static struct policy_size sizes[sizeof policy_sizes / sizeof policy_sizes[0]];

static void make_options(void)
{
    static const char *const names[] = { "a", "", "page", "\x1b[2J" };
    const size_t n = (size_t)next(1) % TABLE_OPTIONS;
    memset(options, 0, sizeof options);
    for (size_t i = 0; i < n; i++)
        options[i] = (struct policy_option){ .name = names[next(1) % 4], .kind = (enum option_kind)(next(1) % 16),
                                             .help = next(1) == 1 ? NULL : "what it does" };
}

/* Of just `size` bytes, so that AddressSanitizer sees what is read beyond. */
static struct policy_ops *make_table(uint64_t faults, uint32_t size)
{
    static const char *const names[] = { "scripted", "", "UPPER", "a b" };
    make_options();
    memcpy(sizes, policy_sizes, sizeof sizes);
    if ((faults & 1) != 0)
        sizes[next(1) % (sizeof sizes / sizeof sizes[0])].bytes ^= 8;
    if ((faults & 2) != 0)
        sizes[next(1) % (sizeof sizes / sizeof sizes[0])].name = NULL;
    const struct policy_ops whole = {
        .abi = POLICY_ABI ^ (uint32_t)(faults >> 2 & 1), .size = size, .sizes = (faults & 8) != 0 ? NULL : sizes,
        .name = names[faults >> 4 & 3], .summary = (faults & 64) != 0 ? NULL : "does as it is told",
        .options = (faults & 128) != 0 ? options : NULL,
        .create = scripted_create, .destroy = scripted_destroy, .alloc = (faults & 256) != 0 ? NULL : scripted_alloc,
        .free = scripted_free, .walk = (faults & 512) != 0 ? scripted_walk : NULL,
        .largest_free = (faults & 1024) != 0 ? scripted_largest_free : NULL,
        .refusal = (faults & 2048) != 0 ? scripted_refusal : NULL,
    };
    struct policy_ops *table = malloc(size < 2 * sizeof(uint32_t) ? 2 * sizeof(uint32_t) : size);
    if (table != NULL)
        memcpy(table, &whole, size < 2 * sizeof(uint32_t) ? 2 * sizeof(uint32_t) : size);
    return table;
}

/* ---- the run ---- */

static enum err open_trace(struct rig_trace *t)
{
    struct trace_record records[REQUESTS];
    for (size_t i = 0; i < REQUESTS; i++)
        records[i] = (struct trace_record){ .kind = i < REQUESTS / 2 || i % 2 == 0 ? EVENT_ALLOC : EVENT_FREE,
                                            .ptr = i < REQUESTS / 2 || i % 2 == 0 ? i + 1 : i - REQUESTS / 2 + 1,
                                            .bytes = UINT64_C(512) << i % 12, .time_ns = i };
    return rig_trace_open(t, records, REQUESTS, NULL);
}

static void run(struct policy_ops *ops, bool is_audited)
{
    static char typed[] = "scripted";
    const struct policy_spec spec = { .ops = ops, .typed = typed, .expanded = typed };
    const struct replay_config cfg = { .audit = is_audited, .threads = 1,
                                       .on_oom = next(1) == 1 ? OOM_SKIP : OOM_STOP };
    struct device_config card = device_defaults();
    struct explain_run explain = { .event = EXPLAIN_END };
    struct lane lane;
    struct rig_trace t;
    struct err_detail err = { .text = "" };
    card.total_bytes = 64 << 20;
    if (open_trace(&t) != ERR_OK)
        return;
    if (lane_open(&spec, &device_sim, &card, t.reader, 0, &lane, &err) == ERR_OK) {
        lane.explain = &explain;
        if (replay_run(t.reader, &lane, 1, &cfg, &err) == ERR_OK) {
            FUZZ_EXPECT(lane.outcome != ERR_CORRUPT || lane.err.text[0] != '\0');
            (void)!explain_run_finish(&explain, t.reader, &err);
        }
        explain_run_close(&explain);
        lane_close(&lane);
    } else {
        FUZZ_EXPECT(err.text[0] != '\0');
    }
    rig_trace_close(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct policy_ops *taken = NULL;
    struct err_detail err = { .text = "" };
    script = cursor_over(data, n);
    const bool is_audited = next(1) % 2 == 1;
    const uint32_t size = next(1) == 1 ? (uint32_t)next(2) % sizeof(struct policy_ops) : sizeof(struct policy_ops);
    struct policy_ops *table = make_table(next(2), size);
    if (table == NULL)
        return 0;
    if (policy_take_table(table, "fuzz.so", &taken, &err) == ERR_OK)
        run(taken, is_audited);
    else
        FUZZ_EXPECT(err.text[0] != '\0');
    free(taken);
    free(table);
    return 0;
}
