/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Reading published request traces, and making them up. */
#include "loads/request_trace.h"

#include "base/array.h"
#include "base/input.h"
#include "base/load_json.h"
#include "base/random.h"
#include "import/csv_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_LINE_MAX = INPUT_PEEK_MAX, US_PER_S = 1000000, US_PER_MS = 1000, COLUMNS_SEEN = 200,
       BEGINNING = 256 };

void request_trace_free(struct request_trace *t)
{
    free(t->requests);
    free(t->ids);
    pair_map_free(&t->number_of_id);
    *t = (struct request_trace){.requests = NULL};
}

static enum err requests_append(struct request_trace *t, struct served_request r, struct err_detail *err)
{
    struct served_request *more = array_grow(t->requests, t->n_requests, &t->requests_room, sizeof *more);
    if (more == NULL)
        return err_no_memory(err);
    t->requests = more;
    more[t->n_requests++] = r;
    return ERR_OK;
}

/* Whether a row asks nothing. It is counted then. */
static bool requests_leave_out(struct request_trace *t, const struct served_request *r, uint64_t line)
{
    if (r->prompt > 0)
        return false;
    if (t->n_empty++ == 0)
        t->first_empty_line = line;
    return true;
}

/* Whether a row of the file can be played as the next one. */
static enum err requests_check(const struct request_trace *t, const struct served_request *r, const char *path,
                               uint64_t line, struct err_detail *err)
{
    if (t->n_requests > 0 && r->arrival_us < t->requests[t->n_requests - 1].arrival_us)
        return err_at(err, ERR_FORMAT, line, path, "line %llu: comes before the request of the line above; sort the "
                      "rows by their times", (unsigned long long)line);
    if (r->arrival_us > REQUEST_ARRIVAL_MAX)
        return err_at(err, ERR_FORMAT, line, path, "line %llu: comes more than 285 years after the first request",
                      (unsigned long long)line);
    if (r->prompt <= REQUEST_TOKENS_MAX && r->answer <= REQUEST_TOKENS_MAX)
        return ERR_OK;
    return err_at(err, ERR_FORMAT, line, path, "line %llu: a request or an answer has more than %d tokens",
                  (unsigned long long)line, REQUEST_TOKENS_MAX);
}

/* ---- CSV ---- */

enum request_column { COLUMN_ARRIVAL, COLUMN_PROMPT, COLUMN_ANSWER, REQUEST_COLUMNS };

static const char *const column_names[REQUEST_COLUMNS][5] = {
    [COLUMN_ARRIVAL] = {"TIMESTAMP", "Timestamp", "timestamp", "arrived_at"},
    [COLUMN_PROMPT] = {"ContextTokens", "Request tokens", "input_length", "num_prefill_tokens"},
    [COLUMN_ANSWER] = {"GeneratedTokens", "Response tokens", "output_length", "num_decode_tokens"},
};

static size_t column_find(const struct csv_line *head, enum request_column column)
{
    for (size_t i = 0; i < head->n; i++)
        for (size_t k = 0; column_names[column][k] != NULL; k++)
            if (strcmp(head->fields[i], column_names[column][k]) == 0)
                return i;
    return head->n;
}

/* Reads digits up to *at; false if there are none or too many. */
static bool digits_read(const char **at, unsigned n_max, uint64_t *out)
{
    unsigned n = 0;
    for (*out = 0; (*at)[n] >= '0' && (*at)[n] <= '9' && n < n_max; n++)
        *out = *out * 10 + (uint64_t)((*at)[n] - '0');
    *at += n;
    return n > 0;
}

/* ".1234567" in microseconds; 0 where nothing stands. */
static uint64_t fraction_read(const char **at)
{
    uint64_t us = 0, unit = US_PER_S / 10;
    if (**at != '.')
        return 0;
    for (++*at; **at >= '0' && **at <= '9'; ++*at, unit /= 10)
        us += (uint64_t)(**at - '0') * unit;
    return us;
}

/* Days since the first of March of year 0 (a year that begins in March ends with its leap day). */
static uint64_t days_of(uint64_t year, uint64_t month, uint64_t day)
{
    const uint64_t y = month > 2 ? year : year - 1, m = (month + 9) % 12;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1;
}

/* "2023-11-16 18:17:03.9799600", with a T for the blank, too; or a number of seconds. */
static bool time_read(const char *text, uint64_t *us)
{
    uint64_t part[6] = {0};
    const char *at = text;
    static const char between[] = "--\0::";
    if (!digits_read(&at, 12, &part[0]))
        return false;
    if (*at == '.' || *at == '\0') {
        *us = part[0] * US_PER_S + fraction_read(&at);
        return *at == '\0';
    }
    for (size_t i = 1; i < 6; i++) {
        const bool is_right = i == 3 ? *at == ' ' || *at == 'T' : *at == between[i - 1];
        if (!is_right || (at++, !digits_read(&at, 2, &part[i])))
            return false;
    }
    if (part[0] == 0 || part[0] > 9999)
        return false;
    const uint64_t hours = days_of(part[0], part[1], part[2]) * 24 + part[3];
    *us = ((hours * 60 + part[4]) * 60 + part[5]) * US_PER_S + fraction_read(&at);
    return true;
}

static bool tokens_read(const char *text, uint64_t *out)
{
    const char *at = text;
    if (!digits_read(&at, 12, out))
        return false;
    (void)fraction_read(&at);                        /* some files say "120.0" */
    return *at == '\0';
}

static enum err csv_row_read(const struct csv_line *line, const size_t columns[REQUEST_COLUMNS], const char *path,
                             uint64_t *origin_us, struct request_trace *out, struct err_detail *err)
{
    struct served_request r = {.n_ids = 0};
    uint64_t us;
    for (size_t i = 0; i < REQUEST_COLUMNS; i++)
        if (columns[i] >= line->n)
            return err_at(err, ERR_FORMAT, line->number, path, "line %llu has %zu fields only",
                          (unsigned long long)line->number, line->n);
    if (!time_read(line->fields[columns[COLUMN_ARRIVAL]], &us) ||
        !tokens_read(line->fields[columns[COLUMN_PROMPT]], &r.prompt) ||
        !tokens_read(line->fields[columns[COLUMN_ANSWER]], &r.answer))
        return err_at(err, ERR_FORMAT, line->number, path, "line %llu: a time or a number of tokens cannot be read",
                      (unsigned long long)line->number);
    if (requests_leave_out(out, &r, line->number))
        return ERR_OK;
    if (out->n_requests == 0)
        *origin_us = us;
    if (us < *origin_us)
        return err_at(err, ERR_FORMAT, line->number, path, "line %llu: comes before the first request; sort the rows "
                      "by their times", (unsigned long long)line->number);
    r.arrival_us = us - *origin_us;
    const enum err e = requests_check(out, &r, path, line->number, err);
    return e == ERR_OK ? requests_append(out, r, err) : e;
}

/* Says which columns are wanted, and which there are. */
static enum err column_missing(const struct csv_line *head, enum request_column column, const char *path,
                               struct err_detail *err)
{
    static const char *const meaning[REQUEST_COLUMNS] = {"arrivals", "prompts' tokens", "answers' tokens"};
    char seen[COLUMNS_SEEN] = "";
    size_t n = 0;
    for (size_t i = 0; i < head->n && n < sizeof seen - 1; i++)
        n += (size_t)snprintf(seen + n, sizeof seen - n, "%s\"%.30s\"", i > 0 ? ", " : "", head->fields[i]);
    const char *const *names = column_names[column];
    return err_at(err, ERR_FORMAT, 1, path, "line 1 names no column of %s: \"%s\", \"%s\" or \"%s\"; it has %s%s",
                  meaning[column], names[0], names[1], names[2], seen, n >= sizeof seen ? " ..." : "");
}

static enum err csv_read(struct input *in, const char *path, size_t n_max, struct request_trace *out,
                         struct err_detail *err)
{
    struct csv_line *line = calloc(1, sizeof *line);
    size_t columns[REQUEST_COLUMNS];
    uint64_t origin_us = 0;
    enum err e = line == NULL ? err_no_memory(err) : csv_next(in, line, err);
    for (size_t i = 0; i < REQUEST_COLUMNS && e == ERR_OK; i++) {
        columns[i] = column_find(line, (enum request_column)i);
        if (columns[i] == line->n)
            e = column_missing(line, (enum request_column)i, path, err);
    }
    while (e == ERR_OK && out->n_requests < n_max) {
        e = csv_next(in, line, err);
        if (e != ERR_OK || line->n == 0)
            break;
        e = csv_row_read(line, columns, path, &origin_us, out, err);
    }
    free(line);
    return e;
}

/* ---- a JSON object a line ---- */

/* The number of an id of the file; UINT32_MAX without memory. */
static uint32_t id_number(struct request_trace *t, uint64_t id)
{
    const uint32_t *known = pair_map_find(&t->number_of_id, id, 0);
    const uint32_t number = known != NULL ? *known : (uint32_t)t->number_of_id.n;
    return known != NULL || pair_map_add(&t->number_of_id, id, 0, number) ? number : UINT32_MAX;
}

static enum err json_ids_read(const json_t *ids, struct request_trace *out, struct served_request *r, const char *path,
                              uint64_t line, struct err_detail *err)
{
    r->first_id = out->n_ids;
    r->n_ids = json_array_size(ids);
    uint32_t *more = array_reserve(out->ids, out->n_ids, r->n_ids + 1, &out->ids_room, sizeof *more);
    if (more == NULL)
        return err_no_memory(err);
    out->ids = more;
    for (size_t i = 0; i < r->n_ids; i++) {
        const json_int_t id = json_integer_value(json_array_get(ids, i));
        if (id < 0)
            return err_at(err, ERR_FORMAT, line, path, "line %llu: a hash id is below 0", (unsigned long long)line);
        more[out->n_ids] = id_number(out, (uint64_t)id);
        if (more[out->n_ids++] == UINT32_MAX)
            return err_no_memory(err);
    }
    return ERR_OK;
}

/* Powers of two that an id may stand for, by a prompt of several: its last tokens have an id, or none. */
static uint32_t powers_of(const struct served_request *r)
{
    uint32_t powers = 0;
    for (unsigned i = 0; r->n_ids > 1 && UINT64_C(1) << i < r->prompt; i++) {
        const uint64_t tokens = UINT64_C(1) << i;
        if (r->prompt / tokens == r->n_ids || (r->prompt + tokens - 1) / tokens == r->n_ids)
            powers |= UINT32_C(1) << i;
    }
    return powers;
}

/* A prompt that agrees with no power which all before it agree with is passed over. */
static void id_tokens_narrow(struct request_trace *t, const struct served_request *r)
{
    const uint32_t powers = t->powers == 0 ? powers_of(r) : t->powers & powers_of(r);
    if (powers == 0)
        return;
    t->powers = powers;
    t->id_tokens = (powers & REQUEST_ID_TOKENS) != 0 ? REQUEST_ID_TOKENS : powers & -powers;
}

/* Microseconds of a timestamp; more than REQUEST_ARRIVAL_MAX if they are too many. False: it is no number. */
static bool json_time_read(const json_t *o, uint64_t *us)
{
    const json_t *time = json_object_get(o, "timestamp");
    const double unit = json_object_get(o, "chat_id") != NULL ? US_PER_S : US_PER_MS, value = json_number_value(time);
    const double most = 2 * (double)REQUEST_ARRIVAL_MAX;
    *us = json_is_number(time) && value >= 0 ? (uint64_t)(value * unit < most ? value * unit + 0.5 : most) : 0;
    return json_is_number(time) && value >= 0;
}

static enum err json_row_refuse(const json_t *o, const char *path, uint64_t line, struct err_detail *err)
{
    char seen[COLUMNS_SEEN] = "";
    size_t n = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)o, key, value)
        if (n < sizeof seen - 1)
            n += (size_t)snprintf(seen + n, sizeof seen - n, "%s\"%.30s\"", n > 0 ? ", " : "", key);
    return err_at(err, ERR_FORMAT, line, path, "line %llu is not an object with timestamp, input_length and "
                  "output_length, which are numbers; it has %s%s", (unsigned long long)line,
                  n > 0 ? seen : "no members", n >= sizeof seen ? " ..." : "");
}

static enum err json_row_take(const json_t *o, const char *path, uint64_t line, struct request_trace *out,
                              struct err_detail *err)
{
    const json_t *prompt = json_object_get(o, "input_length"), *answer = json_object_get(o, "output_length");
    struct served_request r = {.n_ids = 0};
    if (!json_time_read(o, &r.arrival_us) || !json_is_integer(prompt) || !json_is_integer(answer) ||
        json_integer_value(prompt) < 0 || json_integer_value(answer) < 0)
        return json_row_refuse(o, path, line, err);
    r.prompt = (uint64_t)json_integer_value(prompt);
    r.answer = (uint64_t)json_integer_value(answer);
    if (requests_leave_out(out, &r, line))
        return ERR_OK;
    enum err e = requests_check(out, &r, path, line, err);
    if (e == ERR_OK)
        e = json_ids_read(json_object_get(o, "hash_ids"), out, &r, path, line, err);
    id_tokens_narrow(out, &r);
    return e == ERR_OK ? requests_append(out, r, err) : e;
}

static enum err json_row_read(const char *text, size_t n, const char *path, uint64_t line, struct request_trace *out,
                              struct err_detail *err)
{
    json_t *o;
    struct err_detail reason = {.text = ""};
    enum err e = load_json(text, n, JSON_REJECT_DUPLICATES, UINT64_MAX, path, &o, &reason);
    if (e != ERR_OK)
        return err_at(err, e, line, path, "line %llu: %s", (unsigned long long)line, reason.text);
    e = json_row_take(o, path, line, out, err);
    json_decref(o);
    return e;
}

static enum err json_read(struct input *in, const char *path, size_t n_max, struct request_trace *out,
                          struct err_detail *err)
{
    enum err e = ERR_OK;
    for (uint64_t line = 1; e == ERR_OK && out->n_requests < n_max; line++) {
        const unsigned char *bytes;
        size_t n;
        e = input_peek(in, JSON_LINE_MAX, &bytes, &n, err);
        if (e != ERR_OK || n == 0)
            break;
        const unsigned char *end = memchr(bytes, '\n', n);
        const size_t length = end == NULL ? n : (size_t)(end - bytes);
        if (end == NULL && n == JSON_LINE_MAX)
            return err_at(err, ERR_FORMAT, line, path, "line %llu is longer than %d bytes", (unsigned long long)line,
                          JSON_LINE_MAX);
        if (length > 0)
            e = json_row_read((const char *)bytes, length, path, line, out, err);
        input_skip(in, end == NULL ? length : length + 1);
    }
    return e;
}

/* Passes over a byte order mark. *first: the first byte that is no blank and ends no line; 0: there is none nearby. */
static enum err begin(struct input *in, unsigned char *first, struct err_detail *err)
{
    static const unsigned char byte_order_mark[] = {0xEF, 0xBB, 0xBF};
    const unsigned char *bytes;
    size_t n, i;
    *first = 0;
    const enum err e = input_peek(in, BEGINNING, &bytes, &n, err);
    if (e != ERR_OK)
        return e;
    const bool has_mark = n >= sizeof byte_order_mark && memcmp(bytes, byte_order_mark, sizeof byte_order_mark) == 0;
    for (i = has_mark ? sizeof byte_order_mark : 0; i < n && memchr(" \t\r\n", bytes[i], 4) != NULL; i++)
        ;
    *first = i < n ? bytes[i] : 0;
    input_skip(in, has_mark ? sizeof byte_order_mark : 0);
    return ERR_OK;
}

enum err request_trace_read_input(struct input *in, const char *name, size_t n_max, struct request_trace *out,
                                  struct err_detail *err)
{
    unsigned char first;
    *out = (struct request_trace){.number_of_id = {.seed = hash_seed()}};
    enum err e = begin(in, &first, err);
    if (e == ERR_OK && first == '[')
        return err_at(err, ERR_FORMAT, 0, name, "an array of JSON: wanted is an object a line, with timestamp, "
                      "input_length and output_length, or CSV; a conversation has no times and no tokens");
    if (e == ERR_OK)
        e = first == '{' ? json_read(in, name, n_max, out, err) : csv_read(in, name, n_max, out, err);
    if (out->id_tokens == 0)
        out->id_tokens = REQUEST_ID_TOKENS;
    if (e == ERR_OK && out->n_requests == 0)
        e = err_set(err, ERR_FORMAT, 0, "%s holds no requests%s", name, out->n_empty > 0 ? " with tokens" : "");
    return e;
}

enum err request_trace_read(const char *path, size_t n_max, struct request_trace *out, struct err_detail *err)
{
    struct input *in;
    *out = (struct request_trace){.requests = NULL};
    enum err e = input_open(path, &in, err);
    if (e != ERR_OK)
        return e;
    e = request_trace_read_input(in, path, n_max, out, err);
    if (e == ERR_OK)
        input_is_of_use(in);
    input_close(in);
    return e;
}

bool request_trace_set_rate(struct request_trace *t, double rate_per_s)
{
    const uint64_t last_us = t->n_requests > 0 ? t->requests[t->n_requests - 1].arrival_us : 0;
    if (last_us == 0)
        return false;
    const double longer = (double)(t->n_requests - 1) * US_PER_S / (double)last_us / rate_per_s;
    for (size_t i = 0; i < t->n_requests; i++) {
        const double us = (double)t->requests[i].arrival_us * longer;
        t->requests[i].arrival_us = us < (double)REQUEST_ARRIVAL_MAX ? (uint64_t)us : REQUEST_ARRIVAL_MAX;
    }
    return true;
}

/* ---- made up ---- */

/* From `low` to less than `low << powers`; no power of two less frequent than the next. */
static uint64_t tokens_make(uint64_t *random, uint64_t low, unsigned powers)
{
    const uint64_t r = random_next(random);
    const unsigned a = (unsigned)(r % powers), b = (unsigned)(r / powers % powers);
    const uint64_t power = low << (a < b ? a : b);
    return power + (r >> 20) % power;
}

enum err request_trace_make(size_t n, uint64_t rate_per_s, uint64_t seed, struct request_trace *out,
                            struct err_detail *err)
{
    enum err e = ERR_OK;
    uint64_t us = 0, random = seed;
    *out = (struct request_trace){.requests = NULL};
    for (size_t i = 0; i < n && e == ERR_OK; i++) {
        const struct served_request r = {.arrival_us = us, .prompt = tokens_make(&random, 16, 7),
                                         .answer = tokens_make(&random, 16, 5)};
        us += random_next(&random) % (2 * US_PER_S / rate_per_s);
        e = requests_append(out, r, err);
    }
    return e;
}

enum err request_trace_begin_alike(struct request_trace *t, uint64_t n_texts, uint64_t tokens, uint64_t seed,
                                   struct err_detail *err)
{
    const size_t n_ids = (size_t)(tokens / REQUEST_ID_TOKENS);
    t->id_tokens = REQUEST_ID_TOKENS;
    uint64_t random = seed ^ n_texts;
    uint32_t *ids = array_reserve(t->ids, t->n_ids, t->n_requests * n_ids + 1, &t->ids_room, sizeof *ids);
    if (ids == NULL)
        return err_no_memory(err);
    t->ids = ids;
    for (size_t i = 0; i < t->n_requests; i++) {
        struct served_request *r = &t->requests[i];
        const uint64_t which = random_next(&random) % n_texts;
        r->first_id = t->n_ids;
        r->n_ids = n_ids;
        r->prompt += n_ids * REQUEST_ID_TOKENS;
        for (size_t k = 0; k < n_ids; k++)
            ids[t->n_ids++] = (uint32_t)(which * n_ids + k);
    }
    return ERR_OK;
}
