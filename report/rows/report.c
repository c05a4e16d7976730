/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Helpers of all writers of a report. */
#include "report/rows/report.h"

#include <stdlib.h>
#include <string.h>

enum err report_lines_add(struct report_lines *lines, const char *text)
{
    for (size_t i = 0; i < lines->n; i++)
        if (strcmp(lines->at[i], text) == 0)
            return ERR_OK;
    char **grown = realloc(lines->at, (lines->n + 1) * sizeof *grown);
    if (grown == NULL)
        return ERR_HOST_NOMEM;
    lines->at = grown;
    if ((lines->at[lines->n] = strdup(text)) == NULL)
        return ERR_HOST_NOMEM;
    lines->n++;
    return ERR_OK;
}

void report_lines_close(struct report_lines *lines)
{
    for (size_t i = 0; i < lines->n; i++)
        free(lines->at[i]);
    free(lines->at);
    *lines = (struct report_lines){ .at = NULL };
}

const char *report_outcome_name(enum report_outcome o)
{
    static const char *const names[] = {
#define REPORT_OUTCOME(name, text) text,
        REPORT_OUTCOMES(REPORT_OUTCOME)
#undef REPORT_OUTCOME
    };
    return (unsigned)o < REPORT_OUTCOME_COUNT ? names[o] : "?";
}

int64_t report_internal_bytes(const struct meter *m)
{
    return (int64_t)m->at_peak.allocated - (int64_t)m->at_peak.requested;
}

uint64_t report_external_bytes(const struct meter *m)
{
    /* requests in the host's memory are allocated, but not from what is reserved */
    return m->at_peak.reserved > m->at_peak.allocated ? m->at_peak.reserved - m->at_peak.allocated : 0;
}

const char *report_event_word(const struct report *r)
{
    return strcmp(r->trace.numbering, "source") == 0 ? "record" : "event";
}

bool report_has_ranges(const struct report_run *run)
{
    return run->usage->ranges > 0 || run->usage->maps > 0;
}
