/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The devices of a simulated machine as a person types them: "sim:24GiB,count=2,context=450MiB".
 */
#ifndef REPLAY_CUDASIM_CORE_DEVICE_TEXT_H
#define REPLAY_CUDASIM_CORE_DEVICE_TEXT_H

#include "sim/device.h"

enum { CUDASIM_COUNT_MAX = 16, CUDASIM_DEFAULT_GIB = 24 };

/* As device_parse, after count= (1 to CUDASIM_COUNT_MAX, by default 1) is cut out. A card without a capacity gets
 * CUDASIM_DEFAULT_GIB. ERR_USAGE with the reason; also for an unlimited card, because programs ask how much memory
 * there is. */
MUST_USE enum err cudasim_parse_devices(const char *text, struct device_config *cfg, const struct device_ops **ops,
                                        int *count, struct err_detail *err);

/* Cuts "count=N" out of the text, because device_parse does not know it, and returns N. Without one 1; 0 if it is
 * wrong. */
int cudasim_take_count(char *text);

#endif
