/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Reads settings texts as PyTorch does, mistakes included.
 *
 * PyTorch has had two readers for one grammar. Up to 2.9 the reader checks the separators. From 2.10 on separators are
 * skipped by position, and the text is read twice: by the reader of the options that every accelerator has
 * (CONF_COMMON), and by CUDA's own (CONF_CUDA). At the start CUDA's comes first, after a walk that only looks for the
 * backend; at run time it comes last.
 *
 * Source: PyTorch, c10/cuda/CUDAAllocatorConfig.cpp (2.0 to 2.9: all of it) and c10/core/AllocatorConfig.cpp (2.10 on).
 */
#include "policies/pytorch/pytorch_conf.h"

#include "base/nearest.h"
#include "base/torch_sizes.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONF_MIB_MAX (UINT64_MAX / MIB)              /* more MiB than this overflow as bytes */
#define CONF_LARGE_MIN_MIB (TORCH_OWN_MIN / MIB)     /* large_segment_size_mb must be larger */
#define CONF_STRICT_SPLIT_MIN_MIB 20                 /* max_split_size_mb must be larger, up to 2.9 */
#define CONF_REGISTER_THREADS_MAX 128
#define CONF_NUMBER_LETTERS 20                       /* of UINT64_MAX */

/* A word or a separator. The value of a setting that was given apart from the text may be a number already. */
struct conf_token {
    const char *text;
    size_t      offset;              /* in its source, bytes */
    size_t      source;              /* 0: the settings text; i: the i-th setting given apart from it, from 1 */
    enum conf_value_kind kind;       /* CONF_WORDS: `text` is all there is */
    uint64_t    integer;             /* CONF_INTEGER */
    double      real;                /* CONF_REAL */
};

struct conf_tokens {
    struct conf_token *at;
    size_t             n;
    struct conf_token  end;          /* stands for what is missing after the last one */
    char              *chars, *next; /* the words without white space, each terminated; where the next one goes */
};

enum conf_part { CONF_COMMON, CONF_CUDA };           /* the reader of 2.10+ that an option belongs to */

struct conf_reader {
    const struct pytorch_rules *rules;
    enum conf_time                when;
    const struct conf_tokens     *tokens;
    size_t                        i;                 /* the token being read */
    struct pytorch_settings      *s;
    size_t                        source;            /* of the refused token */
    struct err_detail            *err;
};

struct conf_key {
    const char        *name;
    enum torch_release since;                        /* the first that has the option */
    enum conf_part     part;
    enum err         (*read)(struct conf_reader *r, const struct conf_key *key);
    const char        *inert;                        /* why it has no effect on placement; NULL: it may have one */
};

struct pytorch_settings pytorch_settings_default(void)
{
    return (struct pytorch_settings){
        .max_split_size = PYTORCH_UNLIMITED,
        .max_non_split_rounding = TORCH_LARGE_SEGMENT,
        .large_segment_size = TORCH_LARGE_SEGMENT,
        .fraction = 1.0,
    };
}

static void conf_tokens_free(struct conf_tokens *t)
{
    free(t->at);
    free(t->chars);
}

static bool conf_is_separator(char c)
{
    return c == ',' || c == ':' || c == '[' || c == ']';
}

static bool conf_is_dropped(const struct pytorch_rules *rules, char c)
{
    return c == ' ' || (!rules->has_checked_separators && c >= '\t' && c <= '\r');
}

/* Room for the tokens of a text and of `n` settings. Freed with conf_tokens_free. */
static enum err conf_tokens_open(const char *text, const struct conf_setting *settings, size_t n,
                                 struct conf_tokens *out)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < n; i++)
        len += settings[i].kind == CONF_WORDS ? strlen(settings[i].text) : 1;
    struct conf_tokens t = {.at = calloc(len + 3 * n + 1, sizeof *t.at), .chars = malloc(2 * len + 1)};
    t.next = t.chars;
    if (t.at == NULL || t.chars == NULL) {
        conf_tokens_free(&t);
        return ERR_HOST_NOMEM;
    }
    *out = t;
    return ERR_OK;
}

static void conf_put(struct conf_tokens *t, struct conf_token token)
{
    t->at[t->n++] = token;
}

/* Puts the words of a text. White space is dropped inside words too: "6 4" is 64. */
static void conf_put_words(struct conf_tokens *t, const struct pytorch_rules *rules, const char *text, size_t source)
{
    const size_t len = strlen(text);
    bool in_word = false;
    for (size_t i = 0; i < len; i++) {
        if (conf_is_dropped(rules, text[i]))
            continue;
        const bool is_word = !conf_is_separator(text[i]);
        if (in_word && !is_word)
            *t->next++ = '\0';
        if (!in_word || !is_word)
            conf_put(t, (struct conf_token){.text = t->next, .offset = i, .source = source});
        *t->next++ = text[i];
        if (!is_word)
            *t->next++ = '\0';
        in_word = is_word;
    }
    if (in_word)
        *t->next++ = '\0';
    t->end = (struct conf_token){.text = "", .offset = len, .source = source};
}

/* Puts a setting as if ",key:value" stood in the text; without the comma if it is the first. */
static void conf_put_setting(struct conf_tokens *t, const struct pytorch_rules *rules, const struct conf_setting *s,
                             size_t source, bool is_first)
{
    struct conf_token token = {.source = source};
    if (!is_first) {
        token.text = ",";
        conf_put(t, token);
    }
    token.text = s->key;
    conf_put(t, token);
    token.text = ":";
    conf_put(t, token);
    if (s->kind == CONF_WORDS) {
        conf_put_words(t, rules, s->text, source);
        return;
    }
    token.text = s->text;
    token.kind = s->kind;
    token.integer = s->integer;
    token.real = s->real;
    conf_put(t, token);
    t->end = (struct conf_token){.text = "", .offset = strlen(s->text), .source = source};
}

/* The tokens of a text and of settings that were given apart from it, which come after the text. */
static enum err conf_tokenize(const struct pytorch_rules *rules, const char *text, const struct conf_setting *settings,
                              size_t n, struct conf_tokens *out)
{
    const enum err e = conf_tokens_open(text, settings, n, out);
    if (e != ERR_OK)
        return e;
    conf_put_words(out, rules, text, 0);
    for (size_t i = 0; i < n; i++)
        conf_put_setting(out, rules, &settings[i], i + 1, i == 0 && text[0] == '\0');
    return ERR_OK;
}

static bool conf_ends(const struct conf_reader *r, size_t i)
{
    return i >= r->tokens->n;
}

static const char *conf_word(const struct conf_reader *r, size_t i)
{
    return conf_ends(r, i) ? "" : r->tokens->at[i].text;
}

static enum conf_value_kind conf_kind(const struct conf_reader *r, size_t i)
{
    return conf_ends(r, i) ? CONF_WORDS : r->tokens->at[i].kind;
}

static bool conf_is(const struct conf_reader *r, size_t i, const char *word)
{
    return strcmp(conf_word(r, i), word) == 0;
}

static enum err conf_refuse(struct conf_reader *r, size_t i, const char *type, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* Refuses the settings because of the i-th token. */
static enum err conf_refuse(struct conf_reader *r, size_t i, const char *type, const char *fmt, ...)
{
    char message[sizeof r->err->text];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    const struct conf_token *token = conf_ends(r, i) ? &r->tokens->end : &r->tokens->at[i];
    r->source = token->source;
    return err_at(r->err, ERR_USAGE, token->offset, type, "%s", message);
}

/* The exception's type when a value fails its check. */
static const char *conf_check_type(const struct conf_reader *r)
{
    return r->rules->has_checked_separators ? "RuntimeError" : "ValueError";
}

/* If the text ends too early, PyTorch's message names one of its source lines; ours says what is missing. */
static enum err conf_refuse_end(struct conf_reader *r, const char *what)
{
    return conf_refuse(r, r->tokens->n, "RuntimeError", "the settings text ends where %s is expected", what);
}

static enum err conf_skip(struct conf_reader *r, const char *separator)
{
    r->i++;
    if (r->rules->has_checked_separators && !conf_is(r, r->i, separator))
        return conf_refuse(r, r->i, "RuntimeError", "Error parsing CachingAllocator settings, expected %s", separator);
    return ERR_OK;
}

/* Moves from a key to its value. */
static enum err conf_to_value(struct conf_reader *r, const struct conf_key *key)
{
    const enum err e = conf_skip(r, ":");
    if (e != ERR_OK)
        return e;
    r->i++;
    if (!conf_ends(r, r->i))
        return ERR_OK;
    if (r->rules->has_checked_separators)
        return conf_refuse(r, r->i, "RuntimeError", "Error, expecting %s value", key->name);
    return conf_refuse_end(r, "a value");
}

/* The C++ library's std::invalid_argument and std::out_of_range, as Python sees them. */
static enum err conf_refuse_number(struct conf_reader *r, size_t i, bool is_too_big, const char *function)
{
    const bool is_value_error = !r->rules->has_checked_separators && r->when == CONF_AT_RUN_TIME;
    const char *type = is_value_error ? "ValueError" : "RuntimeError";
    return conf_refuse(r, i, is_too_big ? "IndexError" : type, "%s", function);
}

/* Reads the number that the word begins with and ignores the rest; a minus sign wraps round. Up to 2.9 most values are
 * ints. */
static enum err conf_integer(struct conf_reader *r, size_t i, bool is_int, uint64_t *out)
{
    const char *word = conf_word(r, i);
    const bool is_number = conf_kind(r, i) == CONF_INTEGER;
    char *end;
    errno = 0;
    uint64_t value;
    bool is_too_big;
    if (is_number) {
        value = r->tokens->at[i].integer;
        is_too_big = is_int && value > INT_MAX;
    } else if (is_int) {
        const long long v = strtoll(word, &end, 10);
        is_too_big = errno == ERANGE || v < INT_MIN || v > INT_MAX;
        value = (uint64_t)v;
    } else {
        value = strtoull(word, &end, 10);
        is_too_big = errno == ERANGE;
    }
    if ((!is_number && end == word) || is_too_big) {
        const char *wide = r->rules->has_checked_separators ? "stoul" : "stoull";
        return conf_refuse_number(r, i, is_too_big, is_int ? "stoi" : wide);
    }
    *out = value;
    return ERR_OK;
}

static enum err conf_number(struct conf_reader *r, const struct conf_key *key, uint64_t *out)
{
    const enum err e = conf_to_value(r, key);
    return e != ERR_OK ? e : conf_integer(r, r->i, r->rules->has_checked_separators, out);
}

static enum err conf_real(struct conf_reader *r, const struct conf_key *key, double *out)
{
    const enum err e = conf_to_value(r, key);
    if (e != ERR_OK)
        return e;
    const char *word = conf_word(r, r->i);
    if (conf_kind(r, r->i) == CONF_REAL) {
        *out = r->tokens->at[r->i].real;
        return ERR_OK;
    }
    char *end;
    errno = 0;
    const double value = strtod(word, &end);
    if (end == word || errno == ERANGE)
        return conf_refuse_number(r, r->i, end != word, "stod");
    *out = value;
    return ERR_OK;
}

static enum err conf_switch(struct conf_reader *r, const struct conf_key *key, bool *out)
{
    const enum err e = conf_to_value(r, key);
    if (e != ERR_OK)
        return e;
    const bool is_true = conf_is(r, r->i, "True");
    if (!is_true && !conf_is(r, r->i, "False")) {
        if (r->rules->has_checked_separators)
            return conf_refuse(r, r->i, "RuntimeError", "Expected a single True/False argument for %s", key->name);
        return conf_refuse(r, r->i, "ValueError",
                           "Expected 'True' or 'False' at index %zu in ConfigTokenizer but got '%s'", r->i,
                           conf_word(r, r->i));
    }
    *out = is_true;
    return ERR_OK;
}

static enum err conf_split_bytes(struct conf_reader *r, const struct conf_key *key, uint64_t *out)
{
    uint64_t mib;
    const enum err e = conf_number(r, key, &mib);
    if (e != ERR_OK)
        return e;
    const bool is_strict = r->rules->has_strict_min_split;
    const uint64_t least = is_strict ? CONF_STRICT_SPLIT_MIN_MIB : r->s->large_segment_size / MIB;
    if (mib < least || (is_strict && mib == least))
        return conf_refuse(r, r->i, conf_check_type(r), "CachingAllocator option %s too small, must be %s %llu",
                           key->name, is_strict ? ">" : ">=", (unsigned long long)least);
    *out = (mib < CONF_MIB_MAX ? mib : CONF_MIB_MAX) * MIB;
    return ERR_OK;
}

static enum err conf_max_split(struct conf_reader *r, const struct conf_key *key)
{
    return conf_split_bytes(r, key, &r->s->max_split_size);
}

static enum err conf_non_split_rounding(struct conf_reader *r, const struct conf_key *key)
{
    return conf_split_bytes(r, key, &r->s->max_non_split_rounding);
}

static enum err conf_large_segment(struct conf_reader *r, const struct conf_key *key)
{
    uint64_t mib;
    const enum err e = conf_number(r, key, &mib);
    if (e != ERR_OK)
        return e;
    if (mib <= CONF_LARGE_MIN_MIB)
        return conf_refuse(r, r->i, conf_check_type(r), "CachingAllocator option %s must be > %" PRIu64 " MB",
                           key->name, CONF_LARGE_MIN_MIB);
    r->s->large_segment_size = (mib < CONF_MIB_MAX ? mib : CONF_MIB_MAX) * MIB;
    return ERR_OK;
}

static enum err conf_gc_threshold(struct conf_reader *r, const struct conf_key *key)
{
    double share = 0;
    const enum err e = conf_real(r, key, &share);
    if (e != ERR_OK)
        return e;
    if (!(share > 0.0 && share < 1.0)) {
        if (r->rules->has_checked_separators)
            return conf_refuse(r, r->i, "RuntimeError", "garbage_collect_threshold too %s, set it 0.0~1.0",
                               share > 0.0 ? "big" : "small");
        return conf_refuse(r, r->i, "ValueError", "garbage_collect_threshold is invalid, set it in (0.0, 1.0)");
    }
    r->s->garbage_collection_threshold = share;
    return ERR_OK;
}

static void conf_fill_divisions(struct pytorch_settings *s, size_t from, size_t to, uint64_t divisions)
{
    for (size_t i = from; i < to; i++)
        s->roundup_divisions[i] = divisions;
}

static enum err conf_refuse_divisions(struct conf_reader *r, bool is_list)
{
    return conf_refuse(r, r->i, conf_check_type(r), "For roundups, the %s has to be power of 2 %s",
                       r->rules->has_checked_separators ? "divisons" : "divisions",
                       is_list && r->rules->has_list_zero ? "or 0 to disable roundup " : "");
}

/* Reads one item "interval:divisions" of the list, r->i at the interval. *last is the entry that the item before it
 * set. */
static enum err conf_division_item(struct conf_reader *r, size_t *last, bool *is_first)
{
    const bool is_checked = r->rules->has_checked_separators;
    const size_t at = r->i;
    uint64_t divisions, interval;
    enum err e = conf_skip(r, ":");
    if (e != ERR_OK)
        return e;
    r->i++;
    if (conf_ends(r, r->i))
        return is_checked ? conf_refuse(r, r->i, "RuntimeError", "Error parsing roundup_power2_divisions value")
                          : conf_refuse_end(r, "a number of divisions");
    if ((e = conf_integer(r, r->i, is_checked, &divisions)) != ERR_OK)
        return e;
    if (!is_power_of_two(divisions) && !(divisions == 0 && r->rules->has_list_zero))
        return conf_refuse_divisions(r, true);
    if (conf_is(r, at, ">")) {
        const size_t from = r->rules->has_rest_overwriting ? *last : *last + 1;
        conf_fill_divisions(r->s, from, PYTORCH_ROUNDUP_INTERVALS, divisions);
        return ERR_OK;
    }
    if ((e = conf_integer(r, at, false, &interval)) != ERR_OK)
        return e;
    if (!is_power_of_two(interval))
        return conf_refuse(r, at, conf_check_type(r), "For roundups, the intervals have to be power of 2 ");
    const size_t k = log2_floor(interval);
    *last = k < PYTORCH_ROUNDUP_INTERVALS ? k : PYTORCH_ROUNDUP_INTERVALS - 1;
    conf_fill_divisions(r->s, *is_first ? 0 : *last, *last + 1, divisions);
    *is_first = false;
    return ERR_OK;
}

static enum err conf_division_list(struct conf_reader *r)
{
    size_t last = 0;
    bool is_first = true;
    for (r->i++; !conf_ends(r, r->i) && !conf_is(r, r->i, "]"); r->i++) {
        enum err e = conf_division_item(r, &last, &is_first);
        if (e != ERR_OK)
            return e;
        if (conf_ends(r, r->i + 1))
            return conf_refuse_end(r, "']'");
        if (!conf_is(r, r->i + 1, "]") && (e = conf_skip(r, ",")) != ERR_OK)
            return e;
    }
    const bool is_open = conf_ends(r, r->i) && !r->rules->has_checked_separators;
    return is_open ? conf_refuse_end(r, "']'") : ERR_OK;
}

static enum err conf_divisions(struct conf_reader *r, const struct conf_key *key)
{
    enum err e = conf_to_value(r, key);
    if (e != ERR_OK)
        return e;
    if (conf_is(r, r->i, "["))
        return conf_division_list(r);
    uint64_t divisions;
    if ((e = conf_integer(r, r->i, r->rules->has_checked_separators, &divisions)) != ERR_OK)
        return e;
    if (!is_power_of_two(divisions))
        return conf_refuse_divisions(r, false);
    conf_fill_divisions(r->s, 0, PYTORCH_ROUNDUP_INTERVALS, divisions);
    return ERR_OK;
}

static enum err conf_expandable(struct conf_reader *r, const struct conf_key *key)
{
    return conf_switch(r, key, &r->s->expandable_segments);
}

static enum err conf_release_lock(struct conf_reader *r, const struct conf_key *key)
{
    return conf_switch(r, key, &r->s->release_lock_on_cudamalloc);
}

static enum err conf_capture_reuse(struct conf_reader *r, const struct conf_key *key)
{
    return conf_switch(r, key, &r->s->graph_capture_record_stream_reuse);
}

static enum err conf_throw(struct conf_reader *r, const struct conf_key *key)
{
    return conf_switch(r, key, &r->s->throw_on_cudamalloc_oom);
}

static enum err conf_host_switch(struct conf_reader *r, const struct conf_key *key)
{
    bool ignored;
    return conf_switch(r, key, &ignored);
}

static enum err conf_host_number(struct conf_reader *r, const struct conf_key *key)
{
    uint64_t ignored;
    return conf_number(r, key, &ignored);
}

static enum err conf_host_segment(struct conf_reader *r, const struct conf_key *key)
{
    uint64_t mib;
    const enum err e = conf_number(r, key, &mib);
    if (e == ERR_OK && mib == 0)
        return conf_refuse(r, r->i, conf_check_type(r), "Pinned reserve segment size has to be greater than 0");
    return e;
}

static enum err conf_host_threads(struct conf_reader *r, const struct conf_key *key)
{
    uint64_t n;
    const enum err e = conf_number(r, key, &n);
    if (e != ERR_OK || (is_power_of_two(n) && n <= CONF_REGISTER_THREADS_MAX))
        return e;
    char got[32] = "";
    if (!r->rules->has_checked_separators)
        snprintf(got, sizeof got, ", got %llu", (unsigned long long)n);
    if (is_power_of_two(n))
        return conf_refuse(r, r->i, conf_check_type(r),
                           "Number of register threads should be less than or equal to %d%s",
                           CONF_REGISTER_THREADS_MAX, got);
    return conf_refuse(r, r->i, conf_check_type(r), "Number of register threads has to be power of 2%s",
                       r->rules->has_checked_separators ? " " : got);
}

static enum err conf_fraction(struct conf_reader *r, const struct conf_key *key)
{
    double share = 0;
    const enum err e = conf_real(r, key, &share);
    if (e != ERR_OK)
        return e;
    if (!(share >= 0.0 && share <= 1.0))
        return conf_refuse(r, r->i, conf_check_type(r), "%s is invalid, set it in [0.0, 1.0]", key->name);
    r->s->fraction = share;
    return ERR_OK;
}

static enum err conf_backend(struct conf_reader *r, const struct conf_key *key)
{
    enum err e = conf_skip(r, ":");
    if (e != ERR_OK)
        return e;
    r->i++;
    if (conf_ends(r, r->i))
        return r->rules->has_checked_separators
                   ? conf_refuse(r, r->i, "RuntimeError", "Error parsing %s value", key->name)
                   : conf_refuse_end(r, "a backend");
    const bool is_async = conf_is(r, r->i, "cudaMallocAsync");
    if (!is_async && !conf_is(r, r->i, "native"))
        return conf_refuse(r, r->i, conf_check_type(r),
                           "Unknown allocator backend, options are native and cudaMallocAsync");
    if (r->when == CONF_AT_RUN_TIME && is_async != r->s->is_async)
        return conf_refuse(r, r->i, "RuntimeError", "the backend cannot change at run time");
    r->s->is_async = is_async;
    return ERR_OK;
}

/* "4G" or "4g" is GiB, a plain number is a share of the device. False for what PyTorch ignores. */
static bool conf_parse_reserve(const char *word, struct pytorch_settings *s)
{
    char *end;
    const double value = strtod(word, &end);
    if (end == word || !isfinite(value) || value <= 0.0)
        return false;
    if (*end == '\0') {
        s->reserve_kind = RESERVE_SHARE;
        s->reserve_share = value;
        return true;
    }
    if (strcmp(end, "G") != 0 && strcmp(end, "g") != 0)
        return false;
    const double bytes = value * (double)GIB;
    s->reserve_kind = RESERVE_BYTES;
    s->reserve_bytes = bytes < 0x1p64 ? (uint64_t)bytes : UINT64_MAX;
    return true;
}

static enum err conf_reserve(struct conf_reader *r, const struct conf_key *key)
{
    const enum err e = conf_to_value(r, key);
    if (e == ERR_OK)
        (void)conf_parse_reserve(conf_word(r, r->i), r->s);      /* PyTorch ignores a value that makes no sense */
    return e;
}

/* Any values are accepted, but they must be a list. */
static enum err conf_reserve_by_class(struct conf_reader *r, const struct conf_key *key)
{
    const enum err e = conf_to_value(r, key);
    if (e != ERR_OK)
        return e;
    if (!conf_is(r, r->i, "["))
        return conf_refuse(r, r->i, "RuntimeError", "%s wants a list, [name:value,...]", key->name);
    while (!conf_ends(r, r->i) && !conf_is(r, r->i, "]"))
        r->i++;
    return conf_ends(r, r->i) ? conf_refuse_end(r, "']'") : ERR_OK;
}

#define CONF_HOST  "it concerns host memory only"
#define CONF_LOCK  "it only lets other threads in during a device call"
#define CONF_CLASS "its classes of streams are not published: taken as not given"

static const struct conf_key conf_keys[] = {
#define OPTION(key, since, part, read, inert) {#key, TORCH_##since, part, read, inert},
#include "policies/pytorch/pytorch_rules.def"
#undef OPTION
};

/* NULL for a key that the release does not know. */
static const struct conf_key *conf_find(const struct pytorch_rules *rules, const char *name)
{
    for (size_t i = 0; i < sizeof conf_keys / sizeof conf_keys[0]; i++)
        if (strcmp(conf_keys[i].name, name) == 0)
            return rules->release >= conf_keys[i].since ? &conf_keys[i] : NULL;
    return NULL;
}

/* Moves from a key to the last token of its value, whatever that is. */
static enum err conf_skip_value(struct conf_reader *r)
{
    r->i += 2;
    if (conf_is(r, r->i, "["))
        while (!conf_ends(r, r->i) && !conf_is(r, r->i, "]"))
            r->i++;
    return conf_ends(r, r->i) ? conf_refuse_end(r, "a value") : ERR_OK;
}

/* The options that every text resets. */
static void conf_reset(struct pytorch_settings *s)
{
    s->max_split_size = PYTORCH_UNLIMITED;
    s->max_non_split_rounding = s->large_segment_size;
    s->garbage_collection_threshold = 0.0;
    conf_fill_divisions(s, 0, PYTORCH_ROUNDUP_INTERVALS, 0);
}

/* The reader up to 2.9. */
static enum err conf_read_checked(struct conf_reader *r)
{
    conf_reset(r->s);
    for (r->i = 0; !conf_ends(r, r->i); r->i++) {
        const struct conf_key *key = conf_find(r->rules, conf_word(r, r->i));
        if (key == NULL)
            return conf_refuse(r, r->i, "RuntimeError", "Unrecognized CachingAllocator option: %s",
                               conf_word(r, r->i));
        enum err e = key->read(r, key);
        if (e != ERR_OK)
            return e;
        if (!conf_ends(r, r->i + 1) && (e = conf_skip(r, ",")) != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* A reader of 2.10+: reads the options of its part and skips the others. */
static enum err conf_read_part(struct conf_reader *r, enum conf_part part)
{
    for (r->i = 0; !conf_ends(r, r->i); r->i += 2) {
        const struct conf_key *key = conf_find(r->rules, conf_word(r, r->i));
        if (key == NULL)
            return conf_refuse(r, r->i, "ValueError", "Unrecognized key '%s' in %s allocator config.",
                               conf_word(r, r->i), r->when == CONF_AT_START ? "CUDA" : "Accelerator");
        const bool is_mine = key->part == part && key->read != conf_large_segment;
        const enum err e = is_mine ? key->read(r, key) : conf_skip_value(r);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* large_segment_size_mb is looked for first, because options before it depend on it too. */
static enum err conf_read_common(struct conf_reader *r)
{
    conf_reset(r->s);
    for (r->i = 0; !conf_ends(r, r->i); r->i++) {
        const struct conf_key *key = conf_find(r->rules, conf_word(r, r->i));
        const enum err e = key != NULL && key->read == conf_large_segment ? key->read(r, key) : ERR_OK;
        if (e != ERR_OK)
            return e;
    }
    r->s->max_non_split_rounding = r->s->large_segment_size;
    return conf_read_part(r, CONF_COMMON);
}

/* Chooses the backend, as PyTorch does while it loads. It knows no keys, but aborts if the tokens cannot be paired. */
static enum err conf_choose_backend(struct conf_reader *r)
{
    for (r->i = 0; !conf_ends(r, r->i); r->i += 2) {
        const bool is_backend = conf_is(r, r->i, "backend");
        const enum err e = conf_skip_value(r);
        if (e != ERR_OK || (is_backend && (conf_is(r, r->i, "native") || conf_is(r, r->i, "cudaMallocAsync"))))
            return e;
    }
    return ERR_OK;
}

static enum err conf_read(struct conf_reader *r)
{
    if (r->rules->has_checked_separators)
        return conf_read_checked(r);
    if (r->when == CONF_AT_RUN_TIME) {
        const enum err e = conf_read_common(r);
        return e != ERR_OK ? e : conf_read_part(r, CONF_CUDA);
    }
    enum err e = conf_choose_backend(r);
    if (e == ERR_OK)
        e = conf_read_part(r, CONF_CUDA);
    return e != ERR_OK ? e : conf_read_common(r);
}

static enum err conf_apply(const struct pytorch_rules *rules, enum conf_time when, const struct conf_tokens *tokens,
                           struct pytorch_settings *s, size_t *source, struct err_detail *err)
{
    struct pytorch_settings next = *s;
    struct conf_reader r = {.rules = rules, .when = when, .tokens = tokens, .s = &next, .err = err};
    const enum err e = conf_read(&r);
    if (e == ERR_OK || when == CONF_AT_RUN_TIME)
        *s = next;
    *source = r.source;
    return e;
}

enum err pytorch_conf_apply(const struct pytorch_rules *rules, enum conf_time when, const char *text,
                            struct pytorch_settings *s, struct err_detail *err)
{
    struct conf_tokens tokens;
    size_t source;
    enum err e = conf_tokenize(rules, text, NULL, 0, &tokens);
    if (e != ERR_OK)
        return err_set(err, e, 0, "%s", err_text(e));
    e = conf_apply(rules, when, &tokens, s, &source, err);
    conf_tokens_free(&tokens);
    return e;
}

enum err pytorch_conf_start(const struct pytorch_rules *rules, const char *text, const struct conf_setting *settings,
                            size_t n, struct pytorch_settings *s, size_t *source, struct err_detail *err)
{
    struct conf_tokens tokens;
    enum err e = conf_tokenize(rules, text, settings, n, &tokens);
    if (e != ERR_OK)
        return err_set(err, e, 0, "%s", err_text(e));
    e = conf_apply(rules, CONF_AT_START, &tokens, s, source, err);
    conf_tokens_free(&tokens);
    return e;
}

/* Why the option at the reader's value has no effect; NULL: it may have one. */
static const char *conf_inert(const struct conf_reader *r, const struct conf_key *key)
{
    struct pytorch_settings ignored;
    if (key == NULL || key->inert != NULL)
        return key == NULL ? NULL : key->inert;
    return key->read == conf_reserve && !conf_parse_reserve(conf_word(r, r->i), &ignored)
               ? "PyTorch ignores a value that is neither a share nor GiB such as 4G" : NULL;
}

/* The same of one item, text[0, n). */
static void conf_slip_of(const struct pytorch_rules *rules, const char *text, size_t n, char out[PYTORCH_CONF_SLIP])
{
    enum { SLIPS_MAX = 3 };
    const char *colon = memchr(text, ':', n), *equals = memchr(text, '=', n);
    if (colon == NULL && equals != NULL) {
        const int n_key = (int)(equals - text), n_value = (int)(n - (size_t)n_key - 1);
        snprintf(out, PYTORCH_CONF_SLIP, "; write %.*s:%.*s, with a colon", n_key, text, n_value, equals + 1);
        return;
    }
    struct nearest nearest = {.typed = text, .n_typed = colon == NULL ? n : (size_t)(colon - text)};
    for (size_t i = 0; i < sizeof conf_keys / sizeof conf_keys[0]; i++)
        if (rules->release >= conf_keys[i].since)
            nearest_offer(&nearest, conf_keys[i].name, strlen(conf_keys[i].name));
    if (nearest.name == NULL || nearest.distance > SLIPS_MAX)
        return;
    if (nearest.distance > 0)
        snprintf(out, PYTORCH_CONF_SLIP, "; did you mean '%s'?", nearest.name);
    else if (colon == NULL)
        snprintf(out, PYTORCH_CONF_SLIP, "; write %s:VALUE", nearest.name);
    else if (strncmp(colon, ":true", 5) == 0 || strncmp(colon, ":false", 6) == 0)
        snprintf(out, PYTORCH_CONF_SLIP, "; write %s:%s", nearest.name, colon[1] == 't' ? "True" : "False");
}

void pytorch_conf_slip(const struct pytorch_rules *rules, const char *text, char out[PYTORCH_CONF_SLIP])
{
    out[0] = '\0';
    while (*text != '\0' && out[0] == '\0') {
        text += strspn(text, ", \t");
        const size_t n = strcspn(text, ",");
        conf_slip_of(rules, text, n, out);
        text += n;
    }
}

enum err pytorch_conf_each(const struct pytorch_rules *rules, const char *text,
                           void (*visit)(void *arg, const struct conf_option *option), void *arg)
{
    struct conf_tokens tokens;
    struct err_detail ignored;
    const enum err e = conf_tokenize(rules, text, NULL, 0, &tokens);
    if (e != ERR_OK)
        return e;
    struct conf_reader r = {.rules = rules, .when = CONF_AT_START, .tokens = &tokens, .err = &ignored};
    while (!conf_ends(&r, r.i)) {
        const struct conf_key *key = conf_find(rules, conf_word(&r, r.i));
        struct conf_option option = {.key = conf_word(&r, r.i), .from = tokens.at[r.i].offset, .is_known = key != NULL};
        if (conf_skip_value(&r) != ERR_OK)
            break;
        option.inert = conf_inert(&r, key);
        option.to = conf_ends(&r, r.i + 1) ? strlen(text) : tokens.at[r.i + 1].offset;
        visit(arg, &option);
        r.i += 2;
    }
    conf_tokens_free(&tokens);
    return ERR_OK;
}

/* "64", "0.8", and "4G" for GiB, in no more letters than the largest integer has. PyTorch ignores what follows a
 * number; here nothing may. */
static bool conf_is_plain_number(const char *word)
{
    static const char digits[] = "0123456789";
    size_t n = strspn(word, digits);
    if (n == 0 || strlen(word) > CONF_NUMBER_LETTERS)
        return false;
    if (word[n] == '.')
        n += 1 + strspn(word + n + 1, digits);
    n += word[n] == 'G' || word[n] == 'g';
    return word[n] == '\0';
}

static bool conf_is_plain_word(const struct pytorch_rules *rules, const char *word)
{
    static const char *const words[] = { "True", "False", "native", "cudaMallocAsync", ">" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return conf_is_separator(word[0]) || conf_find(rules, word) != NULL || conf_is_plain_number(word);
}

/* Allocates nothing, so that no lack of memory is taken for an answer. */
static bool conf_is_plain_in(const struct pytorch_rules *rules, const char *text)
{
    struct pytorch_settings ignored = pytorch_settings_default();
    struct err_detail err;
    struct conf_token at[PYTORCH_CONF_PLAIN_MAX];
    char chars[2 * PYTORCH_CONF_PLAIN_MAX];
    struct conf_tokens tokens = { .at = at, .chars = chars, .next = chars };
    size_t source;
    conf_put_words(&tokens, rules, text, 0);
    for (size_t i = 0; i < tokens.n; i++)
        if (!conf_is_plain_word(rules, at[i].text))
            return false;
    return conf_apply(rules, CONF_AT_START, &tokens, &ignored, &source, &err) == ERR_OK;
}

bool pytorch_conf_is_plain(const char *text)
{
    bool is_plain = false;
    for (enum torch_release r = 0; r < TORCH_RELEASES && !is_plain && strlen(text) < PYTORCH_CONF_PLAIN_MAX; r++) {
        const struct pytorch_rules rules = pytorch_rules_of(r);
        is_plain = conf_is_plain_in(&rules, text);
    }
    return is_plain;
}

bool pytorch_settings_equal(const struct pytorch_settings *a, const struct pytorch_settings *b)
{
#define IS_EQUAL(type, name, kind) &&memcmp(&a->name, &b->name, sizeof a->name) == 0
    return true PYTORCH_SETTINGS(IS_EQUAL);
#undef IS_EQUAL
}

/* From 2.10 on PYTORCH_ALLOC_CONF is read as well, but this one wins where both are set. */
const char *pytorch_conf_variable(const struct pytorch_rules *rules)
{
    return rules->is_npu ? "PYTORCH_NPU_ALLOC_CONF" : "PYTORCH_CUDA_ALLOC_CONF";
}
