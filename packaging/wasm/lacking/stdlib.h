/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#ifndef REPLAY_PACKAGING_WASM_LACKING_STDLIB_H
#define REPLAY_PACKAGING_WASM_LACKING_STDLIB_H

#include_next <stdlib.h>

int mkstemp(char *name);
char *realpath(const char *path, char *out);

#endif
