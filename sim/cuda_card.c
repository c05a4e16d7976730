/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A card through the driver and NVML. The context is the process's primary one, which the runtime library uses as
 * well. */
#include "sim/cuda_card.h"

#include "sim/device.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *cuda_result_text(const struct cuda_api *api, int result, char buf[64])
{
    const char *name = NULL;
    if (api->cuGetErrorName == NULL || api->cuGetErrorName(result, &name) != CUDA_DONE || name == NULL)
        name = "the driver's error";
    snprintf(buf, 64, "%.48s (%d)", name, result);
    return buf;
}

/* ---- NVML ---- */

/* The number of processes on the card; 0 if NVML cannot tell. */
static unsigned card_processes(const struct cuda_card *card, struct nvml_process out[CUDA_PROCESSES_MAX])
{
    unsigned n = CUDA_PROCESSES_MAX;
    const struct cuda_api *api = card->api;
    if (card->nvml == NULL || api->nvmlDeviceGetComputeRunningProcesses_v3 == NULL ||
        api->nvmlDeviceGetComputeRunningProcesses_v3(card->nvml, &n, out) != CUDA_DONE || n > CUDA_PROCESSES_MAX)
        return 0;
    return n;
}

static bool card_knows(const struct cuda_card *card, unsigned pid)
{
    for (unsigned i = 0; i < card->n_strangers; i++)
        if (card->strangers[i] == pid)
            return true;
    return false;
}

/* Bytes that this process holds. In a container NVML may use the host's process numbers: then ours is the only process
 * that appeared with our context. */
static uint64_t card_process_bytes(const struct cuda_card *card)
{
    struct nvml_process at[CUDA_PROCESSES_MAX];
    const unsigned n = card_processes(card, at);
    const struct nvml_process *ours = NULL;
    unsigned n_new = 0;
    for (unsigned i = 0; i < n; i++) {
        if (at[i].pid == (unsigned)getpid())
            return at[i].used == NVML_UNKNOWN ? MEASURED_UNKNOWN : at[i].used;
        if (!card_knows(card, at[i].pid)) {
            ours = &at[i];
            n_new++;
        }
    }
    return n_new != 1 || ours->used == NVML_UNKNOWN ? MEASURED_UNKNOWN : ours->used;
}

static uint64_t card_bytes(const struct cuda_card *card)
{
    const struct cuda_api *api = card->api;
    struct nvml_memory_v2 v2 = {.version = (unsigned)NVML_MEMORY_VERSION_2};
    struct nvml_memory v1;
    if (card->nvml == NULL)
        return MEASURED_UNKNOWN;
    if (api->nvmlDeviceGetMemoryInfo_v2 != NULL && api->nvmlDeviceGetMemoryInfo_v2(card->nvml, &v2) == CUDA_DONE)
        return v2.used;
    if (api->nvmlDeviceGetMemoryInfo != NULL && api->nvmlDeviceGetMemoryInfo(card->nvml, &v1) == CUDA_DONE)
        return v1.used;
    return MEASURED_UNKNOWN;
}

/* NVML names cards by their place on the bus, because CUDA may number them differently. */
static void card_open_nvml(struct cuda_card *card)
{
    const struct cuda_api *api = card->api;
    char bus[32];
    struct nvml_process at[CUDA_PROCESSES_MAX];
    if (api->nvmlInit_v2 == NULL || api->nvmlShutdown == NULL || api->nvmlDeviceGetHandleByPciBusId_v2 == NULL ||
        api->cuDeviceGetPCIBusId == NULL || api->nvmlInit_v2() != CUDA_DONE)
        return;
    if (api->cuDeviceGetPCIBusId(bus, (int)sizeof bus, card->device) != CUDA_DONE ||
        api->nvmlDeviceGetHandleByPciBusId_v2(bus, &card->nvml) != CUDA_DONE || card->nvml == NULL) {
        card->nvml = NULL;
        (void)api->nvmlShutdown();
        return;
    }
    card->n_strangers = card_processes(card, at);
    for (unsigned i = 0; i < card->n_strangers; i++)
        card->strangers[i] = at[i].pid;
}

/* ---- the card ---- */

static enum err card_find(struct cuda_card *card, unsigned ordinal, struct err_detail *err)
{
    const struct cuda_api *api = card->api;
    char text[64];
    int n = 0;
    int result = api->cuInit(0);
    if (result == CUDA_DONE)
        result = api->cuDeviceGetCount(&n);
    if (result == CUDA_NO_DEVICE || (result == CUDA_DONE && n <= 0))
        return err_set(err, ERR_UNSUPPORTED, 0, "no CUDA card: the driver is there but finds none "
                       "(CUDA_VISIBLE_DEVICES, or a container without access to it?)");
    if (result == CUDA_STUB_LIBRARY)
        return err_set(err, ERR_UNSUPPORTED, 0, "no CUDA driver: libcuda.so.1 is the CUDA Toolkit's stub");
    if (result != CUDA_DONE)
        return err_set(err, ERR_DRIVER, 0, "the CUDA driver cannot be started: %s",
                       cuda_result_text(api, result, text));
    if (ordinal >= (unsigned)n)
        return err_set(err, ERR_USAGE, 0, "device cuda:%u: this host has %d, numbered from cuda:0", ordinal, n);
    result = api->cuDeviceGet(&card->device, (int)ordinal);
    if (result != CUDA_DONE)
        return err_set(err, ERR_DRIVER, 0, "device cuda:%u: %s", ordinal, cuda_result_text(api, result, text));
    return ERR_OK;
}

static void card_find_ranges(struct cuda_card *card)
{
    const struct cuda_api *api = card->api;
    const struct cuda_allocation prop = {
        .type = CUDA_ALLOCATION_PINNED, .location = {.type = CUDA_LOCATION_DEVICE, .id = card->device},
    };
    int is_supported = 0;
    size_t granularity = 0;
    if (api->cuMemAddressReserve == NULL)
        snprintf(card->no_ranges, sizeof card->no_ranges,
                 "the driver has no virtual memory calls (it is older than CUDA 10.2)");
    else if (api->cuDeviceGetAttribute(&is_supported, CUDA_ATTRIBUTE_VIRTUAL_MEMORY, card->device) != CUDA_DONE ||
             is_supported == 0)
        snprintf(card->no_ranges, sizeof card->no_ranges, "the card has no virtual memory calls");
    else if (api->cuMemGetAllocationGranularity(&granularity, &prop, CUDA_GRANULARITY_MINIMUM) != CUDA_DONE ||
             granularity == 0 || DEVICE_PAGE_BYTES % granularity != 0)
        snprintf(card->no_ranges, sizeof card->no_ranges, "the card maps memory in pages of %zu bytes, not of 2 MiB",
                 granularity);
    else
        card->has_ranges = true;
}

enum err cuda_card_open(const struct cuda_api *api, unsigned ordinal, struct cuda_card *out, struct err_detail *err)
{
    struct cuda_card card = {.api = api};
    char text[64];
    const enum err e = card_find(&card, ordinal, err);
    if (e != ERR_OK)
        return e;
    card_open_nvml(&card);
    int result = api->cuDevicePrimaryCtxRetain(&card.context, card.device);
    if (result != CUDA_DONE)
        card.context = NULL;
    else
        result = api->cuCtxSetCurrent(card.context);
    if (result != CUDA_DONE) {
        cuda_card_close(&card);
        return result == CUDA_OUT_OF_MEMORY
                   ? err_set(err, ERR_DEVICE_OOM, 0, "device cuda:%u: the card is full: no room even for a context",
                             ordinal)
                   : err_set(err, ERR_DRIVER, 0, "device cuda:%u: no context: %s", ordinal,
                             cuda_result_text(api, result, text));
    }
    card_find_ranges(&card);
    *out = card;
    return ERR_OK;
}

void cuda_card_close(struct cuda_card *card)
{
    if (card->context != NULL && card->api->cuDevicePrimaryCtxRelease_v2 != NULL)
        (void)card->api->cuDevicePrimaryCtxRelease_v2(card->device);
    if (card->nvml != NULL)
        (void)card->api->nvmlShutdown();
    card->context = card->nvml = NULL;
}

void cuda_card_describe(const struct cuda_card *card, struct device_measured *out)
{
    const struct cuda_api *api = card->api;
    char driver[40] = "";
    int version = 0;
    if (api->cuDeviceGetName == NULL ||
        api->cuDeviceGetName(out->card, (int)sizeof out->card, card->device) != CUDA_DONE)
        out->card[0] = '\0';
    out->card[sizeof out->card - 1] = '\0';
    if (card->nvml == NULL || api->nvmlSystemGetDriverVersion == NULL ||
        api->nvmlSystemGetDriverVersion(driver, sizeof driver) != CUDA_DONE)
        driver[0] = '\0';
    if (api->cuDriverGetVersion == NULL || api->cuDriverGetVersion(&version) != CUDA_DONE)
        version = 0;
    snprintf(out->software, sizeof out->software, "driver%s%.32s, CUDA %d.%d, %.24s", driver[0] != '\0' ? " " : "",
             driver, version / 1000, version % 1000 / 10,
             api->runtime[0] != '\0' ? api->runtime : "no runtime library");
}

void cuda_card_memory(const struct cuda_card *card, uint64_t *free_bytes, uint64_t *total_bytes)
{
    const struct cuda_api *api = card->api;
    size_t free_there, total_there;
    const int result = api->cudaMemGetInfo != NULL ? api->cudaMemGetInfo(&free_there, &total_there)
                                                   : api->cuMemGetInfo_v2(&free_there, &total_there);
    *free_bytes = result == CUDA_DONE ? free_there : MEASURED_UNKNOWN;
    *total_bytes = result == CUDA_DONE ? total_there : MEASURED_UNKNOWN;
}

void cuda_card_read(const struct cuda_card *card, struct measured_memory *out)
{
    cuda_card_memory(card, &out->free_bytes, &out->total_bytes);
    out->card_bytes = card_bytes(card);
    out->process_bytes = card_process_bytes(card);
}
