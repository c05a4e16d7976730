/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What `record` and `run-sim` share: they are one family. Both run a program and record its memory calls; the card
 * under it is the machine's for `record` and a simulated one for `run-sim`.
 */
#ifndef REPLAY_REPLAY_PROGRAM_RECORDED_PROGRAM_H
#define REPLAY_REPLAY_PROGRAM_RECORDED_PROGRAM_H

#include "base/exit_status.h"
#include "dryrun/run/journal_import.h"
#include "dryrun/run/sim_card.h"
#include "replay/program/options.h"

/* Their --help: the same text for both. */
#define RECORDED_PROGRAM_HELP                                                                                      \
    "replay record runs a CUDA program on this machine's GPU and records the memory calls that it makes. "         \
    "replay run-sim runs it without a GPU, on a simulated card, and records the memory that the card gives. "      \
    "The program is neither changed nor rebuilt.\n"                                                                \
    "\n"                                                                                                           \
    "While it runs, each process writes a journal as it goes. Whatever kills the process, every call that had "    \
    "returned is in its journal. Beside the journal a trace grows with it (PID.0.gpuN.zst); it can be replayed at " \
    "any time and is a quarter of a second late. The journals of record are in OUT.calls, those of run-sim in a "  \
    "folder of their own in $TMPDIR.\n"                                                                            \
    "\n"                                                                                                           \
    "At the end the journals become traces: OUT if one process used one device, else names made from OUT. record " \
    "puts .PID.gpuN before the last dot; run-sim puts .PID if several processes used a card and .gpuN if one "     \
    "process used several. If replay itself was killed the journals stay; replay import PID.0.calls -o TRACE "     \
    "reads one.\n"                                                                                                 \
    "\n"                                                                                                           \
    "PyTorch: record --torch and run-sim -o also record the requests to PyTorch's allocator, by its own history, " \
    "which is switched on for this run only. A snapshot is written at the program's end, at the first out of "     \
    "memory and (record) on SIGUSR1. It makes the trace OUT and is kept beside it; the driver's calls are then in " \
    "OUT with .driver before its ending.\n"                                                                        \
    "\n"                                                                                                           \
    "The simulated card: memory calls behave as on a card of that size. Kernels and library calls succeed and do " \
    "nothing, so all results are zeros; what the host copied to the card comes back until a kernel may have written " \
    "there (--values). Convolutions, transforms and factorisations take the workspaces that are likely for their " \
    "shapes, or what --device 24GiB,workspaces=none (most, 128MiB) says; RNNs take what cuDNN asked for on an " \
    "H100. NVIDIA's other libraries, if the program's PyTorch wants them, are replaced by stand-ins. With " \
    "--libraries real its compiler for run time, NVRTC, is the one that is installed. NVIDIA's licence for it is " \
    "yours to mind. The other libraries have NVIDIA's runtime linked in, which accepts NVIDIA's driver only.\n" \
    "\n"                                                                                                           \
    "Examples:\n"                                                                                                  \
    "  replay record -o trace.zst -- ./my-cuda-program --size 4096\n"                                              \
    "  replay record -o trace.zst --stacks -- python infer.py\n"                                                   \
    "  replay record -o trace.zst --torch -- python train.py\n"                                                    \
    "  replay run-sim --device 24GiB -- python train.py\n"                                                         \
    "  replay run-sim --device sim:h100-80g,count=2 -o trace.zst -- python ddp.py\n"                               \
    "  replay run-sim --device sim:8GiB,context=450MiB -- ./my-cuda-program\n"

/* The options that both take. */
#define RECORDED_PROGRAM_FLAGS                                                                                     \
    TAKES_AS(OUT, "the trace's name; run-sim needs none and then only prints its summary"),                        \
    TAKES_AS(RECORD, "the same as -o"),                                                                            \
    TAKES_AS(DEVICE, "the simulated card, such as 24GiB, sim:h100-80g or sim:24GiB,count=2 (default: run-sim takes " \
                     "one of 24 GiB, record takes the GPU)"),                                                      \
    TAKES_AS(SIMULATE, "the same as --device"), TAKES(TORCH_LIBS), TAKES(LIBRARIES),                    \
    TAKES(VALUES), TAKES(COMMAND_LINE),                                                                            \
    TAKES_AS(JSON, "write what happened as JSON to this file; standard output is the program's")

/* The trace's name: -o, or --record, which means the same. *out is NULL if none was given. ERR_USAGE for both, and for
 * "-": standard output is the program's. ERR_IO if its folder takes no file. */
MUST_USE enum err recorded_program_out(const struct options *o, const char *command, const char **out,
                                       struct err_detail *err);

/* From now on a write to a pipe that nobody reads fails, instead of ending this process: journals and folders are
 * cleared away also if nobody reads what is said. The program itself gets the signal as usual. */
void recorded_program_outlast_pipes(void);

/* Puts into the program's environment what the options say of its recording. ERR_HOST_NOMEM. */
MUST_USE enum err recorded_program_put_env(const struct options *o, struct child_env *env, struct err_detail *err);

/* Whether a simulated card is asked for: --device, or --simulate, which means the same; and which one. ERR_USAGE for
 * both at once. */
bool recorded_program_wants_card(const struct options *o);
MUST_USE enum err recorded_program_card(const struct options *o, const char *command, struct sim_card_request *out,
                                        struct err_detail *err);

/* What the command ends with, once all that there is has been written: the program's status, or that of a recording in
 * which calls are missing, which is said. */
enum exit_status recorded_program_status(const struct recording_made *made, int status);

#endif
