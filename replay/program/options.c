/* From argv to struct options. Every value is checked here, so that a command meets none that is out of range. */
#include "replay/program/options.h"

#include "base/nearest.h"
#include "base/units.h"
#include "replay/engine/explain_run.h"
#include "report/winner.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *flag, *argument, *help;
} option_table[] = {
#define OPTION_ROW(name, flag, argument, help) {flag, argument, help},
    OPTION_LIST(OPTION_ROW)
#undef OPTION_ROW
};

/* A whole number in decimal digits from min to max. */
static bool option_number(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    uint64_t n = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        const uint64_t d = (uint64_t)(*at - '0');
        if (n > (UINT64_MAX - d) / 10)
            return false;
        n = n * 10 + d;
    }
    if (at == text || *at != '\0' || n < min || n > max)
        return false;
    *out = n;
    return true;
}

static enum err option_take_number(const char *flag, const char *text, uint64_t min, uint64_t max, uint64_t *out,
                                   struct err_detail *why)
{
    if (option_number(text, min, max, out))
        return ERR_OK;
    return err_set(why, ERR_USAGE, 0, "--%s '%.40s': a whole number from %" PRIu64 " to %" PRIu64 " is needed", flag,
                   text, min, max);
}

/* An event as results name it, or the end. */
static enum err option_take_moment(const char *flag, const char *text, uint64_t *out, struct err_detail *why)
{
    if (strcmp(text, "end") == 0)
        *out = EXPLAIN_END;
    else if (!option_number(text, 0, INT64_MAX, out))
        return err_set(why, ERR_USAGE, 0, "--%s '%.40s': a whole number or 'end' is needed", flag, text);
    return ERR_OK;
}

/* The index of a word in a list that NULL ends. */
static enum err option_take_word(const char *flag, const char *text, const char *const *words, size_t *out,
                                 struct err_detail *why)
{
    char list[96] = "";
    for (size_t i = 0; words[i] != NULL; i++) {
        if (strcmp(text, words[i]) == 0) {
            *out = i;
            return ERR_OK;
        }
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
                 i == 0 ? "" : words[i + 1] == NULL ? " or " : ", ", words[i]);
    }
    return err_set(why, ERR_USAGE, 0, "--%s '%.40s': it is %s", flag, text, list);
}

/* "500" events, or "10ms" of the trace's time. */
static enum err option_take_interval(const char *text, struct options *o, struct err_detail *why)
{
    static const struct { const char *unit; uint64_t ns; } units[] = {
        {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000},
    };
    char digits[24];
    const size_t n = strspn(text, "0123456789");
    if (option_number(text, 1, UINT64_MAX, &o->sample_every_events))
        return ERR_OK;
    if (n < sizeof digits) {
        memcpy(digits, text, n);
        digits[n] = '\0';
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
            if (strcmp(text + n, units[i].unit) == 0 &&
                option_number(digits, 1, UINT64_MAX / units[i].ns, &o->sample_every_ns)) {
                o->sample_every_ns *= units[i].ns;
                return ERR_OK;
            }
    }
    return err_set(why, ERR_USAGE, 0, "--sample-every '%.40s': a number of events or a time such as 10ms is needed",
                   text);
}

/* "1MiB", 0: per millisecond. */
static enum err option_take_price(const char *text, struct options *o, struct err_detail *why)
{
    if (units_parse_bytes(text, strlen(text), &o->price) && o->price <= TIB)
        return ERR_OK;
    return err_set(why, ERR_USAGE, 0, "--price '%.40s': a size up to 1TiB per millisecond, such as 1MiB, is needed", text);
}

/* "2/8" */
static enum err option_take_shard(const char *text, struct options *o, struct err_detail *why)
{
    char digits[24];
    const size_t n = strcspn(text, "/");
    if (text[n] == '/' && n < sizeof digits && option_number(text + n + 1, 1, UINT32_MAX, &o->n_shards)) {
        memcpy(digits, text, n);
        digits[n] = '\0';
        if (option_number(digits, 1, o->n_shards, &o->shard))
            return ERR_OK;
    }
    return err_set(why, ERR_USAGE, 0, "--shard '%.40s': a part such as 2/8 is needed, from 1/8 to 8/8", text);
}

/* One text more in a list of them. */
static enum err option_take_one_more(const char *text, const char ***list, size_t *n, struct err_detail *why)
{
    const char **grown = realloc(*list, (*n + 1) * sizeof *grown);
    if (grown == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "the host is out of memory");
    *list = grown;
    grown[(*n)++] = text;
    return ERR_OK;
}

static enum err option_take_condition(const char *text, struct options *o, struct err_detail *why)
{
    if (o->n_fail_if == FAIL_IF_MAX)
        return err_set(why, ERR_USAGE, 0, "--fail-if is given more than %d times", FAIL_IF_MAX);
    o->fail_if[o->n_fail_if++] = text;
    return ERR_OK;
}

static enum err option_take(enum option_id id, const char *value, struct options *o, struct err_detail *why)
{
    static const char *const oom_words[] = {"stop", "skip", NULL};
    static const char *const start_words[] = {"fresh", "faithful", NULL};
    static const char *const release_words[] = {"auto", "program", "allocator", NULL};
    const char *flag = option_table[id].flag;
    uint64_t number = 0;
    size_t word = 0;
    enum err e = ERR_OK;
    switch (id) {
    case OPTION_POLICY:       return option_take_one_more(value, &o->policies, &o->n_policies, why);
    case OPTION_SAMPLE_EVERY: return option_take_interval(value, o, why);
    case OPTION_SHARD:        return option_take_shard(value, o, why);
    case OPTION_SEED:         return option_take_number(flag, value, 0, UINT64_MAX, &o->seed, why);
    case OPTION_EVENTS:       return option_take_number(flag, value, 1, UINT64_C(1) << 40, &o->events, why);
    case OPTION_DEVICE:
        o->device = value;
        return option_take_one_more(value, &o->devices, &o->n_devices, why);
    case OPTION_JSON:         o->json = value; break;
    case OPTION_CSV:          o->csv = value; break;
    case OPTION_HTML:         o->html = value; break;
    case OPTION_MD:           o->md = value; break;
    case OPTION_FAIL_IF:      return option_take_condition(value, o, why);
    case OPTION_SAMPLES:      o->samples = value; break;
    case OPTION_PERFETTO:     o->perfetto = value; break;
    case OPTION_OUT:          o->out = value; break;
    case OPTION_FROM:         o->from = value; break;
    case OPTION_EXPLAIN:      return option_take_moment(flag, value, &o->explain, why);
    case OPTION_AT:           return option_take_number(flag, value, 0, INT64_MAX, &o->at, why);
    case OPTION_INSERT:       o->insert = value; break;
    case OPTION_WARM:         o->warm = value; break;
    case OPTION_TORCH:        o->torch = value; break;
    case OPTION_AUDIT:        o->audit = true; break;
    case OPTION_TOUCH:        o->touch = true; break;
    case OPTION_CALIBRATE:    o->calibrate = true; break;
    case OPTION_ABBREVIATED:  o->is_abbreviated = true; break;
    case OPTION_ON_OOM:
        e = option_take_word(flag, value, oom_words, &word, why);
        o->on_oom = (enum oom_action)word;
        break;
    case OPTION_START:
        e = option_take_word(flag, value, start_words, &word, why);
        o->start = (enum start_mode)word;
        break;
    case OPTION_RELEASES:
        e = option_take_word(flag, value, release_words, &word, why);
        o->import.segment_frees = (enum import_segment_frees)word;
        break;
    case OPTION_PRICE:        return option_take_price(value, o, why);
    case OPTION_THREADS:
        e = option_take_number(flag, value, 1, 1024, &number, why);
        o->threads = (unsigned)number;
        break;
    case OPTION_GPU:
        e = option_take_number(flag, value, 0, 1023, &number, why);
        o->import.gpu = (int64_t)number;
        break;
    case OPTION_RESUME:
    case OPTION_SHOW_JOB:
    case OPTION_RECORD:
    case OPTION_TORCH_LIBS:
    case OPTION_STACKS:
    case OPTION_TORCH_HISTORY:
    case OPTION_SIMULATE:
    case OPTION_HELP:
    case OPTION_IDS:
        break;
    }
    return e;
}

/* Which option "--name" or "--name=value" is; its value where it is given behind '='. */
static enum err option_find(const char *typed, uint64_t taken, enum option_id *id, const char **value,
                            struct err_detail *why)
{
    const char *name = typed + 2;
    const size_t n = strcspn(name, "=");
    struct nearest nearest = { .typed = name, .n_typed = n };
    *value = name[n] == '=' ? name + n + 1 : NULL;
    if (typed[1] != '-') {
        name = "out";
        *value = typed[2] != '\0' ? typed + 2 : NULL;
    }
    for (unsigned i = 0; i < OPTION_IDS; i++) {
        const char *flag = option_table[i].flag;
        if ((taken & UINT64_C(1) << i) == 0)
            continue;
        if (strlen(flag) == (typed[1] != '-' ? 3 : n) && memcmp(flag, name, strlen(flag)) == 0) {
            *id = (enum option_id)i;
            return ERR_OK;
        }
        nearest_offer(&nearest, flag, strlen(flag));
    }
    return err_set(why, ERR_USAGE, 0, "unknown option '%.60s' for this command; did you mean '--%s'?", typed,
                   nearest.name != NULL ? nearest.name : "help");
}

static enum err option_take_next(int argc, char **argv, int *i, uint64_t taken, struct options *o,
                                 struct err_detail *why)
{
    enum option_id id = OPTION_IDS;
    const char *value;
    const char *typed = argv[*i];
    enum err e = option_find(typed, taken, &id, &value, why);
    if (e != ERR_OK)
        return e;
    if (option_table[id].argument == NULL && value != NULL)
        return err_set(why, ERR_USAGE, 0, "--%s takes no value", option_table[id].flag);
    if (option_table[id].argument != NULL && value == NULL) {
        if (*i + 1 >= argc)
            return err_set(why, ERR_USAGE, 0, "--%s needs a value: %s", option_table[id].flag,
                           option_table[id].argument);
        value = argv[++*i];
    }
    const bool is_listed = id == OPTION_POLICY || id == OPTION_FAIL_IF ||
                           (id == OPTION_DEVICE && (taken & OPTION_BIT(TOUCH)) != 0);
    if (!is_listed && (o->given & UINT64_C(1) << id) != 0)
        return err_set(why, ERR_USAGE, 0, "--%s is given twice", option_table[id].flag);
    o->given |= UINT64_C(1) << id;
    o->texts[id] = value;
    return option_take(id, value, o, why);
}

enum err options_parse(int argc, char **argv, uint64_t taken, struct options *out, struct err_detail *why)
{
    struct options o = { .import = { .gpu = -1 }, .price = WINNER_PRICE_BYTES_PER_MS };
    bool is_over = false;
    enum err e = ERR_OK;
    o.inputs = calloc((size_t)argc + 1, sizeof *o.inputs);
    if (o.inputs == NULL)
        return err_set(why, ERR_HOST_NOMEM, 0, "the host is out of memory");
    for (int i = 0; i < argc && e == ERR_OK; i++) {
        const char *text = argv[i];
        const bool is_short = text[0] == '-' && text[1] == 'o';
        if (!is_over && strcmp(text, "--") == 0)
            is_over = true;
        else if (!is_over && (is_short || (text[0] == '-' && text[1] == '-')))
            e = option_take_next(argc, argv, &i, taken, &o, why);
        else if (!is_over && text[0] == '-' && text[1] != '\0')
            e = err_set(why, ERR_USAGE, 0, "unknown option '%.60s'; --help lists them", text);
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
    free(o->devices);
    free(o->inputs);
    o->policies = o->devices = o->inputs = NULL;
    o->n_policies = o->n_devices = o->n_inputs = 0;
}

const char *option_name(enum option_id id)
{
    return option_table[id].flag;
}

bool option_has_value(enum option_id id)
{
    return option_table[id].argument != NULL;
}

void options_print(FILE *out, uint64_t taken)
{
    for (unsigned i = 0; i < OPTION_IDS; i++) {
        char flag[48];
        if ((taken & UINT64_C(1) << i) == 0)
            continue;
        snprintf(flag, sizeof flag, "--%s%s%s", option_table[i].flag, option_table[i].argument != NULL ? " " : "",
                 option_table[i].argument != NULL ? option_table[i].argument : "");
        fprintf(out, "  %-22s %s\n", flag, option_table[i].help);
    }
}
