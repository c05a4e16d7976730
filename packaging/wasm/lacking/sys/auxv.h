/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#ifndef REPLAY_PACKAGING_WASM_LACKING_SYS_AUXV_H
#define REPLAY_PACKAGING_WASM_LACKING_SYS_AUXV_H

#define AT_RANDOM 25

/* Of AT_RANDOM: 16 bytes that are others in each run. */
unsigned long getauxval(unsigned long what);

#endif
