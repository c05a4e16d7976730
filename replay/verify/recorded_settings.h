/*
 * What a recording says of the allocator that made it: its settings, and its release.
 */
#ifndef REPLAY_REPLAY_VERIFY_RECORDED_SETTINGS_H
#define REPLAY_REPLAY_VERIFY_RECORDED_SETTINGS_H

#include "policies/spec.h"
#include "traces/trace.h"

/* The policy with the settings that were recorded, as a person would have typed them; best-fit where none were. Where
 * the record holds no settings but shows expandable segments, they are on. policy_spec_parse's errors. */
MUST_USE enum err recorded_policy(struct trace_reader *trace, struct policy_spec *out, struct err_detail *why);

/* The release that made the recording, by its layout; where several releases have it, the one under which more of
 * the record comes out, as far as that can differ. *out is NULL where the trace does not tell. Lent until trace_close; the
 * trace may be read through for it. ERR_HOST_NOMEM. */
MUST_USE enum err recorded_release(struct trace_reader *trace, const char **out, struct err_detail *why);

/* A policy that has releases takes `release` (NULL: its default), unless another was typed. It outlives the spec. */
void recorded_take_release(const char *release, struct policy_spec *spec);

#endif
