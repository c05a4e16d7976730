/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The release by its layout; by trial where several releases share that layout and may decide differently. */
#include "replay/recording/recorded_release.h"

#include "replay/recording/verify.h"

#include <string.h>

enum { VERIFIED_EVENTS_MAX = 1 << 18 };          /* about a second for each release: nobody asked for this work */

/* Releases of one layout differ when a request runs out of memory, in private pools, and in how they round. */
static bool releases_can_differ(const struct trace_reader *trace)
{
    const struct trace_info *info = trace_info(trace);
    const char *conf = trace_meta(trace, "conf");
    const bool is_rounded = conf != NULL && strstr(conf, "roundup_power2_divisions") != NULL;
    return info->has_addresses && info->events <= VERIFIED_EVENTS_MAX &&
           (info->by_kind[EVENT_OOM] > 0 || info->n_pools > 1 || is_rounded);
}

enum err recorded_release(struct trace_reader *trace, const char **out, struct err_detail *err)
{
    struct err_detail reason;
    *out = trace_meta(trace, TRACE_META_RELEASE);
    if (*out == NULL || !releases_can_differ(trace))
        return ERR_OK;
    if (verify_choose_release(trace, out, &reason) != ERR_HOST_NOMEM)
        return ERR_OK;                           /* a trace that cannot be verified keeps the release of its layout */
    *err = reason;
    return ERR_HOST_NOMEM;
}
