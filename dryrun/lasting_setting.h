/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Whether what a setting saves on a short recording lasts.
 *
 * A program is stopped after a few steps. A setting that lays these out well may do no better once they go on, and a
 * value that was fitted to one size may do worse with its neighbours. So the last step is repeated, and the setting and
 * its neighbours must save there, too.
 */
#ifndef REPLAY_DRYRUN_LASTING_SETTING_H
#define REPLAY_DRYRUN_LASTING_SETTING_H

#include "replay/advise/tune.h"

/* Of a setting that `tune` recommends. `baseline`: without it. *lasts is true also if the steps cannot be repeated.
 * Errors of the parts. */
MUST_USE enum err lasting_setting_check(struct trace_reader *trace, const struct tune *tune,
                                        const struct policy_spec *baseline, const struct device_choice *device,
                                        const struct replay_config *cfg, bool *lasts, struct err_detail *err);

#endif
