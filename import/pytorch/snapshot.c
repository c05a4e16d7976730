/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Turns the containers of a pickled snapshot into rows of tables, each container as soon as it is complete.
 *
 * The keys of a dictionary tell what it is: `action` a record, `total_size` a segment, and so on. Unknown keys,
 * dictionaries and lists become opaque values and cost no memory.
 */
#include "import/pytorch/snapshot.h"

#include "base/array.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The known strings; the pickle reader numbers them in this order. Keys come first, so that a number below KEYS is a
 * key. */
#define KEY_LIST(X)                                                                                           \
    X(ACTION, "action") X(ADDR, "addr") X(SIZE, "size") X(STREAM, "stream") X(TIME_US, "time_us")             \
    X(FRAMES, "frames") X(POOL_ID, "pool_id") X(DEVICE_FREE, "device_free")                                   \
    X(COMPILE_CONTEXT, "compile_context") X(USER_METADATA, "user_metadata") X(CATEGORY, "category")           \
    X(NAME, "name") X(FILENAME, "filename") X(LINE, "line")                                                   \
    X(ADDRESS, "address") X(REQUESTED_SIZE, "requested_size") X(STATE, "state")                               \
    X(DEVICE, "device") X(TOTAL_SIZE, "total_size") X(SEGMENT_TYPE, "segment_type")                           \
    X(SEGMENT_POOL_ID, "segment_pool_id") X(IS_EXPANDABLE, "is_expandable") X(BLOCKS, "blocks")               \
    X(SEGMENTS, "segments") X(DEVICE_TRACES, "device_traces") X(ALLOCATOR_SETTINGS, "allocator_settings")     \
    X(EXTERNAL_ANNOTATIONS, "external_annotations") X(HOST_SEGMENTS, "host_segments")                         \
    X(HOST_TRACES, "host_traces")                                                                             \
    X(CONF, "PYTORCH_CUDA_ALLOC_CONF") X(CONF_GENERAL, "PYTORCH_ALLOC_CONF")                                  \
    X(MAX_SPLIT_SIZE, "max_split_size")                                                                       \
    X(GC_THRESHOLD, "garbage_collection_threshold") X(EXPANDABLE, "expandable_segments")                      \
    X(REUSE, "graph_capture_record_stream_reuse") X(MAX_ROUND, "max_round_threshold")                         \
    X(ROUNDUP, "roundup_power2_divisions")                                                                    \
    X(MIB_1, "1") X(MIB_2, "2") X(MIB_4, "4") X(MIB_8, "8") X(MIB_16, "16") X(MIB_32, "32") X(MIB_64, "64")   \
    X(MIB_128, "128") X(MIB_256, "256") X(MIB_512, "512") X(MIB_1024, "1024") X(MIB_2048, "2048")             \
    X(MIB_4096, "4096") X(MIB_8192, "8192") X(MIB_16384, "16384") X(MIB_32768, "32768")

#define VALUE_LIST(X)                                                                                         \
    X(INACTIVE, "inactive") X(ALLOCATED, "active_allocated") X(PENDING, "active_pending_free")                \
    X(AWAITING, "active_awaiting_free") X(SMALL, "small")

#define KEY_ENUM(name, text) KEY_##name,
#define WORD_ENUM(name, text) WORD_##name,
enum key { KEY_LIST(KEY_ENUM) KEYS };
enum word { WORD_FIRST = KEYS - 1, ACTION_LIST(WORD_ENUM) VALUE_LIST(WORD_ENUM) WORDS };
#undef KEY_ENUM
#undef WORD_ENUM
static_assert(KEYS <= 64, "the keys of a dictionary are a bit set");

#define WORD_TEXT(name, text) text,
static const char *const snapshot_words[] = {KEY_LIST(WORD_TEXT) ACTION_LIST(WORD_TEXT) VALUE_LIST(WORD_TEXT)};
#undef WORD_TEXT

/* What the containers become: kinds of values with the index of a row. */
enum snapshot_kind {
    KIND_EMPTY = PICKLE_USER,         /* an empty list of any kind */
    KIND_PAIR, KIND_FRAME, KIND_STACK, KIND_RECORD, KIND_RECORDS, KIND_TRACES, KIND_BLOCK, KIND_BLOCKS,
    KIND_SEGMENT, KIND_SEGMENTS, KIND_SETTINGS, KIND_ROUNDUP, KIND_TOP, KIND_EMPTY_DICT
};

/* Indices into snapshot.room. */
enum { ROOM_RECORDS, ROOM_BLOCKS, ROOM_SEGMENTS, ROOM_STREAMS, ROOM_POOLS, ROOM_FRAMES, ROOM_RANGES };

enum { SIZE_BITS_MAX = 60 };          /* no size has more: PyTorch refuses a tensor of 2^60 bytes */
enum { POOLS_MAX = SNAPSHOT_NO_POOL };
enum { HOST_DEVICE = -1 };
enum { SHARED_ROWS_FREE = 1 << 16 };
enum { STACK_FRAMES_MAX = 4096 };     /* of deeper stacks the outermost frames are cut off */

/* The entries of a dictionary that have known keys. */
struct fields {
    uint64_t mask;                    /* bit k: key k is present */
    uint64_t value[KEYS];
};

static bool has(const struct fields *f, enum key key)
{
    return (f->mask >> key & 1) != 0;
}

static bool is_missing(const struct fields *f, enum key key)
{
    return !has(f, key) || pickle_kind(f->value[key]) == PICKLE_NONE;
}

static enum err snapshot_fail(const struct snapshot *s, const char *what, struct err_detail *err)
{
    const uint64_t at = pickle_offset(s->pickle);
    return err_at(err, ERR_FORMAT, at, input_name(s->in), "byte %" PRIu64 ": %s", at, what);
}

/* Makes room for `more` elements after the first n of a table; returns the table, which may have moved, so the caller
 * must store it before anything else can fail. NULL, the table untouched, without memory or if an index would not fit a
 * pickle value. */
static void *table_grow(struct snapshot *s, int room, void *table, size_t n, size_t more, size_t element)
{
    return n + more > PICKLE_INDEX_MAX ? NULL : array_reserve(table, n, more, &s->room[room], element);
}

/* ---- fields ---- */

static bool field_int(const struct snapshot *s, const struct fields *f, enum key key, int64_t *out)
{
    return has(f, key) && pickle_int(s->pickle, f->value[key], out);
}

static bool field_size(const struct snapshot *s, const struct fields *f, enum key key, uint64_t *out)
{
    int64_t v;
    if (!field_int(s, f, key, &v) || v < 0 || v >> SIZE_BITS_MAX != 0)
        return false;
    *out = (uint64_t)v;
    return true;
}

/* A whole number that may be missing, or None: *out then stays. `what` says what is wrong with anything else. */
static enum err field_optional(const struct snapshot *s, const struct fields *f, enum key key, const char *what,
                               int64_t *out, struct err_detail *err)
{
    return is_missing(f, key) || pickle_int(s->pickle, f->value[key], out) ? ERR_OK : snapshot_fail(s, what, err);
}

static uint32_t field_word(const struct fields *f, enum key key)
{
    return has(f, key) && pickle_kind(f->value[key]) == PICKLE_STRING ? pickle_index(f->value[key]) : UINT32_MAX;
}

/* The number of the record's stream; a handle gets one at its first appearance. */
static enum err field_stream(struct snapshot *s, const struct fields *f, uint32_t *out, struct err_detail *err)
{
    int64_t handle = 0;
    const enum err e = field_optional(s, f, KEY_STREAM, "a stream that is not a whole number", &handle, err);
    if (e != ERR_OK)
        return e;
    if (s->n_streams > 0 && s->streams[0] == (uint64_t)handle) {
        *out = 0;
        return ERR_OK;
    }
    const uint32_t *known = pair_map_find(&s->stream_map, (uint64_t)handle, 0);
    if (known != NULL) {
        *out = *known;
        return ERR_OK;
    }
    uint64_t *grown = table_grow(s, ROOM_STREAMS, s->streams, s->n_streams, 1, sizeof *grown);
    if (grown == NULL || !pair_map_add(&s->stream_map, (uint64_t)handle, 0, (uint32_t)s->n_streams)) {
        s->streams = grown == NULL ? s->streams : grown;
        return err_no_memory(err);
    }
    s->streams = grown;
    s->streams[s->n_streams] = (uint64_t)handle;
    *out = (uint32_t)s->n_streams++;
    return ERR_OK;
}

static uint16_t field_pool(const struct fields *f, enum key key)
{
    if (!has(f, key) || pickle_kind(f->value[key]) != KIND_PAIR)
        return SNAPSHOT_NO_POOL;
    return (uint16_t)pickle_index(f->value[key]);
}

static uint32_t field_stack(const struct fields *f)
{
    return has(f, KEY_FRAMES) && pickle_kind(f->value[KEY_FRAMES]) == KIND_STACK ? pickle_index(f->value[KEY_FRAMES])
                                                                                 : 0;
}

/* ---- tuples, frames, stacks ---- */

/* A pair of integers is the id of a pool; equal ids get equal numbers. */
static enum err snapshot_pair(struct snapshot *s, const uint64_t *items, uint64_t *out, struct err_detail *err)
{
    int64_t a, b;
    if (!pickle_int(s->pickle, items[0], &a) || !pickle_int(s->pickle, items[1], &b))
        return ERR_OK;                                   /* a pair of something else stays opaque */
    const uint32_t *known = pair_map_find(&s->pool_map, (uint64_t)a, (uint64_t)b);
    if (known != NULL) {
        *out = pickle_value(KIND_PAIR, *known);
        return ERR_OK;
    }
    if (s->n_pools == POOLS_MAX)
        return ERR_OK;
    void *grown = table_grow(s, ROOM_POOLS, s->pools, s->n_pools, 1, sizeof *s->pools);
    if (grown != NULL)
        s->pools = grown;
    if (grown == NULL || !pair_map_add(&s->pool_map, (uint64_t)a, (uint64_t)b, (uint32_t)s->n_pools))
        return err_no_memory(err);
    s->pools[s->n_pools][0] = (uint64_t)a;
    s->pools[s->n_pools][1] = (uint64_t)b;
    *out = pickle_value(KIND_PAIR, (uint32_t)s->n_pools++);
    return ERR_OK;
}

static enum err snapshot_tuple(void *arg, const uint64_t *items, size_t n, uint64_t *out, struct err_detail *err)
{
    return n == 2 ? snapshot_pair(arg, items, out, err) : ERR_OK;
}

/* Equal stack frames get equal numbers. */
static enum err snapshot_take_frame(struct snapshot *s, const struct fields *f, uint64_t *out, struct err_detail *err)
{
    int64_t line = 0;
    const uint32_t name = field_word(f, KEY_NAME), file = field_word(f, KEY_FILENAME);
    field_int(s, f, KEY_LINE, &line);
    if (name == UINT32_MAX || file == UINT32_MAX)
        return ERR_OK;
    const uint64_t key = (uint64_t)name << 32 | file;
    const uint32_t *known = pair_map_find(&s->frame_map, key, (uint32_t)line);
    if (known != NULL) {
        *out = pickle_value(KIND_FRAME, *known);
        return ERR_OK;
    }
    void *grown = table_grow(s, ROOM_FRAMES, s->frames, s->n_frames, 1, sizeof *s->frames);
    if (grown != NULL)
        s->frames = grown;
    if (grown == NULL || !pair_map_add(&s->frame_map, key, (uint32_t)line, (uint32_t)s->n_frames))
        return err_no_memory(err);
    s->frames[s->n_frames] = (struct snapshot_frame){.name = name, .file = file, .line = (uint32_t)line};
    *out = pickle_value(KIND_FRAME, (uint32_t)s->n_frames++);
    return ERR_OK;
}

static bool stack_is(const struct snapshot *s, uint32_t stack, const uint32_t *frames, size_t n)
{
    uint32_t node = s->stacks.stack[stack - 1];
    for (size_t i = 0; i < n; i++, node = s->stacks.node[node - 1].caller)
        if (node == 0 || s->stacks.node[node - 1].text != frames[i])
            return false;
    return node == 0;
}

/* Most stacks were seen before: a hash of the whole stack finds them faster than the table does frame by frame. */
static enum err snapshot_take_stack(struct snapshot *s, const uint64_t *items, size_t n, uint64_t *out,
                                    struct err_detail *err)
{
    uint32_t frames[STACK_FRAMES_MAX];
    size_t n_frames = 1;
    frames[0] = pickle_index(items[0]);                  /* the caller looked: it is a frame */
    for (size_t i = 1; i < n && n_frames < STACK_FRAMES_MAX; i++)
        if (pickle_kind(items[i]) == KIND_FRAME)
            frames[n_frames++] = pickle_index(items[i]);
    const uint64_t hash = hash_bytes(&s->seed, frames, n_frames * sizeof *frames);
    const uint32_t *known = pair_map_find(&s->stack_map, hash, n_frames);
    if (known != NULL && stack_is(s, *known, frames, n_frames)) {
        *out = pickle_value(KIND_STACK, *known);
        return ERR_OK;
    }
    const uint32_t stack = stack_table_put(&s->stacks, frames, n_frames);
    if (stack == 0 || stack > PICKLE_INDEX_MAX)
        return err_no_memory(err);
    if (known == NULL && !pair_map_add(&s->stack_map, hash, n_frames, stack))
        return err_no_memory(err);
    *out = pickle_value(KIND_STACK, stack);
    return ERR_OK;
}

/* ---- records, blocks, segments ---- */

/* What the keys of a record tell about the release that wrote the file. */
static unsigned record_signs(const struct fields *f)
{
    return (has(f, KEY_TIME_US) ? SIGN_TIME : 0u) | (has(f, KEY_COMPILE_CONTEXT) ? SIGN_COMPILE_CONTEXT : 0u) |
           (has(f, KEY_USER_METADATA) ? SIGN_USER_METADATA : 0u) | (has(f, KEY_POOL_ID) ? SIGN_POOL_ID : 0u) |
           (has(f, KEY_CATEGORY) ? SIGN_CATEGORY : 0u);
}

/* A record. */
static enum err snapshot_take_record(struct snapshot *s, const struct fields *f, uint64_t *out, struct err_detail *err)
{
    const uint32_t word = field_word(f, KEY_ACTION) - (WORD_FIRST + 1);
    struct snapshot_record r = {.action = (uint8_t)(word < ACTION_UNKNOWN ? word : ACTION_UNKNOWN)};
    int64_t addr = 0;
    if (r.action == ACTION_OOM && !field_size(s, f, KEY_DEVICE_FREE, &r.addr))
        return snapshot_fail(s, "a refused request without the device's free bytes", err);
    if (r.action != ACTION_UNKNOWN && r.action != ACTION_OOM && !field_int(s, f, KEY_ADDR, &addr) &&
        r.action != ACTION_SNAPSHOT)
        return snapshot_fail(s, "a trace record without an address", err);
    if (!field_size(s, f, KEY_SIZE, &r.size) && r.action != ACTION_UNKNOWN)
        return snapshot_fail(s, "a trace record without a valid size", err);
    r.addr = r.action == ACTION_OOM ? r.addr : (uint64_t)addr;
    r.stack = field_stack(f);
    r.pool = field_pool(f, KEY_POOL_ID);
    enum err e = field_optional(s, f, KEY_TIME_US, "a trace record whose time is not a whole number", &r.time_us, err);
    if (e == ERR_OK)
        e = field_stream(s, f, &r.stream, err);
    if (e != ERR_OK)
        return e;
    struct snapshot_record *grown = table_grow(s, ROOM_RECORDS, s->records, s->n_records, 1, sizeof *grown);
    if (grown == NULL)
        return err_no_memory(err);
    s->records = grown;
    s->records[s->n_records] = r;
    if (r.action != ACTION_CAPTURE_BEGIN && r.action != ACTION_CAPTURE_END)      /* those are ours in every release */
        s->signs |= record_signs(f);
    *out = pickle_value(KIND_RECORD, (uint32_t)s->n_records++);
    return ERR_OK;
}

/* A block of the final state. Old releases know no requested size: the block's size stands for it. */
static enum err snapshot_take_block(struct snapshot *s, const struct fields *f, uint64_t *out, struct err_detail *err)
{
    int64_t addr = 0;
    const uint32_t state = field_word(f, KEY_STATE);
    struct snapshot_block b = {.has_addr = field_int(s, f, KEY_ADDRESS, &addr), .has_stack = field_stack(f) != 0};
    b.addr = (uint64_t)addr;
    b.state = state == WORD_ALLOCATED ? SNAPSHOT_BLOCK_ALLOCATED
              : state == WORD_PENDING || state == WORD_AWAITING ? SNAPSHOT_BLOCK_PENDING : SNAPSHOT_BLOCK_INACTIVE;
    if (!field_size(s, f, KEY_SIZE, &b.size))
        return snapshot_fail(s, "a block without a valid size", err);
    b.requested = b.size;
    b.has_requested = !is_missing(f, KEY_REQUESTED_SIZE);
    if (b.has_requested && !field_size(s, f, KEY_REQUESTED_SIZE, &b.requested))
        return snapshot_fail(s, "a block without a valid requested size", err);
    struct snapshot_block *grown = table_grow(s, ROOM_BLOCKS, s->blocks, s->n_blocks, 1, sizeof *grown);
    if (grown == NULL)
        return err_no_memory(err);
    s->blocks = grown;
    s->blocks[s->n_blocks] = b;
    s->signs |= b.has_addr ? SIGN_BLOCK_ADDRESS : 0u;
    *out = pickle_value(KIND_BLOCK, (uint32_t)s->n_blocks++);
    return ERR_OK;
}

/* A segment of the final state. Its list of blocks was complete before. */
static enum err snapshot_take_segment(struct snapshot *s, const struct fields *f, uint64_t *out, struct err_detail *err)
{
    int64_t addr = 0, device = 0, is_expandable = 0;
    struct snapshot_segment g = {.pool = field_pool(f, KEY_SEGMENT_POOL_ID),
                                 .is_small = field_word(f, KEY_SEGMENT_TYPE) == WORD_SMALL};
    if (has(f, KEY_BLOCKS) && pickle_kind(f->value[KEY_BLOCKS]) == KIND_BLOCKS) {
        const struct snapshot_range *blocks = &s->ranges[pickle_index(f->value[KEY_BLOCKS])];
        g.first_block = blocks->first;
        g.n_blocks = blocks->n;
    }
    enum err e = field_optional(s, f, KEY_DEVICE, "a segment whose device is not a whole number", &device, err);
    if (e == ERR_OK)
        e = field_optional(s, f, KEY_IS_EXPANDABLE, "a segment whose 'is_expandable' is not a bool", &is_expandable,
                           err);
    if (e != ERR_OK)
        return e;
    if (!field_int(s, f, KEY_ADDRESS, &addr) && g.n_blocks > 0)
        return snapshot_fail(s, "a segment without an address", err);
    if (device == HOST_DEVICE)
        device = 0;                          /* the host's are the only ones of their list */
    if (!field_size(s, f, KEY_TOTAL_SIZE, &g.size) || device < 0 || device >= TRACE_DEVICES_MAX)
        return snapshot_fail(s, "a segment without a valid size or device", err);
    g.addr = (uint64_t)addr;
    g.device = (uint32_t)device;
    g.is_expandable = is_expandable != 0;
    g.pool = g.pool == SNAPSHOT_NO_POOL ? 0 : g.pool;
    e = field_stream(s, f, &g.stream, err);
    if (e != ERR_OK)
        return e;
    struct snapshot_segment *grown = table_grow(s, ROOM_SEGMENTS, s->segments, s->n_segments, 1, sizeof *grown);
    if (grown == NULL)
        return err_no_memory(err);
    s->segments = grown;
    s->segments[s->n_segments] = g;
    *out = pickle_value(KIND_SEGMENT, (uint32_t)s->n_segments++);
    return ERR_OK;
}

/* ---- settings and the top ---- */

static void snapshot_take_roundup(struct snapshot *s, const struct fields *f, uint64_t *out)
{
    for (int i = 0; i < ROUNDUP_CLASSES; i++) {
        int64_t v = 0;
        field_int(s, f, (enum key)(KEY_MIB_1 + i), &v);
        s->roundup[i] = v > 0 ? (uint64_t)v : 0;
    }
    *out = pickle_value(KIND_ROUNDUP, 0);
}

/* The two writers of an XPU use the general name alone. A writer of CUDA's that did so would be newer than 2.15, and
 * have these keys. */
static bool is_of_xpu(const struct fields *f)
{
    return has(f, KEY_CONF_GENERAL) && !has(f, KEY_CONF) && !has(f, KEY_REUSE) && !has(f, KEY_MAX_ROUND);
}

static void snapshot_take_settings(struct snapshot *s, const struct fields *f, uint64_t *out)
{
    struct snapshot_settings *t = &s->settings;
    int64_t is_expandable = 0;
    *t = (struct snapshot_settings){.is_known = true, .max_split_size = -1, .conf = PICKLE_NONE};
    field_int(s, f, KEY_MAX_SPLIT_SIZE, &t->max_split_size);
    field_int(s, f, KEY_EXPANDABLE, &is_expandable);
    t->is_expandable = is_expandable != 0;
    if (has(f, KEY_GC_THRESHOLD))
        pickle_float(s->pickle, f->value[KEY_GC_THRESHOLD], &t->gc_threshold);
    if (has(f, KEY_CONF) || has(f, KEY_CONF_GENERAL))
        t->conf = f->value[has(f, KEY_CONF) ? KEY_CONF : KEY_CONF_GENERAL];
    t->is_xpu = is_of_xpu(f);
    if (has(f, KEY_ROUNDUP) && pickle_kind(f->value[KEY_ROUNDUP]) == KIND_ROUNDUP)
        memcpy(t->roundup, s->roundup, sizeof t->roundup);
    s->signs |= (has(f, KEY_REUSE) ? SIGN_REUSE : 0u) | (has(f, KEY_MAX_ROUND) ? SIGN_MAX_ROUND : 0u);
    *out = pickle_value(KIND_SETTINGS, 0);
}

/* The host's records are one list, as if of one device. */
static enum err take_host(struct snapshot *s, const struct fields *f, struct err_detail *err)
{
    const uint64_t segments = has(f, KEY_HOST_SEGMENTS) ? f->value[KEY_HOST_SEGMENTS] : KIND_EMPTY;
    const uint64_t records = has(f, KEY_HOST_TRACES) ? f->value[KEY_HOST_TRACES] : KIND_EMPTY;
    if (pickle_kind(segments) == KIND_SEGMENTS)
        s->final_segments = s->ranges[pickle_index(segments)];
    if (pickle_kind(records) != KIND_RECORDS && pickle_kind(segments) != KIND_SEGMENTS)
        return err_at(err, ERR_UNSUPPORTED, 0, input_name(s->in), "has no records of page-locked host memory: record "
                      "with PyTorch 2.14 or later and record_pinned_host_memory=True");
    if (pickle_kind(records) != KIND_RECORDS)
        return ERR_OK;
    s->devices = calloc(1, sizeof *s->devices);
    if (s->devices == NULL)
        return err_no_memory(err);
    s->n_devices = 1;
    s->devices[0] = s->ranges[pickle_index(records)];
    return ERR_OK;
}

/* The outermost dictionary: which lists are the final state and the records of each device. */
static enum err snapshot_take_top(struct snapshot *s, const struct fields *f, uint64_t *out, struct err_detail *err)
{
    if (s->has_top)
        return snapshot_fail(s, "several snapshots in one file", err);
    s->has_top = true;
    s->n_host_records = has(f, KEY_HOST_TRACES) && pickle_kind(f->value[KEY_HOST_TRACES]) == KIND_RECORDS
                            ? s->ranges[pickle_index(f->value[KEY_HOST_TRACES])].n : 0;
    *out = pickle_value(KIND_TOP, 0);
    if (s->cfg != NULL && s->cfg->columns != NULL && strcmp(s->cfg->columns, SNAPSHOT_HOST) == 0) {
        s->is_host = true;
        return take_host(s, f, err);
    }
    const uint64_t segments = has(f, KEY_SEGMENTS) ? f->value[KEY_SEGMENTS] : KIND_EMPTY;
    const uint64_t traces = has(f, KEY_DEVICE_TRACES) ? f->value[KEY_DEVICE_TRACES] : KIND_EMPTY;
    if (pickle_kind(segments) != KIND_SEGMENTS && pickle_kind(segments) != KIND_EMPTY)
        return snapshot_fail(s, "\"segments\" is not a list of segments", err);
    if (pickle_kind(traces) != KIND_TRACES && pickle_kind(traces) != KIND_EMPTY)
        return snapshot_fail(s, "\"device_traces\" is not a list of lists of trace records", err);
    if (pickle_kind(segments) == KIND_SEGMENTS)
        s->final_segments = s->ranges[pickle_index(segments)];
    if (pickle_kind(traces) == KIND_TRACES) {
        const struct snapshot_range *devices = &s->ranges[pickle_index(traces)];
        if (devices->n > TRACE_DEVICES_MAX)
            return snapshot_fail(s, "more devices than any machine has", err);
        s->devices = calloc(devices->n, sizeof *s->devices);
        if (s->devices == NULL)
            return err_no_memory(err);
        s->n_devices = devices->n;
        memcpy(s->devices, s->ranges + devices->first, devices->n * sizeof *s->devices);
    }
    s->signs |= (has(f, KEY_ALLOCATOR_SETTINGS) ? SIGN_SETTINGS : 0u) |
                (has(f, KEY_EXTERNAL_ANNOTATIONS) ? SIGN_ANNOTATIONS : 0u) |
                (has(f, KEY_HOST_SEGMENTS) ? SIGN_HOST : 0u);
    return ERR_OK;
}

/* The pickle reader's handler of dictionaries. The most frequent kinds are tested first. */
static enum err snapshot_dict(void *arg, const uint64_t *items, size_t n, uint64_t *out, struct err_detail *err)
{
    struct snapshot *s = arg;
    struct fields f;
    f.mask = 0;
    s->n_dicts++;
    if (n == 0)
        *out = KIND_EMPTY_DICT;
    for (size_t i = 0; i + 1 < n; i += 2) {
        if (pickle_kind(items[i]) != PICKLE_STRING || pickle_index(items[i]) >= KEYS)
            continue;
        f.mask |= UINT64_C(1) << pickle_index(items[i]);
        f.value[pickle_index(items[i])] = items[i + 1];
    }
    if (has(&f, KEY_ACTION))
        return snapshot_take_record(s, &f, out, err);
    if (has(&f, KEY_NAME) && has(&f, KEY_FILENAME))
        return snapshot_take_frame(s, &f, out, err);
    if (has(&f, KEY_TOTAL_SIZE))
        return snapshot_take_segment(s, &f, out, err);
    if (has(&f, KEY_STATE) && has(&f, KEY_SIZE))
        return snapshot_take_block(s, &f, out, err);
    if (has(&f, KEY_SEGMENTS) || has(&f, KEY_DEVICE_TRACES))
        return snapshot_take_top(s, &f, out, err);
    if (has(&f, KEY_MAX_SPLIT_SIZE) || has(&f, KEY_CONF) || has(&f, KEY_CONF_GENERAL))
        snapshot_take_settings(s, &f, out);
    else if (has(&f, KEY_MIB_1) && has(&f, KEY_MIB_32768))
        snapshot_take_roundup(s, &f, out);
    return ERR_OK;
}

/* ---- lists ---- */

/* Counts rows that are copied because several lists share them. No program shares its records, so few are allowed: a
 * reference takes two bytes of the file, a row forty. */
static enum err count_shared_rows(struct snapshot *s, size_t n, struct err_detail *err)
{
    s->n_shared += n;
    if (s->n_shared <= SHARED_ROWS_FREE || s->n_shared <= s->n_dicts)
        return ERR_OK;
    return snapshot_fail(s, "far more records, blocks or segments refer to others than stand for themselves", err);
}

/* Turns a list of rows of one table into a range of that table. The rows were made one after the other, so they are
 * adjacent; if an object is shared they are not, and are copied. */
static enum err list_of_rows(struct snapshot *s, const uint64_t *items, size_t n, unsigned kind, void **table,
                             size_t *n_table, size_t element, int room, struct snapshot_range *out,
                             struct err_detail *err)
{
    const uint32_t first = pickle_index(items[0]);
    size_t in_order = 0;
    while (in_order < n && pickle_kind(items[in_order]) == kind && pickle_index(items[in_order]) == first + in_order)
        in_order++;
    *out = (struct snapshot_range){.first = first, .n = (uint32_t)n};
    if (in_order == n)
        return ERR_OK;
    const enum err e = count_shared_rows(s, n, err);
    if (e != ERR_OK)
        return e;
    void *grown = table_grow(s, room, *table, *n_table, n, element);
    if (grown == NULL)
        return err_no_memory(err);
    *table = grown;
    for (size_t i = 0; i < n; i++) {
        if (pickle_kind(items[i]) != kind)
            return snapshot_fail(s, "a list of items of different kinds", err);
        memcpy((char *)*table + (*n_table + i) * element, (char *)*table + pickle_index(items[i]) * element, element);
    }
    out->first = (uint32_t)*n_table;
    *n_table += n;
    return ERR_OK;
}

static enum err range_put(struct snapshot *s, struct snapshot_range range, unsigned kind, uint64_t *out,
                          struct err_detail *err)
{
    struct snapshot_range *grown = table_grow(s, ROOM_RANGES, s->ranges, s->n_ranges, 1, sizeof *grown);
    if (grown == NULL)
        return err_no_memory(err);
    s->ranges = grown;
    s->ranges[s->n_ranges] = range;
    *out = pickle_value(kind, (uint32_t)s->n_ranges++);
    return ERR_OK;
}

/* device_traces: one list per device, of records or empty. */
static enum err list_of_traces(struct snapshot *s, const uint64_t *items, size_t n, uint64_t *out,
                               struct err_detail *err)
{
    const struct snapshot_range traces = {.first = (uint32_t)s->n_ranges, .n = (uint32_t)n};
    struct snapshot_range *grown = table_grow(s, ROOM_RANGES, s->ranges, s->n_ranges, n, sizeof *grown);
    if (grown == NULL)
        return err_no_memory(err);
    s->ranges = grown;
    for (size_t i = 0; i < n; i++) {
        const unsigned kind = pickle_kind(items[i]);
        if (kind != KIND_RECORDS && kind != KIND_EMPTY) {
            *out = PICKLE_OPAQUE;
            return ERR_OK;
        }
        s->ranges[s->n_ranges + i] = kind == KIND_EMPTY ? (struct snapshot_range){.n = 0}
                                                        : s->ranges[pickle_index(items[i])];
    }
    s->n_ranges += n;
    return range_put(s, traces, KIND_TRACES, out, err);
}

/* The pickle reader's handler of lists: the first item tells of what. */
static enum err snapshot_list(void *arg, const uint64_t *items, size_t n, uint64_t *out, struct err_detail *err)
{
    struct snapshot *s = arg;
    struct snapshot_range range;
    enum err e = ERR_OK;
    if (n == 0) {
        *out = KIND_EMPTY;
        return ERR_OK;
    }
    void *records = s->records, *blocks = s->blocks, *segments = s->segments;
    switch (pickle_kind(items[0])) {
    case KIND_FRAME:
        return snapshot_take_stack(s, items, n, out, err);
    case KIND_RECORD:
        e = list_of_rows(s, items, n, KIND_RECORD, &records, &s->n_records, sizeof *s->records, ROOM_RECORDS, &range,
                         err);
        s->records = records;
        return e != ERR_OK ? e : range_put(s, range, KIND_RECORDS, out, err);
    case KIND_BLOCK:
        e = list_of_rows(s, items, n, KIND_BLOCK, &blocks, &s->n_blocks, sizeof *s->blocks, ROOM_BLOCKS, &range, err);
        s->blocks = blocks;
        return e != ERR_OK ? e : range_put(s, range, KIND_BLOCKS, out, err);
    case KIND_SEGMENT:
        e = list_of_rows(s, items, n, KIND_SEGMENT, &segments, &s->n_segments, sizeof *s->segments, ROOM_SEGMENTS,
                         &range, err);
        s->segments = segments;
        return e != ERR_OK ? e : range_put(s, range, KIND_SEGMENTS, out, err);
    case KIND_RECORDS:
    case KIND_EMPTY:
        return list_of_traces(s, items, n, out, err);
    default:
        return n == 2 ? snapshot_pair(s, items, out, err) : ERR_OK;
    }
}

/* ---- the whole ---- */

static enum err snapshot_bad_segment(const struct snapshot *s, uint32_t i, const char *what, struct err_detail *err)
{
    const struct snapshot_segment *g = &s->segments[s->final_segments.first + i];
    return err_at(err, ERR_FORMAT, i, input_name(s->in), "segment %u at 0x%" PRIx64 ": %s", i, g->addr, what);
}

/* Checks the blocks of a final segment, and gives them addresses if the release (up to 2.0) recorded none. */
static const char *segment_place_blocks(struct snapshot *s, const struct snapshot_segment *g)
{
    const uint64_t end = g->addr + g->size;
    uint64_t at = g->addr;
    if (end < g->addr)
        return "it ends beyond 2^64";
    for (uint32_t k = 0; k < g->n_blocks; k++) {
        struct snapshot_block *b = &s->blocks[g->first_block + k];
        b->addr = b->has_addr ? b->addr : at;
        b->has_addr = true;
        if (b->size == 0)
            return "it holds a block of 0 bytes";
        if (b->addr < at)
            return "its blocks overlap, or begin below it";
        if (b->addr > end || b->size > end - b->addr)
            return "its blocks reach beyond it";
        s->in_no_block += b->addr - at;
        at = b->addr + b->size;
    }
    s->in_no_block += end - at;
    return NULL;
}

/* A hostile file may have many segments share one list of blocks: more blocks than the file holds are refused. */
static enum err snapshot_place_blocks(struct snapshot *s, struct err_detail *err)
{
    uint64_t n_placed = 0;
    for (uint32_t i = 0; i < s->final_segments.n; i++) {
        const struct snapshot_segment *g = &s->segments[s->final_segments.first + i];
        n_placed += g->n_blocks;
        const char *wrong = n_placed > s->n_blocks ? "it shares its blocks with another segment"
                                                   : segment_place_blocks(s, g);
        if (wrong != NULL)
            return snapshot_bad_segment(s, i, wrong, err);
    }
    return ERR_OK;
}

/* Takes the pickle's value: the outermost dictionary, or a bare list of segments. */
static enum err snapshot_take_result(struct snapshot *s, uint64_t value, struct err_detail *err)
{
    if (pickle_kind(value) == KIND_SEGMENTS) {
        s->is_bare_list = true;
        s->final_segments = s->ranges[pickle_index(value)];
    } else if (pickle_kind(value) != KIND_TOP) {
        const bool is_empty = pickle_kind(value) == KIND_EMPTY_DICT || pickle_kind(value) == KIND_EMPTY;
        return err_at(err, ERR_FORMAT, 0, input_name(s->in), "a pickle, but no snapshot of PyTorch's allocator%s",
                      is_empty ? ": it is empty, as where the device's allocator records nothing (MPS)" : "");
    }
    if ((s->signs & SIGN_CATEGORY) != 0)
        return err_at(err, ERR_UNSUPPORTED, 0, input_name(s->in), "made by torch.cuda._memory_viz from a profile, "
                      "which has no record of what the allocator did; import the profile itself");
    return snapshot_place_blocks(s, err);
}

static void snapshot_progress(void *arg)
{
    const struct snapshot *s = arg;
    if (s->cfg != NULL && s->cfg->progress != NULL)
        s->cfg->progress(s->cfg->progress_arg, input_raw_offset(s->in), input_raw_size(s->in));
}

enum err snapshot_read(struct input *in, const struct import_config *cfg, struct snapshot **out, struct err_detail *err)
{
    struct snapshot *s = calloc(1, sizeof *s);
    if (s == NULL)
        return err_no_memory(err);
    const struct pickle_handler handler = {
        .arg = s, .dict = snapshot_dict, .list = snapshot_list, .tuple = snapshot_tuple, .progress = snapshot_progress};
    const uint64_t zero[2] = {PICKLE_INT, PICKLE_INT};
    uint64_t value = PICKLE_NONE;
    s->settings = (struct snapshot_settings){.max_split_size = -1, .conf = PICKLE_NONE};
    s->in = in;
    s->cfg = cfg;
    s->seed = hash_seed();
    enum err e = pickle_open(in, &handler, snapshot_words, WORDS, &s->pickle, err);
    if (e == ERR_OK)
        e = snapshot_pair(s, zero, &value, err);         /* pool 0 is the default pool */
    if (e == ERR_OK)
        e = pickle_read(s->pickle, &value, err);
    if (e == ERR_OK)
        e = snapshot_take_result(s, value, err);
    if (e != ERR_OK) {
        snapshot_free(s);
        return e;
    }
    pickle_drop_memo(s->pickle);
    pair_map_free(&s->stream_map);
    pair_map_free(&s->pool_map);
    pair_map_free(&s->frame_map);
    pair_map_free(&s->stack_map);
    *out = s;
    return ERR_OK;
}

void snapshot_free(struct snapshot *s)
{
    if (s == NULL)
        return;
    pickle_close(s->pickle);
    stack_table_free(&s->stacks);
    pair_map_free(&s->stream_map);
    pair_map_free(&s->pool_map);
    pair_map_free(&s->frame_map);
    pair_map_free(&s->stack_map);
    free(s->records);
    free(s->blocks);
    free(s->segments);
    free(s->devices);
    free(s->streams);
    free(s->pools);
    free(s->frames);
    free(s->ranges);
    free(s);
}

const char *snapshot_text(const struct snapshot *s, uint32_t string)
{
    size_t n;
    return pickle_string(s->pickle, pickle_value(PICKLE_STRING, string), &n);
}
