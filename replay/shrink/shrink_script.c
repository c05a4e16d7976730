/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Lines of statements; if they are too many, one table of calls and a loop over it. */
#include "replay/shrink/shrink_script.h"

#include "base/units.h"
#include "policies/pytorch/pytorch.h"
#include "report/text/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_COLUMNS = 118, TEXT_BYTES = SCRIPT_LINES * 160, ITEM_BYTES = 64 };

struct script {
    const struct shrunk *s;
    const char *about;
    uint32_t *number;                /* by slot: of the request in it, from 1 */
    uint32_t  n_requests;
    char      text[TEXT_BYTES];
    size_t    n, lines, column;
    bool      is_full;
};

static void add(struct script *p, const char *text)
{
    const size_t n = strlen(text);
    if (p->n + n >= TEXT_BYTES) {
        p->is_full = true;
        return;
    }
    memcpy(p->text + p->n, text, n + 1);
    p->n += n;
    p->column += n;
}

static void end_line(struct script *p)
{
    add(p, "\n");
    p->lines++;
    p->column = 0;
}

/* "530 * MiB" */
static const char *size_text(uint64_t bytes, char buf[ITEM_BYTES])
{
    const uint64_t unit = bytes % MIB == 0 ? MIB : bytes % KIB == 0 ? KIB : 1;
    snprintf(buf, ITEM_BYTES, "%" PRIu64 "%s", bytes / unit, unit == MIB ? " * MiB" : unit == KIB ? " * KiB" : "");
    return buf;
}

static bool is_free(const struct event *c)
{
    return c->kind == EVENT_FREE;
}

static uint32_t take_number(struct script *p, const struct event *c)
{
    if (c->kind == EVENT_ALLOC)
        p->number[c->slot] = ++p->n_requests;
    return p->number[c->slot];
}

/* How many calls from i on are alike: requests of one size and stream, or frees. */
static size_t run_length(const struct shrunk *s, size_t i)
{
    size_t n = 1;
    const struct event *a = &s->calls[i];
    for (; i + n < s->n && n < 16; n++) {
        const struct event *b = &s->calls[i + n];
        if (b->kind != a->kind || (a->kind == EVENT_ALLOC && (a->bytes != b->bytes || a->stream != b->stream)))
            break;
    }
    return a->kind == EVENT_FLUSH ? 1 : n;
}

static void add_stream(struct script *p, const struct event *c)
{
    char text[ITEM_BYTES];
    snprintf(text, sizeof text, ", %u", c->stream);
    if (p->s->n_streams > 1)
        add(p, text);
}

static void put_requests(struct script *p, size_t i, size_t n)
{
    char line[2 * ITEM_BYTES], size[ITEM_BYTES];
    const struct event *c = &p->s->calls[i];
    const uint32_t first = p->n_requests + 1;
    for (size_t k = 0; k < n; k++)
        take_number(p, &p->s->calls[i + k]);
    size_text(c->bytes, size);
    if (n == 1)
        snprintf(line, sizeof line, "t[%u] = new(%s", first, size);
    else
        snprintf(line, sizeof line, "for i in range(%u, %u): t[i] = new(%s", first, first + (uint32_t)n, size);
    add(p, line);
    add_stream(p, c);
    add(p, ")");
    end_line(p);
}

static void put_frees(struct script *p, size_t i, size_t n)
{
    char item[ITEM_BYTES];
    add(p, n == 1 ? "del t[" : "for i in (");
    for (size_t k = 0; k < n; k++) {
        snprintf(item, sizeof item, "%s%u", k > 0 ? ", " : "", take_number(p, &p->s->calls[i + k]));
        add(p, item);
    }
    add(p, n == 1 ? "]" : "): del t[i]");
    end_line(p);
}

static void put_statements(struct script *p)
{
    for (size_t i = 0, n; i < p->s->n && !p->is_full; i += n) {
        n = run_length(p->s, i);
        if (p->s->calls[i].kind == EVENT_FLUSH) {
            add(p, "torch.cuda.empty_cache()");
            end_line(p);
        } else if (is_free(&p->s->calls[i])) {
            put_frees(p, i, n);
        } else {
            put_requests(p, i, n);
        }
    }
}

/* One item of the table: number, size (0: it is freed), stream. Number 0: the cache is given back. */
static void put_item(struct script *p, const struct event *c)
{
    char item[ITEM_BYTES];
    const uint32_t number = c->kind == EVENT_FLUSH ? 0 : take_number(p, c);
    snprintf(item, sizeof item, "(%u, %" PRIu64 ", %u), ", number, c->kind == EVENT_ALLOC ? c->bytes : 0, c->stream);
    if (p->column + strlen(item) > LINE_COLUMNS) {
        end_line(p);
        add(p, "    ");
    }
    add(p, item);
}

static void put_table(struct script *p)
{
    add(p, "calls = (");
    for (size_t i = 0; i < p->s->n && !p->is_full; i++)
        put_item(p, &p->s->calls[i]);
    add(p, ")");
    end_line(p);
    add(p, "for i, n, k in calls:\n"
           "    if n: t[i] = new(n, k)\n"
           "    elif i: del t[i]\n"
           "    else: torch.cuda.empty_cache()\n");
    p->lines += 4;
}

/* ---- the rest of the script ---- */

static const struct pytorch *policy_of(const struct single_run *run)
{
    return (const struct pytorch *)run->lane.policy;
}

/* Of the card, by a fraction of the policy's; the run's card may be larger than that of what is left. */
static uint64_t limit_by_fraction(const struct shrunk *s, const struct single_run *run)
{
    const struct pytorch *p = policy_of(run);
    if (p->limit == PYTORCH_UNLIMITED)
        return UINT64_MAX;
    return (uint64_t)((double)p->limit / (double)run->device.config.total_bytes * (double)s->total_bytes);
}

/* What the program may hold; 0: there is no limit. */
static uint64_t limit_of(const struct shrunk *s, const struct single_run *run)
{
    struct device_config d = run->device.config;
    d.total_bytes = s->total_bytes;
    if (d.total_bytes == DEVICE_UNLIMITED)
        return 0;
    const uint64_t usable = keep_usable(&d), limit = limit_by_fraction(s, run);
    return limit < usable ? limit : usable;
}

static const char *conf_of(const struct single_run *run)
{
    const struct pytorch *p = policy_of(run);
    return p->conf != NULL ? p->conf : "";
}

/* Garbage is collected only below a fraction of 1. */
static const char *most_fraction(const struct single_run *run)
{
    return strstr(conf_of(run), "garbage_collection_threshold") != NULL ? "1 - 1e-9" : "1.0";
}

static void put_head(struct script *p, const struct single_run *run)
{
    char line[LINE_COLUMNS + ITEM_BYTES];
    snprintf(line, sizeof line, "# %s\nimport os\n", p->about);
    add(p, line);
    add(p, "os.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"");
    add(p, conf_of(run));
    add(p, "\"\nimport torch\nMiB, KiB = 2**20, 2**10\n");
    p->lines += 5;
    const uint64_t limit = limit_of(p->s, run);
    if (limit > 0) {
        snprintf(line, sizeof line, "torch.cuda.set_per_process_memory_fraction(min(%s, %" PRIu64
                 " / torch.cuda.mem_get_info()[1]))\n", most_fraction(run), limit);
        add(p, line);
        p->lines++;
    }
    snprintf(line, sizeof line, "streams = [torch.cuda.default_stream()] + [torch.cuda.Stream() for _ in range(%u)]\n",
             trace_info(p->s->copy)->n_streams - 1);
    add(p, p->s->n_streams > 1 ? line : "streams = [torch.cuda.default_stream()]\n");
    add(p, "def new(n, k=0):\n"
           "    with torch.cuda.stream(streams[k]): return torch.empty(n, dtype=torch.uint8, device=\"cuda\")\n"
           "t = {}\n");
    p->lines += 4;
}

static void put_end(struct script *p)
{
    add(p, "print(torch.cuda.max_memory_reserved(), \"bytes reserved at most\")\n");
    p->lines++;
}

static void make(struct script *p, const struct single_run *run, bool as_table)
{
    p->n = p->lines = p->column = p->n_requests = 0;
    p->is_full = false;
    put_head(p, run);
    p->column = 0;
    if (as_table)
        put_table(p);
    else
        put_statements(p);
    put_end(p);
}

enum err shrink_script_write(const struct shrunk *s, const struct single_run *run, const char *about, FILE *out,
                             struct err_detail *err)
{
    if (run->spec.ops != &policy_pytorch || policy_of(run)->rounds_to_power_of_two)
        return err_set(err, ERR_UNSUPPORTED, 0, "--script: %s is not PyTorch's allocator", run->spec.typed);
    if (s->has_pools || s->has_late)
        return err_set(err, ERR_UNSUPPORTED, 0, "--script: what is left needs %s, which torch.empty and del do not "
                       "make", s->has_pools ? "private pools" : "frees that complete later");
    struct script *p = calloc(1, sizeof *p);
    uint32_t *number = calloc((size_t)trace_info(s->copy)->peak_live + 1, sizeof *number);
    enum err e = p != NULL && number != NULL ? ERR_OK : err_no_memory(err);
    if (e == ERR_OK) {
        *p = (struct script){ .s = s, .about = about, .number = number };
        make(p, run, false);
        if (p->is_full || p->lines > SCRIPT_LINES)
            make(p, run, true);
        if (p->is_full || p->lines > SCRIPT_LINES)
            e = err_set(err, ERR_UNSUPPORTED, 0, "--script: %zu calls are more than %d lines hold; -o writes the "
                        "recording", s->n, SCRIPT_LINES);
        else
            fputs(p->text, out);
    }
    free(p);
    free(number);
    return e;
}
