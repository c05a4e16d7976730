/* One list; whoever writes rows walks it. */
#include "report/fields.h"

#include <stdlib.h>

struct field field_text(const char *name, const char *text)
{
    return (struct field){ .name = name, .kind = text != NULL ? FIELD_TEXT : FIELD_NULL, .text = text };
}

struct field field_number(const char *name, uint64_t n)
{
    return (struct field){ .name = name, .kind = FIELD_NUMBER, .number = (int64_t)n };
}

struct field field_number_unless(const char *name, uint64_t n, uint64_t none)
{
    return n == none ? (struct field){ .name = name } : field_number(name, n);
}

void field_json(struct json_writer *w, const char *key, const struct field *f)
{
    switch (f->kind) {
    case FIELD_NULL:   json_put_null(w, key); break;
    case FIELD_TEXT:   json_put_text(w, key, f->text); break;
    case FIELD_NUMBER: json_put_integer(w, key, f->number); break;
    case FIELD_RATIO:  json_put_ratio(w, key, f->ratio); break;
    }
}

/* A ratio has the value of what is printed of it, so that no writer has more digits than another. */
static struct field field_ratio(const char *name, double part, double whole)
{
    char text[32];
    if (whole <= 0)
        return (struct field){ .name = name };
    snprintf(text, sizeof text, "%.6g", part / whole);
    return (struct field){ .name = name, .kind = FIELD_RATIO, .ratio = strtod(text, NULL) };
}

static struct field *add_gauges(struct field *to, const char *const names[], const struct meter_bytes *b)
{
    const uint64_t values[] = {
#define METER_GAUGE(name, meaning) b->name,
        METER_GAUGES(METER_GAUGE)
#undef METER_GAUGE
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        *to++ = field_number(names[i], values[i]);
    return to;
}

static struct field *add_meter(struct field *to, const struct meter *m)
{
#define METER_GAUGE(name, meaning) "peak_" #name "_bytes",
    static const char *const peak[] = { METER_GAUGES(METER_GAUGE) };
#undef METER_GAUGE
#define METER_GAUGE(name, meaning) "at_peak_" #name "_bytes",
    static const char *const at_peak[] = { METER_GAUGES(METER_GAUGE) };
#undef METER_GAUGE
#define METER_GAUGE(name, meaning) "end_" #name "_bytes",
    static const char *const end[] = { METER_GAUGES(METER_GAUGE) };
#undef METER_GAUGE
    to = add_gauges(to, peak, &m->peak);
    to = add_gauges(to, at_peak, &m->at_peak);
    return add_gauges(to, end, &m->now);
}

static struct field *add_fragmentation(struct field *to, const struct meter *m)
{
    *to++ = field_number("fragmentation_internal_bytes", (uint64_t)report_internal_bytes(m));
    *to++ = field_number("fragmentation_external_bytes", report_external_bytes(m));
    *to++ = field_number("fragmentation_inactive_split_bytes", m->at_peak_sample.inactive_split);
    *to++ = field_number("fragmentation_largest_free_bytes", m->at_peak_sample.largest_free);
    *to++ = field_number("fragmentation_inactive_split_bytes_peak", m->inactive_split_peak);
    *to++ = field_ratio("fragmentation_utilization", (double)m->peak.active, (double)m->peak.reserved);
    return to;
}

static struct field *add_oom(struct field *to, const struct report_run *run)
{
    const struct meter *m = run->meter;
    const struct { const char *name; uint64_t value; } first[] = {
        { "oom_first_event", (uint64_t)run->first_oom_event },
        { "oom_first_requested_bytes", m->first_oom.requested_bytes },
        { "oom_first_reserved_bytes", m->first_oom.reserved_bytes },
        { "oom_first_device_free_bytes", m->first_oom.device_free_bytes },
    };
    *to++ = field_number("oom_count", m->ooms);
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
        *to++ = m->ooms > 0 ? field_number(first[i].name, first[i].value) : (struct field){ .name = first[i].name };
    return to;
}

static size_t fill_run(const struct report_run *run, const char *policy, const char *name, struct field *out)
{
    const struct device_usage *u = run->usage;
    struct field *to = out;
    *to++ = field_text("policy", policy);
    *to++ = field_text("name", name);
    *to++ = field_text("device", run->device);
    *to++ = field_number_unless("capacity_bytes", run->device_config->total_bytes, DEVICE_UNLIMITED);
    *to++ = field_text("outcome", report_outcome_name(run->outcome));
    to = add_meter(to, run->meter);
    *to++ = field_number("card_peak_bytes", run->card_peak_bytes);
    *to++ = field_number("segments_peak", u->segments_peak);
    *to++ = field_number("segments_end", u->segments);
    *to++ = field_number("segments_allocs", u->segment_allocs);
    *to++ = field_number("segments_frees", u->segment_frees);
    to = add_fragmentation(to, run->meter);
    *to++ = field_number("device_calls", u->calls);
    *to++ = field_number("device_time_ns", u->time_ns);
    *to++ = field_number("retries", run->count->retries);
    return (size_t)(add_oom(to, run) - out);
}

size_t fields_of_run(const struct report_run *run, struct field out[FIELDS_MAX])
{
    static const struct device_config device;
    static const struct device_usage usage;
    static const struct meter meter;
    static const struct policy_counters count;
    const struct report_run nothing = { .device_config = &device, .usage = &usage, .meter = &meter, .count = &count };
    return run == NULL ? fill_run(&nothing, NULL, NULL, out)
                       : fill_run(run, run->spec->typed, run->spec->ops->name, out);
}

size_t fields_of_trace(const struct report_trace *t, struct field out[FIELDS_MAX])
{
    static const struct report_trace nothing;
    struct field *to = out;
    if (t == NULL)
        t = &nothing;
    *to++ = field_text("trace_path", t->path);
    *to++ = field_text("trace_source", t->source);
    *to++ = field_number("trace_device", t->device);
    *to++ = field_number("trace_events", t->events);
    *to++ = field_number("trace_allocs", t->allocs);
    *to++ = field_number("trace_frees", t->frees);
    *to++ = field_text("trace_starts", t->starts_mid_run ? "mid-run" : "empty");
    *to++ = field_number("trace_peak_requested_bytes", t->peak_requested_bytes);
    *to++ = field_number("trace_live_peak_bytes", t->live_peak_bytes);
    *to++ = field_number_unless("trace_offline_plan_bytes", t->offline_plan_bytes, 0);
    *to++ = field_number_unless("trace_capacity_bytes", t->capacity_bytes, 0);
    *to++ = field_text("trace_numbering", t->numbering);
    return (size_t)(to - out);
}
