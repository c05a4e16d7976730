/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* From argv to struct options. Every value is checked here, so a command never meets one that is out of range. */
#include "replay/program/options.h"

#include "base/nearest.h"
#include "base/units.h"
#include "replay/engine/explain_run.h"
#include "report/rows/winner.h"
#include "traces/trace.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One row of flags.def. `to` and `count` are offsets into struct options. */
struct flag_row {
    const char *name, *argument, *help;
    char        letter;
    bool        is_repeatable;
    enum err  (*take)(const struct flag_row *row, const char *value, struct options *o, struct err_detail *err);
    size_t      to, count;
    uint64_t    min, max;                    /* of a number; of a list the most values */
    const char *const *words;                /* NULL ends them; the index is the value */
};

static void *field_of(const struct flag_row *row, struct options *o)
{
    assert(row->to < sizeof *o);
    return (char *)o + row->to;
}

/* ---- functions that read a value ---- */

/* Nothing to read: is_given and texts say it all. */
static enum err take_presence(const struct flag_row *row, const char *value, struct options *o, struct err_detail *err)
{
    (void)row, (void)value, (void)o, (void)err;
    return ERR_OK;
}

static enum err take_switch(const struct flag_row *row, const char *value, struct options *o, struct err_detail *err)
{
    (void)value, (void)err;
    *(bool *)field_of(row, o) = true;
    return ERR_OK;
}

static enum err take_text(const struct flag_row *row, const char *value, struct options *o, struct err_detail *err)
{
    (void)err;
    *(const char **)field_of(row, o) = value;
    return ERR_OK;
}

/* One value more in a list. */
static enum err take_one_more(const struct flag_row *row, const char *value, struct options *o, struct err_detail *err)
{
    const char ***list = field_of(row, o);
    size_t *n = (size_t *)((char *)o + row->count);
    if (*n == row->max)
        return err_set(err, ERR_USAGE, 0, "--%s is given more than %" PRIu64 " times", row->name, row->max);
    const char **grown = realloc(*list, (*n + 1) * sizeof *grown);
    if (grown == NULL)
        return err_no_memory(err);
    *list = grown;
    grown[(*n)++] = value;
    return ERR_OK;
}

/* A whole number in decimal digits from min to max. */
static bool parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    uint64_t n;
    if (!units_parse_number(text, strlen(text), &n) || n < min || n > max)
        return false;
    *out = n;
    return true;
}

static enum err read_number(const struct flag_row *row, const char *value, uint64_t *out, struct err_detail *err)
{
    if (parse_number(value, row->min, row->max, out))
        return ERR_OK;
    return err_set(err, ERR_USAGE, 0, "--%s '%s': expected a whole number from %" PRIu64 " to %" PRIu64, row->name,
                   value, row->min, row->max);
}

static enum err take_number(const struct flag_row *row, const char *value, struct options *o, struct err_detail *err)
{
    return read_number(row, value, field_of(row, o), err);
}

static enum err take_unsigned(const struct flag_row *row, const char *value, struct options *o, struct err_detail *err)
{
    uint64_t n = 0;
    const enum err e = read_number(row, value, &n, err);
    if (e == ERR_OK)
        *(unsigned *)field_of(row, o) = (unsigned)n;
    return e;
}

static enum err take_signed(const struct flag_row *row, const char *value, struct options *o, struct err_detail *err)
{
    uint64_t n = 0;
    const enum err e = read_number(row, value, &n, err);
    if (e == ERR_OK)
        *(int64_t *)field_of(row, o) = (int64_t)n;
    return e;
}

/* An event as results number it, or the end. */
static enum err take_moment(const struct flag_row *row, const char *value, struct options *o, struct err_detail *err)
{
    uint64_t *out = field_of(row, o);
    if (strcmp(value, "end") == 0)
        *out = EXPLAIN_END;
    else if (!parse_number(value, 0, INT64_MAX, out))
        return err_set(err, ERR_USAGE, 0, "--%s '%s': expected a whole number or 'end'", row->name, value);
    return ERR_OK;
}

/* A word becomes its index in the row's list. */
static enum err take_word(const struct flag_row *row, const char *value, struct options *o, struct err_detail *err)
{
    char list[96] = "";
    for (unsigned i = 0; row->words[i] != NULL; i++) {
        if (strcmp(value, row->words[i]) == 0) {
            memcpy(field_of(row, o), &i, sizeof i);          /* an enum, of the size of unsigned (see WORD) */
            return ERR_OK;
        }
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
                 i == 0 ? "" : row->words[i + 1] == NULL ? " or " : ", ", row->words[i]);
    }
    return err_set(err, ERR_USAGE, 0, "--%s '%s': expected %s", row->name, value, list);
}

/* "500" events, or "10ms" of the trace's time. */
static enum err take_interval(const struct flag_row *row, const char *value, struct options *o, struct err_detail *err)
{
    double ns;
    if (parse_number(value, 1, UINT64_MAX, &o->sample_every_events))
        return ERR_OK;
    if (units_parse_time(value, strlen(value), &ns) && ns >= 1) {
        o->sample_every_ns = (uint64_t)ns;
        return ERR_OK;
    }
    return err_set(err, ERR_USAGE, 0, "--%s '%s': expected a number of events or a time such as 10ms", row->name,
                   value);
}

/* "1MiB", or 0. */
static enum err take_price(const struct flag_row *row, const char *value, struct options *o, struct err_detail *err)
{
    if (units_parse_bytes(value, strlen(value), &o->price) && o->price <= TIB)
        return ERR_OK;
    return err_set(err, ERR_USAGE, 0, "--%s '%s': expected a size up to 1TiB per millisecond, such as 1MiB", row->name,
                   value);
}

/* "20GiB" */
static enum err take_size(const struct flag_row *row, const char *value, struct options *o, struct err_detail *err)
{
    uint64_t bytes;
    if (units_parse_bytes(value, strlen(value), &bytes) && bytes >= row->min) {
        *(uint64_t *)field_of(row, o) = bytes;
        return ERR_OK;
    }
    return err_set(err, ERR_USAGE, 0, "--%s '%s': expected a size such as 20GiB", row->name, value);
}

/* "2/8" */
static enum err take_shard(const struct flag_row *row, const char *value, struct options *o, struct err_detail *err)
{
    char digits[24];
    const size_t n = strcspn(value, "/");
    if (value[n] == '/' && n < sizeof digits && parse_number(value + n + 1, 1, UINT32_MAX, &o->n_shards)) {
        memcpy(digits, value, n);
        digits[n] = '\0';
        if (parse_number(digits, 1, o->n_shards, &o->shard))
            return ERR_OK;
    }
    return err_set(err, ERR_USAGE, 0, "--%s '%s': expected a part such as 2/8, from 1/8 to 8/8", row->name, value);
}

/* ---- the table ---- */

static const char *const oom_words[] = {"stop", "skip", NULL};
static const char *const system_words[] = {
#define PLATFORM(name, word, words, variable, shell) word,
#include "replay/recording/platforms.def"
#undef PLATFORM
    NULL
};
static const char *const start_words[] = {"fresh", "faithful", NULL};
static const char *const segment_free_words[] = {"auto", "program", "allocator", NULL};

/* The offset of a member. It does not compile if the member is of another type than the function writes. */
#define MEMBER(member, type) \
    (offsetof(struct options, member) + 0 * (size_t)_Generic(((struct options *)NULL)->member, type: 1))

#define PRESENCE              .take = take_presence
#define SPECIAL(function)     .take = function
#define SWITCH(member)        .take = take_switch, .to = MEMBER(member, bool)
#define TEXT(member)          .take = take_text, .to = MEMBER(member, const char *)
#define MOMENT(member)        .take = take_moment, .to = MEMBER(member, uint64_t)
#define WORD(member, type, w) .take = take_word, .to = MEMBER(member, type), .words = (w)
#define NUMBER(member, least, most) \
    .take = take_number, .to = MEMBER(member, uint64_t), .min = (least), .max = (most)
#define SIZE(member, least) .take = take_size, .to = MEMBER(member, uint64_t), .min = (least)
#define UNSIGNED(member, least, most) \
    .take = take_unsigned, .to = MEMBER(member, unsigned), .min = (least), .max = (most)
#define SIGNED(member, least, most) \
    .take = take_signed, .to = MEMBER(member, int64_t), .min = (least), .max = (most)
#define LIST(member, most)                                                                                  \
    .take = take_one_more, .to = MEMBER(member, const char **), .count = MEMBER(n_##member, size_t),        \
    .max = (most), .is_repeatable = true

static_assert(sizeof(enum oom_action) == sizeof(unsigned) && sizeof(enum start_mode) == sizeof(unsigned) &&
              sizeof(enum import_segment_frees) == sizeof(unsigned), "take_word writes an unsigned");

static const struct flag_row flag_table[] = {
#define FLAG(id, flag, short_form, value, how, text) \
    [FLAG_##id] = {.name = flag, .letter = short_form, .argument = value, .help = text, how},
#include "replay/program/flags.def"
#undef FLAG
};

static const struct flag_row *row_of(enum flag_id id)
{
    assert((unsigned)id < N_FLAGS);
    return &flag_table[id];
}

const char *flag_name(enum flag_id id)
{
    return row_of(id)->name;
}

char flag_letter(enum flag_id id)
{
    return row_of(id)->letter;
}

const char *flag_argument(enum flag_id id)
{
    return row_of(id)->argument;
}

const char *const *flag_words(enum flag_id id)
{
    return row_of(id)->words;
}

const char *flag_help(const struct flag_use *use)
{
    return use->help != NULL ? use->help : row_of(use->id)->help;
}

/* Options by the names that they had: still taken, and shown nowhere. */
static const struct { const char *name, *now; } former_names[] = {
    {"releases", "given-back"},              /* a release is a version of PyTorch */
};

enum flag_id flag_find(const struct flag_use *taken, const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof former_names / sizeof former_names[0]; i++)
        if (strlen(former_names[i].name) == n && memcmp(former_names[i].name, name, n) == 0)
            return flag_find(taken, former_names[i].now, strlen(former_names[i].now));
    for (; taken->id != N_FLAGS; taken++)
        if (strlen(flag_name(taken->id)) == n && memcmp(flag_name(taken->id), name, n) == 0)
            break;
    return taken->id;
}

static enum flag_id flag_find_letter(const struct flag_use *taken, char letter)
{
    while (taken->id != N_FLAGS && flag_letter(taken->id) != letter)
        taken++;
    return taken->id;
}

/* ---- the command line ---- */

static bool is_taken(const struct flag_use *taken, enum flag_id id)
{
    while (taken->id != N_FLAGS && taken->id != id)
        taken++;
    return taken->id == id;
}

static enum err refuse_unknown(const struct flag_use *taken, const char *typed, struct err_detail *err)
{
    enum { SLIPS_MAX = 3 };                  /* more letters than that are another word */
    if (typed[1] == 'o' && is_taken(taken, FLAG_HTML))       /* other commands write with -o */
        return err_set(err, ERR_USAGE, 0, "unknown option '%s' for this command: --html FILE writes a page, --md FILE "
                       "Markdown, --csv FILE a table", typed);
    struct nearest nearest = {.typed = typed + 2, .n_typed = strcspn(typed + 2, "=")};
    for (; taken->id != N_FLAGS && typed[1] == '-'; taken++)
        nearest_offer(&nearest, flag_name(taken->id), strlen(flag_name(taken->id)));
    if (nearest.name == NULL || nearest.distance > SLIPS_MAX)
        return err_set(err, ERR_USAGE, 0, "unknown option '%s' for this command; --help lists its options", typed);
    return err_set(err, ERR_USAGE, 0, "unknown option '%s' for this command; did you mean '--%s'?", typed,
                   nearest.name);
}

/* Which option "--name", "--name=value", "-n" or "-nVALUE" is; *value is NULL if none was typed in the same word. */
static enum err find_typed(const char *typed, const struct flag_use *taken, enum flag_id *id, const char **value,
                           struct err_detail *err)
{
    assert(typed[0] == '-' && typed[1] != '\0');
    if (typed[1] == '-') {
        const char *name = typed + 2;
        const size_t n = strcspn(name, "=");
        *id = flag_find(taken, name, n);
        *value = name[n] == '=' ? name + n + 1 : NULL;
    } else {
        *id = flag_find_letter(taken, typed[1]);
        *value = typed[2] != '\0' ? typed + 2 : NULL;
    }
    return *id != N_FLAGS ? ERR_OK : refuse_unknown(taken, typed, err);
}

/* Takes the option at argv[*i], and its value if that is the next word. */
static enum err take_next(int argc, char **argv, int *i, const struct flag_use *taken, struct options *o,
                          struct err_detail *err)
{
    enum flag_id id;
    const char *value;
    const enum err e = find_typed(argv[*i], taken, &id, &value, err);
    if (e != ERR_OK)
        return e;
    const struct flag_row *row = row_of(id);
    if (row->argument == NULL && value != NULL)
        return err_set(err, ERR_USAGE, 0, "--%s takes no value", row->name);
    if (row->argument != NULL && value == NULL) {
        if (*i + 1 >= argc)
            return err_set(err, ERR_USAGE, 0, "--%s needs a value: %s", row->name, row->argument);
        value = argv[++*i];
    }
    if (!row->is_repeatable && o->is_given[id])
        return err_set(err, ERR_USAGE, 0, "--%s is given twice", row->name);
    o->is_given[id] = true;
    o->texts[id] = value;
    return row->take(row, value, o, err);
}

enum err options_parse(int argc, char **argv, const struct flag_use *taken, struct options *out,
                       struct err_detail *err)
{
    struct options o = { .import = { .gpu = -1 }, .price = WINNER_PRICE_BYTES_PER_MS,
                         .steps = 5, .within_s = 600, .effort = 10 };
    bool is_over = false;                    /* after "--" every word is an input */
    enum err e = ERR_OK;
    o.inputs = calloc((size_t)argc + 1, sizeof *o.inputs);
    if (o.inputs == NULL)
        return err_no_memory(err);
    for (int i = 0; i < argc && e == ERR_OK; i++) {
        const char *text = argv[i];
        if (!is_over && strcmp(text, "--") == 0)
            is_over = true;
        else if (!is_over && text[0] == '-' && text[1] != '\0')      /* "-" alone is standard input */
            e = take_next(argc, argv, &i, taken, &o, err);
        else
            o.inputs[o.n_inputs++] = text;
    }
    if (e != ERR_OK)
        options_close(&o);
    else
        *out = o;
    return e;
}

void options_close(struct options *o)
{
    free(o->policies);
    free(o->fail_if);
    free(o->devices);
    free(o->inputs);
    o->policies = o->fail_if = o->devices = o->inputs = NULL;
    o->n_policies = o->n_fail_if = o->n_devices = o->n_inputs = 0;
}

size_t options_values(const struct options *o, enum flag_id id, const char *const **values)
{
    const struct flag_row *row = row_of(id);
    if (row->is_repeatable) {
        *values = (const char *const *)*(const char **const *)((const char *)o + row->to);
        return *(const size_t *)((const char *)o + row->count);
    }
    *values = &o->texts[id];
    return o->texts[id] != NULL ? 1 : 0;
}
