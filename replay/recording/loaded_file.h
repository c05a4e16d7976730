/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Whether a file was loaded onto the card although what is in it is there already: a checkpoint that is loaded with
 * map_location="cuda" lies beside the weights and states that it is copied to.
 *
 *     the model's     | 36 | 36 | 36 | 36 |
 *     of torch.load   | 36 | 36 | <- refused       for each piece there is one as large
 *
 * A file with weights and states has twins of the weights alone, of all of them and in a row:
 *
 *     the model's     | 36 | 12 | 36 |
 *     of torch.load   | 36 | 12 | 36 | 36 | 36 | 12 | 12 | 36 | 36 |
 *
 * The model may have been made before the file was loaded, or after it. A model that is only loaded has no such twins:
 * neither states that came later nor a copy of it count.
 */
#ifndef REPLAY_REPLAY_RECORDING_LOADED_FILE_H
#define REPLAY_REPLAY_RECORDING_LOADED_FILE_H

#include "replay/recording/holders.h"

struct loaded_file {
    uint64_t bytes;                  /* loaded and live; 0: none, or less than half of it has twins and
                                      * it is not all weights of the model and states of them */
    uint64_t twin_bytes;             /* of them with a twin: a weight, buffer or state of just that size */
    struct holders lines;            /* that loaded them */
};

/* `h`: what is live, with categories. ERR_HOST_NOMEM. Released with loaded_file_close, also on error. */
MUST_USE enum err loaded_file_find(struct trace_reader *trace, const struct holdings *h, struct loaded_file *out,
                                   struct err_detail *err);
void loaded_file_close(struct loaded_file *f);

#endif
