/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
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

typedef uint64_t pytorch_divisions[PYTORCH_ROUNDUP_INTERVALS];

/*
 * X(type, name, ALIKE or BOUND). Sizes are in bytes. Two settings are alike if all members marked ALIKE are equal.
 * Those marked BOUND only bound what the allocator does: pytorch_repeats.c has a rule for each.
 */
#define PYTORCH_SETTINGS(X)                                                                                            \
    X(uint64_t, max_split_size, BOUND)                 /* PYTORCH_UNLIMITED: not set */                                \
    X(uint64_t, max_non_split_rounding, BOUND)                                                                         \
    X(uint64_t, large_segment_size, ALIKE)                                                                             \
    X(double, garbage_collection_threshold, BOUND)     /* 0: off */                                                    \
    X(pytorch_divisions, roundup_divisions, ALIKE)     /* by size, [1 MiB ... 64 GiB); 0: plain rounding */            \
    X(bool, expandable_segments, ALIKE)                                                                                \
    X(double, fraction, BOUND)                         /* option per_process_memory_fraction */                        \
    X(bool, throw_on_cudamalloc_oom, BOUND)                                                                            \
    X(bool, release_lock_on_cudamalloc, ALIKE)                                                                         \
    X(bool, graph_capture_record_stream_reuse, ALIKE)                                                                  \
    X(bool, is_async, ALIKE)                           /* backend:cudaMallocAsync was asked for */                     \
    X(enum pytorch_reserve_kind, reserve_kind, ALIKE)                                                                  \
    X(uint64_t, reserve_bytes, ALIKE)                  /* RESERVE_BYTES */                                             \
    X(double, reserve_share, ALIKE)                    /* RESERVE_SHARE: of the device's total */

struct pytorch_settings {
#define PYTORCH_SETTING(type, name, kind) type name;
    PYTORCH_SETTINGS(PYTORCH_SETTING)
#undef PYTORCH_SETTING
};

enum conf_time { CONF_AT_START, CONF_AT_RUN_TIME };

/* What PyTorch starts with when no option is given. */
struct pytorch_settings pytorch_settings_default(void);

/* Applies a settings text to *s as the release does: options that the text omits are reset or kept by its rules. On
 * refusal returns ERR_USAGE; why->text is "<Type>: <PyTorch's own message>", why->offset the place of the offending
 * word in `text` (bytes). At run time the options before that word have then taken effect; at the start *s is left as
 * it was. If PyTorch ends in an internal error or aborts, the type is "RuntimeError" and the message is our own. */
MUST_USE enum err pytorch_conf_apply(const struct pytorch_rules *rules, enum conf_time when, const char *text,
                                     struct pytorch_settings *s, struct err_detail *err);

/* A setting that was given by itself and not in a settings text. Its value is a number where it is one: it is not
 * written out and read again. */
enum conf_value_kind { CONF_WORDS, CONF_INTEGER, CONF_REAL };
struct conf_setting {
    const char *key;                      /* "max_split_size_mb" */
    enum conf_value_kind kind;
    const char *text;                     /* the value as it was typed; CONF_WORDS: in PyTorch's own form */
    uint64_t    integer;
    double      real;
};

/* The settings at the start: a text, then `n` settings given by themselves, in effect as if they stood after it. *s is
 * left as it was on refusal; *source says what was refused: 0: the text; i: settings[i - 1]. why->offset is the place
 * in that. Otherwise as pytorch_conf_apply. */
MUST_USE enum err pytorch_conf_start(const struct pytorch_rules *rules, const char *text,
                                     const struct conf_setting *settings, size_t n, struct pytorch_settings *s,
                                     size_t *source, struct err_detail *err);

/* An option as it stands in a settings text: text[from, to). */
struct conf_option {
    const char *key;                 /* "max_split_size_mb"; valid during the visit */
    size_t      from, to;
    bool        is_known;            /* the release has it */
    const char *inert;               /* why the release accepts it without any effect on placement; NULL: it may have
                                      * one */
};

/* Calls `visit` for each option of `text` in order, up to the place where the text ends too early. ERR_HOST_NOMEM: none
 * was visited. */
MUST_USE enum err pytorch_conf_each(const struct pytorch_rules *rules, const char *text,
                                    void (*visit)(void *arg, const struct conf_option *option), void *arg);

/* What a person who typed a refused text may have meant, for a message that ends with it: "; did you mean
 * 'expandable_segments'?", or for "expandable_segments=True" that a colon belongs there. "": nothing comes to mind. */
enum { PYTORCH_CONF_SLIP = 96 };
void pytorch_conf_slip(const struct pytorch_rules *rules, const char *text, char out[PYTORCH_CONF_SLIP]);

/* True if the text can name nobody and nothing: some release takes it, and each of its words is an option, a value of
 * PyTorch's own or a number and no more. A text with every option is half as long as the longest that is plain. */
enum { PYTORCH_CONF_PLAIN_MAX = 2048 };
bool pytorch_conf_is_plain(const char *text);

bool pytorch_settings_equal(const struct pytorch_settings *a, const struct pytorch_settings *b);

/* The environment variable to set, which the release reads, also where others are set: "PYTORCH_CUDA_ALLOC_CONF". */
const char *pytorch_conf_variable(const struct pytorch_rules *rules);

#endif
