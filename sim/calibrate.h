/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * What the driver's calls cost on a real card, by size: prices for a simulated card.
 */
#ifndef REPLAY_SIM_CALIBRATE_H
#define REPLAY_SIM_CALIBRATE_H

#include "sim/device.h"

/* Medians. Mapping a page means to create, map and make it accessible; unmapping it, to unmap and free it. */
struct calibration {
    uint64_t bytes;                  /* bytes of each piece */
    uint64_t calls;                  /* calls of each kind */
    uint64_t alloc_ns, free_ns;
    bool     has_ranges;             /* the next two were measured */
    uint64_t map_ns, unmap_ns;
};

enum { CALIBRATION_SIZES = 4 };

/* The size whose prices are used for all: PyTorch's segment for middling requests (kLargeBuffer). */
enum { CALIBRATION_TYPICAL = 1 };

/* Measures pieces of some sizes, ascending; *n of them fitted. `card` gets what the card says of itself, without times.
 * device_open's errors; ERR_DEVICE_OOM if even the smallest does not fit; ERR_INTERRUPTED. */
MUST_USE enum err calibrate(const struct device_ops *ops, const struct device_config *cfg,
                            struct calibration out[CALIBRATION_SIZES], size_t *n, struct device_measured *card,
                            struct device_config *settled, struct err_detail *err);

#endif
