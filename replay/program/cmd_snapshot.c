/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `replay snapshot FILE -o OUT`: what torch.cuda.memory._dump_snapshot() would have written. */
#include "replay/program/cli.h"

#include "replay/engine/explain_run.h"
#include "replay/export/snapshot_export.h"
#include "replay/results/result.h"
#include "replay/results/single_run.h"
#include "report/text/text.h"

#include <stdlib.h>

/* Everything the command holds. Zero is valid: snapshot_close accepts it. */
struct snapshot_session {
    struct trace_reader *trace;
    struct single_run    run;
    struct snapshot_export export;
};

static void snapshot_close(void *session)
{
    struct snapshot_session *s = session;
    single_run_close(&s->run);
    snapshot_export_close(&s->export);
    trace_close(s->trace);
}

static enum err session_open(struct snapshot_session *s, const struct options *o, struct err_detail *err)
{
    uint64_t event = SNAPSHOT_EXPORT_AT_END;
    if (o->n_policies > 1)
        return err_set(err, ERR_USAGE, 0, "--policy is given twice: a snapshot shows one run");
    if (o->out == NULL)
        return err_set(err, ERR_USAGE, 0, "snapshot needs a name for its output: -o snapshot.pickle");
    enum err e = cli_open_trace(o, 0, &s->trace, err);
    if (e == ERR_OK && o->is_given[FLAG_AT])
        e = explain_run_find(s->trace, o->at, &event, err);
    if (e == ERR_OK)
        e = snapshot_export_open(&s->export, event, err);
    if (e == ERR_OK)
        e = single_run_open(&s->run, s->trace, o->n_policies == 1 ? o->policies[0] : NULL, o->device, err);
    if (e == ERR_OK)
        snapshot_export_listen(&s->export, &s->run.lane);
    return e;
}

/* The first refusal goes to stderr, with the message that the program would have seen. */
static enum exit_status snapshot_status(const void *session)
{
    const struct snapshot_session *s = session;
    const struct lane *l = &s->run.lane;
    int64_t event;
    char where[TEXT_NUMBER];
    struct err_detail err;
    if (l->outcome == ERR_OK)
        return STATUS_DONE;
    if (trace_event_number(s->trace, l->meter.first_oom.event, &event, &err) == ERR_OK)
        fprintf(stderr, "replay: out of memory at %s: %s\n", text_event(trace_event_word(s->trace), event, where),
                l->meter.first_oom.refusal.text);
    return STATUS_FAILED;
}

static enum err snapshot_read(void *session, const struct options *o, struct err_detail *err)
{
    struct snapshot_session *s = session;
    const enum err e = session_open(s, o, err);
    return e == ERR_OK ? cli_replay(o, &s->run, err) : e;
}

static enum err snapshot_write(void *session, FILE *const files[ANSWER_FILES], struct err_detail *err)
{
    struct snapshot_session *s = session;
    return snapshot_export_write(&s->export, &s->run.lane, s->trace, files[0], err);
}

static const struct flag_use snapshot_flags[] = {
    TAKES_AS(OUT, "where to write the snapshot"),
    TAKES_AS(POLICY, "the policy to run (replay --list shows them; default: the recorded settings and release)"),
    TAKES(DEVICE), TAKES_RUN, TAKES(AT), TAKES_INPUT, TAKES(HELP), FLAGS_END,
};

const struct subcommand cmd_snapshot = {
    .name = "snapshot",
    .synopsis = "snapshot FILE -o OUT",
    .summary = "write the memory snapshot that PyTorch would have dumped, under any policy and on any card",
    .text = "OUT is a pickle as PyTorch's _dump_snapshot() writes it, in the layout of the release whose rules were "
            "replayed: for https://pytorch.org/memory_viz, for torch/cuda/_memory_viz.py, and for replay itself.\n"
            "\n"
            "The snapshot shows the end of the trace. If a request is refused that was not refused when it was "
            "recorded, it shows that moment instead; with --on-oom stop, the moment of any refused request. --at names "
            "another moment.\n"
            "\n"
            "  replay snapshot a.pickle --policy pytorch:expandable -o expandable.pickle\n"
            "  replay snapshot a.pickle --device sim:16GiB --on-oom stop -o full.pickle\n",
    .failed = "a request was refused; the snapshot is written",
    .flags = snapshot_flags,
    .n_inputs_min = 1,
    .n_inputs_max = 1,
    .answer = { .session_bytes = sizeof(struct snapshot_session), .files = { offsetof(struct options, out) },
                .read = snapshot_read, .write_files = snapshot_write, .status = snapshot_status,
                .close = snapshot_close },
};
