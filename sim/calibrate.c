/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Measures the driver's calls. Each size gets a device of its own, so that its calls are counted apart. */
#include "sim/calibrate.h"

#include "base/units.h"
#include "sim/device_measured.h"

#include <string.h>

enum { PIECES_MAX = 16, CALLS_MIN = 48 };        /* pieces held at once; pieces in all */

static const uint64_t calibration_bytes[CALIBRATION_SIZES] = { 2 * MIB, 20 * MIB, 128 * MIB, 1 * GIB };

/* How many pieces are held at once, so that they fit the card. */
static size_t pieces_of(const struct device *dev, uint64_t bytes)
{
    uint64_t free_bytes, total_bytes;
    device_memory_info(dev, &free_bytes, &total_bytes);
    const uint64_t n = free_bytes / bytes;
    return n > PIECES_MAX ? PIECES_MAX : (size_t)n;
}

/* Takes some segments and gives them back; fewer if the card fills up meanwhile. */
static enum err round_of_segments(struct device *dev, uint64_t bytes, size_t n)
{
    struct segment at[PIECES_MAX];
    size_t made = 0;
    enum err e = ERR_OK;
    while (made < n && (e = device_segment_alloc(dev, bytes, &at[made])) == ERR_OK)
        made++;
    for (size_t i = 0; i < made; i++)
        device_segment_free(dev, &at[i]);
    return e == ERR_DEVICE_OOM && made > 0 ? ERR_OK : e;
}

/* The same with the pages of a range. */
static enum err round_of_pages(struct device *dev, uint64_t bytes, size_t n)
{
    struct segment range;
    uint32_t phys[PIECES_MAX];
    size_t made = 0;
    enum err e = device_range_reserve(dev, bytes * n, &range);
    if (e != ERR_OK)
        return e;
    while (made < n && (e = device_phys_create(dev, bytes, &phys[made])) == ERR_OK) {
        if ((e = device_map(dev, &range, made * bytes, bytes, phys[made])) != ERR_OK) {
            device_phys_destroy(dev, phys[made], bytes);
            break;
        }
        made++;
    }
    for (size_t i = 0; i < made; i++) {
        device_unmap(dev, &range, i * bytes, bytes);
        device_phys_destroy(dev, phys[i], bytes);
    }
    device_range_free(dev, &range);
    return e == ERR_DEVICE_OOM && made > 0 ? ERR_OK : e;
}

static uint64_t median_ns(struct device *dev, enum measured_call kind)
{
    return call_times_percentile(&dev->measured->calls[kind], 50);
}

/* ERR_DEVICE_OOM if not a single piece fits. */
static enum err measure_size(struct device *dev, uint64_t bytes, struct calibration *out)
{
    const size_t n = pieces_of(dev, bytes);
    enum err e = n == 0 ? ERR_DEVICE_OOM : ERR_OK;
    for (size_t i = 0; i * n < CALLS_MIN && e == ERR_OK; i++)
        e = round_of_segments(dev, bytes, n);
    for (size_t i = 0; i * n < CALLS_MIN && e == ERR_OK && device_has_ranges(dev); i++)
        e = round_of_pages(dev, bytes, n);
    if (e == ERR_OK && dev->failure != ERR_OK)
        e = dev->failure;
    if (e != ERR_OK)
        return e;
    *out = (struct calibration){
        .bytes = bytes,
        .calls = dev->measured->calls[MEASURED_MALLOC].calls,
        .alloc_ns = median_ns(dev, MEASURED_MALLOC),
        .free_ns = median_ns(dev, MEASURED_FREE),
        .has_ranges = device_has_ranges(dev),
        .map_ns = median_ns(dev, MEASURED_CREATE) + median_ns(dev, MEASURED_MAP) + median_ns(dev, MEASURED_ACCESS),
        .unmap_ns = median_ns(dev, MEASURED_UNMAP) + median_ns(dev, MEASURED_RELEASE),
    };
    return ERR_OK;
}

enum err calibrate(const struct device_ops *ops, const struct device_config *cfg,
                   struct calibration out[CALIBRATION_SIZES], size_t *n, struct device_measured *card,
                   struct device_config *settled, struct err_detail *err)
{
    *n = 0;
    for (size_t i = 0; i < CALIBRATION_SIZES; i++) {
        struct device *dev;
        enum err e = device_open(ops, cfg, &dev, err);
        if (e != ERR_OK)
            return e;
        if (i == 0) {
            *card = *dev->measured;
            memset(card->calls, 0, sizeof card->calls);
            *settled = dev->cfg;
        }
        e = measure_size(dev, calibration_bytes[i], &out[i]);
        if (e != ERR_OK && e != ERR_DEVICE_OOM)
            err_set(err, e, 0, "%s", dev->err.text[0] != '\0' ? dev->err.text : err_text(e));
        device_close(dev);
        if (e == ERR_DEVICE_OOM && i > 0)
            break;
        if (e == ERR_DEVICE_OOM)
            return err_set(err, e, 0, "the card has no room for a segment of 2 MiB");
        if (e != ERR_OK)
            return e;
        ++*n;
    }
    return ERR_OK;
}
