/* A growing array of calls. */
#include "replay/engine/device_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void call_log_add(void *arg, const struct device_call *c)
{
    struct call_log *log = arg;
    if (log->is_cut)
        return;
    if (log->n == log->cap) {
        const size_t cap = log->cap == 0 ? 1024 : 2 * log->cap;
        struct device_call *grown = cap > SIZE_MAX / sizeof *grown ? NULL : realloc(log->at, cap * sizeof *grown);
        log->is_cut = grown == NULL;
        if (grown == NULL)
            return;
        log->at = grown;
        log->cap = cap;
    }
    log->at[log->n++] = *c;
}

struct device_log call_log_listener(struct call_log *log)
{
    return (struct device_log){ .call = call_log_add, .arg = log };
}

void call_log_close(struct call_log *log)
{
    free(log->at);
    *log = (struct call_log){ .at = NULL };
}

static bool call_equals(const struct device_call *a, const struct device_call *b)
{
    return a->kind == b->kind && a->bytes == b->bytes && a->segment == b->segment && a->offset == b->offset &&
           a->phys == b->phys;
}

size_t call_log_common(const struct call_log *a, const struct call_log *b)
{
    size_t n = 0;
    while (n < a->n && n < b->n && call_equals(&a->at[n], &b->at[n]))
        n++;
    return n;
}

enum err call_log_addresses(const struct call_log *log, uint64_t **out, size_t *n)
{
    uint64_t *addresses = malloc((log->n + 1) * sizeof *addresses);
    size_t k = 0;
    if (addresses == NULL)
        return ERR_HOST_NOMEM;
    for (size_t i = 0; i < log->n; i++)
        if (log->at[i].kind == DEVICE_CALL_MALLOC || log->at[i].kind == DEVICE_CALL_RESERVE)
            addresses[k++] = log->at[i].addr;
    *out = addresses;
    *n = k;
    return ERR_OK;
}

const char *call_log_kind(const struct call_log *log, size_t i)
{
    static const char *const names[] = {
#define DEVICE_CALL_NAME(name, text) text,
        DEVICE_CALL_LIST(DEVICE_CALL_NAME)
#undef DEVICE_CALL_NAME
    };
    return i < log->n ? names[log->at[i].kind] : NULL;
}

const char *call_log_text(const struct call_log *log, size_t i, char buf[CALL_TEXT])
{
    if (i >= log->n) {
        snprintf(buf, CALL_TEXT, "no call");
        return buf;
    }
    const struct device_call *c = &log->at[i];
    const int n = snprintf(buf, CALL_TEXT, "%s of %" PRIu64 " bytes", call_log_kind(log, i), c->bytes);
    if (c->addr != 0 && n > 0 && n < CALL_TEXT)
        snprintf(buf + n, (size_t)(CALL_TEXT - n), ", segment %" PRIu32, c->segment);
    return buf;
}
