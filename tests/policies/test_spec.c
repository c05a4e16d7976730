/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* What people type for a policy: presets, options, settings verbatim, and messages that show the way. */
#include "base/units.h"
#include "policies/spec.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct policy_spec parsed(const char *text)
{
    struct policy_spec spec;
    struct err_detail err = {.text = ""};
    cr_assert_eq(policy_spec_parse(text, &spec, &err), ERR_OK, "'%s': %s", text, err.text);
    return spec;
}

static const struct option_value *value_of(const struct policy_spec *spec, const char *option)
{
    for (size_t i = 0; i < spec->n_options; i++)
        if (strcmp(spec->ops->options[i].name, option) == 0)
            return &spec->values[i];
    cr_assert_fail("%s has no option %s", spec->ops->name, option);
    return NULL;
}

static void expect_expanded(const char *text, const char *expanded)
{
    struct policy_spec spec = parsed(text);
    cr_expect_str_eq(spec.expanded, expanded);
    cr_expect_str_eq(spec.typed, text);
    policy_spec_close(&spec);
}

/* The message of a refused text must name `hint`, and the place where it went wrong. */
static void expect_refused(const char *text, uint64_t at, const char *hint)
{
    struct policy_spec spec = {.typed = NULL};
    struct err_detail err = {.text = ""};
    cr_expect_eq(policy_spec_parse(text, &spec, &err), ERR_USAGE, "'%s'", text);
    cr_expect_eq(err.offset, at, "'%s' at %llu: %s", text, (unsigned long long)err.offset, err.text);
    cr_expect_not_null(strstr(err.text, hint), "'%s': %s", text, err.text);
    cr_expect_null(spec.typed, "outputs stay as they were");
}

Test(spec, presets_stand_for_options_of_pytorch)
{
    expect_expanded("best-fit", "pytorch");
    expect_expanded("pow2", "pytorch:pow2");
    expect_expanded("pow2=4", "pytorch:roundup=4");
    expect_expanded("gc=0.8", "pytorch:gc=0.8,limit-device");
    expect_expanded("none", "none");
}

Test(spec, a_preset_takes_further_options)
{
    expect_expanded("gc=0.8:max-split=128MiB", "pytorch:gc=0.8,limit-device,max-split=128MiB");
    expect_expanded("best-fit:expandable", "pytorch:expandable");
}

Test(spec, every_preset_names_a_policy_and_says_what_it_is)
{
    size_t n = 0;
    for (const struct policy_preset *p; (p = policy_preset_at(n)) != NULL; n++) {
        char policy[32];
        snprintf(policy, sizeof policy, "%.*s", (int)strcspn(p->spec, ":"), p->spec);
        cr_expect_not_null(policy_find(policy), "%s", p->spec);
        cr_expect_gt(strlen(p->summary), 20);
        cr_expect_eq(strchr(p->name, '=') != NULL, strstr(p->spec, "=X") != NULL, "%s", p->name);
    }
    cr_expect_geq(n, 4);
    cr_expect_null(policy_preset_at(n + 1));
}

Test(spec, a_preset_that_variables_make_says_which_and_counts_them)
{
    const struct { const char *typed, *variables; unsigned n_changed; } cases[] = {
        { "jax", "", 0 },
        { "jax-fraction=0.9", "XLA_CLIENT_MEM_FRACTION=0.9", 1 },
        { "jax-grow", "XLA_PYTHON_CLIENT_PREALLOCATE=false", 1 },
        { "jax-async", "XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async XLA_PYTHON_CLIENT_PREALLOCATE=false", 2 },
        { "jax-platform", "XLA_PYTHON_CLIENT_ALLOCATOR=platform", 1 },
        { "jax-grow:frag-fraction=0.1", "XLA_PYTHON_CLIENT_PREALLOCATE=false", 2 },
        { "tf-grow", "TF_FORCE_GPU_ALLOW_GROWTH=true", 1 },
        { "best-fit", "", 0 }, { "tf-bfc:gc=off", "", 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char variables[POLICY_VARIABLES];
        cr_expect_str_eq(policy_variables(cases[i].typed, variables), cases[i].variables, "%s", cases[i].typed);
        cr_expect_eq(policy_text_changes(cases[i].typed), cases[i].n_changed, "%s", cases[i].typed);
    }
    cr_expect(policy_text_is_default("jax") && policy_text_is_default("tf") && policy_text_is_default("best-fit"));
    cr_expect_not(policy_text_is_default("jax-grow") || policy_text_is_default("jax-platform"));
    cr_expect_not(policy_text_is_default("none"), "no library's default");
}

Test(spec, options_are_read_by_their_kind)
{
    struct policy_spec spec = parsed("pytorch:max-split=128MiB,roundup=4,gc=0.8,fraction=0.9,expandable,throw=off");
    cr_expect_eq(value_of(&spec, "max-split")->number, 128 * MIB);
    cr_expect_str_eq(value_of(&spec, "max-split")->text, "128MiB");
    cr_expect_str_eq(value_of(&spec, "roundup")->text, "4");
    cr_expect_float_eq(value_of(&spec, "gc")->ratio, 0.8, 1e-12);
    cr_expect_float_eq(value_of(&spec, "fraction")->ratio, 0.9, 1e-12);
    cr_expect_eq(value_of(&spec, "expandable")->number, 1);
    cr_expect(value_of(&spec, "throw")->is_given && value_of(&spec, "throw")->number == 0);
    cr_expect_not(value_of(&spec, "pow2")->is_given);
    cr_expect_not(value_of(&spec, "conf")->is_set);
    policy_spec_close(&spec);
}

Test(spec, an_option_that_was_not_typed_has_its_fallback)
{
    struct policy_spec spec = parsed("pytorch");
    for (size_t i = 0; i < spec.n_options; i++) {
        const char *fallback = spec.ops->options[i].fallback;
        cr_expect_not(spec.values[i].is_given);
        cr_expect_eq(spec.values[i].is_set, fallback != NULL);
        cr_expect(fallback == NULL || strcmp(spec.values[i].text, fallback) == 0);
    }
    policy_spec_close(&spec);
}

static void expect_conf(const char *text, const char *conf)
{
    struct policy_spec spec = parsed(text);
    cr_expect_str_eq(spec.ops->name, "pytorch");
    cr_expect(value_of(&spec, "conf")->is_given, "'%s'", text);
    cr_expect_str_eq(value_of(&spec, "conf")->text, conf);
    policy_spec_close(&spec);
}

Test(spec, a_settings_text_reaches_the_policy_byte_for_byte)
{
    static const char *const texts[] = {
        "max_split_size_mb:128,garbage_collection_threshold:0.8", " max_split_size_mb : 64 ", "max_split_size_mb:64,",
        ",max_split_size_mb:64", "max_split_size_mb:64,,expandable_segments:True", "max_split_size_mb",
        "backend:native", "max_split_size_mb=64", "max_split_size_mb:64;expandable_segments:True",
        "Max_Split_Size_MB:64", "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", "roundup_power2_divisions:[64:8",
        "max_split_size_mb,64", "max_split_size_mb:64,gc=0.5", "max_split_size_mb:6 4",
        "foo_bar",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        expect_conf(texts[i], texts[i]);
}

Test(spec, settings_behind_the_policys_name_are_the_same)
{
    expect_conf("pytorch: max_split_size_mb : 64 ", " max_split_size_mb : 64 ");
    expect_conf("pytorch:roundup_power2_divisions:[64:8,>:2],foo:1", "roundup_power2_divisions:[64:8,>:2],foo:1");
    expect_conf("pytorch:max_split_size_mb:64,,foo:1,", "max_split_size_mb:64,,foo:1,");
    expect_conf("pytorch:conf=,", ",");
    expect_conf("pytorch:conf=max_split_size_mb:64,backend:native", "max_split_size_mb:64,backend:native");
}

Test(spec, settings_and_options_may_be_mixed)
{
    struct policy_spec spec = parsed("pytorch:version=2.4,max_split_size_mb:64,gc=0.5,"
                                     "roundup_power2_divisions:[64:8,>:2]");
    cr_expect_str_eq(value_of(&spec, "conf")->text, "max_split_size_mb:64,roundup_power2_divisions:[64:8,>:2]");
    cr_expect_str_eq(value_of(&spec, "version")->text, "2.4");
    cr_expect_float_eq(value_of(&spec, "gc")->ratio, 0.5, 1e-12);
    policy_spec_close(&spec);
}

Test(spec, an_unknown_policy_is_answered_with_the_nearest)
{
    expect_refused("best-fti", 0, "did you mean 'best-fit'?");
    expect_refused("best_fit", 0, "did you mean 'best-fit'?");
    expect_refused("pytroch:gc=0.5", 0, "did you mean 'pytorch'?");
    expect_refused("nome", 0, "did you mean 'none'?");
    expect_refused("NONE", 0, "did you mean 'none'?");
    expect_refused("", 0, "a policy's name is missing");
    expect_refused(":", 0, "a policy's name is missing");
}

Test(spec, what_a_shell_would_have_taken_is_no_part_of_the_settings)
{
    static const char *const texts[] = {"PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:32", "max_split_size_mb:32",
                                        "export PYTORCH_ALLOC_CONF=max_split_size_mb:32"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct policy_spec spec = parsed(texts[i]);
        cr_expect_str_eq(spec.typed, "max_split_size_mb:32");
        policy_spec_close(&spec);
    }
}

Test(spec, an_unknown_option_is_answered_with_the_nearest)
{
    expect_refused("pytorch:expandabel", 8, "did you mean 'expandable'?");
    expect_refused("pytorch:max_split=1", 8, "did you mean 'max-split'?");
    expect_refused("pytorch:gc=0.5,fractoin=1", 15, "did you mean 'fraction'?");
    expect_refused("gc=0.5:fractoin=1", 7, "did you mean 'fraction'?");
    expect_refused("none:gc=0.5", 5, "none has no options");
}

Test(spec, a_value_out_of_range_is_answered_with_the_range)
{
    expect_refused("gc=1.5", 3, "from 0 to 1");
    expect_refused("gc=-0.1", 3, "from 0 to 1");
    expect_refused("gc=nan", 3, "from 0 to 1");
    expect_refused("gc=inf", 3, "from 0 to 1");
    expect_refused("gc=0x1", 3, "from 0 to 1");
    expect_refused("gc=0.5x", 3, "from 0 to 1");
    expect_refused("gc=1e999", 3, "from 0 to 1");
    expect_refused("pytorch:gc=", 11, "from 0 to 1");
    expect_refused("pytorch:max-split=99999999999999TiB", 18, "max-split is a size from");
    expect_refused("pytorch:max-split=many", 18, "max-split is a size from");
    expect_refused("pytorch:max-split", 8, "max-split is a size from");
    expect_refused("pytorch:expandable=maybe", 19, "on or off");
}

Test(spec, the_place_is_the_one_in_what_was_typed)
{
    expect_refused("gc=0.8:max-split=0", 17, "at character 18, '0'");
    expect_refused("pytorch:roundup=4,gc=2", 21, "at character 22, '2'");
}

/* The message of a policy that refuses its options must name the place where the person typed the cause. */
static void expect_not_created(const char *text, uint64_t at, const char *hint)
{
    static const struct stream_name stream = {0, 0};
    static const struct pool_name pool = {{0, 0}};
    struct policy_spec spec = parsed(text);
    struct device_config cfg = device_defaults();
    struct device *device = NULL;
    struct policy *policy = NULL;
    struct err_detail reason = {.text = ""}, err = {.text = ""};
    cr_assert_eq(device_open(&device_sim, &cfg, &device, &err), ERR_OK);
    const struct policy_config config = {.device = device, .values = spec.values, .streams = &stream, .n_streams = 1,
                                         .pools = &pool, .n_pools = 1};
    cr_expect_eq(policy_create(spec.ops, &config, &policy, &reason), ERR_USAGE, "'%s'", text);
    cr_expect_eq(policy_spec_refuse(&spec, ERR_USAGE, &reason, &err), ERR_USAGE);
    cr_expect_eq(err.offset, at, "'%s' at %llu: %s", text, (unsigned long long)err.offset, err.text);
    cr_expect_not_null(strstr(err.text, hint), "'%s': %s", text, err.text);
    policy_destroy(policy);
    device_close(device);
    policy_spec_close(&spec);
}

Test(spec, a_setting_that_pytorch_refuses_is_shown_where_it_was_typed)
{
    expect_not_created("pytorch:version=2.0,gc=0.8,max-split=10MiB", 37, "at character 38, '10MiB': RuntimeError: ");
    expect_not_created("pytorch:version=2.0,max-split=21MiB,gc=0", 39, "at character 40, '0': RuntimeError: ");
    expect_not_created("pytorch:expandable,version=2.0", 8, "at character 9, 'expandable': RuntimeError: ");
    expect_not_created("pytorch:gc=0.5,roundup=[16:3,>:1]", 27, "at character 28, '3': ValueError: ");
    expect_not_created("pytorch:gc=0.8,max-split=1025KiB", 25, "'1025KiB': max-split: PyTorch takes whole MiB");
    expect_not_created("pytorch:version=1.3", 16, "at character 17, '1.3': ");
}

Test(spec, a_place_in_pairs_is_the_one_that_was_typed)
{
    expect_not_created("max_split_size_mb:10", 18, "at character 19, '10': ");
    expect_not_created("max_split_size_mb:64,foo_bar:1", 21, "'foo_bar:1': ValueError: Unrecognized key");
    expect_not_created("pytorch:gc=0.5,max_split_size_mb:64,limit-device,foo_bar:1", 49,
                       "at character 50, 'foo_bar:1'");
    expect_not_created("pytorch:gc=none,conf=max_split_size_mb", 38,
                       "': write max_split_size_mb:VALUE");
    expect_not_created("pytorch:conf=max_split_size_mb,throw", 31,
                       "at character 32, 'throw': RuntimeError: the settings");
}

Test(spec, a_place_in_the_argument_of_a_preset_is_the_one_that_was_typed)
{
    expect_not_created("gc=0", 3, "at character 4, '0': ");
    expect_not_created("pow2=3", 5, "at character 6, '3': ");
    expect_not_created("gc=0.8:max-split=1MiB", 17, "at character 18, '1MiB': ");
}

Test(spec, a_preset_wants_its_value_and_no_other)
{
    expect_refused("gc", 0, "gc=X needs a value");
    expect_refused("gc=", 0, "gc=X needs a value");
    expect_refused("pow2=", 0, "pow2=X needs a value");
    expect_refused("best-fit=3", 0, "best-fit takes no value");
}

Test(spec, an_option_is_given_once)
{
    expect_refused("pytorch:gc=0.5,gc=0.6", 18, "gc is given twice");
    expect_refused("gc=0.5:gc=0.6", 10, "gc is given twice");
    expect_refused("pytorch:expandable,expandable=off", 30, "expandable is given twice");
}

Test(spec, a_long_text_is_cut_in_the_message_and_nowhere_else)
{
    char text[2000];
    struct policy_spec spec;
    struct err_detail err;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    cr_expect_eq(policy_spec_parse(text, &spec, &err), ERR_USAGE);
    memcpy(text, "a_b:", 4);
    expect_conf(text, text);
}

Test(spec, a_plugin_that_is_not_there_is_said_so)
{
    static const char *const texts[] = {"./no-such-file.so", "no-such-file.so", "/no/such/file:a=1"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct policy_spec spec;
        struct err_detail err = {.text = ""};
        cr_expect_eq(policy_spec_parse(texts[i], &spec, &err), ERR_INPUT);
        cr_expect_not_null(strstr(err.text, "no"), "%s", err.text);
    }
}

Test(spec, closing_twice_is_harmless)
{
    struct policy_spec spec = parsed("pytorch:roundup=4");
    policy_spec_close(&spec);
    policy_spec_close(&spec);
    cr_expect_null(spec.expanded);
}

Test(spec, none_and_off_leave_an_option_without_fallback_unset)
{
    struct policy_spec spec;
    struct err_detail err = {.text = ""};
    cr_assert_eq(policy_spec_parse("pytorch:max-split=none,gc=off,roundup=off", &spec, &err), ERR_OK, "%s", err.text);
    for (size_t i = 0; i < spec.n_options; i++)
        if (strstr("max-split gc roundup", spec.ops->options[i].name) != NULL)
            cr_expect(!spec.values[i].is_set, "%s", spec.ops->options[i].name);
    policy_spec_close(&spec);
}
