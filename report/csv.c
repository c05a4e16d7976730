/* The report as CSV (RFC 4180): one row per run, the columns of the JSON with their paths joined by '_'. */
#include "report/csv.h"
#include "report/report.h"

#include <inttypes.h>
#include <string.h>

void csv_text(FILE *out, const char *text)
{
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void csv_bytes(FILE *out, const struct meter_bytes *b)
{
#define METER_GAUGE(name, meaning) fprintf(out, ",%" PRIu64, b->name);
    METER_GAUGES(METER_GAUGE)
#undef METER_GAUGE
}

static void csv_header(FILE *out)
{
    fputs("policy,name,device,capacity_bytes,outcome", out);
#define METER_GAUGE(name, meaning) ",peak_" #name "_bytes"
    fputs(METER_GAUGES(METER_GAUGE), out);
#undef METER_GAUGE
#define METER_GAUGE(name, meaning) ",at_peak_" #name "_bytes"
    fputs(METER_GAUGES(METER_GAUGE), out);
#undef METER_GAUGE
#define METER_GAUGE(name, meaning) ",end_" #name "_bytes"
    fputs(METER_GAUGES(METER_GAUGE), out);
#undef METER_GAUGE
    fputs(",segments_peak,segments_end,segments_allocs,segments_frees"
          ",fragmentation_internal_bytes,fragmentation_external_bytes,fragmentation_inactive_split_bytes"
          ",fragmentation_largest_free_bytes,fragmentation_inactive_split_bytes_peak,fragmentation_utilization"
          ",device_calls,device_time_ns,retries"
          ",oom_count,oom_first_event,oom_first_requested_bytes,oom_first_reserved_bytes"
          ",oom_first_device_free_bytes\n", out);
}

static void csv_run(FILE *out, const struct report_run *run)
{
    const struct meter *m = run->meter;
    const struct device_usage *u = run->usage;
    csv_text(out, run->spec->typed);
    fputc(',', out);
    csv_text(out, run->spec->ops->name);
    fputc(',', out);
    csv_text(out, run->device);
    fputc(',', out);
    if (run->device_config->total_bytes != DEVICE_UNLIMITED)
        fprintf(out, "%" PRIu64, run->device_config->total_bytes);
    fprintf(out, ",%s", report_outcome_name(run->outcome));
    csv_bytes(out, &m->peak);
    csv_bytes(out, &m->at_peak);
    csv_bytes(out, &m->now);
    fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, u->segments_peak, u->segments, u->segment_allocs,
            u->segment_frees);
    fprintf(out, ",%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", report_internal_bytes(m),
            report_external_bytes(m), m->at_peak_sample.inactive_split, m->at_peak_sample.largest_free,
            m->inactive_split_peak);
    if (m->peak.reserved > 0)
        fprintf(out, "%.6g", (double)m->peak.active / (double)m->peak.reserved);
    fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, u->calls, u->time_ns, run->count->retries, m->ooms);
    if (m->ooms > 0)
        fprintf(out, ",%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", run->first_oom_event,
                m->first_oom.requested_bytes, m->first_oom.reserved_bytes, m->first_oom.device_free_bytes);
    else
        fputs(",,,,\n", out);
}

void report_csv(FILE *out, const struct report *r)
{
    csv_header(out);
    for (size_t i = 0; i < r->n_runs; i++)
        csv_run(out, &r->runs[i]);
}
