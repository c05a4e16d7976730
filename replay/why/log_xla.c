/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/log_xla.h"

#include "base/shown.h"
#include "base/units.h"
#include "replay/why/log_letters.h"
#include "report/text/text.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { REACH = 1 << 16, LINES = 2000 };      /* a list lies so near to its error, and is no longer */
enum { MAP_LETTERS = 100, MAP_FREE_PERCENT = 50 };       /* BFC's map is so wide; with less in use it is mostly free */

/* A program that takes less is not what fills a card. */
#define LITTLE_BYTES GIB

#define UNKNOWN UINT64_MAX

struct part {
    const char *at, *end;
};

/* ---- one line ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The next line from *at on, without blanks at its begin. False: there is none. */
static bool take_line(const char **at, const char *end, struct part *out)
{
    if (*at >= end)
        return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    out->at = *at;
    out->end = stop == NULL ? end : stop;
    *at = stop == NULL ? end : stop + 1;
    while (out->at < out->end && is_blank(*out->at))
        out->at++;
    return true;
}

static const char *find(const struct part *p, const char *words)
{
    const size_t n = strlen(words);
    for (const char *at = p->at; at + n <= p->end; at++)
        if (memcmp(at, words, n) == 0)
            return at;
    return NULL;
}

/* "6.25GiB", "21.95G", "84.0K" or "0B" at the begin of [at, end). */
static uint64_t read_size(const char *at, const char *end)
{
    static const char letters[] = "BKMGT";
    char digits[24], *stop;
    while (at < end && is_blank(*at))
        at++;
    const size_t n = (size_t)(end - at) < sizeof digits - 1 ? (size_t)(end - at) : sizeof digits - 1;
    memcpy(digits, at, n);
    digits[n] = '\0';
    const double number = strtod(digits, &stop);
    const char *unit = *stop == '\0' ? NULL : strchr(letters, *stop);
    if (stop == digits || unit == NULL || !isdigit((unsigned char)digits[0]))
        return UNKNOWN;
    double bytes = number;
    for (const char *u = letters; u < unit; u++)
        bytes *= 1024;
    return bytes < 1e18 ? (uint64_t)bytes : UNKNOWN;
}

/* The size right after the words, if the line has them. */
static void take_size(const struct part *line, const char *words, uint64_t *out)
{
    const char *at = find(line, words);
    const uint64_t bytes = at == NULL ? UNKNOWN : read_size(at + strlen(words), line->end);
    if (bytes != UNKNOWN)
        *out = bytes;
}

/* The same, if the line begins with them. */
static void take_first(const struct part *line, const char *words, uint64_t *out)
{
    if (find(line, words) == line->at)
        take_size(line, words, out);
}

/* ---- a buffer ---- */

/* What stands between the words and the next `stop`. */
static struct part part_after(const struct part *line, const char *words, char stop)
{
    const char *at = find(line, words);
    if (at == NULL)
        return (struct part){ line->end, line->end };
    at += strlen(words);
    const char *end = memchr(at, stop, (size_t)(line->end - at));
    return (struct part){ at, end == NULL ? line->end : end };
}

static void copy(const struct part *p, char out[LOG_XLA_NAME])
{
    const ptrdiff_t n = p->end - p->at;
    snprintf(out, LOG_XLA_NAME, "%.*s", (int)(n < LOG_XLA_NAME ? n : LOG_XLA_NAME - 1), p->at);
    shown_clean(out, false);
}

/* "jit(step)/jit(main)/jvp(Lm)/attention/dot_general[dimension...]": the end tells most, and is cut at a '/'. */
static void read_operation(const struct part *line, struct log_xla_buffer *b)
{
    enum { LONG = 48 };
    struct part name = part_after(line, "op_name=\"", '"');
    const char *detail = memchr(name.at, '[', (size_t)(name.end - name.at));
    name.end = detail == NULL ? name.end : detail;
    for (const char *at = name.at; at < name.end && name.end - name.at > LONG; at++)
        if (*at == '/')
            name.at = at + 1;
    copy(&name, b->operation);
}

/* source_file="/home/user/lm/model.py" source_line=88 */
static void read_line(const struct part *line, struct log_xla_buffer *b)
{
    struct part file = part_after(line, "source_file=\"", '"');
    const struct part number = part_after(line, "source_line=", ' ');
    char name[LOG_XLA_NAME], digits[LOG_XLA_NAME];
    for (const char *at = file.at; at < file.end; at++)
        if (*at == '/' || *at == '\\')
            file.at = at + 1;
    copy(&file, name);
    copy(&number, digits);
    if (name[0] != '\0' && isdigit((unsigned char)digits[0]))
        snprintf(b->line, sizeof b->line, "%.58s:%.*s", name, (int)strspn(digits, "0123456789"), digits);
}

static void read_shape(const struct part *line, const char *words, struct log_xla_buffer *b)
{
    struct part shape = part_after(line, words, '{');
    while (shape.at < shape.end && is_blank(*shape.at))
        shape.at++;
    copy(&shape, b->shape);
    b->shape[strcspn(b->shape, " \r")] = '\0';
}

/* A line of a buffer's own, after the one with its size. */
static void take_detail(const struct part *line, struct log_xla_buffer *b)
{
    if (find(line, "Operator:") == line->at) {
        read_operation(line, b);
        read_line(line, b);
    } else if (find(line, "Entry Parameter Subshape:") == line->at) {
        b->is_argument = true;
        read_shape(line, "Subshape:", b);
    } else if (find(line, "Shape:") == line->at) {
        read_shape(line, "Shape:", b);
    }
}

/* ---- a list ---- */

static void take_total(const struct part *line, struct log_xla *x)
{
    take_first(line, "parameter allocation:", &x->arguments);
    take_first(line, "maybe_live_out allocation:", &x->results);
    take_first(line, "preallocated temp allocation:", &x->temporaries);
    take_first(line, "total allocation:", &x->total);
    take_first(line, "Total hbm usage >=", &x->total);
    take_first(line, "arguments ", &x->arguments);
    take_first(line, "HLO temp ", &x->temporaries);
}

/* "Output size 38.33G; shares 8.00G with arguments.": what they share is counted once. */
static void take_output(const struct part *line, struct log_xla *x)
{
    uint64_t output = UNKNOWN, shared = 0;
    take_first(line, "Output size ", &output);
    take_size(line, "; shares ", &shared);
    if (output != UNKNOWN)
        x->results = output > shared ? output - shared : 0;
}

/* "1. Size: 14.00G" and "Size: 8.00GiB" begin a buffer. */
static bool begins_buffer(const struct part *line, uint64_t *bytes)
{
    const char *size = find(line, "Size: ");
    const bool is_first = size == line->at || (size != NULL && size - line->at < 6 &&
                                               isdigit((unsigned char)*line->at));
    *bytes = UNKNOWN;
    if (is_first)
        take_size(line, "Size: ", bytes);
    return *bytes != UNKNOWN;
}

static void read_list(struct part text, struct log_xla *x)
{
    const char *at = text.at;
    struct part line;
    uint64_t bytes;
    for (int i = 0; i < LINES && take_line(&at, text.end, &line); i++) {
        take_total(&line, x);
        take_output(&line, x);
        if (begins_buffer(&line, &bytes)) {
            if (x->n == LOG_XLA_BUFFERS)
                return;
            x->at[x->n++] = (struct log_xla_buffer){ .bytes = bytes };
        } else if (x->n > 0) {
            take_detail(&line, &x->at[x->n - 1]);
        }
    }
}

/* Where the list nearest to `at` begins; NULL: there is none. */
static const char *find_list(const struct part *text, const char *at)
{
    static const char *const heads[] = { "BufferAssignment stats:", "Total hbm usage >=" };
    const char *nearest = NULL;
    size_t away = SIZE_MAX;
    for (size_t k = 0; k < sizeof heads / sizeof heads[0]; k++)
        for (struct part rest = *text; (rest.at = find(&rest, heads[k])) != NULL; rest.at++) {
            const size_t from_here = (size_t)(rest.at < at ? at - rest.at : rest.at - at);
            if (from_here < away) {
                away = from_here;
                nearest = rest.at;
            }
        }
    return nearest;
}

/* What the error's own line says, in letters of XLA's. */
static void read_own(const char *text, size_t n, size_t at, struct log_xla *x)
{
    const char *begin = text + letters_line_begin(text, at), *end = text + n;
    const char *stop = memchr(text + at, '\n', n - at);
    const struct part line = { begin, stop == NULL ? end : stop };
    take_size(&line, "Attempting to allocate ", &x->asked);
    take_size(&line, "Attempting to reserve ", &x->asked);
    take_size(&line, "There are ", &x->free);
    take_size(&line, "hbm. Used ", &x->used);
    const struct part used = part_after(&line, "hbm. Used ", '\n');
    take_size(&used, " of ", &x->capacity);
}

/* BFC's map of its memory, at the end of a line: an asterisk is in use, an underscore is free. The last one before the
 * error counts. */
static void read_map(const struct part *near, const char *error, struct log_xla *x)
{
    const char *line = near->at;
    for (const char *at; line < error && (at = memchr(line, '\n', (size_t)(near->end - line))) != NULL; line = at + 1) {
        const char *end = at;
        int n = 0, used = 0;
        while (end > line && (end[-1] == '\r' || end[-1] == ' '))
            end--;
        for (; n < MAP_LETTERS && end - n > line && (end[-n - 1] == '*' || end[-n - 1] == '_'); n++)
            used += end[-n - 1] == '*';
        if (n < MAP_LETTERS)
            continue;
        x->has_map = true;
        x->map_percent = used * 100 / MAP_LETTERS;
    }
}

void log_xla_read(const char *text, size_t n, size_t at, struct log_xla *out)
{
    const size_t from = at > REACH ? at - REACH : 0, to = n - at > REACH ? at + REACH : n;
    const struct part near = { text + from, text + to };
    *out = (struct log_xla){ .asked = UNKNOWN, .free = UNKNOWN, .used = UNKNOWN, .capacity = UNKNOWN,
                             .arguments = UNKNOWN, .results = UNKNOWN, .temporaries = UNKNOWN, .total = UNKNOWN };
    read_own(text, n, at, out);
    read_map(&near, text + at, out);
    const char *list = find_list(&near, text + at);
    out->is_found = list != NULL;
    if (list != NULL)
        read_list((struct part){ list, text + to }, out);
}

/* ---- in words ---- */

static void add_part(struct words *w, uint64_t bytes, const char *what, bool *has_any)
{
    char b[UNITS_TEXT];
    if (bytes == UNKNOWN)
        return;
    words_add(w, "%s%s of %s", *has_any ? ", " : ": ", units_format_bytes(bytes, b), what);
    *has_any = true;
}

static void print_total(FILE *out, const struct log_xla *x)
{
    struct words w = { .n = 0 };
    char b[UNITS_TEXT];
    bool has_any = false;
    if (x->total == UNKNOWN)
        return;
    words_add(&w, "- The program that XLA compiled takes %s", units_format_bytes(x->total, b));
    add_part(&w, x->arguments, "arguments", &has_any);
    add_part(&w, x->results, "results", &has_any);
    add_part(&w, x->temporaries, "temporaries", &has_any);
    words_add(&w, ".");
    words_print_screen(out, &w);
}

static void add_buffer(struct words *w, const struct log_xla_buffer *b)
{
    char bytes[UNITS_TEXT];
    words_add(w, " %s", units_format_bytes(b->bytes, bytes));
    if (b->is_argument)
        words_add(w, ", an argument");
    else if (b->operation[0] != '\0')
        words_add(w, " for %s", b->operation);
    if (b->line[0] != '\0')
        words_add(w, " (%s)", b->line);
    if (b->shape[0] != '\0')
        words_add(w, ", %s", b->shape);
}

static void print_buffers(FILE *out, const struct log_xla *x)
{
    struct words w = { .n = 0 };
    if (x->n == 0)
        return;
    words_add(&w, "- Its largest buffers:");
    for (size_t i = 0; i < x->n; i++) {
        add_buffer(&w, &x->at[i]);
        words_add(&w, "%s", i + 1 < x->n ? ";" : ".");
    }
    words_print_screen(out, &w);
}

/* The lever for the larger part. What is kept for both sides of a step is arguments and results. */
static void print_lever(FILE *out, const struct log_xla *x)
{
    const uint64_t kept = (x->arguments == UNKNOWN ? 0 : x->arguments) + (x->results == UNKNOWN ? 0 : x->results);
    if (x->temporaries == UNKNOWN || x->total == UNKNOWN)
        return;
    if (x->total < LITTLE_BYTES && x->capacity == UNKNOWN)
        text_print_screen(out, "- That is little of any card, so other arrays or another process hold the rest, and "
                               "this function is not what to change. jax.live_arrays() lists the first, nvidia-smi "
                               "the second.");
    else if (x->temporaries > kept)
        text_print_screen(out, "- Temporaries are the larger part: recompute (jax.checkpoint), cut the batch, or shard "
                               "the largest of them. Donating arguments changes less.");
    else
        text_print_screen(out, "- Arguments and results are the larger part: donate what a step replaces "
                               "(donate_argnums), shard them, or take a smaller type. Recomputing changes less.");
}

static void print_map(FILE *out, const struct log_xla *x)
{
    struct words w = { .n = 0 };
    if (!x->has_map)
        return;
    words_add(&w, "- By its map in the log the allocator had %d%% of its memory in use.", x->map_percent);
    if (x->map_percent < MAP_FREE_PERCENT)
        words_add(&w, " So it is not what is live that fills it: the request is larger than its largest free part. Ask "
                      "for less at once, or give the allocator more of the card.");
    words_print_screen(out, &w);
}

void log_xla_print(FILE *out, const struct log_xla *x)
{
    print_map(out, x);
    if (!x->is_found)
        return;
    print_total(out, x);
    print_buffers(out, x);
    print_lever(out, x);
}
