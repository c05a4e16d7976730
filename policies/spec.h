/*
 * A policy as a person types it: a preset, a name with options, a plugin's path, or a settings text verbatim.
 *
 *     best-fit    gc=0.8    none    pytorch:max-split=128MiB,roundup=4    ./mine.so:option=3
 *     max_split_size_mb:128,garbage_collection_threshold:0.8
 */
#ifndef REPLAY_POLICIES_SPEC_H
#define REPLAY_POLICIES_SPEC_H

#include "policies/policy.h"

/* A short name for a policy with options. */
struct policy_preset {
    const char *name;             /* "gc=X": X stands for what is typed there */
    const char *spec;             /* "pytorch:gc=X,limit-device" */
    const char *summary;          /* one line, ending in its source */
};

/* The i-th preset; NULL behind the last. */
const struct policy_preset *policy_preset_at(size_t i);

/* A parsed spec: everything but the trace and the device that a policy needs. */
struct policy_spec {
    const struct policy_ops *ops;
    struct option_value values[POLICY_OPTIONS_MAX];
    size_t   n_options;
    char    *typed;               /* as the person wrote it */
    char    *expanded;            /* presets resolved; the texts of `values` lie in here or in the tables */
    void    *plugin;              /* handle of a loaded shared object, or NULL */
};

/* Parses a spec. A size, number, share or text without a fallback is left unset by "none" or "off". ERR_USAGE with the
 * nearest name or the range and the place in the text; policy_load's errors. Released with policy_spec_close, also after
 * use. */
MUST_USE enum err policy_spec_parse(const char *text, struct policy_spec *out, struct err_detail *why);
void policy_spec_close(struct policy_spec *spec);

/* Whether policy_spec_parse would load a shared object for this text. Nothing is opened to tell. */
bool policy_text_loads_code(const char *text);

/* How many settings a spec changes: 0 for one that leaves all as they are, spelled out or not. Of a plugin, as many as
 * are typed. */
unsigned policy_spec_changes(const struct policy_spec *spec);

/* The same of a text: as many as are typed, too, where it names a plugin, which is not loaded for this, or cannot be
 * read. */
unsigned policy_text_changes(const char *text);

#endif
