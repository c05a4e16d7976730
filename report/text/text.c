/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Formats numbers, times and sizes; builds and breaks paragraphs. */
#include "report/text/text.h"

#include "base/terminal.h"
#include "base/units.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

const char *text_count(uint64_t n, char buf[TEXT_NUMBER])
{
    char digits[24];
    const int len = snprintf(digits, sizeof digits, "%" PRIu64, n);
    char *at = buf;
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
    return buf;
}

const char *text_time(uint64_t ns, char buf[TEXT_NUMBER])
{
    if (ns >= 1000000000)
        snprintf(buf, TEXT_NUMBER, "%.2f s", (double)ns / 1e9);
    else if (ns >= 1000000)
        snprintf(buf, TEXT_NUMBER, "%.1f ms", (double)ns / 1e6);
    else
        snprintf(buf, TEXT_NUMBER, "%.0f us", (double)ns / 1e3);
    return buf;
}

const char *text_event(const char *word, int64_t number, char buf[TEXT_NUMBER])
{
    if (number < 0)
        snprintf(buf, TEXT_NUMBER, "the start");
    else
        snprintf(buf, TEXT_NUMBER, "%s %" PRId64, word, number);
    return buf;
}

/* Sizes below these are told in MiB; beside one that is told in GiB, in that unit as far as two digits tell it. */
static const uint64_t gib_from = UINT64_C(16) << 30, gib_beside_from = UINT64_C(100) << 20;

const char *text_mib(uint64_t bytes, char buf[TEXT_NUMBER])
{
    const double mib = (double)bytes / (1 << 20);
    if (bytes >= gib_from)
        snprintf(buf, TEXT_NUMBER, "%.2f GiB", mib / 1024);
    else if (bytes > 0 && bytes < UINT64_C(1) << 10)
        snprintf(buf, TEXT_NUMBER, "%" PRIu64 " B", bytes);
    else if (bytes > 0 && bytes < UINT64_C(1) << 20)
        snprintf(buf, TEXT_NUMBER, "%.1f KiB", mib * 1024);
    else if (bytes % (UINT64_C(1) << 20) == 0)
        snprintf(buf, TEXT_NUMBER, "%.0f MiB", mib);
    else
        snprintf(buf, TEXT_NUMBER, "%.2f MiB", mib);
    return buf;
}

static bool is_told_in_gib(uint64_t bytes, uint64_t other)
{
    return bytes >= gib_from || (other >= gib_from && bytes >= gib_beside_from);
}

const char *text_mib_beside(uint64_t bytes, uint64_t other, char buf[TEXT_NUMBER])
{
    if (!is_told_in_gib(bytes, other))
        return text_mib(bytes, buf);
    snprintf(buf, TEXT_NUMBER, "%.2f GiB", (double)bytes / (1 << 30));
    return buf;
}

const char *text_card_beside(uint64_t bytes, uint64_t other, char buf[TEXT_NUMBER])
{
    const uint64_t shown = is_told_in_gib(bytes, other) ? UINT64_C(1) << 30 : UINT64_C(1) << 20;
    const uint64_t hundredths = bytes / shown * 100 + divide_up(bytes % shown * 100, shown);
    return text_mib_beside(divide_up(hundredths * shown, 100), other, buf);
}

const char *text_card(uint64_t bytes, char buf[TEXT_NUMBER])
{
    return text_card_beside(bytes, bytes, buf);
}

void words_add(struct words *w, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(w->text + w->n, sizeof w->text - w->n, fmt, args);
    va_end(args);
    if (n > 0)
        w->n = w->n + (size_t)n < sizeof w->text ? w->n + (size_t)n : sizeof w->text - 1;
}

void words_add_possible(struct words *w, uint64_t live, uint64_t served, uint64_t plan, const char *who,
                        uint64_t reserved)
{
    char a[TEXT_NUMBER], b[TEXT_NUMBER];
    assert(who == NULL || reserved >= live);
    words_add(w, "What is possible: live data alone%s peaks at %s, and no allocator needs less",
              live > served ? ", with what was refused when recorded," : "", text_mib(live, a));
    if (plan > 0 && (who == NULL || plan <= reserved))       /* addresses may be mapped anew, which no plan does */
        words_add(w, "; a plan that knows beforehand how long everything lives (an offline plan) needs %s",
                  text_mib(plan, a));
    if (who != NULL && reserved == live)
        words_add(w, "; %s reserves no more", who);
    else if (who != NULL)
        words_add(w, "; %s reserves %s, %s more than the live data", who, text_mib(reserved, a),
                  text_mib(reserved - live, b));
    words_add(w, ".");
}

void words_add_losses(struct words *w, const struct losses *l)
{
    char a[UNITS_TEXT];
    words_add(w, "At its peak it reserved %s", units_format_bytes(l->reserved, a));
    words_add(w, ": %s for requests", units_format_bytes(l->requested, a));
    words_add(w, ", %s for rounding (internal)", units_format_bytes(l->internal > 0 ? (uint64_t)l->internal : 0, a));
    words_add(w, " and %s that served no request (external)", units_format_bytes(l->external, a));
    if (l->inactive_split > 0) {
        words_add(w, "; %s of that lay beside live blocks in the same segments (split)",
                  units_format_bytes(l->inactive_split, a));
        words_add(w, l->has_ranges ? ": only whole pages of expandable segments could be given back"
                                   : " and could not be given back");
    }
    words_add(w, ".");
}

void text_put_word(FILE *out, const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_:,.=/-";
    if (text[0] != '\0' && text[strspn(text, plain)] == '\0') {
        fputs(text, out);
        return;
    }
    fputc('\'', out);
    for (; *text != '\0'; text++)
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fputc(*text, out);
    fputc('\'', out);
}

void text_put_file_word(FILE *out, const char *path)
{
    fputs(path[0] == '-' ? "./" : "", out);
    text_put_word(out, path);
}

void text_put_export(FILE *out, const char *variable, const char *value)
{
    fprintf(out, "export %s=", variable);
    text_put_word(out, value);
}

void text_lines_put(struct text_lines *l, const char *text, size_t n)
{
    for (size_t at = 0, end; at < n; at = end) {
        for (end = at; end < n && text[end] != ' ' && text[end] != '\n'; end++)
            ;
        if (l->has_word && l->column + 1 + (end - at) > l->columns) {
            fprintf(l->out, "\n%*s", (int)l->indent, "");
            l->column = l->indent;
            l->has_word = false;
        }
        if (l->has_word)
            fputc(' ', l->out);
        fwrite(text + at, 1, end - at, l->out);
        l->column += l->has_word + (end - at);
        l->has_word = true;
        while (end < n && (text[end] == ' ' || text[end] == '\n'))
            end++;
    }
}

void text_print_within(FILE *out, const char *text, size_t columns, size_t column, size_t indent)
{
    struct text_lines l = { .out = out, .columns = columns, .column = column, .indent = indent };
    text_lines_put(&l, text, strlen(text));
    fputc('\n', out);
}

void words_print_within(FILE *out, const struct words *w, size_t columns, size_t column, size_t indent)
{
    text_print_within(out, w->text, columns, column, indent);
}

void words_print(FILE *out, const struct words *w, size_t column, size_t indent)
{
    const size_t columns = terminal_columns(out);
    words_print_within(out, w, columns < TEXT_LINE ? columns : TEXT_LINE, column, indent);
}

void words_print_screen(FILE *out, const struct words *w)
{
    const size_t columns = terminal_screen_columns(out);
    words_print_within(out, w, columns < TERMINAL_USUAL ? columns : TERMINAL_USUAL, 0, 2);
}

void text_print_screen(FILE *out, const char *text)
{
    struct words w = { .n = 0 };
    words_add(&w, "%s", text);
    words_print_screen(out, &w);
}

void text_put_line(FILE *out, const char *text, size_t indent)
{
    struct words w = { .n = 0 };
    words_add(&w, "%s", text);
    words_print_within(out, &w, terminal_columns(out), 0, indent);
}
