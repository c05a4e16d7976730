/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The report as Markdown: as much as fits a comment on a pull request, best runs first. Sizes are in MiB; --csv has all
 * digits. Texts of traces and policies are set as code, so that none of them becomes markup or an image.
 */
#include "report/page/page.h"

#include "base/shown.h"
#include "base/units.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

enum { MD_ROWS = 40, MD_NOTES = 8 };

/* Bytes of the letter at the start of a text, or of what stands there instead of one. */
static size_t letter_length(const char *text)
{
    size_t left_out;
    const size_t n = shown_length(text, strnlen(text, SHOWN_LETTER_MAX), &left_out);
    return n > 0 ? n : left_out;
}

/* A letter that needs no escape; a space for one that may not be shown. */
static void put_letter(FILE *out, const char *text)
{
    size_t left_out;
    const size_t n = shown_length(text, strnlen(text, SHOWN_LETTER_MAX), &left_out);
    fwrite(n > 0 ? text : " ", 1, n > 0 ? n : 1, out);
}

/* text[0, n) in a code span; letters that would end the span, or the cell of a table around it, are replaced. An empty
 * span would be two backticks, which begin a longer one. */
static void put_span(FILE *out, const char *text, size_t n, bool is_cell)
{
    const char *end = text + n;
    if (n == 0) {
        fputc('-', out);
        return;
    }
    fputc('`', out);
    for (; text < end; text += letter_length(text))
        if (*text == '`')
            fputc('\'', out);
        else if (*text == '|' && is_cell)
            fputs("\\|", out);
        else
            put_letter(out, text);
    fputc('`', out);
}

static void put_code(FILE *out, const char *text)
{
    put_span(out, text, strlen(text), true);
}

static bool holds(const char *word, size_t n, const char *part)
{
    const size_t n_part = strlen(part);
    for (size_t i = 0; i + n_part <= n; i++)
        if (strncasecmp(word + i, part, n_part) == 0)
            return true;
    return false;
}

/* Whether GitHub makes a link, a mention or a reference of a word, as it is or escaped: only a code span hinders it. */
static bool is_link(const char *word, size_t n)
{
    return holds(word, n, "://") || holds(word, n, "www.") || holds(word, n, "@") || holds(word, n, "#");
}

/* A letter outside of a code span: escaped if it means something to Markdown or HTML. */
static void put_escaped(FILE *out, const char *text)
{
    if (*text == '<')
        fputs("&lt;", out);
    else if (*text == '&')
        fputs("&amp;", out);
    else if (strchr("\\`*_[]!|~>", *text) != NULL)
        fprintf(out, "\\%c", *text);
    else
        put_letter(out, text);
}

/* The beginning of a text, where blanks would make code, and "- ", "+ ", "=" or "1." a list or a title. Returns what
 * follows. */
static const char *put_beginning(FILE *out, const char *text)
{
    size_t left_out;
    while (*text != '\0' && (*text == ' ' || shown_length(text, strnlen(text, SHOWN_LETTER_MAX), &left_out) == 0))
        text += letter_length(text);
    const size_t digits = strspn(text, "0123456789");
    if (text[digits] == '\0' || strchr(digits > 0 ? ".)" : "-+=", text[digits]) == NULL)
        return text;
    fprintf(out, "%.*s\\%c", (int)digits, text, text[digits]);
    return text + digits + 1;
}

/* Text in a paragraph: nothing in it means anything to Markdown or HTML. */
static void put_plain(FILE *out, const char *text)
{
    for (text = put_beginning(out, text); *text != '\0';) {
        const size_t n = strcspn(text, " \t\n");
        const char *end = text + (n > 0 ? n : 1);
        if (is_link(text, n))
            put_span(out, text, n, false);
        else
            for (const char *letter = text; letter < end; letter += letter_length(letter))
                put_escaped(out, letter);
        text = end;
    }
}

static void put_mib(FILE *out, int64_t bytes)
{
    fprintf(out, " %.1f |", (double)bytes / (double)MIB);
}

static void put_run(FILE *out, const struct verdict *v, size_t row)
{
    const struct run_table *t = v->table;
    const char *outcome = run_table_text(t, row, "outcome");
    char n[TEXT_NUMBER], time[TEXT_NUMBER];
    fputs("| ", out);
    put_code(out, v->settings[v->setting_of[row]].label);
    fputs(" |", out);
    put_mib(out, run_table_number(t, row, "peak_requested_bytes"));
    put_mib(out, run_table_number(t, row, "peak_reserved_bytes"));
    put_mib(out, run_table_number(t, row, "fragmentation_internal_bytes"));
    put_mib(out, run_table_number(t, row, "fragmentation_external_bytes"));
    put_mib(out, run_table_number(t, row, "fragmentation_inactive_split_bytes"));
    fprintf(out, " %s | %s |", text_count((uint64_t)run_table_number(t, row, "device_calls"), n),
            text_time((uint64_t)run_table_number(t, row, "device_time_ns"), time));
    if (strcmp(outcome, "oom") == 0 || run_table_number(t, row, "oom_count") > 0)
        fprintf(out, " %s, first at %" PRId64 " |\n", text_count((uint64_t)run_table_number(t, row, "oom_count"), n),
                run_table_number(t, row, "oom_first_event"));
    else
        fprintf(out, " %s |\n", verdict_is_ok(t, row) ? "0" : "failed");
}

static void put_runs(FILE *out, const struct verdict *v)
{
    fputs("| setting | requested, peak (MiB) | reserved, peak (MiB) | lost to rounding (MiB) "
          "| reserved, not allocated (MiB) | of it inactive split (MiB) | driver calls | driver time | OOMs |\n"
          "|---|--:|--:|--:|--:|--:|--:|--:|--:|\n", out);
    for (size_t i = 0; i < v->table->n_rows && i < MD_ROWS; i++)
        put_run(out, v, v->rows_best_first[i]);
}

static void put_settings(FILE *out, const struct verdict *v)
{
    fputs("| setting | runs | got through | out of memory | card / requested, mean | worst | driver calls "
          "| driver time |\n|---|--:|--:|--:|--:|--:|--:|--:|\n", out);
    for (size_t i = 0; i < v->n_settings && i < MD_ROWS; i++) {
        const struct verdict_setting *s = &v->settings[v->settings_best_first[i]];
        char n[TEXT_NUMBER], time[TEXT_NUMBER];
        fputs("| ", out);
        put_code(out, s->label);
        fprintf(out, " | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | ", s->n_runs, s->n_ok, s->n_oom);
        if (s->n_ok > 0)
            fprintf(out, "%.3f | %.3f | ", s->mean_share, s->worst_share);
        else
            fputs("- | - | ", out);
        fprintf(out, "%s | %s |\n", text_count(s->calls, n), text_time(s->time_ns, time));
    }
}

/* Nothing if no changed copies were run. */
static void put_copies(FILE *out, const struct copy_summary *s)
{
    if (s == NULL || s->n == 0)
        return;
    fputs("\n| on changed copies | trace | copies | got through | reserved, peak: least (MiB) | lower quartile "
          "| median | upper quartile | most |\n|---|---|--:|--:|--:|--:|--:|--:|--:|\n", out);
    for (size_t i = 0; i < s->n && i < MD_ROWS; i++) {
        const struct copy_group *g = &s->groups[i];
        fputs("| ", out);
        put_code(out, run_table_text(&s->runs, g->row, "policy"));
        fputs(" | ", out);
        put_code(out, run_table_text(&s->runs, g->row, "trace_path"));
        fprintf(out, " | %" PRIu64 " | %" PRIu64 " |", g->n, g->n_ok);
        for (size_t q = 0; q < QUANTILES; q++)
            if (g->n_ok > 0)
                put_mib(out, g->at[COPY_RESERVED][q]);
            else
                fputs(" - |", out);
        fputc('\n', out);
    }
    if (s->n > MD_ROWS)
        fprintf(out, "\n%zu more are left out here.\n", s->n - MD_ROWS);
}

static void put_traces(FILE *out, const struct verdict *v)
{
    const struct run_table *t = v->table;
    char a[UNITS_TEXT], n[TEXT_NUMBER], k[TEXT_NUMBER];
    if (v->n_cases > 1)
        fprintf(out, "Traces: %zu, cards: %zu, settings: %zu, runs: %s.\n", v->n_traces, v->n_devices, v->n_settings,
                text_count(t->n_rows, n));
    if (v->n_traces > 1)
        return;
    fputs("Trace ", out);
    put_code(out, run_table_text(t, 0, "trace_path"));
    fprintf(out, ": %s events, %s requests, at most %s requested at once",
            text_count((uint64_t)run_table_number(t, 0, "trace_events"), n),
            text_count((uint64_t)run_table_number(t, 0, "trace_allocs"), k),
            units_format_bytes((uint64_t)run_table_number(t, 0, "trace_peak_requested_bytes"), a));
    if (v->n_devices == 1) {
        fputs("; device ", out);
        put_code(out, run_table_text(t, 0, "device"));
    }
    fputs(".\n", out);
}

/* What is missing stands before the figures. */
static void put_notes(FILE *out, const struct page *p)
{
    for (size_t i = 0; i < p->n_notes && i < MD_NOTES; i++) {
        fputs("- ", out);
        put_plain(out, p->notes[i]);
        fputc('\n', out);
    }
    if (p->n_notes > MD_NOTES)
        fprintf(out, "- %zu more like these\n", p->n_notes - MD_NOTES);
    if (p->n_notes > 0)
        fputc('\n', out);
}

void page_write_markdown(FILE *out, const struct page *p)
{
    const struct verdict *v = p->verdict;
    const size_t n = v->n_cases > 1 ? v->n_settings : v->table->n_rows;
    struct words w;
    const char *bold = "**";         /* the first */
    for (size_t i = 0; verdict_sentence(v, i, &w); i++) {
        if (w.n == 0)
            continue;
        fputs(bold, out);
        put_plain(out, w.text);
        fprintf(out, "%s\n\n", bold);
        bold = "";
    }
    put_notes(out, p);
    put_traces(out, v);
    fputc('\n', out);
    if (v->n_cases > 1)
        put_settings(out, v);
    else
        put_runs(out, v);
    if (n > MD_ROWS)
        fprintf(out, "\n%zu more are left out here.\n", n - MD_ROWS);
    put_copies(out, p->copies);
    for (size_t i = 0; i < v->table->n_remarks && i < MD_NOTES; i++) {
        fputs(i == 0 ? "\n<details><summary>What the results rest on</summary>\n\n- " : "- ", out);
        fputs(v->table->remarks[i].is_warning ? "Warning: " : "", out);
        put_plain(out, v->table->remarks[i].text);
        fputc('\n', out);
    }
    if (v->table->n_remarks > 0)
        fputs("\n</details>\n", out);
}

void page_write_words(FILE *out, const struct page *p)
{
    struct words w;
    for (size_t i = 0; verdict_sentence(p->verdict, i, &w); i++)
        if (w.n > 0)
            words_print(out, &w, 0, 2);
    for (size_t i = 0; i < p->n_notes; i++)
        fprintf(out, "- %s\n", p->notes[i]);
}
