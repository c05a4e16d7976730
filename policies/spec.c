/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Specs: from what a person types to a policy and the values of its options.
 *
 * A preset is first written out into `expanded`, so that only one form remains: NAME:item,item,... An error names the
 * place in what was typed, not in what it was expanded to.
 */
#include "policies/spec.h"

#include "base/nearest.h"
#include "base/units.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "X" after the '=' of a name stands for what is typed there; it replaces the X of "=X" in the spec. Presets with
 * variables lie together, library by library: first as it comes, then in the order in which to try them
 * (policy_own_order). */
static const struct policy_preset spec_presets[] = {
    {"best-fit", "pytorch", "best fit with splitting: PyTorch's caching allocator with no option set", NULL},
    {"pow2", "pytorch:pow2",
     "every request rounded up to the next power of two, then best fit; no PyTorch setting does this (its "
     "roundup_power2_divisions:1 means plain rounding to 512 bytes)", NULL},
    {"pow2=X", "pytorch:roundup=X",
     "X steps between powers of two, then best fit (PyTorch's roundup_power2_divisions:X)", NULL},
    {"gc=X", "pytorch:gc=X,limit-device",
     "best fit; blocks unused for long are given back above that share of the limit (PyTorch's "
     "garbage_collection_threshold:X). The limit is the device's capacity: in PyTorch the option does nothing without "
     "a memory fraction", NULL},
    {"xpu", "pytorch",
     "as described: PyTorch's allocator for Intel GPUs, which has the sizes, pools and search of the one for CUDA and "
     "none of its settings (c10/xpu/XPUCachingAllocator.cpp); not compared with a card", NULL},
    {"jax-start=X", "tf-bfc:gc=off,start=X",
     "as described: JAX with XLA's memory_fraction_policy \"X+\", 0.75+ by default in its source; X of the card at its "
     "start, and then up to all of it. No release to 0.12.0.1 does so", NULL},
    {"jax", "tf-bfc:growth=off,gc=off,fraction=0.75",
     "JAX as it comes: three quarters of the card at its start, and no more (docs/gpu_memory_allocation.rst)", ""},
    {"jax-grow", "tf-bfc:gc=off,fraction=0.75",
     "JAX with XLA_PYTHON_CLIENT_PREALLOCATE=false: as it needs it, up to three quarters of the card",
     "XLA_PYTHON_CLIENT_PREALLOCATE=false"},
    {"jax-fraction=X", "tf-bfc:growth=off,gc=off,fraction=X",
     "JAX with XLA_CLIENT_MEM_FRACTION=X (XLA_PYTHON_CLIENT_MEM_FRACTION in older releases)",
     "XLA_CLIENT_MEM_FRACTION=X"},
    {"jax-async", "cuda-async",
     "JAX with XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async and no preallocation: the driver's pool",
     "XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async XLA_PYTHON_CLIENT_PREALLOCATE=false"},
    {"jax-platform", "none",
     "JAX with XLA_PYTHON_CLIENT_ALLOCATOR=platform: the driver is asked each time, which is slow",
     "XLA_PYTHON_CLIENT_ALLOCATOR=platform"},
    {"tf", "tf-bfc:growth=off", "TensorFlow as it comes: all that the card has free, at its start", ""},
    {"tf-grow", "tf-bfc", "TensorFlow with TF_FORCE_GPU_ALLOW_GROWTH=true: as it needs it",
     "TF_FORCE_GPU_ALLOW_GROWTH=true"},
    {"tf-async", "cuda-async", "TensorFlow with TF_GPU_ALLOCATOR=cuda_malloc_async: the driver's pool",
     "TF_GPU_ALLOCATOR=cuda_malloc_async"},
};

enum { N_SPEC_PRESETS = sizeof spec_presets / sizeof spec_presets[0] };

/* The policy that reads PyTorch's settings. */
static const char spec_settings_policy[] = "pytorch";

enum {
    SPEC_REASON = 160,            /* the longest reason in a message */
    SPEC_SHOWN = 40,              /* the most that a message repeats of what was typed */
    SPEC_NAME_MAX = 64,           /* no policy's name is longer */
    SPEC_DEPTH_MAX = 8,           /* policies in brackets within brackets */
};

const struct policy_preset *policy_preset_at(size_t i)
{
    return i < N_SPEC_PRESETS ? &spec_presets[i] : NULL;
}

/* A part of a text. */
struct span {
    const char *at;
    size_t n;
};

static bool span_is(struct span s, const char *word)
{
    return strlen(word) == s.n && memcmp(s.at, word, s.n) == 0;
}

/* The part before the first `c`, or all of it. */
static struct span span_until(struct span s, char c)
{
    const char *end = s.n == 0 ? NULL : memchr(s.at, c, s.n);
    return (struct span){s.at, end == NULL ? s.n : (size_t)(end - s.at)};
}

static struct span span_skip(struct span s, size_t n)
{
    return (struct span){s.at + n, s.n - n};
}

/* ---- the nearest name ---- */

static void spec_offer(struct nearest *nearest, const char *name)
{
    nearest_offer(nearest, name, strcspn(name, "="));
}

/* Offers the presets in reverse order, so that "pow2=" is nearer to "pow2=X" than to "pow2". */
static struct nearest spec_nearest_policy(struct span typed)
{
    struct nearest n = {.typed = typed.at, .n_typed = span_until(typed, '=').n};
    for (size_t i = N_SPEC_PRESETS; i-- > 0;)
        spec_offer(&n, spec_presets[i].name);
    for (size_t i = 0; policy_at(i) != NULL; i++)
        spec_offer(&n, policy_at(i)->name);
    return n;
}

/* Whether what was typed may be a slip of the name and not another word: at least half of it stays. */
static bool spec_is_near(const struct nearest *n)
{
    return 2 * n->distance <= n->n_typed;
}

/* ---- one option's value ---- */

/* A plain decimal number in [0, 1]: no sign, no hexadecimal, no nan. */
static bool option_parse_ratio(const char *text, double *out)
{
    if (text[0] == '\0' || text[strspn(text, "0123456789.eE-")] != '\0' || text[0] == '-')
        return false;
    char *end;
    const double value = strtod(text, &end);
    if (*end != '\0' || !isfinite(value) || value < 0 || value > 1)
        return false;
    *out = value;
    return true;
}

static bool option_is_in_range(const struct policy_option *o, uint64_t value)
{
    return o->min <= value && value <= o->max;
}

/* Says what an option takes. */
static void option_describe(const struct policy_option *o, char reason[SPEC_REASON])
{
    char min[UNITS_TEXT], max[UNITS_TEXT];
    const char *unit = o->unit == NULL ? "" : o->unit;
    switch (o->kind) {
    case OPTION_BYTES:
        units_format_bytes(o->min, min);
        if (o->max == UINT64_MAX)
            snprintf(reason, SPEC_REASON, "%s is a size of at least %s", o->name, min);
        else
            snprintf(reason, SPEC_REASON, "%s is a size from %s to %s", o->name, min, units_format_bytes(o->max, max));
        break;
    case OPTION_NUMBER:
        snprintf(reason, SPEC_REASON, "%s is a whole number%s%s from %llu to %llu", o->name, *unit ? " of " : "", unit,
                 (unsigned long long)o->min, (unsigned long long)o->max);
        break;
    case OPTION_RATIO:
        snprintf(reason, SPEC_REASON, "%s is a share from 0 to 1", o->name);
        break;
    case OPTION_SWITCH:
        snprintf(reason, SPEC_REASON, "%s is on or off", o->name);
        break;
    case OPTION_TEXT:
    case OPTION_PAIRS:
        snprintf(reason, SPEC_REASON, "%s needs a value", o->name);
        break;
    case OPTION_UPSTREAM:
        snprintf(reason, SPEC_REASON, "%s is a policy with its options in brackets: %s=[none]", o->name, o->name);
        break;
    }
}

/* Options that may be absent are unset by these words, too: so a sweep has a word for "without". */
static bool option_is_left_out(const struct policy_option *o, const char *text)
{
    return o->fallback == NULL && o->kind != OPTION_SWITCH && o->kind != OPTION_PAIRS &&
           (strcmp(text, "none") == 0 || strcmp(text, "off") == 0);
}

/* Reads `text` (borrowed) as the option's value; false if it is not one. */
static bool option_parse(const struct policy_option *o, const char *text, struct option_value *out)
{
    struct option_value v = {.is_set = true, .text = text};
    bool is_ok = true;
    if (option_is_left_out(o, text)) {
        *out = (struct option_value){.text = text};
        return true;
    }
    switch (o->kind) {
    case OPTION_BYTES:
        is_ok = units_parse_bytes(text, strlen(text), &v.number) && option_is_in_range(o, v.number);
        break;
    case OPTION_NUMBER:
        is_ok = units_parse_number(text, strlen(text), &v.number) && option_is_in_range(o, v.number);
        break;
    case OPTION_RATIO:
        is_ok = option_parse_ratio(text, &v.ratio);
        break;
    case OPTION_SWITCH:
        v.number = strcmp(text, "on") == 0;
        is_ok = v.number == 1 || strcmp(text, "off") == 0;
        break;
    case OPTION_TEXT:
    case OPTION_PAIRS:
    case OPTION_UPSTREAM:         /* spec_take_nested reads it */
        break;
    }
    if (is_ok)
        *out = v;
    return is_ok;
}

/* ---- what was typed ---- */

/* A spec while it is read. Most places are in `expanded`; three numbers tell where they were typed. */
struct spec_reader {
    struct policy_spec *spec;
    struct span head;             /* of typed: the name, with a preset's argument */
    struct span rest;             /* of typed: the items after the first ':' */
    size_t      argument_at;      /* where a preset's argument is in expanded, `n_argument` long */
    size_t      n_argument;
    size_t      rest_at;          /* where `rest` is in expanded */
    char       *pairs;            /* room after expanded: items of the form key:value, joined */
    size_t      n_pairs;
    bool        has_pairs;
    char       *values;           /* room after that: the other values, each terminated */
    unsigned    depth;            /* in how many brackets we are */
    bool        is_foreign;       /* of a file: no plugin is loaded */
    struct err_detail *err;
};

/* Where a place of expanded was typed; 0 for what a preset put there. */
static size_t spec_typed_at(const struct spec_reader *r, const char *place)
{
    const size_t at = (size_t)(place - r->spec->expanded);
    if (r->rest_at != 0 && at >= r->rest_at)
        return (size_t)(r->rest.at - r->spec->typed) + (at - r->rest_at);
    if (r->n_argument != 0 && at >= r->argument_at && at <= r->argument_at + r->n_argument)
        return r->head.n - r->n_argument + (at - r->argument_at);
    return 0;
}

static enum err spec_refuse(const struct spec_reader *r, size_t typed_at, struct span shown, const char *reason)
{
    const int n = (int)(shown.n < SPEC_SHOWN ? shown.n : SPEC_SHOWN);
    if (typed_at == 0 && shown.n == strlen(r->spec->typed))          /* the place would repeat it all */
        return err_set(r->err, ERR_USAGE, 0, "policy '%.*s': %s", n, shown.at, reason);
    return err_set(r->err, ERR_USAGE, typed_at, "policy '%.*s': at character %zu, '%.*s': %s", SPEC_SHOWN,
                   r->spec->typed, typed_at + 1, n, shown.at, reason);
}

static const struct policy_option *spec_find_option(const struct policy_ops *ops, struct span name)
{
    for (size_t i = 0; ops->options != NULL && ops->options[i].name != NULL; i++)
        if (span_is(name, ops->options[i].name))
            return &ops->options[i];
    return NULL;
}

static enum err spec_refuse_name(const struct spec_reader *r)
{
    char reason[SPEC_REASON];
    const struct policy_option *option;
    const struct nearest n = spec_nearest_policy(r->head);
    if (r->head.n == 0)
        snprintf(reason, sizeof reason, "a policy's name is missing; replay --list shows them");
    else if (n.distance == 0)
        snprintf(reason, sizeof reason, strchr(n.name, '=') != NULL ? "%s needs a value" : "%s takes no value", n.name);
    else if ((option = spec_find_option(policy_find(spec_settings_policy), r->head)) != NULL)
        snprintf(reason, sizeof reason, "no policy of that name, but %s has that option: %s:%s%s", spec_settings_policy,
                 spec_settings_policy, option->name, option->kind == OPTION_SWITCH ? "" : "=...");
    else if (spec_is_near(&n))
        snprintf(reason, sizeof reason, "no policy of that name; did you mean '%s'?", n.name);
    else
        snprintf(reason, sizeof reason, "no policy of that name; replay --list shows them");
    return spec_refuse(r, 0, r->head, reason);
}

/* ---- presets and settings are written out ---- */

/* Whether the head is this preset; *argument is what X stands for. */
static bool spec_head_is_preset(struct span head, const struct policy_preset *preset, struct span *argument)
{
    const struct span name = {preset->name, strlen(preset->name)}, stem = span_until(name, '=');
    *argument = (struct span){head.at, 0};
    if (stem.n == name.n)
        return span_is(head, preset->name);
    if (head.n <= stem.n + 1 || memcmp(head.at, preset->name, stem.n + 1) != 0)
        return false;
    *argument = span_skip(head, stem.n + 1);
    return true;
}

static const struct policy_preset *spec_find_preset(struct span head, struct span *argument)
{
    for (size_t i = 0; i < N_SPEC_PRESETS; i++)
        if (spec_head_is_preset(head, &spec_presets[i], argument))
            return &spec_presets[i];
    return NULL;
}

const struct policy_preset *policy_preset_of(const char *typed)
{
    struct span argument;
    return spec_find_preset((struct span){typed, strcspn(typed, ":")}, &argument);
}

unsigned policy_own_order(const char *typed)
{
    const struct policy_preset *preset = strchr(typed, ':') == NULL ? policy_preset_of(typed) : NULL;
    if (preset == NULL || preset->variables == NULL)
        return 0;
    const struct policy_preset *first = preset;
    while (first->variables[0] != '\0')          /* each library's presets begin with it as it comes */
        first--;
    return (unsigned)(preset - first) + 1;
}

const char *policy_variables(const char *typed, char out[static POLICY_VARIABLES])
{
    struct span argument;
    const struct policy_preset *preset = spec_find_preset((struct span){typed, strcspn(typed, ":")}, &argument);
    const char *variables = preset != NULL && preset->variables != NULL ? preset->variables : "";
    const char *x = argument.n > 0 ? strstr(variables, "=X") : NULL;
    if (x == NULL)
        snprintf(out, POLICY_VARIABLES, "%s", variables);
    else
        snprintf(out, POLICY_VARIABLES, "%.*s%.*s", (int)(x + 1 - variables), variables, (int)argument.n, argument.at);
    return out;
}

static bool spec_is_plugin(struct span head)
{
    return memchr(head.at, '/', head.n) != NULL || (head.n > 3 && memcmp(head.at + head.n - 3, ".so", 3) == 0);
}

/* Whether a text begins like a PyTorch setting: with "backend", or with an underscore in its first word, which no
 * policy's name has. */
static bool spec_is_settings_word(struct span text)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const size_t skipped = strspn(text.at, " \t,");
    const struct span s = span_skip(text, skipped < text.n ? skipped : text.n);
    const size_t n = strspn(s.at, word);
    const struct span key = {s.at, n < s.n ? n : s.n};
    return span_is(key, "backend") || (key.n > 0 && memchr(key.at, '_', key.n) != NULL);
}

/* A misspelt "best_fit" is still taken for a policy's name. */
static bool spec_is_settings(struct span typed)
{
    const bool is_bare = strpbrk(typed.at, ":,=") == NULL;
    return spec_is_settings_word(typed) && !(is_bare && spec_nearest_policy(typed).distance <= 2);
}

bool policy_text_is_pytorch(const char *text)
{
    const struct span typed = {text, strlen(text)};
    const struct policy_preset *preset = policy_preset_of(text);
    const char *spec = preset != NULL ? preset->spec : text;
    const struct span name = {spec, strcspn(spec, ":")};
    return span_is(name, spec_settings_policy) || (preset == NULL && spec_is_settings(typed));
}

/* Allocates the spec's texts: `n` bytes of expanded, followed by room for the values that are copied out of it. */
static enum err spec_make_room(struct spec_reader *r, size_t n)
{
    char *room = calloc(3, n + 2);
    uint32_t *pairs_at = calloc(n + 2, sizeof *pairs_at);
    if (room == NULL || pairs_at == NULL) {
        free(room);
        free(pairs_at);
        return err_no_memory(r->err);
    }
    r->spec->expanded = room;
    r->spec->pairs_at = pairs_at;
    r->pairs = room + n + 1;
    r->values = room + 2 * (n + 2);
    return ERR_OK;
}

/* Writes the policy's name or the preset's spec, with its argument put in, and after it the rest. */
static enum err spec_expand(struct spec_reader *r, const char *spec, struct span argument)
{
    const char *x = argument.n == 0 ? NULL : strstr(spec, "=X");
    const size_t n_before = x == NULL ? strlen(spec) : (size_t)(x - spec) + 1;
    const char *after = x == NULL ? "" : x + 2;
    const size_t n_spec = n_before + argument.n + strlen(after);
    const bool has_rest = r->rest.n > 0;
    enum err e = spec_make_room(r, n_spec + 1 + r->rest.n);
    if (e != ERR_OK)
        return e;
    char *text = r->spec->expanded;
    memcpy(text, spec, n_before);
    memcpy(text + n_before, argument.at, argument.n);
    memcpy(text + n_before + argument.n, after, strlen(after));
    r->argument_at = n_before;
    r->n_argument = argument.n;
    if (has_rest) {
        text[n_spec] = strchr(spec, ':') == NULL ? ':' : ',';
        memcpy(text + n_spec + 1, r->rest.at, r->rest.n);
        r->rest_at = n_spec + 1;
    }
    return ERR_OK;
}

/* ---- items ---- */

static const struct policy_option *spec_pairs_option(const struct policy_ops *ops)
{
    for (size_t i = 0; ops->options != NULL && ops->options[i].name != NULL; i++)
        if (ops->options[i].kind == OPTION_PAIRS)
            return &ops->options[i];
    return NULL;
}

static struct option_value *spec_value(const struct spec_reader *r, const struct policy_option *o)
{
    return &r->spec->values[o - r->spec->ops->options];
}

/* Adds a piece of `expanded` to the pairs, or of `typed` if all of that is a settings text. */
static void spec_add_pair(struct spec_reader *r, struct span pair)
{
    const bool is_typed = pair.at >= r->spec->typed && pair.at <= r->spec->typed + strlen(r->spec->typed);
    const size_t at = is_typed ? (size_t)(pair.at - r->spec->typed) : spec_typed_at(r, pair.at);
    if (r->has_pairs)
        r->pairs[r->n_pairs++] = ',';
    for (size_t i = 0; i <= pair.n; i++)             /* the place after the last byte is for what is missing there */
        r->spec->pairs_at[r->n_pairs + i] = (uint32_t)(at + i);
    memcpy(r->pairs + r->n_pairs, pair.at, pair.n);
    r->n_pairs += pair.n;
    r->spec->n_pairs = r->n_pairs;
    r->has_pairs = true;
}

static struct nearest spec_nearest_option(const struct policy_ops *ops, struct span name)
{
    struct nearest n = {.typed = name.at, .n_typed = name.n};
    for (size_t i = 0; ops->options != NULL && ops->options[i].name != NULL; i++)
        spec_offer(&n, ops->options[i].name);
    return n;
}

/* The option that names a file; NULL: the policy has none. */
static const struct policy_option *spec_file_option(const struct policy_ops *ops)
{
    return spec_find_option(ops, (struct span){"file", 4});
}

/* Whether an item is meant as an option, not as a pair: it has the form of an option's name, or it is close to one, as
 * "max_split=..." is. */
static bool spec_is_option_name(const struct policy_ops *ops, struct span name, bool has_value)
{
    const size_t n = strspn(name.at, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return name.n > 0 && (n >= name.n || (has_value && spec_nearest_option(ops, name).distance <= 2));
}

static enum err spec_refuse_option(const struct spec_reader *r, struct span name)
{
    char reason[SPEC_REASON];
    const struct policy_ops *ops = r->spec->ops;
    const struct nearest n = spec_nearest_option(ops, name);
    if (n.name == NULL)
        snprintf(reason, sizeof reason, "%s has no options", ops->name);
    else
        snprintf(reason, sizeof reason, "%s has no such option; did you mean '%s'?", ops->name, n.name);
    return spec_refuse(r, spec_typed_at(r, name.at), name, reason);
}

/* Takes a terminated value for an option. `shown` is the part of expanded that a message shows. */
static enum err spec_take_value(struct spec_reader *r, const struct policy_option *o, const char *value,
                                struct span shown)
{
    char reason[SPEC_REASON];
    struct option_value *slot = spec_value(r, o);
    if (slot->is_given) {
        snprintf(reason, sizeof reason, "%s is given twice", o->name);
        return spec_refuse(r, spec_typed_at(r, shown.at), shown, reason);
    }
    if (!option_parse(o, value, slot)) {
        option_describe(o, reason);
        return spec_refuse(r, spec_typed_at(r, shown.at), shown, reason);
    }
    slot->is_given = true;
    r->spec->value_at[o - r->spec->ops->options] = (uint32_t)spec_typed_at(r, shown.at);
    return ERR_OK;
}

static enum err spec_parse(const char *text, unsigned depth, bool is_foreign, struct policy_spec *out,
                           struct err_detail *err);

/* Reads the policy that is the value of an option, without its brackets. A mistake in it is shown at its place in the
 * whole text. */
static enum err spec_take_nested(struct spec_reader *r, const struct policy_option *o, const char *text,
                                 struct span shown)
{
    struct err_detail inner = {.text = ""};
    struct policy_spec *nested = calloc(1, sizeof *nested);
    if (nested == NULL)
        return err_no_memory(r->err);
    const enum err e = r->depth == SPEC_DEPTH_MAX
                           ? err_set(&inner, ERR_USAGE, 0, "more than %d policies in brackets", SPEC_DEPTH_MAX)
                           : spec_parse(text, r->depth + 1, r->is_foreign, nested, &inner);
    if (e != ERR_OK) {
        free(nested);
        return err_set(r->err, e, spec_typed_at(r, shown.at) + inner.offset, "in %s=: %s", o->name, inner.text);
    }
    nested->choice = (struct policy_choice){.ops = nested->ops, .values = nested->values};
    nested->next = r->spec->nested;
    r->spec->nested = nested;
    spec_value(r, o)->choice = &nested->choice;
    return ERR_OK;
}

/* The inside of a value's brackets; the value itself if it has none. */
static struct span spec_unbracket(struct span value)
{
    const bool is_bracketed = value.n >= 2 && value.at[0] == '[' && value.at[value.n - 1] == ']';
    return is_bracketed ? (struct span){value.at + 1, value.n - 2} : value;
}

/* The same for a value inside expanded: copies it to where it can be terminated. */
static enum err spec_cut_value(struct spec_reader *r, const struct policy_option *o, struct span typed)
{
    const struct span value = o->kind == OPTION_UPSTREAM ? spec_unbracket(typed) : typed;
    char *text = r->values;
    memcpy(text, value.at, value.n);            /* the room was cleared, so the text is terminated */
    r->values += value.n + 1;
    const enum err e = spec_take_value(r, o, text, value);
    if (e != ERR_OK || o->kind != OPTION_UPSTREAM || !spec_value(r, o)->is_set)
        return e;
    return spec_take_nested(r, o, text, value);
}

/* Takes an item: a declared option, a pair for the policy to read, or a mistake. */
static enum err spec_take_item(struct spec_reader *r, struct span item)
{
    const struct policy_ops *ops = r->spec->ops;
    const struct span name = span_until(item, '=');
    const bool has_value = name.n < item.n;
    const struct policy_option *o = spec_find_option(ops, name);
    if (o != NULL && has_value) {
        const struct span value = span_skip(item, name.n + 1);
        if (o->kind != OPTION_PAIRS)
            return spec_cut_value(r, o, value);
        spec_add_pair(r, value);
        return ERR_OK;
    }
    if (o != NULL && o->kind == OPTION_SWITCH)
        return spec_take_value(r, o, "on", item);
    if (o != NULL) {
        char reason[SPEC_REASON];
        option_describe(o, reason);
        return spec_refuse(r, spec_typed_at(r, item.at), item, reason);
    }
    /* "plan:offsets.csv": a file goes without its name. */
    if (spec_file_option(ops) != NULL && !has_value &&
        (memchr(item.at, '.', item.n) != NULL || memchr(item.at, '/', item.n) != NULL))
        return spec_cut_value(r, spec_file_option(ops), item);
    /* What cannot be an option goes to the policy as it is, even if malformed: its own reader of pairs explains
     * mistakes best. */
    if (spec_pairs_option(ops) != NULL && !spec_is_option_name(ops, name, has_value)) {
        spec_add_pair(r, item);
        return ERR_OK;
    }
    return spec_refuse_option(r, name);
}

/* The length of the item that `text` begins with: up to a comma outside brackets. */
static size_t spec_item_length(struct span text)
{
    size_t depth = 0, i = 0;
    for (; i < text.n && (text.at[i] != ',' || depth > 0); i++) {
        if (text.at[i] == '[')
            depth++;
        else if (text.at[i] == ']' && depth > 0)
            depth--;
    }
    return i;
}

static enum err spec_take_items(struct spec_reader *r, struct span text)
{
    for (;;) {
        const size_t n = spec_item_length(text);
        const enum err e = spec_take_item(r, (struct span){text.at, n});
        if (e != ERR_OK || n == text.n)
            return e;
        text = span_skip(text, n + 1);
    }
}

/* Sets the values that were not typed. A fallback that cannot be read is a mistake in the policy's table. */
static enum err spec_take_fallbacks(struct spec_reader *r)
{
    const struct policy_ops *ops = r->spec->ops;
    for (size_t i = 0; ops->options != NULL && ops->options[i].name != NULL; i++) {
        const struct policy_option *o = &ops->options[i];
        struct option_value *v = &r->spec->values[i];
        r->spec->n_options = i + 1;
        if (o->kind == OPTION_PAIRS && r->has_pairs && o == spec_pairs_option(ops))
            *v = (struct option_value){.is_given = true, .is_set = true, .text = r->pairs};
        if (!v->is_given && o->fallback != NULL && !option_parse(o, o->fallback, v))
            return err_set(r->err, ERR_FORMAT, 0, "policy %s: its option %s has the fallback '%s', which is not valid",
                           ops->name, o->name, o->fallback);
    }
    return ERR_OK;
}

/* ---- the whole ---- */

static enum err spec_load_plugin(struct spec_reader *r)
{
    struct policy_spec *spec = r->spec;
    if (r->is_foreign)
        return err_set(r->err, ERR_UNSUPPORTED, 0, "'%s' lies in a file of its own; code is loaded only if the command "
                       "line names it", spec->typed);
    enum err e = spec_make_room(r, strlen(spec->typed));
    if (e != ERR_OK)
        return e;
    memcpy(spec->expanded, r->head.at, r->head.n);               /* the loader needs the path alone, terminated */
    e = policy_load(spec->expanded, &spec->ops, &spec->plugin, r->err);
    memcpy(spec->expanded, spec->typed, strlen(spec->typed));
    r->rest_at = (size_t)(r->rest.at - spec->typed);
    return e;
}

/* Finds the policy and writes the spec out in the one form. */
static enum err spec_resolve(struct spec_reader *r, bool *is_settings)
{
    const struct span typed = {r->spec->typed, strlen(r->spec->typed)};
    struct span argument;
    const struct policy_preset *preset = spec_find_preset(r->head, &argument);
    char name[SPEC_NAME_MAX] = "";
    *is_settings = false;
    if (preset != NULL) {
        const struct span stands_for = {preset->spec, strcspn(preset->spec, ":")};
        memcpy(name, stands_for.at, stands_for.n);
    } else if (spec_is_plugin(r->head)) {
        return spec_load_plugin(r);
    } else if (r->head.n < sizeof name) {
        memcpy(name, r->head.at, r->head.n);
    }
    if (preset == NULL && policy_find(name) == NULL && spec_is_settings(typed)) {
        *is_settings = true;
        r->rest = typed;
        snprintf(name, sizeof name, "%s", spec_settings_policy);
    }
    r->spec->ops = policy_find(name);
    if (r->spec->ops == NULL)
        return spec_refuse_name(r);
    return spec_expand(r, preset != NULL ? preset->spec : name, argument);
}

static enum err spec_read(struct spec_reader *r)
{
    bool is_settings;
    const enum err e = spec_resolve(r, &is_settings);
    if (e != ERR_OK)
        return e;
    const struct span text = {r->spec->expanded, strlen(r->spec->expanded)};
    const struct span name = span_until(text, ':');
    if (is_settings)
        spec_add_pair(r, r->rest);
    else if (text.n > name.n + 1) {
        const enum err taken = spec_take_items(r, span_skip(text, name.n + 1));
        if (taken != ERR_OK)
            return taken;
    }
    return spec_take_fallbacks(r);
}

/* Skips what was pasted from a shell before PyTorch's settings. */
static const char *spec_skip_shell(const char *text)
{
    static const char *const words[] = {"export ", "PYTORCH_CUDA_ALLOC_CONF=", "PYTORCH_ALLOC_CONF="};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        text += strncmp(text, words[i], strlen(words[i])) == 0 ? strlen(words[i]) : 0;
    return text;
}

bool policy_spec_has_plugin(const struct policy_spec *spec)
{
    for (const struct policy_spec *nested = spec->nested; nested != NULL; nested = nested->next)
        if (policy_spec_has_plugin(nested))
            return true;
    return spec->plugin != NULL;
}

bool policy_spec_files_are(const struct policy_spec *spec, bool (*is_good)(const char *path))
{
    const struct policy_option *file = spec_file_option(spec->ops);
    const struct option_value *value = file == NULL ? NULL : &spec->values[file - spec->ops->options];
    if (value != NULL && value->is_set && !is_good(value->text))
        return false;
    for (const struct policy_spec *nested = spec->nested; nested != NULL; nested = nested->next)
        if (!policy_spec_files_are(nested, is_good))
            return false;
    return true;
}

enum err policy_spec_parse(const char *text, struct policy_spec *out, struct err_detail *err)
{
    return spec_parse(text, 0, false, out, err);
}

enum err policy_spec_parse_foreign(const char *text, struct policy_spec *out, struct err_detail *err)
{
    return spec_parse(text, 0, true, out, err);
}

static enum err spec_parse(const char *text, unsigned depth, bool is_foreign, struct policy_spec *out,
                           struct err_detail *err)
{
    struct policy_spec spec = {.typed = strdup(spec_skip_shell(text))};
    if (spec.typed == NULL)
        return err_no_memory(err);
    const struct span typed = {spec.typed, strlen(spec.typed)};
    struct spec_reader r = {.spec = &spec, .head = span_until(typed, ':'), .err = err, .depth = depth,
                            .is_foreign = is_foreign};
    r.rest = span_skip(typed, r.head.n < typed.n ? r.head.n + 1 : typed.n);
    const enum err e = spec_read(&r);
    if (e != ERR_OK) {
        policy_spec_close(&spec);
        return e;
    }
    *out = spec;
    return ERR_OK;
}

void policy_spec_close(struct policy_spec *spec)
{
    while (spec->nested != NULL) {
        struct policy_spec *nested = spec->nested;
        spec->nested = nested->next;
        policy_spec_close(nested);
        free(nested);
    }
    policy_unload(spec->ops, spec->plugin);
    free(spec->typed);
    free(spec->expanded);
    free(spec->pairs_at);
    *spec = (struct policy_spec){0};
}

/* Where byte `at` of an option's value was typed; 0: nowhere. */
static size_t spec_value_place(const struct policy_spec *spec, size_t option, size_t at)
{
    assert(option < spec->n_options);
    if (spec->ops->options[option].kind == OPTION_PAIRS)
        return at <= spec->n_pairs ? spec->pairs_at[at] : 0;
    const size_t first = spec->value_at[option];
    const size_t n = first == 0 ? 0 : strcspn(spec->typed + first, ",");
    return first + (at < n ? at : n);
}

enum err policy_spec_refuse(const struct policy_spec *spec, enum err e, const struct err_detail *reason,
                            struct err_detail *err)
{
    const size_t option = (size_t)(reason->offset >> 32);
    if (e != ERR_USAGE || option == 0 || option > spec->n_options)   /* a plugin may name any place */
        return err_set(err, e, reason->offset, "policy '%s': %s", spec->typed, reason->text);
    const size_t place = spec_value_place(spec, option - 1, (size_t)(reason->offset & UINT32_MAX));
    const size_t n = strcspn(spec->typed + place, ",");
    if (n == 0 || n == strlen(spec->typed))              /* the place would say nothing, or repeat it all */
        return err_set(err, e, place, "policy '%s': %s", spec->typed, reason->text);
    return err_set(err, e, place, "policy '%s': at character %zu, '%.*s': %s", spec->typed, place + 1,
                   (int)(n < SPEC_SHOWN ? n : SPEC_SHOWN), spec->typed + place, reason->text);
}
