/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "replay/why/smi_table.h"

#include "base/shown.h"
#include "base/units.h"
#include "replay/why/card_tools.h"
#include "report/text/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 400, TOKENS = 24, COLUMNS = 12 };

/* One line in tokens. Bars of tables, which are missing where log_clean.h took a frame away, and commas of a list
 * separate them as blanks do. */
struct row {
    char text[LINE];
    const char *at[TOKENS];
    size_t n;
    bool has_comma;
};

enum column { COLUMN_OTHER, COLUMN_PID, COLUMN_NAME, COLUMN_PROCESS_USED, COLUMN_INDEX, COLUMN_USED, COLUMN_TOTAL };

struct reader {
    struct smi_table *table;
    unsigned card;                   /* that the next figures belong to */
    unsigned n_queried;              /* cards of `nvidia-smi -q` so far */
    bool is_frame_buffer;            /* of -q: the section of the card's own memory */
    bool is_kfd;                     /* below the heading of rocm-smi's processes */
    enum column columns[COLUMNS];    /* of a list with a heading */
    size_t n_columns;
    uint64_t line;
};

/* ---- a line in tokens ---- */

static bool is_bar(const char *text, size_t n, size_t i)
{
    return n - i >= 3 && memcmp(text + i, "\xe2\x94\x82", 3) == 0;       /* a box's line, as nvitop draws it */
}

static void copy_line(const char *text, size_t n, struct row *r)
{
    size_t used = 0;
    r->has_comma = false;
    for (size_t i = 0; i < n && used + 1 < sizeof r->text; i++) {
        const bool is_box = is_bar(text, n, i);
        r->has_comma = r->has_comma || text[i] == ',';
        r->text[used++] = is_box || text[i] == '|' || text[i] == ',' || text[i] == '\0' ? ' ' : text[i];
        i += is_box ? 2 : 0;
    }
    r->text[used] = '\0';
}

static void take_row(const char *text, size_t n, struct row *r)
{
    copy_line(text, n, r);
    r->n = 0;
    for (char *c = r->text; *c != '\0' && r->n < TOKENS;) {
        while (isspace((unsigned char)*c))
            c++;
        if (*c == '\0')
            break;
        r->at[r->n++] = c;
        while (*c != '\0' && !isspace((unsigned char)*c))
            c++;
        if (*c != '\0')
            *c++ = '\0';
    }
}

static bool is_number(const char *word)
{
    return *word != '\0' && word[strspn(word, "0123456789")] == '\0';
}

static bool is_at(const struct row *r, size_t i, const char *word)
{
    return i < r->n && strcmp(r->at[i], word) == 0;
}

/* "15564MiB", "23.08GiB", or "21870" before "MiB" or "MB"; *out in bytes. */
static bool read_size(const struct row *r, size_t i, uint64_t *out)
{
    char *end;
    if (i >= r->n || !isdigit((unsigned char)r->at[i][0]))
        return false;
    const double number = strtod(r->at[i], &end);
    const char *unit = *end != '\0' ? end : i + 1 < r->n ? r->at[i + 1] : "";
    const uint64_t of = strncmp(unit, "GiB", 3) == 0                                    ? GIB
                        : strncmp(unit, "MiB", 3) == 0 || strncmp(unit, "MB", 2) == 0   ? MIB
                                                                                        : 0;
    if (of == 0 || number > 1e7)
        return false;
    *out = (uint64_t)(number * (double)of);
    return true;
}

/* ---- what a line tells ---- */

static struct card_row *find_card(struct reader *w, unsigned index)
{
    struct smi_table *t = w->table;
    size_t i = 0;
    while (i < t->n_cards && t->cards[i].index != index)
        i++;
    if (i == SMI_TABLE_CARDS)
        return NULL;
    if (i == t->n_cards)
        t->cards[t->n_cards++] = (struct card_row){ .index = index };
    t->line = w->line;
    return &t->cards[i];
}

static void put_card(struct reader *w, unsigned index, uint64_t used, uint64_t total)
{
    struct card_row *c = find_card(w, index);
    if (c != NULL)
        *c = (struct card_row){ index, used, total };
}

static struct card_process *put_process(struct reader *w, unsigned card, uint64_t id, uint64_t bytes, const char *name)
{
    struct smi_table *t = w->table;
    size_t i = 0;
    while (i < t->n_processes && (t->processes[i].id != id || t->processes[i].card != card))
        i++;
    if (i == SMI_TABLE_PROCESSES)
        return NULL;
    t->n_processes += i == t->n_processes;
    t->processes[i] = (struct card_process){ .card = card, .id = id, .bytes = bytes };
    snprintf(t->processes[i].name, sizeof t->processes[i].name, "%s", name);
    shown_clean(t->processes[i].name, false);
    t->line = w->line;
    return &t->processes[i];
}

static bool is_type(const char *word)
{
    return strcmp(word, "C") == 0 || strcmp(word, "G") == 0 || strcmp(word, "C+G") == 0 || strcmp(word, "M+C") == 0;
}

/* "0 N/A N/A 41022 C python3 15564MiB", or without the two of a slice; nvitop: "0 881204 C ines 23.08GiB ...". */
static bool take_process(struct reader *w, const struct row *r)
{
    size_t type = 2;
    while (type < 5 && type < r->n && !is_type(r->at[type]))
        type++;
    if (w->table->n_cards == 0 || type + 1 >= r->n || type == 5 || !is_number(r->at[0]) ||
        !is_number(r->at[type - 1]))
        return false;
    uint64_t bytes = 0;
    for (size_t i = type + 1; i < r->n && !read_size(r, i, &bytes); i++)
        ;
    put_process(w, (unsigned)strtoul(r->at[0], NULL, 10), strtoull(r->at[type - 1], NULL, 10), bytes, r->at[type + 1]);
    return true;
}

/* Whether one of its words ends so, or is that. */
static bool has_ending(const struct row *r, const char *ending)
{
    const size_t length = strlen(ending);
    for (size_t i = 0; i < r->n; i++)
        if (strlen(r->at[i]) >= length && strcmp(r->at[i] + strlen(r->at[i]) - length, ending) == 0)
            return true;
    return false;
}

/* "| 0 NVIDIA GeForce RTX 3090 Off |" names a card, "31% ... 15580MiB / 24576MiB" is what it uses. */
static void take_card(struct reader *w, const struct row *r)
{
    uint64_t used, total;
    if (r->n > 2 && is_number(r->at[0]) && isalpha((unsigned char)r->at[1][0]) &&
        (has_ending(r, "Off") || has_ending(r, "On")))
        w->card = (unsigned)strtoul(r->at[0], NULL, 10);
    for (size_t i = 1; i + 1 < r->n && has_ending(r, "%"); i++)
        if (is_at(r, i, "/") && read_size(r, i - 1, &used) && read_size(r, i + 1, &total))
            put_card(w, w->card, used, total);
}

/* "[0] NVIDIA A100 | 52'C, 100 % | 80151 / 81920 MB | user:python/4711(80120M)". */
static void take_gpustat(struct reader *w, const struct row *r)
{
    uint64_t total;
    if (r->n == 0 || r->at[0][0] != '[' || !isdigit((unsigned char)r->at[0][1]))
        return;
    const unsigned card = (unsigned)strtoul(r->at[0] + 1, NULL, 10);
    for (size_t i = 1; i < r->n; i++) {
        const char *size = strchr(r->at[i], '('), *id = strchr(r->at[i], '/');
        char name[SMI_TABLE_NAME];
        if (is_at(r, i, "/") && read_size(r, i + 1, &total))
            put_card(w, card, strtoull(r->at[i - 1], NULL, 10) * MIB, total);
        else if (size != NULL && isdigit((unsigned char)size[1])) {
            snprintf(name, sizeof name, "%.*s", (int)((id != NULL && id < size ? id : size) - r->at[i]), r->at[i]);
            put_process(w, card, id != NULL ? strtoull(id + 1, NULL, 10) : 0, strtoull(size + 1, NULL, 10) * MIB, name);
        }
    }
}

/* Lines of `nvidia-smi -q`: "Used : 15888 MiB" below "FB Memory Usage", "Process ID : 4711" and what follows it. */
static void take_query(struct reader *w, const struct row *r)
{
    struct smi_table *t = w->table;
    uint64_t bytes;
    if (r->n == 2 && is_at(r, 0, "GPU") && strchr(r->at[1], ':') != NULL)
        w->card = w->n_queried++;
    if (is_at(r, 1, "Memory") && is_at(r, 2, "Usage"))
        w->is_frame_buffer = is_at(r, 0, "FB");
    struct card_row *c = w->is_frame_buffer && r->n == 4 && is_at(r, 1, ":") && read_size(r, 2, &bytes)
                             ? find_card(w, w->card) : NULL;
    if (c != NULL && is_at(r, 0, "Total"))
        c->total = bytes;
    if (c != NULL && is_at(r, 0, "Used"))
        c->used = bytes;
    if (r->n == 4 && is_at(r, 0, "Process") && is_at(r, 1, "ID") && is_number(r->at[3]))
        put_process(w, w->card, strtoull(r->at[3], NULL, 10), 0, "");
    else if (t->n_processes > 0 && r->n == 3 && is_at(r, 0, "Name") && is_at(r, 1, ":"))
        snprintf(t->processes[t->n_processes - 1].name, SMI_TABLE_NAME, "%s", r->at[2]);
    else if (t->n_processes > 0 && is_at(r, 0, "Used") && is_at(r, 1, "GPU") && read_size(r, 4, &bytes))
        t->processes[t->n_processes - 1].bytes = bytes;
}

/* rocm-smi: "GPU[0] : VRAM Total Used Memory (B): 25011200000"; its processes: "60112 llama-server 1 24210714624". */
static void take_rocm(struct reader *w, const struct row *r)
{
    if (is_at(r, 0, "PID") && is_at(r, 1, "PROCESS"))
        w->is_kfd = true;
    else if (w->is_kfd && r->n >= 4 && is_number(r->at[0]) && is_number(r->at[2]) && is_number(r->at[3]))
        put_process(w, w->card, strtoull(r->at[0], NULL, 10), strtoull(r->at[3], NULL, 10), r->at[1]);
    else if (r->n > 4 && strncmp(r->at[0], "GPU[", 4) == 0 && is_at(r, 2, "VRAM") && is_at(r, 3, "Total")) {
        struct card_row *c = find_card(w, (unsigned)strtoul(r->at[0] + 4, NULL, 10));
        const uint64_t bytes = strtoull(r->at[r->n - 1], NULL, 10);
        if (c != NULL && is_at(r, 4, "Used"))
            c->used = bytes;
        else if (c != NULL)
            c->total = bytes;
    }
}

/* ---- a list with a heading ---- */

static enum column column_of(const char *word)
{
    static const struct { const char *word; enum column column; } known[] = {
        { "pid", COLUMN_PID }, { "process_name", COLUMN_NAME }, { "used_gpu_memory", COLUMN_PROCESS_USED },
        { "index", COLUMN_INDEX }, { "memory.used", COLUMN_USED }, { "memory.total", COLUMN_TOTAL },
        { "used_memory", COLUMN_PROCESS_USED },
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(word, known[i].word) == 0)
            return known[i].column;
    return COLUMN_OTHER;
}

/* "pid, process_name, used_gpu_memory [MiB]": units are no columns. */
static bool take_heading(struct reader *w, const struct row *r)
{
    enum column columns[COLUMNS];
    size_t n = 0, known = 0;
    for (size_t i = 0; i < r->n && n < COLUMNS; i++)
        if (r->at[i][0] != '[') {
            columns[n] = column_of(r->at[i]);
            known += columns[n++] != COLUMN_OTHER;
        }
    if (!r->has_comma || known < 2)
        return false;
    memcpy(w->columns, columns, sizeof columns);
    w->n_columns = n;
    return true;
}

/* A row of such a list: "41022 /usr/bin/python3 21870 MiB". */
static void take_listed(struct reader *w, const struct row *r)
{
    uint64_t of[COLUMN_TOTAL + 1] = { 0 };
    const char *name = "";
    size_t column = 0;
    if (!r->has_comma || w->n_columns == 0 || r->n == 0 || !is_number(r->at[0]))
        return;
    for (size_t i = 0; i < r->n && column < w->n_columns; i++) {
        if (strcmp(r->at[i], "MiB") == 0)
            continue;
        const enum column c = w->columns[column++];
        if (c == COLUMN_NAME)
            name = r->at[i];
        else if (!read_size(r, i, &of[c]))
            of[c] = strtoull(r->at[i], NULL, 10);
    }
    if (of[COLUMN_PID] > 0)
        put_process(w, w->card, of[COLUMN_PID], of[COLUMN_PROCESS_USED], name);
    else if (of[COLUMN_TOTAL] > 0)
        put_card(w, (unsigned)of[COLUMN_INDEX], of[COLUMN_USED], of[COLUMN_TOTAL]);
}

static void take_line(struct reader *w, const struct row *r)
{
    if (is_at(r, 0, "NVIDIA-SMI")) {                 /* a table begins: the last one counts */
        w->table->n_cards = w->table->n_processes = 0;
        w->card = 0;
    }
    if (take_process(w, r))
        return;
    take_card(w, r);
    take_gpustat(w, r);
    take_query(w, r);
    take_rocm(w, r);
    if (!take_heading(w, r))
        take_listed(w, r);
}

/* ---- whose they are ---- */

/* The number after "pid" and a sign or blank, as in "(EngineCore pid=4711)" and "[PID:4711]"; 0: none. */
static uint64_t read_id(const char *text, size_t n, size_t at)
{
    size_t i = at + 3;
    if (n - at < 5 || tolower((unsigned char)text[at]) != 'p' || tolower((unsigned char)text[at + 1]) != 'i' ||
        tolower((unsigned char)text[at + 2]) != 'd')
        return 0;
    while (i < n && i < at + 6 && strchr("=: ", text[i]) != NULL && text[i] != '\0')
        i++;
    uint64_t id = 0;
    for (; i < n && isdigit((unsigned char)text[i]) && id < UINT32_MAX; i++)
        id = id * 10 + (uint64_t)(text[i] - '0');
    return id;
}

static void mark_own(const char *text, size_t n, struct smi_table *t)
{
    for (size_t i = 0; i < n && t->n_processes > 0; i++) {
        const uint64_t id = text[i] == 'p' || text[i] == 'P' ? read_id(text, n, i) : 0;
        for (size_t k = 0; id > 0 && k < t->n_processes; k++)
            t->processes[k].is_own = t->processes[k].is_own || t->processes[k].id == id;
    }
}

/* The digit after the last place of `words` in text[from, to). False: they are not there. */
static bool find_digit(const char *text, size_t from, size_t to, const char *words, unsigned *out)
{
    const size_t length = strlen(words);
    bool is_found = false;
    for (size_t i = from; i + length < to; i++)
        if (text[i] == words[0] && memcmp(text + i, words, length) == 0 && isdigit((unsigned char)text[i + length])) {
            *out = (unsigned)(text[i + length] - '0');
            is_found = true;
        }
    return is_found;
}

/* The card that the program asked on: the one that it was shown, or that its own lines name. */
static unsigned asked_card(const char *text, size_t n, size_t at)
{
    enum { REACH = 1000 };
    unsigned card = 0;
    if (!find_digit(text, 0, n, "VISIBLE_DEVICES=", &card))
        find_digit(text, at > REACH ? at - REACH : 0, n - at > REACH ? at + REACH : n, "cuda:", &card);
    return card;
}

/* ---- who holds it ---- */

static bool is_full(const struct card_row *c)
{
    return c->total > 0 && c->used >= c->total - c->total / 10;
}

static bool is_nearly_empty(const struct card_row *c)
{
    return c->total > 0 && c->used < c->total / 10;
}

static void find_empty(const struct smi_table *t, struct card_held *h)
{
    for (size_t i = 0; i < t->n_cards && !h->has_empty; i++)
        if (t->cards[i].index != h->card.index && is_nearly_empty(&t->cards[i])) {
            h->has_empty = true;
            h->empty = t->cards[i].index;
        }
}

/* What nobody listed holds is somebody else's, too: a process of another container, or one that ended and still keeps
 * its memory. A program that is listed under its own number leaves the rest to drivers and contexts. */
static void add_up(const struct smi_table *t, struct card_held *h)
{
    uint64_t own = 0;
    h->biggest = t->n_processes;
    for (size_t i = 0; i < t->n_processes; i++) {
        const struct card_process *p = &t->processes[i];
        if (p->card != h->card.index)
            continue;
        own += p->is_own ? p->bytes : 0;
        h->others += p->is_own ? 0 : p->bytes;
        if (!p->is_own && p->bytes > 0 && (h->biggest == t->n_processes || p->bytes > t->processes[h->biggest].bytes))
            h->biggest = i;
    }
    if (own == 0 && h->others < h->card.used)
        h->others = h->card.used;
    h->holder = is_nearly_empty(&h->card)       ? CARD_HOLDER_NOBODY
                : own > h->others               ? CARD_HOLDER_ITSELF
                : is_full(&h->card)             ? CARD_HOLDER_OTHERS
                                                : CARD_HOLDER_UNKNOWN;
}

static void judge(const struct smi_table *t, unsigned asked, struct card_held *h)
{
    for (size_t i = 0; i < t->n_cards; i++)
        if (t->cards[i].index == asked && t->cards[i].total > 0) {
            h->card = t->cards[i];
            add_up(t, h);
            find_empty(t, h);
        }
}

void smi_table_read(const char *text, size_t n, size_t at, struct smi_table *out, struct card_held *held)
{
    struct reader w = { .table = out };
    *out = (struct smi_table){ .line = 0 };
    *held = (struct card_held){ .holder = CARD_HOLDER_UNKNOWN };
    for (size_t i = 0, end; i < n; i = end + 1) {
        struct row r;
        const char *stop = memchr(text + i, '\n', n - i);
        end = stop == NULL ? n : (size_t)(stop - text);
        w.line++;
        take_row(text + i, end - i, &r);
        take_line(&w, &r);
    }
    mark_own(text, n, out);
    judge(out, asked_card(text, n, at), held);
}

/* ---- the item of an answer ---- */

static void add_others(struct words *w, const struct smi_table *t, const struct card_held *h, enum platform p)
{
    char b[UNITS_TEXT];
    const char *chooses = card_tools_chooses(p);
    if (h->biggest < t->n_processes) {
        const struct card_process *o = &t->processes[h->biggest];
        if (o->id > 0)
            words_add(w, " Of it process %" PRIu64 " (%s) holds", o->id, o->name);
        else
            words_add(w, " Of it a process of %s holds", o->name);
        words_add(w, " %s. If that is none of this run, end it", units_format_bytes(o->bytes, b));
    } else {
        words_add(w, " No process that it lists tells how much it holds: look for one in another container, or one "
                     "that ended and still keeps it, and end that");
    }
    if (h->has_empty && chooses != NULL)
        words_add(w, ", or take card %u, which is nearly empty there: %s=%u.", h->empty, chooses, h->empty);
    else
        words_add(w, ", or take another card.");
}

void smi_table_print(FILE *out, const struct smi_table *t, const struct card_held *h, enum platform p)
{
    char used[UNITS_TEXT], total[UNITS_TEXT];
    struct words w = { .n = 0 };
    if (h->card.total == 0)
        return;
    words_add(&w, "- The table that ends in line %" PRIu64 " shows %s of %s in use on card %u.", t->line,
              units_format_bytes(h->card.used, used), units_format_bytes(h->card.total, total), h->card.index);
    if (h->holder == CARD_HOLDER_OTHERS)
        add_others(&w, t, h, p);
    else if (h->holder == CARD_HOLDER_ITSELF)
        words_add(&w, " Most of it is this program's own: its number stands in the log.");
    else if (h->holder == CARD_HOLDER_NOBODY)
        words_add(&w, " It is nearly empty, so the table was made before the program filled it or after it ended, and "
                      "nobody else was in its way then.");
    words_print_screen(out, &w);
}
