/*
 * What the driver's calls cost on a real card, by size: the prices that a simulated card is to charge.
 */
#ifndef REPLAY_SIM_CALIBRATE_H
#define REPLAY_SIM_CALIBRATE_H

#include "sim/device.h"

/* Medians. A page is created, mapped and made accessible by one mapping, and unmapped and released by its end. */
struct calibration {
    uint64_t bytes;                  /* of each piece */
    uint64_t calls;                  /* of each kind */
    uint64_t alloc_ns, free_ns;
    bool     has_ranges;             /* the next two were measured */
    uint64_t map_ns, unmap_ns;
};

enum { CALIBRATION_SIZES = 4 };

/* The size whose prices stand for all: that of PyTorch's segments for middling requests (kLargeBuffer). */
enum { CALIBRATION_TYPICAL = 1 };

/* Measures pieces of some sizes, in ascending order; *n of them fitted. `card` gets what the card said of itself, without
 * times. device_open's errors, ERR_DEVICE_OOM where not even the smallest fits, ERR_INTERRUPTED. */
MUST_USE enum err calibrate(const struct device_ops *ops, const struct device_config *cfg,
                            struct calibration out[CALIBRATION_SIZES], size_t *n, struct device_measured *card,
                            struct device_config *settled, struct err_detail *why);

#endif
