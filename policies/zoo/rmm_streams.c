/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Opening and closing; the rest is inline. */
#include "policies/zoo/rmm_streams.h"

#include <stdlib.h>
#include <string.h>

enum err rmm_streams_open(struct rmm_streams *s, const struct policy_config *cfg, int option, struct err_detail *err)
{
    const char *order = cfg->values[option].text;
    const bool is_last_first = strcmp(order, "last-seen") == 0;
    if (!is_last_first && strcmp(order, "first-seen") != 0)
        return err_set(err, ERR_USAGE, POLICY_PLACE(option, 0), "order is first-seen or last-seen");
    *s = (struct rmm_streams){.seen = calloc(cfg->n_streams, sizeof *s->seen),
                              .place = calloc(cfg->n_streams, sizeof *s->place),
                              .is_seen = calloc(cfg->n_streams, sizeof *s->is_seen),
                              .is_last_first = is_last_first};
    if (s->seen == NULL || s->place == NULL || s->is_seen == NULL)
        return ERR_HOST_NOMEM;
    return max_tree_open(&s->listed, cfg->n_streams);
}

void rmm_streams_close(struct rmm_streams *s)
{
    free(s->seen);
    free(s->place);
    free(s->is_seen);
    max_tree_close(&s->listed);
}
