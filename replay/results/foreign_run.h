/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What a results file may name, and what it may not.
 *
 * A results file or a database may come from anyone, and some commands replay the runs that it names. The file is data:
 * it never makes this program load code, use a real card, or open anything but a regular file. Only a person may name
 * such things, on the command line or in a job file.
 */
#ifndef REPLAY_REPLAY_RESULTS_FOREIGN_RUN_H
#define REPLAY_REPLAY_RESULTS_FOREIGN_RUN_H

#include "base/err.h"

/* Checks a run before any part of it is opened. `policy`, `device` and `trace_path` are texts of a file; NULL leaves
 * one unchecked. ERR_UNSUPPORTED: the policy lies in a shared object, or the device is a real card. ERR_INPUT: the
 * trace is not there, or it is not a regular file. Every command that replays what a file names calls this first. */
MUST_USE enum err foreign_run_check(const char *policy, const char *device, const char *trace_path,
                                    struct err_detail *err);

#endif
