/*
 * PYTORCH_CUDA_ALLOC_CONF: the options of PyTorch's caching allocator, read as a given release reads them.
 * Source: PyTorch, c10/core/AllocatorConfig.h and c10/cuda/CUDAAllocatorConfig.h.
 */
#ifndef REPLAY_POLICIES_PYTORCH_PYTORCH_CONF_H
#define REPLAY_POLICIES_PYTORCH_PYTORCH_CONF_H

#include "base/err.h"
#include "policies/pytorch/pytorch_rules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYTORCH_UNLIMITED UINT64_MAX

enum { PYTORCH_ROUNDUP_INTERVALS = 16 };

enum pytorch_reserve_kind { RESERVE_DEFAULT, RESERVE_BYTES, RESERVE_SHARE };

/* Bytes unless a name says otherwise. */
struct pytorch_settings {
    uint64_t max_split_size;              /* PYTORCH_UNLIMITED: not set */
    uint64_t max_non_split_rounding;
    uint64_t large_segment_size;
    double   garbage_collection_threshold;    /* 0: off */
    uint64_t roundup_divisions[PYTORCH_ROUNDUP_INTERVALS];   /* by size, [1 MiB ... 64 GiB); 0: plain rounding */
    bool     expandable_segments;
    double   fraction;                    /* option per_process_memory_fraction */
    bool     throw_on_cudamalloc_oom;
    bool     release_lock_on_cudamalloc;
    bool     graph_capture_record_stream_reuse;
    bool     is_async;                    /* backend:cudaMallocAsync was asked for */
    enum pytorch_reserve_kind reserve_kind;
    uint64_t reserve_bytes;               /* RESERVE_BYTES */
    double   reserve_share;               /* RESERVE_SHARE: of the device's total */
};

enum conf_time { CONF_AT_START, CONF_AT_RUN_TIME };

/* What PyTorch starts with when no option is given. */
struct pytorch_settings pytorch_settings_default(void);

/* Applies a settings text to *s, as the release does: options that a text omits are reset or kept by its rules. On
 * refusal returns ERR_USAGE; why->text is "<Type>: <PyTorch's own message>", why->offset the place in `text` (bytes) of
 * the offending word. At run time the options before it have then taken effect, at start *s is left as it was. Where
 * PyTorch ends in an internal error or aborts, the type is "RuntimeError" and the message is our own. */
MUST_USE enum err pytorch_conf_apply(const struct pytorch_rules *rules, enum conf_time when, const char *text,
                                     struct pytorch_settings *s, struct err_detail *why);

/* Calls `visit` with a sentence for each option in `text` that is accepted but has no effect on placement. */
void pytorch_conf_inert(const struct pytorch_rules *rules, const char *text,
                        void (*visit)(void *arg, const char *sentence), void *arg);

#endif
