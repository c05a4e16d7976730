/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/oom_answer.h"

#include "base/torch_sizes.h"
#include "base/units.h"
#include "sim/card_context.h"

#include <inttypes.h>

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* ---- the verdict ---- */

static uint64_t find_least_asked(const struct oom_text *t)
{
    if (t->asked == TORCH_SMALL_SEGMENT)
        return 1;
    if (t->asked == TORCH_LARGE_SEGMENT)
        return TORCH_SMALL_MAX + 1;
    return t->asked < TORCH_OWN_MIN ? t->asked : minus(t->asked, TORCH_OWN_ROUNDING + oom_text_rounding(t->asked)) + 1;
}

/* How the request compares with what there is, by the worst and the best of the figures. */
static enum verdict_kind compare(const struct oom_text *t, struct oom_answer *a)
{
    const uint64_t pools = t->private_pools == OOM_TEXT_UNKNOWN ? 0 : t->private_pools;
    const uint64_t there = a->room + a->cached + pools;
    const uint64_t rounding = oom_text_rounding(t->free) + oom_text_rounding(a->cached) + oom_text_rounding(pools);
    if (there >= t->asked + rounding + oom_text_rounding(t->asked))
        return VERDICT_FRAGMENTED;
    if (there + rounding >= a->least_asked)
        return VERDICT_FULL_OR_FRAGMENTED;
    a->shortfall = a->least_asked - there - rounding;
    return VERDICT_FULL;
}

static enum verdict_kind judge(const struct oom_text *t, struct oom_answer *a)
{
    const bool had_room = t->free >= t->asked + oom_text_rounding(t->asked) + oom_text_rounding(t->free);
    if (had_room)
        return a->room < t->asked ? VERDICT_LIMITED : VERDICT_CARD_HAD_ROOM;
    if (card_others_matter(t->others, t->total) && t->free + t->others >= t->asked && a->cached < t->asked)
        return VERDICT_SOMEBODY_ELSE;
    return compare(t, a);
}

/* A setting helps if it may put what is free and what is cached together. PyTorch has expandable segments from 2.1 on;
 * before, it has max_split_size_mb if its text says so. */
static const char *find_setting(const struct oom_text *t, const struct oom_answer *a)
{
    const bool is_enough = a->room + a->cached >= (a->verdict == VERDICT_LIMITED ? t->asked : a->least_asked);
    const bool may_lie_in_pieces = a->verdict == VERDICT_LIMITED || a->verdict == VERDICT_FRAGMENTED ||
                                   a->verdict == VERDICT_FULL_OR_FRAGMENTED;
    if (!is_enough || !may_lie_in_pieces || t->is_expandable)
        return NULL;
    return !t->is_early ? "expandable_segments:True" : t->names_max_split ? "max_split_size_mb:128" : NULL;
}

struct oom_answer oom_answer_of(const struct oom_text *t)
{
    const uint64_t left = t->allowed == OOM_TEXT_UNKNOWN ? UINT64_MAX : minus(t->allowed, t->reserved);
    struct oom_answer a = {
        .least_asked = find_least_asked(t),
        .cached = t->reserved - t->allocated,
        .room = left < t->free ? left : t->free,
        .is_limit_nearer = left < t->free,
    };
    a.verdict = judge(t, &a);
    a.setting = find_setting(t, &a);
    return a;
}

/* ---- the first line ---- */

/* "58 MiB were free on the card, and 211.14 MiB are reserved but unallocated." */
static void add_room(struct words *w, const struct oom_text *t, const struct oom_answer *a)
{
    char b[UNITS_TEXT], c[UNITS_TEXT];
    words_add(w, " %s were %s, and %s are reserved but unallocated", units_format_bytes(a->room, b),
              a->is_limit_nearer ? "left of the limit" : "free on the card", units_format_bytes(a->cached, c));
    if (t->private_pools != OOM_TEXT_UNKNOWN)
        words_add(w, "; %s are free in private pools", units_format_bytes(t->private_pools, b));
    words_add(w, ".");
}

/* "a segment of 20 MiB for a request of 1 to 10 MiB, or of 18 to 20 MiB" */
static void add_segment(struct words *w, const struct oom_text *t, const struct oom_answer *a)
{
    char b[UNITS_TEXT], c[UNITS_TEXT];
    words_add(w, "a segment of %s for a request of ", units_format_bytes(t->asked, b));
    if (t->asked == TORCH_SMALL_SEGMENT)
        words_add(w, "up to 1 MiB");
    else if (t->asked == TORCH_LARGE_SEGMENT)
        words_add(w, "1 to 10 MiB, or of 18 to 20 MiB");
    else
        words_add(w, "%s to %s", units_format_bytes(a->least_asked - 1, c), b);
}

static void add_verdict(struct words *w, const struct oom_text *t, const struct oom_answer *a)
{
    char b[UNITS_TEXT], c[UNITS_TEXT], d[UNITS_TEXT];
    switch (a->verdict) {
    case VERDICT_SOMEBODY_ELSE:
        words_add(w, "Somebody else has the memory: other processes hold %s%s of the card.",
                  t->is_listed ? "at least " : "", units_format_bytes(t->others, b));
        break;
    case VERDICT_LIMITED:
        words_add(w, "A memory fraction refused it: %s are allowed, %s of them were reserved, and %s were asked for.",
                  units_format_bytes(t->allowed, b), units_format_bytes(t->reserved, c),
                  units_format_bytes(t->asked, d));
        break;
    case VERDICT_CARD_HAD_ROOM:
        words_add(w, "The card had room: %s were free, and %s were asked for. The text does not tell why that was "
                     "refused.", units_format_bytes(t->free, b), units_format_bytes(t->asked, c));
        break;
    case VERDICT_FRAGMENTED:
        words_add(w, "Fragmented: %s were asked for.", units_format_bytes(t->asked, b));
        add_room(w, t, a);
        break;
    case VERDICT_FULL_OR_FRAGMENTED:
        words_add(w, "Full or fragmented, the text does not tell: PyTorch asked for ");
        add_segment(w, t, a);
        words_add(w, ".");
        add_room(w, t, a);
        break;
    default:
        words_add(w, "Really full: short by at least %s. No allocator setting makes live data smaller.",
                  units_format_bytes(a->shortfall, b));
        break;
    }
}

/* ---- reasons ---- */

/* Of several errors, which one the answer is about. */
static void print_which(FILE *out, const struct oom_text *t)
{
    struct words w = { .n = 0 };
    if (t->n_errors < 2)
        return;
    words_add(&w, "- The log holds %" PRIu64 " such errors. This is about ", t->n_errors);
    if (t->n_ranks == 1)
        words_add(&w, "the last one, in line %" PRIu64 ".", t->line);
    else if (t->rank >= 0)
        words_add(&w, "the one in line %" PRIu64 ", of rank %" PRId64 ": the first rank to end.", t->line, t->rank);
    else
        words_add(&w, "the one in line %" PRIu64 ": the first process to end.", t->line);
    words_print_screen(out, &w);
}

static void print_held(FILE *out, const struct oom_text *t)
{
    char a[UNITS_TEXT], b[UNITS_TEXT];
    const uint64_t outside = oom_text_outside(t);
    struct words w = { .n = 0 };
    words_add(&w, "- On GPU %u PyTorch had %s reserved, of it %s allocated", t->gpu,
              units_format_bytes(t->reserved, a), units_format_bytes(t->allocated, b));
    if (outside > 0 && outside != OOM_TEXT_UNKNOWN)
        words_add(&w, "; contexts, libraries and other processes had about %s",
                  units_format_bytes(outside < MIB ? outside : outside / MIB * MIB, a));
    words_add(&w, ".");
    words_print_screen(out, &w);
}

static void print_why_so(FILE *out, const struct oom_text *t, const struct oom_answer *a)
{
    if (a->verdict == VERDICT_LIMITED)
        text_print_screen(out, "- The card had room. Raise the fraction where the program sets it: with "
                               "torch.cuda.set_per_process_memory_fraction, or as per_process_memory_fraction in the "
                               "allocator's settings.");
    if (a->verdict == VERDICT_CARD_HAD_ROOM && t->expandable_reserve == OOM_TEXT_UNKNOWN)
        text_print_screen(out, "- It may be a limit that the text does not name: a memory fraction in PyTorch 2.1 to "
                               "2.4, or one of the system, as on a shared GPU. Or another process gave memory back "
                               "just then.");
    if (a->verdict == VERDICT_FULL)
        text_print_screen(out, "- What a block is larger than its request counts as allocated; with default settings "
                               "that is at most about 1 MiB a block. A setting could save only that.");
    if (t->is_listed)
        text_print_screen(out, "- One of the processes that the text lists must be the program itself: with what "
                               "PyTorch had reserved they exceed what was in use. In a container PyTorch does not "
                               "recognise its own.");
    if (t->private_pools != OOM_TEXT_UNKNOWN)
        text_print_screen(out, "- What is free in private pools counts as allocated, and other requests cannot use "
                               "it. CUDA graphs may share a pool, torch.cuda.graph(g, pool=...), if they are always "
                               "replayed in the order of their capture.");
}

/* What the release that wrote the text lacks, or has on already. */
static void print_release(FILE *out, const struct oom_text *t, const struct oom_answer *a)
{
    char b[UNITS_TEXT];
    struct words w = { .n = 0 };
    const bool is_in_pieces = a->verdict == VERDICT_FRAGMENTED || a->verdict == VERDICT_FULL_OR_FRAGMENTED;
    if (t->is_early && is_in_pieces)
        text_print_screen(out, "- This text is of PyTorch 2.0 or older, which has no expandable_segments. In 2.1 or "
                               "newer, expandable_segments:True is the setting to try first.");
    if (t->expandable_reserve != OOM_TEXT_UNKNOWN)
        words_add(&w, "- The request exceeds the reserve of expandable segments, %s. Raise "
                      "expandable_segments_reserve, or leave it out.", units_format_bytes(t->expandable_reserve, b));
    else if (t->is_expandable)
        words_add(&w, "- expandable_segments is on already.");
    if (w.n > 0)
        words_print_screen(out, &w);
}

static void print_next(FILE *out, const struct oom_answer *a)
{
    struct words w = { .n = 0 };
    words_add(&w, "- This is all that the error's text tells%s. A recording tells ",
              a->setting != NULL ? ", so the setting is worth a try, not certain" : "");
    if (a->verdict == VERDICT_FRAGMENTED || a->verdict == VERDICT_FULL_OR_FRAGMENTED)
        words_add(&w, "which setting cures it, and ");
    words_add(&w, "whose lines hold the memory: replay record --torch -o trace.zst -- python YOUR_PROGRAM, then replay "
                  "why.");
    words_print_screen(out, &w);
}

void oom_answer_print(FILE *out, const struct oom_text *t)
{
    const struct oom_answer a = oom_answer_of(t);
    struct words first = { .n = 0 };
    add_verdict(&first, t, &a);
    words_print_screen(out, &first);
    if (a.setting != NULL) {
        fprintf(out, "\n  ");
        text_put_export(out, t->variable, a.setting);
        fputc('\n', out);
    }
    fputc('\n', out);
    print_why_so(out, t, &a);
    print_release(out, t, &a);
    print_which(out, t);
    print_held(out, t);
    print_next(out, &a);
}

void oom_answer_json(struct json_writer *j, const struct oom_text *t)
{
    const struct oom_answer a = oom_answer_of(t);
    json_put_text(j, "verdict", why_word(a.verdict));
    json_put_object(j, "text");
    json_put_number(j, "errors", t->n_errors);
    json_put_number(j, "line", t->line);
    json_put_number_if(j, "rank", t->rank >= 0, (uint64_t)t->rank);
    json_put_number(j, "gpu", t->gpu);
    json_put_number(j, "asked_bytes", t->asked);
    json_put_number(j, "least_asked_bytes", a.least_asked);
    json_put_number(j, "card_bytes", t->total);
    json_put_number(j, "free_bytes", t->free);
    json_put_number_unless(j, "allowed_bytes", t->allowed, OOM_TEXT_UNKNOWN);
    json_put_number(j, "allocated_bytes", t->allocated);
    json_put_number(j, "reserved_bytes", t->reserved);
    json_put_number_unless(j, "private_pools_bytes", t->private_pools, OOM_TEXT_UNKNOWN);
    json_put_number_unless(j, "outside_bytes", oom_text_outside(t), OOM_TEXT_UNKNOWN);
    json_put_number(j, "other_processes_bytes", t->others);
    json_put_text(j, "setting", a.setting);
    json_end_object(j);
}
