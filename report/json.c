/* The report as JSON, schema "replay/1": report/SCHEMA.md says what each key means. */
#include "report/json_writer.h"
#include "report/report.h"

static void json_bytes(struct json_writer *w, const char *key, const struct meter_bytes *b)
{
    json_put_object(w, key);
#define METER_GAUGE(name, meaning) json_put_number(w, #name "_bytes", b->name);
    METER_GAUGES(METER_GAUGE)
#undef METER_GAUGE
    json_end_object(w);
}

void report_options_json(struct json_writer *w, const char *key, const struct policy_spec *spec)
{
    json_put_object(w, key);
    for (size_t i = 0; i < spec->n_options; i++) {
        const struct policy_option *o = &spec->ops->options[i];
        const struct option_value *v = &spec->values[i];
        if (!v->is_set)
            json_put_null(w, o->name);
        else if (o->kind == OPTION_BYTES || o->kind == OPTION_NUMBER)
            json_put_number(w, o->name, v->number);
        else if (o->kind == OPTION_RATIO)
            json_put_ratio(w, o->name, v->ratio);
        else if (o->kind == OPTION_SWITCH)
            json_put_bool(w, o->name, v->number != 0);
        else
            json_put_text(w, o->name, v->text);
    }
    json_end_object(w);
}

void report_lines_json(struct json_writer *w, const char *key, const char *first, const struct report_lines *lines)
{
    json_put_array(w, key);
    if (first != NULL)
        json_put_text(w, NULL, first);
    for (size_t i = 0; i < lines->n; i++)
        json_put_text(w, NULL, lines->at[i]);
    json_end_array(w);
}

static void json_trace(struct json_writer *w, const struct report_trace *t)
{
    json_put_object(w, "trace");
    json_put_text(w, "path", t->path);
    json_put_text(w, "source", t->source);
    json_put_number(w, "device", t->device);
    json_put_number(w, "events", t->events);
    json_put_number(w, "allocs", t->allocs);
    json_put_number(w, "frees", t->frees);
    json_put_text(w, "starts", t->starts_mid_run ? "mid-run" : "empty");
    json_put_number(w, "peak_requested_bytes", t->peak_requested_bytes);
    json_put_number(w, "live_peak_bytes", t->live_peak_bytes);
    json_put_number_unless(w, "offline_plan_bytes", t->offline_plan_bytes, 0);
    json_put_number_unless(w, "capacity_bytes", t->capacity_bytes, 0);
    json_put_text(w, "numbering", t->numbering);
    json_end_object(w);
}

static void json_setup(struct json_writer *w, const struct report_setup *s)
{
    json_put_object(w, "setup");
    json_put_text(w, "start", s->start);
    json_put_text(w, "on_oom", s->on_oom);
    json_put_text(w, "releases", s->releases);
    json_put_text(w, "format", s->format);
    json_put_number(w, "seed", s->seed);
    json_end_object(w);
}

static void json_fragmentation(struct json_writer *w, const struct meter *m)
{
    json_put_object(w, "fragmentation");
    json_put_integer(w, "internal_bytes", report_internal_bytes(m));
    json_put_number(w, "external_bytes", report_external_bytes(m));
    json_put_number(w, "inactive_split_bytes", m->at_peak_sample.inactive_split);
    json_put_number(w, "largest_free_bytes", m->at_peak_sample.largest_free);
    json_put_number(w, "inactive_split_bytes_peak", m->inactive_split_peak);
    json_put_ratio(w, "utilization", (double)m->peak.active / (double)m->peak.reserved);
    json_end_object(w);
}

static void json_oom(struct json_writer *w, const struct report_run *run)
{
    const struct meter *m = run->meter;
    json_put_object(w, "oom");
    json_put_number(w, "count", m->ooms);
    if (m->ooms == 0) {
        json_put_null(w, "first");
    } else {
        json_put_object(w, "first");
        json_put_integer(w, "event", run->first_oom_event);
        json_put_number(w, "requested_bytes", m->first_oom.requested_bytes);
        json_put_number(w, "reserved_bytes", m->first_oom.reserved_bytes);
        json_put_number(w, "device_free_bytes", m->first_oom.device_free_bytes);
        json_end_object(w);
    }
    json_end_object(w);
}

static void json_run(struct json_writer *w, const struct report *r, const struct report_run *run)
{
    char device[512];
    snprintf(device, sizeof device, "the device is %s", r->headline);
    const struct meter *m = run->meter;
    const struct device_usage *u = run->usage;
    json_put_object(w, NULL);
    json_put_text(w, "policy", run->spec->typed);
    json_put_text(w, "name", run->spec->ops->name);
    report_options_json(w, "options", run->spec);
    json_put_text(w, "device", run->device);
    json_put_number_unless(w, "capacity_bytes", run->device_config->total_bytes, DEVICE_UNLIMITED);
    json_put_text(w, "outcome", report_outcome_name(run->outcome));
    json_bytes(w, "peak", &m->peak);
    json_bytes(w, "at_peak", &m->at_peak);
    json_bytes(w, "end", &m->now);
    json_put_number(w, "card_peak_bytes", run->card_peak_bytes);
    json_put_object(w, "segments");
    json_put_number(w, "peak", u->segments_peak);
    json_put_number(w, "end", u->segments);
    json_put_number(w, "allocs", u->segment_allocs);
    json_put_number(w, "frees", u->segment_frees);
    json_end_object(w);
    json_fragmentation(w, m);
    json_put_number(w, "device_calls", u->calls);
    json_put_number(w, "device_time_ns", u->time_ns);
    json_put_number(w, "retries", run->count->retries);
    json_oom(w, run);
    report_lines_json(w, "assumptions", r->is_device_assumed ? device : NULL, &run->assumptions);
    report_lines_json(w, "warnings", NULL, &run->warnings);
    json_put_object(w, "explanation");
    explain_json(w, "first_oom", run->at_oom, &r->names);
    explain_json(w, "event", run->at_event, &r->names);
    json_end_object(w);
    report_measured_json(w, run);
    json_end_object(w);
}

void report_json(FILE *out, const struct report *r)
{
    struct json_writer w = json_writer(out);
    json_put_object(&w, NULL);
    json_put_text(&w, "schema", "replay/1");
    json_trace(&w, &r->trace);
    json_setup(&w, &r->setup);
    json_put_array(&w, "runs");
    for (size_t i = 0; i < r->n_runs; i++)
        json_run(&w, r, &r->runs[i]);
    json_end_array(&w);
    report_comparisons_json(&w, r);
    json_end_object(&w);
}
