/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/advise/nccl_buffers.h"

#include "base/units.h"

void words_add_nccl(struct words *w)
{
    char one[UNITS_TEXT], ring[UNITS_TEXT];
    words_add(w, "NCCL's own buffers are not counted. Set aside %s for each channel and neighbour of a communicator: "
              "%s for a ring of %d channels.", units_format_bytes(NCCL_CONNECTION_BYTES, one),
              units_format_bytes(NCCL_CHANNELS_USUAL * NCCL_CONNECTION_BYTES, ring), NCCL_CHANNELS_USUAL);
}
