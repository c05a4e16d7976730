/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reads what JAX's allocator said of itself, and says it in JAX's words. */
#include "dryrun/run/jax_held.h"

#include "base/units.h"
#include "dryrun/run/journal_folder.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define JAX_USUAL_SHARE 0.75
#define JAX_SHARE_OFF 0.001

/* A line: peak, pool and limit in bytes, and 1 if it preallocates. */
static bool take_line(struct jax_held *h, const char *line)
{
    struct jax_held one = *h;
    int preallocates = 0;
    if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %d", &one.peak_bytes, &one.pool_bytes, &one.limit_bytes,
               &preallocates) != 4)
        return false;
    one.is_there = true;
    one.preallocates = preallocates != 0;
    if (!h->is_there || one.peak_bytes >= h->peak_bytes)
        *h = one;
    return true;
}

/* A program may have put anything there. */
static void read_mixed(const char *journals, struct jax_held *out)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/jax-mixed", journals) >= sizeof path)
        return;
    FILE *f = journal_folder_text(path);
    if (f != NULL && fgets(out->mixed, sizeof out->mixed, f) != NULL)
        out->mixed[strspn(out->mixed, "abcdefghijklmnopqrstuvwxyz0123456789., -+")] = '\0';
    if (f != NULL)
        fclose(f);
    unlink(path);
}

void jax_held_read(const char *journals, struct jax_held *out)
{
    char path[PATH_MAX], line[256];
    *out = (struct jax_held){ .is_there = false };
    read_mixed(journals, out);
    if ((size_t)snprintf(path, sizeof path, "%s/jax-held", journals) >= sizeof path)
        return;
    FILE *f = journal_folder_text(path);
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        (void)take_line(out, line);
    if (f != NULL)
        fclose(f);
    unlink(path);
}

double jax_held_share(const struct jax_held *h, uint64_t total_bytes)
{
    const double share = total_bytes > 0 ? (double)h->limit_bytes / (double)total_bytes : 0;
    const double whole = (double)(int)(share * 100 + 0.5) / 100, off = share - whole;
    if (share <= 0 || share > 1)
        return JAX_USUAL_SHARE;
    return off < JAX_SHARE_OFF && off > -JAX_SHARE_OFF ? whole : share;
}

void jax_held_policy(const struct jax_held *h, uint64_t limit_bytes, char out[static JAX_POLICY_TEXT])
{
    snprintf(out, JAX_POLICY_TEXT, "tf-bfc:gc=off,growth=%s,limit=%" PRIu64, h->preallocates ? "off" : "on",
             limit_bytes);
}

void jax_held_say(struct words *out, const struct jax_held *h)
{
    char peak[UNITS_TEXT], pool[UNITS_TEXT], limit[UNITS_TEXT];
    if (h->mixed[0] != '\0')
        words_add(out, "JAX's parts are of different releases (%s): its requests are not recorded, and the program may "
                  "end by it. Install those of one release: pip install -U \"jax[cuda13]\", or cuda12. ", h->mixed);
    if (!h->is_there)
        return;
    if (h->pool_bytes == 0 && h->peak_bytes > 0) {
        words_add(out, "JAX's allocator had at most %s in use (%" PRIu64 " bytes, its peak_bytes_in_use). It has no "
                  "regions of its own but the driver's pool (XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async), which takes a "
                  "share of the card at its start unless XLA_PYTHON_CLIENT_PREALLOCATE=false.",
                  units_format_bytes(h->peak_bytes, peak), h->peak_bytes);
        return;
    }
    words_add(out, "JAX's allocator (BFC) had at most %s in use (%" PRIu64 " bytes, its peak_bytes_in_use), of %s that "
              "it may take. ", units_format_bytes(h->peak_bytes, peak), h->peak_bytes,
              units_format_bytes(h->limit_bytes, limit));
    if (h->preallocates)
        words_add(out, "The driver sees only the %s that JAX takes at its start, whatever the program needs: "
                  "XLA_PYTHON_CLIENT_PREALLOCATE=false takes memory as it is needed, "
                  "XLA_CLIENT_MEM_FRACTION sets another share.", units_format_bytes(h->pool_bytes, pool));
    else
        words_add(out, "It took %s of the card, in regions that it does not give back; "
                  "XLA_PYTHON_CLIENT_ALLOCATOR=platform gives back what is freed, and is slow.",
                  units_format_bytes(h->pool_bytes, pool));
}
