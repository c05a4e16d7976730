/*
 * What differs between the releases of PyTorch: one line per difference.
 *
 * Each was measured by its last patch release. The rules themselves stand where they are used; this table says only who
 * has which.
 */
#ifndef REPLAY_POLICIES_PYTORCH_PYTORCH_RULES_H
#define REPLAY_POLICIES_PYTORCH_PYTORCH_RULES_H

#include <stdbool.h>
#include <stddef.h>

/* The number behind the point. */
enum pytorch_release {
    PYTORCH_2_0, PYTORCH_2_1, PYTORCH_2_2, PYTORCH_2_3, PYTORCH_2_4, PYTORCH_2_5, PYTORCH_2_6, PYTORCH_2_7, PYTORCH_2_8,
    PYTORCH_2_9, PYTORCH_2_10, PYTORCH_2_11, PYTORCH_2_12, PYTORCH_2_13, PYTORCH_2_14, PYTORCH_2_15, PYTORCH_RELEASES
};

/* X(rule, first release that has it, last release that has it, what it says) */
#define PYTORCH_RULES(X)                                                                                              \
    X(ties_by_address,         2_0,  2_11, "of equal free blocks the lowest address is taken")                        \
    X(ties_by_block,           2_12, 2_12, "of equal free blocks the oldest block object is taken (#183489)")         \
    X(ties_by_segment,         2_13, 2_15, "of equal free blocks that of the oldest segment is taken (#183591)")      \
    X(has_raw_divisions_of_1,  2_0,  2_3,  "roundup_power2_divisions:1 leaves sizes unrounded (fixed by #93942)")     \
    X(has_list_zero,           2_4,  2_15, "a list of divisions may name 0")                                          \
    X(has_rest_overwriting,    2_0,  2_9,  "the list item > overwrites the entry just set (#165304 changed it)")      \
    X(has_strict_min_split,    2_0,  2_9,  "max_split_size_mb must be more than 20; later, at least the large segment") \
    X(has_non_split_rounding,  2_6,  2_15, "option max_non_split_rounding_mb (#136174)")                              \
    X(has_large_segment,       2_11, 2_15, "option large_segment_size_mb (#172056)")                                  \
    X(has_checked_separators,  2_0,  2_9,  "the option reader checks separators, its errors are RuntimeErrors")       \
    X(has_fraction_option,     2_10, 2_15, "option per_process_memory_fraction (#161035)")                            \
    X(has_limit_at_fraction_1, 2_0,  2_9,  "a memory fraction of exactly 1.0 sets a limit")                           \
    X(has_rounded_limit,       2_13, 2_15, "a memory fraction's limit is rounded to the nearest byte, not cut")       \
    X(has_rejections,          2_12, 2_15, "option throw_on_cudamalloc_oom and its counter (#179473)")                \
    X(has_expandable,          2_1,  2_15, "expandable segments (#96995)")                                            \
    X(has_global_expandable,   2_1,  2_4,  "the expandable option itself, not the pool, decides how blocks are split") \
    X(has_shared_expandable,   2_5,  2_15, "private pools use expandable segments as well (#128068)")                 \
    X(has_reserve,             2_15, 2_15, "options for the reserve; a range too small for a request is given back")  \
    X(has_any_nocache,         2_0,  2_6,  "any value of PYTORCH_NO_CUDA_MEMORY_CACHING switches caching off")        \
    X(has_user_pools,          2_5,  2_15, "memory pools for the user (MemPool)")                                     \
    X(keeps_user_pools,        2_5,  2_5,  "who leaves a pool region keeps the pool: its memory is never given back")    \
    X(has_outer_pool_first,    2_0,  2_9,  "of nested pool regions the outer one wins (#161193 changed it)")          \
    X(has_capture_by_region,   2_1,  2_12, "inside any pool region a capture counts as under way (#175374 changed it)") \
    X(has_capture_by_stream,   2_13, 2_15, "requests on other streams than the captured one take no notice of it")   \
    X(has_release_by_pool,     2_6,  2_15, "dropping a pool releases that pool only")                                 \
    X(is_narrow_in_region,     2_6,  2_7,  "in a pool region snapshots show, and flushes release, that pool only")    \
    X(borrows_last,            2_8,  2_10, "pools opened for it lend memory after the last attempt (#151487)")        \
    X(lends_ranges,            2_8,  2_9,  "and then also blocks of expandable segments")                            \
    X(borrows_first,           2_11, 2_15, "they lend it before anything is released")                                \
    X(keeps_capture_uses,      2_0,  2_3,  "stream uses marked during a capture count after it")                      \
    X(has_device_counts,       2_3,  2_15, "num_sync_all_streams, num_device_alloc, num_device_free")                 \
    X(has_private_pool_bytes,  2_13, 2_15, "reserved_bytes_by_private_pools")

struct pytorch_rules {
    enum pytorch_release release;
    bool is_npu;                     /* torch_npu's port: 32 bytes more per request, other starts in large ranges */
#define PYTORCH_RULE(name, first, last, says) bool name;
    PYTORCH_RULES(PYTORCH_RULE)
#undef PYTORCH_RULE
};

/* "2.0" ... "2.15". */
const char *pytorch_release_name(enum pytorch_release r);

/* The first release whose snapshots have the layout of this one's. */
enum pytorch_release pytorch_release_first_alike(enum pytorch_release r);

/* The release of a version text ("2.7", "2.15.0", "2.4.1+cu121"). False for a text that is no version, or one before 2.0
 * or of another major number. Later than the newest gives the newest. */
bool pytorch_release_find(const char *text, enum pytorch_release *out);

struct pytorch_rules pytorch_rules_of(enum pytorch_release r);

/* The rules that a person names: a version as pytorch_release_find takes it, or "npu" for Ascend's port, which keeps
 * the rules of 2.4 but for what struct pytorch_rules says. */
bool pytorch_rules_find(const char *text, struct pytorch_rules *out);

/* "2.15", "npu". */
const char *pytorch_rules_name(const struct pytorch_rules *rules);

#endif
