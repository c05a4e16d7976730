/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Asks prediction.c for the range alone, on the card of the run, and takes context and others off again. */
#include "dryrun/run_ends.h"

#include "cudasim/core/device_text.h"
#include "dryrun/prediction.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WITHIN_S = 24 * 3600 };       /* of each further run */

/* On any card, by one process. */
static uint64_t largest_peak(const struct sim_card *card)
{
    uint64_t most = 0;
    for (int i = 0; i < CALL_DEVICES_MAX; i++) {
        uint64_t bytes = 0;
        if (sim_card_largest_process(card, i, &bytes) > 0 && bytes > most)
            most = bytes;
    }
    return most;
}

/* A size is bare here, as it was in the run. */
static void bare_card(const char *device, char out[static CARD_BYTES])
{
    if (device == NULL)
        snprintf(out, CARD_BYTES, "sim:%dGiB", CUDASIM_DEFAULT_GIB);
    else
        snprintf(out, CARD_BYTES, "%s%s", strncmp(device, "sim:", 4) == 0 ? "" : "sim:", device);
}

static uint64_t less(uint64_t bytes, uint64_t beside)
{
    return bytes > beside ? bytes - beside : 0;
}

/* The range of a row of the whole card, as one of segments that holds what was seen. */
static struct peak_range of_segments(const struct predicted_row *row, uint64_t seen)
{
    struct peak_range r = row->range;
    const uint64_t beside = row->answer.card_peak_bytes - row->answer.peak_reserved_bytes;
    const uint64_t low = less(r.low_bytes, beside), high = less(r.high_bytes, beside);
    r.low_bytes = low < seen ? low : seen;
    r.expected_bytes = seen;
    r.high_bytes = high > seen ? high : seen;
    return r;
}

static enum err predict_range(struct prediction *p, uint64_t seen, struct peak_range *out, bool *is_known,
                              struct err_detail *err)
{
    if (!p->overlay.is_on) {
        fprintf(stderr, "replay run-sim: --ends: this system cannot keep the program's files apart, so it is not run "
                        "again\n");
        return ERR_OK;
    }
    const enum err e = prediction_make(p, err);
    if (e == ERR_OK && prediction_is_whole(p) && p->rows[0].is_known) {
        *out = of_segments(&p->rows[0], seen);
        *is_known = true;
    }
    return e;
}

static enum err run_again(const struct run_ends_request *r, uint64_t seen, struct peak_range *out, bool *is_known,
                          struct err_detail *err)
{
    char device[CARD_BYTES];
    const char *const cards[] = { device };
    struct prediction *p = calloc(1, sizeof *p);
    if (p == NULL)
        return err_no_memory(err);
    bare_card(r->device, device);
    const struct prediction_request asked = {
        .program = r->program, .n_words = r->n_words, .cards = cards, .n_cards = 1, .within_s = WITHIN_S,
        .range_only = true, .torch_libs = r->torch_libs, .values = r->values, .interrupted = r->interrupted,
    };
    enum err e = prediction_open(&asked, p, err);
    if (e == ERR_OK)
        e = predict_range(p, seen, out, is_known, err);
    prediction_close(p);
    free(p);
    return e;
}

enum err run_ends_find(const struct run_ends_request *request, struct peak_range *out, bool *is_known,
                       struct err_detail *err)
{
    const uint64_t seen = largest_peak(request->card);
    *out = (struct peak_range){ .low_bytes = seen, .expected_bytes = seen, .high_bytes = seen };
    *is_known = !sim_card_is_open(request->card);
    if (seen == 0 || !request->runs_again)
        return ERR_OK;
    *is_known = false;
    const enum err e = run_again(request, seen, out, is_known, err);
    if (e == ERR_OK && !*is_known)
        fprintf(stderr, "replay run-sim: --ends: further runs did not show how far the peak may move\n");
    return e;
}
