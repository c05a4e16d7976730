/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * How a platform shows who is on a card, and chooses another. Advice is written with NVIDIA's names and told with
 * those of the platform, so that no name is said that does not exist there.
 */
#ifndef REPLAY_REPLAY_WHY_CARD_TOOLS_H
#define REPLAY_REPLAY_WHY_CARD_TOOLS_H

#include "replay/recording/platform.h"

/* "nvidia-smi". Static. */
const char *card_tools_shows(enum platform p);

/* "CUDA_VISIBLE_DEVICES"; NULL: there is one card only. Static. */
const char *card_tools_chooses(enum platform p);

/* PyTorch's module of this kind of card: "torch.cuda", "torch.xpu". Static. */
const char *card_tools_module(enum platform p);

/* Prints advice as a paragraph after "- ". A sentence that chooses a card is left out where there is one only. Nothing
 * is printed of NULL or "". */
void card_tools_print_advice(FILE *out, enum platform p, const char *advice);

#endif
