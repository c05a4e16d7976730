/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* `--list` and `--help POLICY`: what there is to choose from, all from the declared tables. */
#include "replay/program/cli.h"

#include "base/nearest.h"
#include "base/units.h"
#include "loads/load.h"
#include "replay/pools/pool_contest.h"

#include <inttypes.h>
#include <string.h>

static void print_entry(const char *name, const char *text)
{
    help_print_row(stdout, name, 19, text);
}

static void list_policies(void)
{
    const struct policy_ops *ops;
    const struct policy_preset *preset;
    printf("Policies (--policy NAME[:option=value,...]; see replay --help NAME):\n");
    for (size_t i = 0; (ops = policy_at(i)) != NULL; i++)
        print_entry(ops->name, ops->summary);
    print_entry("./FILE.so", "a plugin: a shared object with the function " POLICY_PLUGIN_SYMBOL);
    printf("\nPresets:\n");
    for (size_t i = 0; (preset = policy_preset_at(i)) != NULL; i++)
        print_entry(preset->name, preset->summary);
}

static void list_devices(void)
{
    static const char maker[] = "NVIDIA ";
    const struct device_model *m;
    char text[UNITS_TEXT], class[CAPABILITY_TEXT];
    printf("\nCards (--device NAME in any spelling, such as 4090 or \"A100 80GB\"; or 24GiB,\n"
           "sim:unlimited; GB and G mean GiB everywhere): name, memory, compute capability.\n"
           "Advice chooses among those with a *:\n");
    for (size_t i = 0; (m = card_at(i)) != NULL; i++)
        printf("%c %-20s%10s %4s %s\n", m->is_often ? '*' : ' ', m->name, units_format_bytes(m->total_bytes, text),
               capability_text(m->capability, class),
               m->title + (strncmp(m->title, maker, strlen(maker)) == 0 ? strlen(maker) : 0));
}

static void list_real_devices(void)
{
    printf("\nReal cards (--device cuda[:N][,limit=8GiB]; several --device compare them):\n");
    print_entry("cuda:0", "the first card of NVIDIA's driver, whose libraries are opened at run time; limit= is the "
                          "most to take of the card, --touch writes to all of it, --calibrate measures its calls");
}

static void list_traces(void)
{
    const struct importer *importer;
    const struct load_kind *kind;
    printf("\nFormats read, besides our own (recognised, or named with --from):\n");
    for (size_t i = 0; (importer = importer_at(i)) != NULL; i++)
        print_entry(importer->name, importer->summary);
    printf("\nTraces to generate (replay generate KIND -o OUT):\n");
    for (size_t i = 0; (kind = load_kind_at(i)) != NULL; i++)
        print_entry(kind->typed, kind->summary);
}

enum exit_status list_everything(void)
{
    list_policies();
    list_devices();
    list_real_devices();
    list_traces();
    return cli_finish_stdout(STATUS_DONE);
}

static void print_sizes(const struct policy_option *o)
{
    char low[UNITS_TEXT], high[UNITS_TEXT];
    printf("a size");
    if (o->unit != NULL)
        printf(" (%s)", o->unit);
    printf(", from %s", units_format_bytes(o->min, low));
    if (o->max < UINT64_C(1) << 63)                /* a higher limit does not limit anything */
        printf(" to %s", units_format_bytes(o->max, high));
}

static void print_numbers(const struct policy_option *o)
{
    printf("a whole number");
    if (o->unit != NULL)
        printf(" of %s", o->unit);
    if (o->max == UINT64_MAX)
        printf(", from %" PRIu64, o->min);
    else
        printf(", %" PRIu64 " to %" PRIu64, o->min, o->max);
}

/* The values that an option of a policy takes. */
static void print_values(const struct policy_option *o)
{
    switch (o->kind) {
    case OPTION_BYTES:
        print_sizes(o);
        break;
    case OPTION_NUMBER:
        print_numbers(o);
        break;
    case OPTION_RATIO:
        printf("a share, 0 to 1");
        break;
    case OPTION_SWITCH:
        printf("on or off; the bare name means on");
        break;
    case OPTION_TEXT:
        printf("a text%s%s", o->unit != NULL ? ": " : "", o->unit != NULL ? o->unit : "");
        break;
    case OPTION_PAIRS:
        printf("pairs of the form key:value");
        break;
    case OPTION_UPSTREAM:
        printf("a policy in brackets, with its options");
        break;
    }
}

/* The options of a load, as those of a policy below. */
static enum exit_status list_load(const struct load_kind *k)
{
    help_print_wrapped(stdout, k->summary, (size_t)printf("%s: ", k->name), 2);
    if (k->options == NULL)
        printf("\nIt has no options.\n");
    for (const struct load_option *o = k->options; o != NULL && o->name != NULL; o++) {
        printf("\n  %s: ", o->name);
        if (o->kind == LOAD_BYTES)
            printf("a size");
        else if (o->kind == LOAD_NUMBER)
            printf("a whole number, %" PRIu64 " to %" PRIu64, o->min, o->max);
        else
            printf("%s", o->kind == LOAD_WORD ? o->words : "a text");
        printf("; %s%s\n      ", o->fallback != NULL ? "default: " : "needed", o->fallback != NULL ? o->fallback : "");
        help_print_wrapped(stdout, o->help, 6, 6);
    }
    return cli_finish_stdout(STATUS_DONE);
}

static void offer_all_names(struct nearest *nearest)
{
    const struct command_entry *entry;
    for (size_t i = 0; (entry = command_entry_at(i)) != NULL; i++)
        if (entry->command != NULL && entry->command->name != NULL)
            nearest_offer(nearest, entry->command->name, strlen(entry->command->name));
    for (size_t i = 0; policy_preset_at(i) != NULL; i++)
        nearest_offer(nearest, policy_preset_at(i)->name, strcspn(policy_preset_at(i)->name, "="));
    for (size_t i = 0; policy_at(i) != NULL; i++)
        nearest_offer(nearest, policy_at(i)->name, strlen(policy_at(i)->name));
    for (size_t i = 0; load_kind_at(i) != NULL; i++)
        nearest_offer(nearest, load_kind_at(i)->name, strlen(load_kind_at(i)->name));
}

/* What was typed after --help may have been meant as anything that has a help. */
static enum exit_status refuse_name(const char *text)
{
    enum { SLIPS_MAX = 2 };
    struct err_detail err;
    struct nearest nearest = { .typed = text, .n_typed = strlen(text) };
    offer_all_names(&nearest);
    if (nearest.distance <= SLIPS_MAX)
        return cli_fail(err_set(&err, ERR_USAGE, 0, "'%s' is not a command; did you mean '%s'?", text, nearest.name),
                        &err);
    return cli_fail(err_set(&err, ERR_USAGE, 0, "'%s' is not a command, and no policy or generator has this name "
                            "(replay --help all and replay --list show all names)", text), &err);
}

enum exit_status list_policy(const char *text)
{
    if (load_kind_named(text) != NULL)
        return list_load(load_kind_named(text));
    if (strcmp(text, pool_contest_options()->name) == 0)
        return list_load(pool_contest_options());
    struct policy_spec spec;
    struct err_detail err = { .text = "" };
    const enum err e = policy_spec_parse(text, &spec, &err);
    if (e == ERR_USAGE && strpbrk(text, ":=/.") == NULL)
        return refuse_name(text);
    if (e != ERR_OK)
        return cli_fail(e, &err);
    help_print_wrapped(stdout, spec.ops->summary, (size_t)printf("%s: ", spec.ops->name), 2);
    if (strcmp(spec.typed, spec.ops->name) != 0 && strcmp(spec.typed, spec.expanded) != 0)
        printf("'%s' is short for '%s'\n", spec.typed, spec.expanded);
    if (spec.n_options == 0)
        printf("\nIt has no options.\n");
    for (size_t i = 0; i < spec.n_options; i++) {
        const struct policy_option *o = &spec.ops->options[i];
        printf("\n  %s: ", o->name);
        print_values(o);
        printf("; default: %s\n      ", o->fallback != NULL ? o->fallback : "not set");
        help_print_wrapped(stdout, o->help, 6, 6);
    }
    policy_spec_close(&spec);
    return cli_finish_stdout(STATUS_DONE);
}
