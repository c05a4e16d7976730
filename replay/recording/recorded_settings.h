/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The allocator settings that a recording holds, as a policy. Cheap: reads the trace's header and its segment events.
 */
#ifndef REPLAY_REPLAY_RECORDING_RECORDED_SETTINGS_H
#define REPLAY_REPLAY_RECORDING_RECORDED_SETTINGS_H

#include "policies/spec.h"
#include "replay/recording/platform.h"
#include "traces/trace.h"

/* Whether it holds the program's calls to the driver, not requests to PyTorch's allocator. */
bool recorded_from_driver(const struct trace_reader *trace);
#define RECORDED_DRIVER_WORDS                                                                               \
    "The recording holds the program's calls to the driver. What is said of PyTorch is what its allocator "  \
    "would make of them."

/* Whether it holds requests to XLA's allocator, which reads no setting of PyTorch's: JAX's or TensorFlow's. */
bool recorded_from_xla(const struct trace_reader *trace);
#define RECORDED_XLA_WORDS                                                                              \
    "holds requests to XLA's allocator (JAX, TensorFlow), whose rules are not explained: replay tune FILE "  \
    "says which of its own settings serves best, and replay who which lines hold the memory"

/* Whether it holds the calls to the driver of a library whose allocator is not PyTorch's: what JAX or TensorFlow took
 * of the card, and not what the program needs of that. */
bool recorded_from_library(const struct trace_reader *trace);

/* ERR_UNSUPPORTED, with what to do instead, if it is such a recording: neither a smallest card nor a setting follows
 * from it. `name` is the file's. */
MUST_USE enum err recorded_check_requests(const struct trace_reader *trace, const char *name, struct err_detail *err);

/* How a library's requests themselves are recorded. Static. */
const char *recorded_library_ways(enum platform p);

/* What is run if nobody names a policy, first what was most likely recorded: *n of them. Static. */
const char *const *recorded_choices(const struct trace_reader *trace, size_t *n);

/* Makes the policy that was recorded, as a person would have typed it: `pytorch` with the recorded settings, or the
 * library's allocator as it comes, if the requests are to XLA's; `none` for its calls to the driver. A trace without
 * settings that shows expandable segments gives `pytorch:expandable`; any other gives `best-fit`.
 * policy_spec_parse's errors. */
MUST_USE enum err recorded_policy(struct trace_reader *trace, struct policy_spec *out, struct err_detail *err);

/* Sets the option `version` of a policy that has one to `release`, unless the person typed a version. NULL leaves the
 * policy's default. `release` must outlive the spec. */
void recorded_take_release(const char *release, struct policy_spec *spec);

#endif
