/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A growing array of calls. */
#include "replay/engine/device_calls.h"

#include "base/array.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void device_calls_add(void *arg, const struct device_call *c)
{
    struct device_calls *calls = arg;
    if (calls->is_cut)
        return;
    struct device_call *at = array_grow(calls->at, calls->n, &calls->cap, sizeof *at);
    calls->is_cut = at == NULL;
    if (at == NULL)
        return;
    calls->at = at;
    at[calls->n++] = *c;
}

struct device_log device_calls_listener(struct device_calls *calls)
{
    return (struct device_log){ .call = device_calls_add, .arg = calls };
}

void device_calls_close(struct device_calls *calls)
{
    free(calls->at);
    *calls = (struct device_calls){ .at = NULL };
}

static bool device_call_equals(const struct device_call *a, const struct device_call *b)
{
    return a->kind == b->kind && a->bytes == b->bytes && a->segment == b->segment && a->offset == b->offset &&
           a->phys == b->phys;
}

size_t device_calls_common(const struct device_calls *a, const struct device_calls *b)
{
    size_t n = 0;
    while (n < a->n && n < b->n && device_call_equals(&a->at[n], &b->at[n]))
        n++;
    return n;
}

enum err device_calls_addresses(const struct device_calls *calls, uint64_t **out, size_t *n)
{
    uint64_t *addresses = malloc((calls->n + 1) * sizeof *addresses);
    size_t k = 0;
    if (addresses == NULL)
        return ERR_HOST_NOMEM;
    for (size_t i = 0; i < calls->n; i++)
        if (calls->at[i].kind == DEVICE_CALL_MALLOC || calls->at[i].kind == DEVICE_CALL_RESERVE)
            addresses[k++] = calls->at[i].addr;
    *out = addresses;
    *n = k;
    return ERR_OK;
}

const char *device_calls_kind(const struct device_calls *calls, size_t i)
{
    static const char *const names[] = {
#define DEVICE_CALL_NAME(name, text) text,
        DEVICE_CALL_LIST(DEVICE_CALL_NAME)
#undef DEVICE_CALL_NAME
    };
    assert(i >= calls->n || calls->at[i].kind < DEVICE_CALL_KINDS);
    return i < calls->n ? names[calls->at[i].kind] : NULL;
}

const char *device_calls_text(const struct device_calls *calls, size_t i, char buf[DEVICE_CALL_TEXT])
{
    if (i >= calls->n) {
        snprintf(buf, DEVICE_CALL_TEXT, "no call");
        return buf;
    }
    const struct device_call *c = &calls->at[i];
    const int n = snprintf(buf, DEVICE_CALL_TEXT, "%s of %" PRIu64 " bytes", device_calls_kind(calls, i), c->bytes);
    if (c->addr != 0 && n > 0 && n < DEVICE_CALL_TEXT)
        snprintf(buf + n, (size_t)(DEVICE_CALL_TEXT - n), ", segment %" PRIu32, c->segment);
    return buf;
}
