/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * plan: the offsets of a plan that was made beforehand, as `replay plan FILE -o PLAN.csv` writes them.
 *
 * The file is minimalloc's CSV with the columns size and offset; the i-th row is the i-th request of the trace, those
 * live before its first event included. The arena is taken at the start. A request that is not as planned is served by
 * first fit in segments of its own and counted.
 */
#include "policies/described/planned.h"

#include "base/array.h"
#include "base/read_files.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAN_FILE = PLAIN_OPTIONS };
enum { PLAN_LINE = 256 };

static const struct policy_option plan_options[] = {
    [PLAIN_CHUNK] = {"chunk", OPTION_BYTES, 0, UINT64_MAX / 4, "32MiB", "bytes",
                     "least size to ask the device for, of requests that are not as planned"},
    [PLAIN_UPSTREAM] = UPSTREAM_OPTION,
    [PLAN_FILE] = {"file", OPTION_TEXT, 0, 0, NULL, "file", "the plan, id,lower,upper,size,offset; not set: nothing is "
                   "planned"},
    {.name = NULL},
};

/* One row after the heading. False for anything else. */
static bool read_row(const char *line, struct planned_row *out)
{
    uint64_t lower, upper;
    const char *comma = strchr(line, ',');
    int n = 0;
    return comma != NULL && sscanf(comma + 1, "%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64 " %n", &lower, &upper,
                                   &out->bytes, &out->offset, &n) == 4 && comma[1 + n] == '\0' && out->bytes > 0;
}

static enum err read_rows(FILE *file, const char *path, struct planned *p, struct err_detail *err)
{
    char line[PLAN_LINE];
    size_t cap = 0;
    const bool is_plan = fgets(line, sizeof line, file) != NULL && strncmp(line, "id,lower,upper,size,offset", 26) == 0;
    while (is_plan && fgets(line, sizeof line, file) != NULL) {
        struct planned_row *rows = array_grow(p->rows, p->n_rows, &cap, sizeof *rows);
        if (rows == NULL)
            return err_no_memory(err);
        p->rows = rows;
        if (!read_row(line, &rows[p->n_rows]))
            return err_at(err, ERR_USAGE, POLICY_PLACE(PLAN_FILE, 0), path, "line %zu is not "
                          "id,lower,upper,size,offset", p->n_rows + 2);
        p->n_rows++;
    }
    if (ferror(file))
        return err_at(err, ERR_IO, 0, path, "cannot be read: %s", strerror(errno));
    if (!is_plan)
        return err_at(err, ERR_USAGE, POLICY_PLACE(PLAN_FILE, 0), path, "is not a plan: its first line is not "
                      "id,lower,upper,size,offset");
    return ERR_OK;
}

static enum err plan_load(struct planned *p, const char *path, struct err_detail *err)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return err_at(err, errno == ENOMEM ? ERR_HOST_NOMEM : ERR_USAGE, POLICY_PLACE(PLAN_FILE, 0), path, "%s",
                      strerror(errno));
    read_files_note(fileno(file));
    const enum err e = read_rows(file, path, p, err);
    fclose(file);
    return e;
}

static enum err plan_create(const struct policy_config *cfg, struct policy **out, struct err_detail *err)
{
    struct planned *p;
    enum err e = planned_create(cfg, &p, err);
    if (e != ERR_OK)
        return e;
    if (cfg->values[PLAN_FILE].is_set)
        e = plan_load(p, cfg->values[PLAN_FILE].text, err);
    if (e == ERR_OK)
        e = planned_take_arena(p);
    if (e != ERR_OK)
        planned_destroy(&p->order.plain.base);
    else
        *out = &p->order.plain.base;
    return e;
}

static void plan_remarks(const struct policy *base, remark_visit visit, void *arg)
{
    const struct planned *p = (const struct planned *)base;
    char text[200];
    if (p->n_rows == 0)
        visit(arg, REMARK_WARNING, "plan: no plan was named, so nothing is planned: plan:file=PLAN.csv");
    if (p->n_mismatched == 0)
        return;
    snprintf(text, sizeof text, "plan: %" PRIu64 " requests were not as planned and were served beside the plan",
             p->n_mismatched);
    visit(arg, REMARK_WARNING, text);
}

const struct policy_ops policy_plan = {
    POLICY_HEAD,
    .name = "plan",
    .summary = "the offsets of a plan made beforehand: plan:file=PLAN.csv (replay plan FILE -o PLAN.csv)",
    .options = plan_options,
    .create = plan_create,   .destroy = planned_destroy,
    .alloc = planned_alloc,  .free = planned_free,      .expect = planned_expect,
    .flush = plain_flush,    .walk = planned_walk,      .largest_free = planned_largest_free,
    .stats = planned_stats,  .remarks = plan_remarks,   .check = planned_check,
};
