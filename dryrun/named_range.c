/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reads "batch=8..256:8". */
#include "dryrun/named_range.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum err named_range_read(const char *text, char name[RANGE_NAME], struct value_range *out, struct err_detail *err)
{
    char end = '\0', shown[256];
    *out = (struct value_range){ .step = 0 };
    const int n = sscanf(text, "%63[A-Za-z0-9_-]=%" SCNu64 "..%" SCNu64 ":%" SCNu64 "%c", name, &out->low, &out->high,
                         &out->step, &end);
    snprintf(shown, sizeof shown, n == 4 ? "%s=%" PRIu64 "..%" PRIu64 ":%" PRIu64 : "%s=%" PRIu64 "..%" PRIu64, name,
             out->low, out->high, out->step);
    if ((n == 3 || (n == 4 && out->step > 0)) && strcmp(shown, text) == 0 && out->low <= out->high)
        return ERR_OK;
    return err_set(err, ERR_USAGE, 0, "--range '%s': expected a range such as batch=1..256 or batch=8..256:8%s", text,
                   n >= 3 && out->low > out->high ? ", the smaller number first" : "");
}
