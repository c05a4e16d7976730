/*
 * The devices of a simulated machine as a person types them: "sim:24GiB,count=2,context=450MiB".
 */
#ifndef REPLAY_CUDASIM_DEVICE_TEXT_H
#define REPLAY_CUDASIM_DEVICE_TEXT_H

#include "sim/device.h"

enum { CUDASIM_COUNT_MAX = 16 };

/* As device_parse, with count= (1 to CUDASIM_COUNT_MAX; 1 when absent) cut out. A card without a capacity has 24 GiB.
 * ERR_USAGE with the reason, also for an unlimited one: programs ask how much there is. */
MUST_USE enum err cudasim_parse_devices(const char *text, struct device_config *cfg, const struct device_ops **ops,
                                        int *count, struct err_detail *why);

#endif
