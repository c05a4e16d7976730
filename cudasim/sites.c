/*
 * Entry points that do nothing, and those that are not simulated: each is noted in the journal at its first call.
 */
#include "cudasim/state.h"

#include <stdio.h>
#include <string.h>

static void site_note(enum journal_kind kind, const char *name)
{
    struct journal_record r = { .kind = (uint8_t)kind };
    const size_t n = strlen(name);
    memcpy(r.name, name, n < sizeof r.name ? n : sizeof r.name - 1);
    cudasim_lock();
    cudasim_open_journal();
    r.time_ns = cudasim_now_ns();
    journal_put(&r);
    cudasim_unlock();
}

static bool site_is_new(struct cudasim_site *site)
{
    return __atomic_exchange_n(&site->is_seen, 1, __ATOMIC_RELAXED) == 0;
}

int cudasim_do_nothing(struct cudasim_site *site)
{
    if (site_is_new(site))
        site_note(JOURNAL_NOTHING, site->name);
    return CODE_SUCCESS;
}

int cudasim_refuse(struct cudasim_site *site)
{
    if (site_is_new(site)) {
        site_note(JOURNAL_REFUSED, site->name);
        fprintf(stderr, "replay cudasim: %s is not simulated: it returns %d (not supported)\n", site->name,
                CODE_NOT_SUPPORTED);
    }
    return CODE_NOT_SUPPORTED;
}

void cudasim_note_missing(const char *name)
{
    site_note(JOURNAL_MISSING, name);
}
