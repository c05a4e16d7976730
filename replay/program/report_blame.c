/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Asks `blame` for the rules that hold what was reserved beyond the live peak. */
#include "replay/program/report_blame.h"

#include "replay/blame/blame.h"
#include "replay/blame/blame_help.h"

#include <assert.h>
#include <string.h>

static_assert(PAGE_PARTS >= (int)BLAME_RULES, "each rule has a part");

static void add_parts(const struct blame *b, struct page_blame *out)
{
    for (enum blame_rule r = 0; r < BLAME_RULES; r++)
        if (b->parts[r].matters)
            out->parts[out->n_parts++] = (struct page_part){ .words = blame_words(r), .does = blame_does(r),
                                                             .bytes = b->parts[r].bytes };
}

static enum err take_blame(const struct blamed_run *of, const struct single_run *run, const struct blame *b,
                           struct page_blame *out)
{
    struct words help = { .n = 0 };
    blame_say_help(&help, b, run, of->platform);
    out->help = strdup(help.text);
    if (out->help == NULL)
        return ERR_HOST_NOMEM;
    out->reserved_bytes = b->reserved_bytes;
    out->live_bytes = b->live_bytes;
    out->is_cut = b->is_cut;
    add_parts(b, out);
    return ERR_OK;
}

enum err report_blame_find(const struct blamed_run *of, const struct replay_config *cfg, struct page_blame *out)
{
    struct single_run run = { .trace = NULL };
    struct blame blame;
    struct err_detail reason;
    enum err e = single_run_open(&run, of->trace, NULL, of->device, &reason);
    if (e == ERR_OK)
        e = blame_find(&run, cfg->threads, NULL, NULL, &blame, &reason);
    if (e == ERR_OK && blame.reserved_bytes == of->reserved_bytes)
        e = take_blame(of, &run, &blame, out);
    single_run_close(&run);
    return e == ERR_HOST_NOMEM ? e : ERR_OK;
}
