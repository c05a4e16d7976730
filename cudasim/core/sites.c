/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Entry points that do nothing, entry points that are not simulated, and what a convolution assumes. The first call of
 * each is recorded, for run-sim's summary.
 */
#define _GNU_SOURCE                   /* dladdr */
#include "cudasim/core/state.h"

#include "capture/call_framework.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void site_note(enum call_kind kind, const char *name)
{
    struct call_text text = { .kind = (uint8_t)kind };
    struct call_record r;
    const size_t n = strlen(name);
    memcpy(text.text, name, n < CALL_NAME_BYTES ? n : CALL_NAME_BYTES);
    memcpy(&r, &text, sizeof r);
    cudasim_lock();
    cudasim_open_journal();
    (void)journal_file_put(&r);
    cudasim_unlock();
}

static bool site_is_new(struct cudasim_site *site)
{
    return __atomic_exchange_n(&site->is_seen, 1, __ATOMIC_RELAXED) == 0;
}

/* A real one might have written to a device, unless it only registers code, as "__cudaRegisterFunction" does. */
int cudasim_do_nothing(struct cudasim_site *site)
{
    if (strncmp(site->name, "__cuda", 6) != 0)
        cudasim_values_unknown();
    if (site_is_new(site))
        site_note(CALL_NO_EFFECT, site->name);
    return CODE_SUCCESS;
}

int cudasim_refuse(struct cudasim_site *site)
{
    if (site_is_new(site)) {
        site_note(CALL_REFUSED, site->name);
        fprintf(stderr, "replay cudasim: %s is not simulated: it returns %d (not supported)\n", site->name,
                CODE_NOT_SUPPORTED);
    }
    return CODE_NOT_SUPPORTED;
}

void cudasim_note_missing(const char *name)
{
    site_note(CALL_MISSING, name);
}

enum device_workspaces cudasim_workspaces(enum workspace_library library, uint64_t *bytes)
{
    static int is_noted[WORKSPACE_LIBRARIES];
    *bytes = 0;
    if (cudasim_begin() != CODE_SUCCESS)
        return WORKSPACES_FIXED;
    const int device = cudasim_current_device();
    const struct device_config *cfg = &cudasim.devices[device].device->cfg;
    const enum device_workspaces workspaces = cfg->workspaces;
    *bytes = cfg->workspace_bytes;
    if (__atomic_exchange_n(&is_noted[library], 1, __ATOMIC_RELAXED) == 0)
        cudasim_note((struct call_record){ .kind = CALL_WORKSPACE, .device = (uint8_t)device, .bytes = *bytes,
                                           .addr = (uint64_t)library, .other = (uint64_t)workspaces });
    (void)cudasim_end(CODE_SUCCESS);
    return workspaces;
}

static void note_once(int *is_noted, enum call_kind kind, uint64_t other)
{
    if (__atomic_exchange_n(is_noted, 1, __ATOMIC_RELAXED) != 0 || cudasim_begin() != CODE_SUCCESS)
        return;
    cudasim_note((struct call_record){ .kind = (uint8_t)kind, .device = (uint8_t)cudasim_current_device(),
                                       .other = other });
    (void)cudasim_end(CODE_SUCCESS);
}

void cudasim_note_algorithm_search(void)
{
    static int is_noted;
    note_once(&is_noted, CALL_ALGORITHM_SEARCH, 0);
}

/* PyTorch's allocator of the card's memory is in libc10_cuda. That of pinned memory and the watch over NCCL are in
 * libtorch_cuda, and ask as well. */
void cudasim_note_event_asked(const void *caller)
{
    static int is_noted;
    Dl_info info = { .dli_fname = NULL };
    if (__atomic_load_n(&is_noted, __ATOMIC_RELAXED) != 0)
        return;
    if (dladdr(caller, &info) == 0 || info.dli_fname == NULL || strstr(info.dli_fname, "libtorch_cuda.so") == NULL)
        note_once(&is_noted, CALL_EVENT_ASKED, 0);
}

/* Most calls come from where the one before came from. */
void cudasim_note_framework(const void *caller)
{
    static const void *last;
    static int is_noted[CALL_FRAMEWORKS];
    Dl_info info = { .dli_fname = NULL };
    if (__atomic_exchange_n(&last, caller, __ATOMIC_RELAXED) == caller)
        return;
    const bool has_name = dladdr(caller, &info) != 0 && info.dli_fname != NULL;
    const enum call_framework f = has_name ? call_framework_of(info.dli_fname) : CALL_FRAMEWORK_NONE;
    if (f != CALL_FRAMEWORK_NONE)
        note_once(&is_noted[f], CALL_FRAMEWORK, (uint64_t)f);
}
