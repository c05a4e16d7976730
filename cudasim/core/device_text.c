/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The devices of a simulated machine, from one text. */
#include "cudasim/core/device_text.h"

#include "base/units.h"

#include <stdlib.h>
#include <string.h>

int cudasim_take_count(char *text)
{
    char *at = strstr(text, "count=");
    if (at == NULL || at == text || (at[-1] != ',' && at[-1] != ':'))
        return 1;
    char *end;
    const long n = strtol(at + 6, &end, 10);
    if ((*end != '\0' && *end != ',') || n < 1 || n > CUDASIM_COUNT_MAX)
        return 0;
    if (*end == ',')
        memmove(at, end + 1, strlen(end + 1) + 1);
    else
        at[-1] = '\0';
    return (int)n;
}

enum err cudasim_parse_devices(const char *text, struct device_config *cfg, const struct device_ops **ops, int *count,
                               struct err_detail *err)
{
    char copy[256];
    bool has_total;
    if (strlen(text) >= sizeof copy)
        return err_set(err, ERR_USAGE, 0, "device '%s': the text is too long", text);
    memcpy(copy, text, strlen(text) + 1);
    const int n = cudasim_take_count(copy);
    if (n == 0)
        return err_set(err, ERR_USAGE, 0, "device '%s': count= is a number from 1 to %d", text, CUDASIM_COUNT_MAX);
    const enum err e = device_parse(copy, cfg, ops, &has_total, err);
    if (e != ERR_OK)
        return e;
    if (!has_total)
        cfg->total_bytes = CUDASIM_DEFAULT_GIB * GIB;
    if (cfg->total_bytes == DEVICE_UNLIMITED)
        return err_set(err, ERR_USAGE, 0, "device '%s': a card for a program needs a capacity, as in sim:24GiB", text);
    *count = n;
    return ERR_OK;
}
