/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Stand-ins for what one torch needs, and JAX's plugins beside it. `replay run-sim` asks for those that the command
 * line's Python would import. A shell script, torchrun or make may run another Python: there python/sitecustomize.py
 * asks, when torch or JAX is imported (libreplay-standins.so).
 */
#ifndef REPLAY_CUDASIM_STANDINS_TORCH_STANDINS_H
#define REPLAY_CUDASIM_STANDINS_TORCH_STANDINS_H

#include "cudasim/standins/standins.h"

#include <stdbool.h>

/* The environment: the cache in which stand-ins lie, what those that are loaded before all else were made for (as
 * `found` below), and whether real libraries are used ("real"). */
#define STANDINS_ENV_CACHE     "REPLAY_CUDASIM_STANDINS"
#define STANDINS_ENV_TORCH     "REPLAY_CUDASIM_TORCH"
#define STANDINS_ENV_LIBRARIES "REPLAY_CUDASIM_LIBRARIES"

/* In the folder of journals: the sonames that were stood in for after the program had begun, a line each. */
#define STANDINS_LATE_FILE "stand-ins"

/* `found`: "a:b:c", the folder of torch, or of any objects, or nothing (":b:c"), and folders of packages that may be
 * beside it; up to 64. Libraries get stand-ins that the first one and its lib/ name, and those that JAX's plugins among
 * the packages open. ERR_IO; ERR_UNSUPPORTED. The caller closes `real`, also
 * after an error. */
MUST_USE enum err torch_standins_make(const char *found, const char *cache, bool wants_real,
                                      struct real_libraries *real, struct standins *out, struct err_detail *err);

#endif
