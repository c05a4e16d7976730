/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The kinds of loads: one file each. */
#ifndef REPLAY_LOADS_KINDS_H
#define REPLAY_LOADS_KINDS_H

#include "loads/load.h"

extern const struct load_kind load_rounds, load_mix;     /* patterns.c */
extern const struct load_kind load_transformer;          /* transformer_load.c */
extern const struct load_kind load_cnn;                  /* cnn.c */
extern const struct load_kind load_diffusion;            /* diffusion.c */
extern const struct load_kind load_serving;              /* serving.c */
extern const struct load_kind load_reinforcement;        /* reinforcement.c */
extern const struct load_kind load_random, load_like;    /* random_load.c, like.c */
extern const struct load_kind load_adversary;            /* adversary.c */

#endif
