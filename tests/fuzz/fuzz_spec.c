/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: what people type for a policy, settings of PyTorch included.
 */
#include "policies/spec.h"
#include "sim/device.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* What an accepted value promises to the policy. */
static void expect_value(const struct policy_option *o, const struct option_value *v)
{
    if (!v->is_set)
        return;
    FUZZ_EXPECT(v->text != NULL);
    FUZZ_EXPECT(strlen(v->text) < SIZE_MAX);
    if (o->kind == OPTION_RATIO)
        FUZZ_EXPECT(v->ratio >= 0 && v->ratio <= 1);
    if (o->kind == OPTION_BYTES || o->kind == OPTION_NUMBER)
        FUZZ_EXPECT(v->number >= o->min && v->number <= o->max);
    if (o->kind == OPTION_SWITCH)
        FUZZ_EXPECT(v->number <= 1);
}

/* The settings that a spec carries are read when the policy is made. */
static void try_create(const struct policy_spec *spec)
{
    const struct device_config config = device_defaults();
    const struct stream_name stream = {.handle = 0};
    const struct pool_name pool = {.id = {0, 0}};
    struct device *device;
    struct policy *policy;
    struct block b;
    struct err_detail err = {.text = ""};
    if (device_open(&device_sim, &config, &device, NULL) != ERR_OK)
        return;
    const struct policy_config cfg = {.device = device, .peak_live = 1, .values = spec->values, .streams = &stream,
                                      .n_streams = 1, .pools = &pool, .n_pools = 1};
    if (policy_create(spec->ops, &cfg, &policy, &err) == ERR_OK) {
        const struct event req = {.kind = EVENT_ALLOC, .bytes = 3 << 20};
        if (policy->ops->alloc(policy, &req, &b) == ERR_OK)
            policy->ops->free(policy, &req, &b);
        policy_destroy(policy);
    } else {
        FUZZ_EXPECT(err.text[0] != '\0');
    }
    device_close(device);
}

static void try_policy(const char *text)
{
    struct policy_spec spec;
    struct err_detail err = {.text = ""};
    if (strchr(text, '/') != NULL || strstr(text, ".so") != NULL)
        return;                             /* would be loaded and run */
    if (policy_spec_parse(text, &spec, &err) != ERR_OK) {
        FUZZ_EXPECT(err.text[0] != '\0' && err.offset <= strlen(text));
        return;
    }
    const size_t n_typed = strlen(spec.typed), n_text = strlen(text);      /* less what is a shell's, in front */
    FUZZ_EXPECT(n_typed <= n_text && strcmp(spec.typed, text + (n_text - n_typed)) == 0);
    for (size_t i = 0; i < spec.n_options; i++)
        expect_value(&spec.ops->options[i], &spec.values[i]);
    try_create(&spec);
    policy_spec_close(&spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = strndup((const char *)data, n);
    if (text == NULL)
        return 0;
    try_policy(text);
    free(text);
    return 0;
}
