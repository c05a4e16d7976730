/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The range that a person types after --range: "batch=1..256", "batch=8..256:8". */
#ifndef REPLAY_DRYRUN_NAMED_RANGE_H
#define REPLAY_DRYRUN_NAMED_RANGE_H

#include "replay/advise/largest_value.h"

enum { RANGE_NAME = 64 };

/* Its name and its values; a step that is not typed is 0. ERR_USAGE. */
MUST_USE enum err named_range_read(const char *text, char name[RANGE_NAME], struct value_range *out,
                                   struct err_detail *err);

#endif
