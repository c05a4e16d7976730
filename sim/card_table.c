/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Reads tables of cards. Room is fixed, so that nobody has to handle a lack of memory to learn of a card.
 */
#include "sim/card_table.h"

#include "base/units.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CARD_FIELDS = 12, CONTEXT_FIELDS = 5, CAPABILITY_MOST = 999, NUMBER_MOST = 1 << 20 };

/* A line of a file, and its fields, each with its end cut off. */
struct row {
    struct card_table *table;
    const char *file;
    size_t line, n;
    char *fields[CARD_FIELDS];
};

/* `field` is what is wrong; NULL: the whole line. */
static enum err row_refuse(const struct row *r, struct err_detail *err, const char *what, const char *field)
{
    if (field == NULL)
        return err_set(err, ERR_FORMAT, r->line, "%s:%zu: %s", r->file, r->line, what);
    return err_set(err, ERR_FORMAT, r->line, "%s:%zu: %s '%s'", r->file, r->line, what, field);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Ends the field at `at`, which is in quotes, there; returns what comes after it. NULL: the quotes do not end. */
static char *quoted_end(char *at)
{
    char *to = at;
    for (; *at != '"' || at[1] == '"'; *to++ = *at++)
        if (*at == '\0')
            return NULL;
        else if (*at == '"')
            at++;
    *to = '\0';
    return at + 1;
}

/* Cuts a terminated text at its commas. */
static enum err row_cut(struct row *r, char *at, struct err_detail *err)
{
    for (bool has_more = true; has_more; r->n++) {
        while (is_blank(*at))
            at++;
        char *begin = at + (*at == '"'), *end = *at == '"' ? quoted_end(begin) : at + strcspn(at, ",");
        if (end == NULL)
            return row_refuse(r, err, "quotes that do not end", NULL);
        char *next = end + strspn(end, " \t\r");
        if (r->n == CARD_FIELDS || (*next != '\0' && *next != ','))
            return row_refuse(r, err, r->n == CARD_FIELDS ? "too many fields" : "a comma is missing", NULL);
        has_more = *next == ',';
        *end = '\0';
        for (char *last = end; *at != '"' && last > begin && is_blank(last[-1]);)
            *--last = '\0';
        r->fields[r->n] = begin;
        at = next + 1;
    }
    return ERR_OK;
}

static bool read_number(const char *field, unsigned *out)
{
    uint64_t n;
    if (!units_parse_number(field, strlen(field), &n) || n == 0 || n > NUMBER_MOST)
        return false;
    *out = (unsigned)n;
    return true;
}

static bool read_bytes(const char *field, uint64_t *out)
{
    return units_parse_bytes(field, strlen(field), out) && *out > 0 && *out < UINT64_C(1) << 50;
}

/* "8.6" is 86. */
static bool read_capability(const char *field, unsigned *out)
{
    const char *dot = strchr(field, '.');
    uint64_t major, minor;
    if (dot == NULL || !units_parse_number(field, (size_t)(dot - field), &major) || major > CAPABILITY_MOST / 10 ||
        !units_parse_number(dot + 1, strlen(dot + 1), &minor) || minor > 9)
        return false;
    *out = (unsigned)(10 * major + minor);
    return compute_class_of(*out) != NULL;
}

/* A name is typed after --device, where commas and colons end it, and numbers alone are sizes. */
static bool is_card_name(const char *name)
{
    uint64_t bytes;
    return name[0] != '\0' && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") == strlen(name) &&
           !units_parse_bytes(name, strlen(name), &bytes);
}

static void put_card(struct card_table *t, const struct device_model *card)
{
    size_t at = 0;
    for (size_t i = 0; i < t->n_cards; i++)
        if (strcmp(t->cards[i].name, card->name) == 0) {
            memmove(&t->cards[i], &t->cards[i + 1], (t->n_cards - i - 1) * sizeof *t->cards);
            t->n_cards--;
        }
    while (at < t->n_cards && t->cards[at].total_bytes <= card->total_bytes)
        at++;
    memmove(&t->cards[at + 1], &t->cards[at], (t->n_cards - at) * sizeof *t->cards);
    t->cards[at] = *card;
    t->n_cards++;
}

static enum err read_card(const struct row *r, struct err_detail *err)
{
    char *const *f = r->fields;
    struct device_model c = { .name = f[1], .title = f[2], .is_often = strcmp(f[0], "often") == 0, .source = f[11] };
    unsigned l2_kib, clock_mhz, memory_mhz;
    if (r->n != CARD_FIELDS)
        return row_refuse(r, err, "a card has 12 fields", NULL);
    if (!is_card_name(f[1]))
        return row_refuse(r, err, "a card's name is of small letters, digits, '-' and '.', and no size; not", f[1]);
    if (f[2][0] == '\0' || f[11][0] == '\0')
        return row_refuse(r, err, "a card has a title and a source", NULL);
    if (!read_bytes(f[3], &c.total_bytes) || c.total_bytes < 2 * MIB)
        return row_refuse(r, err, "not the memory of a card:", f[3]);
    c.smi_bytes = c.total_bytes;
    if (f[4][0] != '\0' && (!read_bytes(f[4], &c.smi_bytes) || c.smi_bytes < c.total_bytes))
        return row_refuse(r, err, "nvidia-smi shows at least the card's memory, not", f[4]);
    if (!read_capability(f[5], &c.capability))
        return row_refuse(r, err, "not a compute capability that is known:", f[5]);
    if (!read_number(f[6], &c.multiprocessors) || !read_number(f[7], &l2_kib) || !read_number(f[8], &c.bus_bits) ||
        !read_number(f[9], &clock_mhz) || !read_number(f[10], &memory_mhz))
        return row_refuse(r, err, "multiprocessors, L2, bus and clocks are whole numbers from 1 to 1,048,576", NULL);
    if (r->table->n_cards == CARDS_MOST)
        return row_refuse(r, err, "there is room for 512 cards", NULL);
    c.l2_bytes = l2_kib * 1024;
    c.clock_khz = clock_mhz * 1000;
    c.memory_clock_khz = memory_mhz * 1000;
    put_card(r->table, &c);
    return ERR_OK;
}

static bool is_same_context(const struct card_context *a, const struct card_context *b)
{
    return a->card == NULL || b->card == NULL ? a->card == b->card && a->capability == b->capability
                                              : strcmp(a->card, b->card) == 0;
}

static enum err read_context(const struct row *r, struct err_detail *err)
{
    struct card_table *t = r->table;
    struct card_context c = { .source = r->fields[4] };
    size_t at = 0;
    if (r->n != CONTEXT_FIELDS)
        return row_refuse(r, err, "a context has 5 fields", NULL);
    if (!read_capability(r->fields[1], &c.capability)) {
        c.card = r->fields[1];
        while (at < t->n_cards && strcmp(t->cards[at].name, c.card) != 0)
            at++;
        if (at == t->n_cards)
            return row_refuse(r, err, "neither a card of the table nor a compute capability:", c.card);
    }
    if (!read_bytes(r->fields[2], &c.bytes) || !read_bytes(r->fields[3], &c.most_bytes) || c.bytes > c.most_bytes)
        return row_refuse(r, err, "not two sizes, the larger one last:", r->fields[2]);
    for (at = 0; at < t->n_contexts && !is_same_context(&t->contexts[at], &c);)
        at++;
    if (at == CONTEXTS_MOST)
        return row_refuse(r, err, "there is room for 256 contexts", NULL);
    t->contexts[at] = c;
    t->n_contexts += at == t->n_contexts;
    return ERR_OK;
}

static enum err row_read(struct row *r, const char *line, size_t n, struct err_detail *err)
{
    struct card_table *t = r->table;
    while (n > 0 && is_blank(line[0]))
        line++, n--;
    if (n == 0 || line[0] == '#')
        return ERR_OK;
    if (memchr(line, '\0', n) != NULL || n >= sizeof t->text - t->n_text)
        return row_refuse(r, err, n >= sizeof t->text - t->n_text ? "the table is too long" : "a byte is zero",
                          NULL);
    char *text = memcpy(t->text + t->n_text, line, n);
    text[n] = '\0';
    t->n_text += n + 1;
    const enum err e = row_cut(r, text, err);
    if (e != ERR_OK || strcmp(r->fields[0], "kind") == 0)
        return e;
    if (strcmp(r->fields[0], "context") == 0)
        return read_context(r, err);
    if (strcmp(r->fields[0], "card") == 0 || strcmp(r->fields[0], "often") == 0)
        return read_card(r, err);
    return row_refuse(r, err, "a line begins with card, often, context or #, not with", r->fields[0]);
}

enum err card_table_read(struct card_table *t, const char *file, const char *bytes, size_t n, struct err_detail *err)
{
    enum err e = ERR_OK;
    for (size_t at = 0, line = 1; e == ERR_OK && at < n; line++) {
        const char *end = memchr(bytes + at, '\n', n - at);
        const size_t length = end == NULL ? n - at : (size_t)(end - bytes) - at;
        struct row r = { .table = t, .file = file, .line = line };
        e = row_read(&r, bytes + at, length, err);
        at += length + 1;
    }
    return e;
}

/* ---- the program's own ---- */

extern const unsigned char sim_cards_csv[], sim_contexts_csv[];  /* made by embed/embed.c */

static struct card_table table;
static pthread_once_t is_read = PTHREAD_ONCE_INIT;

static void read_embedded(void)
{
    struct err_detail err;
    const char *const cards = (const char *)sim_cards_csv, *const contexts = (const char *)sim_contexts_csv;
    enum err e = card_table_read(&table, "sim/cards.csv", cards, strlen(cards), &err);
    if (e == ERR_OK)
        e = card_table_read(&table, "sim/contexts.csv", contexts, strlen(contexts), &err);
    assert(e == ERR_OK);
    (void)e;
}

const struct card_table *card_table(void)
{
    pthread_once(&is_read, read_embedded);
    return &table;
}

enum err cards_add_own(struct err_detail *err)
{
    static char bytes[CARD_FILE_MOST];
    const char *path = getenv(CARDS_ENV);
    if (path == NULL || path[0] == '\0')
        return ERR_OK;
    (void)card_table();
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return err_set(err, err_of_open(errno), 0, "%s=%s: %s", CARDS_ENV, path, strerror(errno));
    const size_t n = fread(bytes, 1, sizeof bytes, f);
    const bool has_failed = ferror(f) != 0;
    fclose(f);
    if (has_failed || n == sizeof bytes)
        return err_set(err, ERR_INPUT, 0, "%s=%s: %s", CARDS_ENV, path,
                       has_failed ? "cannot be read" : "a table of cards has less than 32 KiB");
    return card_table_read(&table, path, bytes, n, err);
}
