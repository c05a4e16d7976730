/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Lets the recorded policy take over the final state, and explains what it then holds. */
#include "replay/results/final_state.h"

static enum err final_state_take(struct final_state *s, struct err_detail *err)
{
    const struct replay_config cfg = { .start = START_FAITHFUL, .threads = 1 };
    s->run.lane.explain = &s->explain;
    const enum err e = single_run_replay(&s->run, &cfg, err);
    if (e != ERR_OK)
        return e;
    if (s->explain.is_short)
        return err_no_memory(err);
    if (s->explain.at_event.reserved_bytes != trace_info(s->trace)->recorded_end_reserved_bytes)
        return err_set(err, ERR_CORRUPT, 0, "its segments and blocks contradict each other");
    return ERR_OK;
}

enum err final_state_open(struct final_state *s, const char *path, const char *from, const struct import_config *cfg,
                          struct err_detail *err)
{
    *s = (struct final_state){ .explain.event = EXPLAIN_END };
    enum err e = trace_open_final_state(path, from, cfg, &s->trace, err);
    if (e == ERR_OK)
        e = single_run_open(&s->run, s->trace, NULL, "sim:unlimited", err);
    if (e == ERR_OK)
        e = final_state_take(s, err);
    if (e != ERR_OK)
        final_state_close(s);
    return e;
}

void final_state_close(struct final_state *s)
{
    explain_run_close(&s->explain);
    single_run_close(&s->run);
    trace_close(s->trace);
    *s = (struct final_state){ .trace = NULL };
}

const struct explanation *final_state_account(const struct final_state *s)
{
    return &s->explain.at_event;
}
