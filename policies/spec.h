/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A policy as a person types it: a preset, a name with options, a plugin's path, or PyTorch's settings verbatim.
 *
 *     best-fit    gc=0.8    none    pytorch:max-split=128MiB,roundup=4    ./mine.so:option=3
 *     max_split_size_mb:128,garbage_collection_threshold:0.8
 *     rmm-binning:upstream=[rmm-pool:initial=1GiB,upstream=[rmm-limiting:limit=8GiB]]
 */
#ifndef REPLAY_POLICIES_SPEC_H
#define REPLAY_POLICIES_SPEC_H

#include "policies/policy.h"

/* A short name for a policy with options. */
struct policy_preset {
    const char *name;             /* "gc=X": X stands for what is typed there */
    const char *spec;             /* "pytorch:gc=X,limit-device" */
    const char *summary;          /* one line, ending in its source */
    const char *variables;        /* what makes a program's own library so, for a shell: "A=1 B=x"; "": it comes so;
                                   * NULL: nothing that a shell sets */
};

/* The i-th preset; NULL after the last. */
const struct policy_preset *policy_preset_at(size_t i);

/* The preset that a typed policy begins with; NULL: none. */
const struct policy_preset *policy_preset_of(const char *typed);

/* The variables that make a library so, with what was typed for X: "XLA_CLIENT_MEM_FRACTION=0.9". "" if it comes so,
 * and for a policy that no variable makes. */
enum { POLICY_VARIABLES = 128 };
const char *policy_variables(const char *typed, char out[static POLICY_VARIABLES]);

/* A parsed spec: all that a policy needs apart from the trace and the device. */
struct policy_spec {
    const struct policy_ops *ops;
    struct option_value values[POLICY_OPTIONS_MAX];
    size_t   n_options;
    char    *typed;               /* as the person wrote it */
    char    *expanded;            /* presets resolved; the texts of `values` lie in here or in the tables */
    void    *plugin;              /* handle of a loaded shared object, or NULL */
    uint32_t value_at[POLICY_OPTIONS_MAX];   /* where the value was typed, bytes into `typed`; 0: it was not */
    struct policy_spec *nested;   /* the policies that were named in brackets: a list by `next` */
    struct policy_spec *next;
    struct policy_choice choice;  /* this spec as the value of an option of another */
    uint32_t *pairs_at;           /* the same for each byte of the value of kind OPTION_PAIRS */
    size_t   n_pairs;
};

/* Parses a spec. "none" or "off" leaves a size, number, share or text without a fallback unset. ERR_USAGE, with the
 * nearest name or the range and the place in the text; policy_load's errors. policy_spec_close frees it, also after
 * use. */
MUST_USE enum err policy_spec_parse(const char *text, struct policy_spec *out, struct err_detail *err);

/* The same for a text that no person typed but that a file holds: it never loads code. ERR_UNSUPPORTED, before anything
 * is opened, if the policy, or one in brackets, lies in a shared object. A text that this parses has none. */
MUST_USE enum err policy_spec_parse_foreign(const char *text, struct policy_spec *out, struct err_detail *err);
void policy_spec_close(struct policy_spec *spec);

/* Completes the error of a policy_create that failed: names the spec, and shows the place in what was typed if `reason`
 * has one (POLICY_PLACE). Returns `e`. */
enum err policy_spec_refuse(const struct policy_spec *spec, enum err e, const struct err_detail *reason,
                            struct err_detail *err);

/* Whether `is_good` holds for each file that the spec, or a policy in brackets in it, names for its policy to read. */
bool policy_spec_files_are(const struct policy_spec *spec, bool (*is_good)(const char *path));

/* Whether the policy, or one in brackets, is a plugin. */
bool policy_spec_has_plugin(const struct policy_spec *spec);

/* Whether two specs name one policy and give each of its options the same value, apart from those that its `repeats`
 * compares itself (policy_ops.compared). Two spellings of one value count as two values. */
bool policy_spec_agrees(const struct policy_spec *a, const struct policy_spec *b);

/* How many settings a spec changes; 0 if it leaves all at their defaults, written out or not. For a plugin: the number
 * of options typed. For a preset that variables make: the number of these, and of options typed after it. */
unsigned policy_spec_changes(const struct policy_spec *spec);

/* Whether a spec is PyTorch's allocator with no setting changed, however it was spelled, or another library's as it
 * comes (`jax`). */
bool policy_spec_is_default(const struct policy_spec *spec);

/* The same for a text; false for one that cannot be read. */
bool policy_text_is_default(const char *text);

/* The place of one of JAX's or TensorFlow's own settings (`jax-grow`) among those of its library, in the order in which
 * they are to be tried; 1 is the library as it comes. 0: the text names none of them, or more than one of them. */
unsigned policy_own_order(const char *typed);

/* Whether a text names PyTorch's allocator, under any setting. It is not parsed for this. */
bool policy_text_is_pytorch(const char *text);

/* policy_spec_changes for a text. For a plugin, which is not loaded for this, and for a text that cannot be read: the
 * number of options typed. UINT_MAX without memory. */
unsigned policy_text_changes(const char *text);

#endif
