/*
 * Sinks: where results go. A series sink sees samples while lanes run; the summary writers get all finished runs.
 */
#ifndef REPLAY_REPORT_SINK_H
#define REPLAY_REPORT_SINK_H

#include "report/meter.h"

struct sink;

struct sink_ops {
    uint32_t    abi, size;
    const char *name;
    enum err (*sample)(struct sink *s, const struct meter_sample *m);
};

struct sink { const struct sink_ops *ops; };        /* first member of every sink */

#endif
