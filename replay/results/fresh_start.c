/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Says what the figures of a fresh start leave out. */
#include "replay/results/fresh_start.h"

#include "replay/engine/start_state.h"
#include "report/text/text.h"

void fresh_start_print(FILE *out, const struct trace_reader *trace)
{
    const struct start_state_totals s = start_state_sum(trace);
    char n[TEXT_NUMBER], live[TEXT_NUMBER], held[TEXT_NUMBER];
    struct words w = { .n = 0 };
    if (!trace_info(trace)->starts_mid_run)
        return;
    words_add(&w, "The recording starts in mid-run, with %s live requests of %s in %s reserved. These are placed anew "
                  "on an empty card, even under the recorded setting, so its figures differ from the recording's.",
              text_count(s.n_live, n), text_mib(s.live_bytes, live), text_mib(s.segment_bytes, held));
    words_print(out, &w, 0, 2);
    fprintf(out, "\n");
}

void start_state_json(struct json_writer *json, const struct trace_reader *trace)
{
    const struct start_state_totals s = start_state_sum(trace);
#define ANSWER_TABLE "answers/start_state.def"
#include "answers/as_json.def"
}
