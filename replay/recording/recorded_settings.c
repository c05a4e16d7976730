/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Settings as the importer found them. */
#include "replay/recording/recorded_settings.h"

#include "replay/recording/recorded_platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the recording maps memory into address ranges, which only expandable segments do. */
static bool shows_expandable(struct trace_reader *trace)
{
    const struct trace_segment_event *events;
    size_t n_events = 0, n_segments;
    struct err_detail ignored;
    const struct trace_segment *segments = trace_start_segments(trace, &n_segments);
    for (size_t i = 0; i < n_segments; i++)
        if (segments[i].is_range)
            return true;
    if (trace_segment_events(trace, &events, &n_events, &ignored) != ERR_OK)
        return false;
    for (size_t i = 0; i < n_events; i++)
        if (events[i].kind == TRACE_SEGMENT_MAP)
            return true;
    return false;
}

bool recorded_from_driver(const struct trace_reader *trace)
{
    const char *source = trace_meta(trace, "source");
    return source != NULL && (strcmp(source, "cuda-driver") == 0 || strcmp(source, "cuda-calls") == 0);
}

bool recorded_from_xla(const struct trace_reader *trace)
{
    const char *source = trace_meta(trace, "source");
    return source != NULL && strcmp(source, "xplane") == 0;
}

bool recorded_from_library(const struct trace_reader *trace)
{
    return recorded_from_driver(trace) && platform_is_library(recorded_platform(trace));
}

const char *recorded_library_ways(enum platform p)
{
    return p == PLATFORM_JAX
               ? "replay predict -- python PROGRAM says what it needs, without a GPU; replay run-sim -o FILE.zst "
                 "records its requests, and so does a profile that begins on its first line (jax.profiler)."
               : "A profile that begins on the program's first line has its requests "
                 "(tf.profiler.experimental.ProfilerOptions(host_tracer_level=2)).";
}

enum err recorded_check_requests(const struct trace_reader *trace, const char *name, struct err_detail *err)
{
    const enum platform p = recorded_platform(trace);
    if (!recorded_from_library(trace))
        return ERR_OK;
    return err_at(err, ERR_UNSUPPORTED, 0, name, "holds %s's calls to the driver. Its own allocator shares out what "
                  "they take, so neither a smallest card nor a setting follows from them. %s", platform_words(p),
                  recorded_library_ways(p));
}

const char *const *recorded_choices(const struct trace_reader *trace, size_t *n)
{
    static const char *const straight[] = { "none" };
    if (!recorded_from_library(trace))
        return platform_policies(recorded_platform(trace), n);
    *n = 1;
    return straight;
}

enum err recorded_policy(struct trace_reader *trace, struct policy_spec *out, struct err_detail *err)
{
    const char *conf = trace_meta(trace, "conf");
    size_t n_choices;
    if (recorded_from_xla(trace) || recorded_from_library(trace))
        return policy_spec_parse(recorded_choices(trace, &n_choices)[0], out, err);
    if (conf == NULL || conf[0] == '\0')
        return policy_spec_parse(shows_expandable(trace) ? "pytorch:expandable" : "best-fit", out, err);
    const size_t n = strlen(conf) + sizeof "pytorch:";
    char *text = malloc(n);
    if (text == NULL)
        return err_no_memory(err);
    snprintf(text, n, "pytorch:%s", conf);
    const enum err e = policy_spec_parse_foreign(text, out, err);
    free(text);
    return e;
}

void recorded_take_release(const char *release, struct policy_spec *spec)
{
    for (size_t i = 0; release != NULL && i < spec->n_options; i++)
        if (strcmp(spec->ops->options[i].name, "version") == 0 && !spec->values[i].is_given) {
            spec->values[i].is_set = true;
            spec->values[i].text = release;
        }
}
