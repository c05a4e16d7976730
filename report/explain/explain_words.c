/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* An explanation for a person: an account, line by line, then sentences. */
#include "base/terminal.h"
#include "base/units.h"
#include "report/explain/explain_report.h"
#include "report/text/text.h"

#include <inttypes.h>
#include <string.h>

enum { BLOCKS_SHOWN = 8, FRAMES_SHOWN = 3, GROUPS_SHOWN = 12 };

/* "  469,762,048  448.00 MiB  what" */
static void print_row(FILE *out, const char *sign, uint64_t bytes, const char *what)
{
    char n[TEXT_NUMBER], b[UNITS_TEXT];
    struct words w = { .n = 0 };
    words_add(&w, "%s", what);
    const int column = fprintf(out, "  %s%18s  %12s  ", sign, text_count(bytes, n), units_format_bytes(bytes, b));
    words_print_within(out, &w, terminal_columns(out), column > 0 ? (size_t)column : 0,
                       column > 0 ? (size_t)column : 0);
}

static void print_part(FILE *out, uint64_t bytes, const char *what)
{
    if (bytes > 0)
        print_row(out, " ", bytes, what);
}

/* Reserved memory, then what else is on the card. */
static void print_account(FILE *out, const struct explanation *x)
{
#define EXPLAIN_PART(name, meaning) print_part(out, x->parts.name, meaning);
    EXPLAIN_PARTS(EXPLAIN_PART)
#undef EXPLAIN_PART
    print_row(out, "=", x->reserved_bytes, "reserved");
    if (x->total_bytes == DEVICE_UNLIMITED)
        return;
    print_part(out, x->context_bytes, "context of this process");
    print_part(out, x->others_bytes, "other processes");
    if (x->page_rounding_bytes > 0)
        print_row(out, " ", (uint64_t)x->page_rounding_bytes, "rounding up to pages of the driver");
    else if (x->page_rounding_bytes < 0)
        print_row(out, "-", 0 - (uint64_t)x->page_rounding_bytes, "reserved twice: small segments share pages");
    print_row(out, " ", x->free_bytes, "free on the device");
    print_row(out, "=", x->total_bytes, "the card");
}

static void print_free(FILE *out, const struct explanation *x)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], n[TEXT_NUMBER];
    for (size_t i = 0; i < x->n_free && i < GROUPS_SHOWN; i++) {
        const struct explain_free *f = &x->free[i];
        struct words w = { .n = 0 };
        words_add(&w, "- %s free in %s %s, the largest %s: %s, pool %u, stream %u%s", units_format_bytes(f->bytes, a),
                  text_count(f->n, n), f->n == 1 ? "block" : "blocks", units_format_bytes(f->largest_bytes, b),
                  f->is_whole ? "whole segments" : "segments in use", f->pool, f->stream,
                  f->is_small ? ", small requests" : "");
        if (f->page_bytes > 0)
            words_add(&w, "; %s of it in whole pages, which can be given back", units_format_bytes(f->page_bytes, a));
        const char *reason = explain_why_kept(x, f);
        words_add(&w, "%s%s.", reason != NULL ? "; " : "", reason != NULL ? reason : "");
        words_print(out, &w, 0, 4);
    }
}

static void print_holes(FILE *out, const struct explanation *x)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], n[TEXT_NUMBER];
    struct words w = { .n = 0 };
    if (x->n_holes == 0)
        return;
    words_add(&w, "Free parts that cannot be given back:");
    for (size_t i = 0; i < x->n_holes; i++)
        words_add(&w, "%s %s %s of %s next to a live block of %s%s", i == 0 ? "" : ",", text_count(x->holes[i].n, n),
                  x->holes[i].n == 1 ? "hole" : "holes", units_format_bytes(x->holes[i].bytes, a),
                  units_format_bytes(x->holes[i].pin_bytes, b), x->holes[i].n == 1 ? "" : " each");
    if (x->n_other_holes > 0)
        words_add(&w, ", and %s other%s", text_count(x->n_other_holes, n), x->n_other_holes == 1 ? "" : "s");
    words_add(&w, ".");
    words_print(out, &w, 0, 2);
}

static void print_block(FILE *out, const struct explain_block *b, const struct explain_names *names)
{
    char a[UNITS_TEXT], t[TEXT_NUMBER];
    struct words w = { .n = 0 };
    words_add(&w, "- %s", units_format_bytes(b->requested, a));
    if (!b->is_known)
        words_add(&w, ", of no request that the trace names");
    else if (b->event < 0)
        words_add(&w, ", live since before the recording");
    else
        words_add(&w, ", asked for at %s %" PRId64 ", %s before", names->event_word, b->event,
                  text_time(b->age_ns, t));
    words_add(&w, ", stream %u, pool %u%s", b->stream, b->pool, b->is_pending ? ", its free pending" : "");
    const char *const *frames = NULL;
    const size_t n = names->stack != NULL && b->stack != 0 ? names->stack(names->arg, b->stack, &frames) : 0;
    const size_t first = n > 0 && names->own != NULL ? names->own(frames, n) : 0;
    if (n > 0 && first == n)
        words_add(&w, "; from no line of the program");
    for (size_t i = first; i < n && i < first + FRAMES_SHOWN; i++)
        words_add(&w, "%s%.200s", i == first ? "; from " : " < ", frames[i]);
    words_print(out, &w, 0, 4);
}

static void print_set(FILE *out, const struct explanation *x, const struct explain_names *names)
{
    char a[UNITS_TEXT], n[TEXT_NUMBER];
    struct words w = { .n = 0 };
    if (x->way == EXPLAIN_NO_WAY && x->is_refusal && x->has_walk)
        fprintf(out, "No set of live blocks was found that would make it fit if it ended.\n");
    if (x->way == EXPLAIN_NO_WAY)
        return;
    words_add(&w, "It would fit if %s ended (the smallest set found), because ",
              x->n_blocks == 1 ? "this block" : "these blocks");
    if (x->way == EXPLAIN_MERGE)
        words_add(&w, "with its free neighbours that makes one block of %s:", units_format_bytes(x->gained_bytes, a));
    else
        words_add(&w, "%s memory could then be given back, and the device would have %s free:",
                  x->n_blocks == 1 ? "its" : "their", units_format_bytes(x->gained_bytes, a));
    words_print(out, &w, 0, 2);
    for (size_t i = 0; i < x->n_blocks && i < BLOCKS_SHOWN; i++)
        print_block(out, &x->blocks[i], names);
    if (x->n_blocks > BLOCKS_SHOWN)
        fprintf(out, "- and %s more\n", text_count(x->n_blocks - BLOCKS_SHOWN, n));
}

/* What would have served this request: more memory, or another stream. Settings are the job of `replay tune`. */
static void print_help(FILE *out, const struct explanation *x)
{
    char a[UNITS_TEXT];
    struct words w = { .n = 0 };
    const struct explain_free *other = explain_other_stream(x);
    const uint64_t missing = explain_missing_bytes(x);
    if (!x->is_refusal)
        return;
    if (missing > 0 && missing < UINT64_MAX - MIB - x->total_bytes)
        words_add(&w, "With this setting the request needs at least %s more on the card, %" PRIu64 " MiB in all.",
                  units_format_bytes(missing, a), (x->total_bytes + missing + MIB - 1) / MIB);
    else
        words_add(&w, "The device had room for it: a limit of the process itself refused it.");
    if (other != NULL)
        words_add(&w, " Stream %u holds a free block of %s: on that stream the request finds room.", other->stream,
                  units_format_bytes(other->largest_bytes, a));
    words_add(&w, " What comes after it may need more: `replay fit` finds the smallest card, `replay tune` a setting.");
    words_print(out, &w, 0, 2);
}

static void print_request(FILE *out, const struct explanation *x)
{
    char a[UNITS_TEXT], b[UNITS_TEXT], c[UNITS_TEXT], d[UNITS_TEXT];
    struct words w = { .n = 0 };
    if (!x->has_request)
        return;
    words_add(&w, "The request: %s, which takes a free block of %s of stream %u, pool %u (the largest is %s), or %s%s "
                  "of the device.",
              units_format_bytes(x->requested_bytes, a), units_format_bytes(x->block_bytes, b), x->stream, x->pool,
              units_format_bytes(x->largest_usable_bytes, c), x->is_refusal ? "" : "at least ",
              units_format_bytes(x->segment_bytes, d));
    words_print(out, &w, 0, 2);
}

void explain_words(FILE *out, const struct explanation *x, const char *policy, const struct explain_names *names)
{
    struct words w = { .n = 0 };
    if (!x->is_taken)
        return;
    words_add(&w, x->is_refusal ? "Why %s ran out of memory " : "Where the memory of %s is ", policy);
    if (x->is_end)
        words_add(&w, "at the end:");
    else if (x->event < 0)
        words_add(&w, "before the first event:");
    else
        words_add(&w, x->is_refusal ? "at %s %" PRId64 ":" : "before %s %" PRId64 ":", names->event_word,
                  x->place);
    fprintf(out, "\n");
    words_print(out, &w, 0, 2);
    if (!x->has_walk)
        text_put_line(out, "This policy does not show its blocks, so its memory cannot be told apart.", 2);
    print_account(out, x);
    print_free(out, x);
    print_holes(out, x);
    print_request(out, x);
    print_set(out, x, names);
    print_help(out, x);
}
