/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Writes the page: a template whose {{marks}} become embedded parts, sentences, or the data. */
#include "report/page/page.h"

#include "base/shown.h"
#include "report/page/page_json.h"
#include "report/page/page_parts.h"
#include "report/text/short_paths.h"

#include <string.h>

/* Escapes text, so that no text becomes markup, and cleans it (base/shown.h); ends of lines and tabs stay. */
static void put_text(FILE *out, const char *text, size_t n)
{
    size_t length, left_out;
    for (const char *end = text + n; text < end; text += length > 0 ? length : left_out) {
        length = shown_length(text, (size_t)(end - text), &left_out);
        switch (*text) {
        case '<':  fputs("&lt;", out); break;
        case '>':  fputs("&gt;", out); break;
        case '&':  fputs("&amp;", out); break;
        case '"':  fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        case '\n':
        case '\t': fputc(*text, out); break;
        default:   fwrite(length > 0 ? text : "?", 1, length > 0 ? length : 1, out);
        }
    }
}

/* The end of the first sentence, which by itself says it. */
static size_t first_sentence(const char *text, size_t n)
{
    for (size_t i = 0; i + 2 < n; i++)
        if (text[i] == '.' && text[i + 1] == ' ' && text[i + 2] >= 'A' && text[i + 2] <= 'Z')
            return i + 1;
    return n;
}

/* "Fragmented:", or all of a sentence without a colon: what stands largest. */
static size_t first_clause(const char *text, size_t n)
{
    const char *colon = strstr(text, ": ");
    return colon != NULL && (size_t)(colon - text) < n ? (size_t)(colon + 1 - text) : n;
}

/* The first sentence, of which one clause stands largest. */
static void put_first(FILE *out, const char *text, size_t n)
{
    const size_t clause = first_clause(text, n);
    put_text(out, text, clause);
    fputs("<span>", out);
    put_text(out, text + clause, n - clause);
    fputs("</span>", out);
}

/* The sentences at the head of a page: only the first of them is large. */
static void put_head(FILE *out, const char *kind, const char *text, size_t n)
{
    const size_t first = first_sentence(text, n);
    fprintf(out, "<p class=\"verdict%s\">", kind);
    put_first(out, text, first);
    fputs("<span class=\"rest\">", out);
    put_text(out, text + first, n - first);
    fputs("</span></p>\n", out);
}

static void put_verdict(FILE *out, const struct page *p)
{
    struct words w;
    bool is_head = p->answer.verdict == NULL;
    for (size_t i = 0; verdict_sentence(p->verdict, i, &w); i++) {
        const char *kind = i == VERDICT_WINNER ? " says-best" : "";
        if (w.n == 0)
            continue;
        short_paths(w.text, NULL, true);
        if (is_head) {
            put_head(out, kind, w.text, strlen(w.text));
        } else {
            fprintf(out, "<p class=\"lead%s\">", kind);
            put_text(out, w.text, strlen(w.text));
            fputs("</p>\n", out);
        }
        is_head = false;
    }
}

static void put_differences(FILE *out, const struct page_difference *d)
{
    for (const char *line = d->sentences, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        if (line == d->sentences) {
            put_head(out, "", line, (size_t)(end - line));
        } else {
            fputs("<p class=\"lead\">", out);
            put_text(out, line, (size_t)(end - line));
            fputs("</p>\n", out);
        }
    }
}

/* What stands between two backticks is to be typed. */
static void put_words(FILE *out, const char *text, size_t n)
{
    const char *const end = text + n, *open, *close;
    while ((open = memchr(text, '`', (size_t)(end - text))) != NULL &&
           (close = memchr(open + 1, '`', (size_t)(end - open - 1))) != NULL) {
        put_text(out, text, (size_t)(open - text));
        fputs("<code>", out);
        put_text(out, open + 1, (size_t)(close - open - 1));
        fputs("</code>", out);
        text = close + 1;
    }
    put_text(out, text, (size_t)(end - text));
}

static void put_sentence(FILE *out, const char *kind, const char *text, size_t n)
{
    fprintf(out, "<p class=\"%s\">", kind);
    put_words(out, text, n);
    fputs("</p>\n", out);
}

static void put_paragraph(FILE *out, const char *kind, const char *text)
{
    if (text != NULL)
        put_sentence(out, kind, text, strlen(text));
}

/* Items that begin with "- ", broken for a terminal: a line that begins with a space goes on with the one before. */
static void put_reasons(FILE *out, const char *text)
{
    fputs("<ul>", out);
    for (const char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        const char *from = line + strspn(line, " ");
        fputs(from > line ? " " : "\n<li>", out);
        if (strncmp(from, "- ", 2) == 0)
            from += 2;
        put_words(out, from, (size_t)(end - from));
    }
    fputs("\n</ul>\n", out);
}

/* The promise's first sentence stands below the setting; the others are folded. */
static void put_promise(FILE *out, const struct page_answer *a)
{
    const size_t n = a->promise == NULL ? 0 : first_sentence(a->promise, strlen(a->promise));
    if (n > 0 && a->promise[n] != '\0')
        put_paragraph(out, "told", a->promise + n + 1);
}

/* What an answer stands on is folded below its picture; without an answer the sentences are the head of the page. */
static void put_sentences(FILE *out, const struct page *p)
{
    const struct page_answer *a = &p->answer;
    if (p->difference != NULL) {
        put_differences(out, p->difference);
    } else if (a->verdict == NULL) {
        put_verdict(out, p);
    } else {
        fputs("<details id=\"prose\"><summary>Reasons, and how the settings compare</summary>\n", out);
        put_promise(out, a);
        put_paragraph(out, "told", a->range);
        put_paragraph(out, "told", a->card);
        if (a->reasons != NULL)
            put_reasons(out, a->reasons);
        put_paragraph(out, "told", a->replayed);
        if (a->is_uncured)
            put_paragraph(out, "told", "No setting cures it. As far as the recording goes, the settings compare so:");
        put_verdict(out, p);
        fputs("</details>\n", out);
    }
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* What a page about one recording is called: its file, without the folder of the machine. */
static void put_file(FILE *out, const struct page *p)
{
    const char *name = file_name(run_table_text(p->verdict->table, 0, "trace_path"));
    if (p->verdict->n_traces != 1) {
        fputs("GPU memory: what each allocator setting makes of it", out);
        return;
    }
    fputs("GPU memory of ", out);
    put_text(out, name, strlen(name));
}

/* What a tab or a list of files shows. */
static void put_title(FILE *out, const struct page *p)
{
    if (p->difference == NULL)
        put_file(out, p);
    for (int i = 0; i < 2 && p->difference != NULL; i++) {
        const char *name = file_name(p->difference->names[i]);
        fputs(i == 0 ? "" : " and ", out);
        put_text(out, name, strlen(name));
    }
}

/* Files by their names alone, if these differ; what is pointed at says in which folder below the shared one. */
static void put_heading(FILE *out, const struct page *p)
{
    static const char *const sides[] = { "What differs between A: ", " and B: " };
    if (p->difference == NULL)
        put_file(out, p);
    for (int i = 0; i < 2 && p->difference != NULL; i++) {
        const struct page_difference *d = p->difference;
        const char *full = d->names[i] + page_folder_of_names(d), *names[] = { file_name(d->names[0]),
                                                                             file_name(d->names[1]) };
        const char *name = strcmp(names[0], names[1]) == 0 ? full : names[i];
        fprintf(out, "%s<span title=\"", sides[i]);
        put_text(out, full, strlen(full));
        fputs("\">", out);
        put_text(out, name, strlen(name));
        fputs("</span>", out);
    }
}

static void put_figures(FILE *out, const struct page_answer *a)
{
    fputs("<dl class=\"key-figures\">", out);
    for (size_t i = 0; i < PAGE_FIGURES && a->figures[i].value != NULL; i++) {
        fprintf(out, "<div><dt>%s</dt><dd>", a->figures[i].name);
        put_text(out, a->figures[i].value, strlen(a->figures[i].value));
        fputs("</dd></div>", out);
    }
    fputs("</dl>\n", out);
}

/* A line for a shell, which may break after "=", ":" and "," where it is longer than the page is wide. */
static void put_shell_line(FILE *out, const char *text)
{
    for (size_t n; *text != '\0'; text += n) {
        n = strcspn(text, "=:,");
        n += text[n] != '\0';
        put_text(out, text, n);
        fputs(text[n] != '\0' ? "<wbr>" : "", out);
    }
}

/* The answer stands in the page itself, so that it is seen before any script has run. */
static void put_answer(FILE *out, const struct page *p)
{
    const struct page_answer *a = &p->answer;
    if (a->verdict == NULL)
        return;
    const size_t n = first_sentence(a->verdict, strlen(a->verdict));
    fputs("<section id=\"answer\" aria-label=\"The answer\">\n<p class=\"verdict\">", out);
    put_first(out, a->verdict, n);
    fputs("</p>\n", out);
    if (a->verdict[n] != '\0')
        put_paragraph(out, "lead", a->verdict + n + 1);
    put_paragraph(out, "act", a->act);
    if (a->paste != NULL) {
        put_paragraph(out, "when", a->when != NULL ? a->when : "Set this before the program starts:");
        fputs("<div class=\"paste\"><pre><code>", out);
        put_shell_line(out, a->paste);
        fputs("</code></pre><button type=\"button\" class=\"plain\" id=\"copy-paste\" hidden>Copy"
              "</button></div>\n", out);
        if (a->promise != NULL)
            put_sentence(out, "told", a->promise, first_sentence(a->promise, strlen(a->promise)));
    }
    put_figures(out, a);
    fputs("</section>\n", out);
}

static void put_version(FILE *out, const struct page *p)
{
    (void)p;
    fputs(REPLAY_VERSION, out);
}

static void put_licence(FILE *out, const struct page *p)
{
    (void)p;
    put_text(out, (const char *)page_dygraph_licence, strlen((const char *)page_dygraph_licence));
}

/* What replaces a mark: an embedded part, or what a function writes. */
struct mark {
    const char *name;
    const unsigned char *part;
    void (*put)(FILE *out, const struct page *p);
};

static const struct mark marks[] = {
    { .name = "style", .part = page_style },
    { .name = "dygraph_style", .part = page_dygraph_style },
    { .name = "title", .put = put_title },
    { .name = "heading", .put = put_heading },
    { .name = "answer", .put = put_answer },
    { .name = "sentences", .put = put_sentences },
    { .name = "version", .put = put_version },
    { .name = "licence", .put = put_licence },
    { .name = "data", .put = page_json },
    { .name = "dygraph", .part = page_dygraph },
    { .name = "code", .part = page_code },
    { .name = "boot", .part = page_boot },
};

static void put_mark(FILE *out, const struct page *p, const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if (strlen(marks[i].name) != n || memcmp(marks[i].name, name, n) != 0)
            continue;
        if (marks[i].part != NULL)
            fputs((const char *)marks[i].part, out);
        else
            marks[i].put(out, p);
    }
}

void page_write_html(FILE *out, const struct page *p)
{
    const char *at = (const char *)page_template;
    for (const char *mark; (mark = strstr(at, "{{")) != NULL;) {
        const char *end = strstr(mark, "}}");
        if (end == NULL)
            break;
        fwrite(at, 1, (size_t)(mark - at), out);
        put_mark(out, p, mark + 2, (size_t)(end - mark - 2));
        at = end + 2;
    }
    fputs(at, out);
}
