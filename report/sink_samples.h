/*
 * The series over time of one run, kept until the run has ended and then written as CSV.
 */
#ifndef REPLAY_REPORT_SINK_SAMPLES_H
#define REPLAY_REPORT_SINK_SAMPLES_H

#include "report/sink.h"

#include <stdio.h>

struct trace_labels {
    const char *(*text)(const void *arg, uint32_t label);
    const void *arg;
};

MUST_USE enum err sink_samples_create(struct sink **out);

/* NULL is accepted. */
void sink_samples_destroy(struct sink *s);

void sink_samples_write_header(FILE *out);

/* The series of the run of `policy`, in order of events, with the state at the peak of reserved in its place. Errors of
 * writing stay in the stream. */
void sink_samples_write(FILE *out, const struct sink *s, const char *policy, const struct meter_sample *peak,
                        const struct trace_labels *labels);

#endif
