/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The management library, libnvidia-ml.so.1, as far as programs ask it about memory and processes.
 *
 * It knows one process, this one. Declarations follow nvml.h. A device's handle is its number plus one.
 */
#include "cudasim/core/entry.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NVML_SUCCESS, NVML_BAD_ARGUMENT = 2, NVML_NOT_SUPPORTED = 3, NVML_NOT_FOUND = 6, NVML_TOO_SMALL = 7,
       NVML_UNKNOWN = 999 };
#define NO_PLACE NVML_BAD_ARGUMENT
enum { NVML_P2P_OK, NVML_P2P_NOT_SUPPORTED = 5 };

struct process_v1 {
    unsigned pid;
    uint64_t used_bytes;
};

struct process_v2 {
    unsigned pid;
    uint64_t used_bytes;
    unsigned gpu_instance, compute_instance;
};

struct memory_v1 {
    uint64_t total_bytes, free_bytes, used_bytes;
};

struct memory_v2 {
    unsigned version;
    uint64_t total_bytes, reserved_bytes, free_bytes, used_bytes;
};

struct pci_v3 {
    char     legacy[16];
    unsigned domain, bus, device, pci_device, pci_subsystem;
    char     text[32];
};

struct field_value {
    unsigned field, scope;
    int64_t  time_us, latency_us;
    int      kind, code;                 /* what became of this one */
    uint64_t value;
};

/* The third version of the struct: the second with one more member. The low 24 bits of `version` are the caller's
 * size. */
struct fabric_info {
    unsigned      version;
    unsigned char cluster[16];
    int           status;
    unsigned      clique;
    unsigned char state;                 /* 0: not supported */
    unsigned      health_mask;
    unsigned char health_summary;
};

/* The machine's number of a card: CUDA_VISIBLE_DEVICES is nothing to this library. -1: there is none. */
static int device_of(uint64_t handle)
{
    return handle >= 1 && handle <= (uint64_t)cudasim_machine_count() ? (int)handle - 1 : -1;
}

/* What this process takes of it: nothing, if it does not see it. */
static uint64_t process_bytes(uint64_t handle)
{
    const int device = cudasim_seen_as(device_of(handle));
    return device < 0 ? 0 : cudasim_process_bytes(device);
}

ENTRY(int, nvmlInit_v2, void)
{
    return cudasim_look() == CODE_SUCCESS ? NVML_SUCCESS : NVML_UNKNOWN;
}

ENTRY(int, nvmlInit, void)
{
    return nvmlInit_v2();
}

ENTRY(int, nvmlInitWithFlags, unsigned flags)
{
    (void)flags;
    return nvmlInit_v2();
}

ENTRY(int, nvmlShutdown, void)
{
    return NVML_SUCCESS;
}

ENTRY(const char *, nvmlErrorString, int code)
{
    return code == NVML_SUCCESS ? "Success" : code == NVML_BAD_ARGUMENT ? "Invalid Argument"
         : code == NVML_NOT_SUPPORTED ? "Not Supported" : code == NVML_NOT_FOUND ? "Not Found"
         : code == NVML_TOO_SMALL ? "Insufficient Size" : "Unknown Error";
}

ENTRY(int, nvmlSystemGetCudaDriverVersion, int *version)
{
    NEEDS(version);
    *version = CUDASIM_DRIVER_VERSION;
    return NVML_SUCCESS;
}

ENTRY(int, nvmlSystemGetCudaDriverVersion_v2, int *version)
{
    return nvmlSystemGetCudaDriverVersion(version);
}

ENTRY(int, nvmlSystemGetDriverVersion, char *text, unsigned n)
{
    NEEDS(text);
    return (unsigned)snprintf(text, n, "580.00.00") < n ? NVML_SUCCESS : NVML_TOO_SMALL;
}

ENTRY(int, nvmlDeviceGetCount_v2, unsigned *n)
{
    NEEDS(n);
    *n = (unsigned)cudasim_machine_count();
    return NVML_SUCCESS;
}

ENTRY(int, nvmlDeviceGetHandleByIndex_v2, unsigned i, uint64_t *handle)
{
    NEEDS(handle);
    if ((int)i < 0 || (int)i >= cudasim_machine_count())
        return NVML_BAD_ARGUMENT;
    *handle = (uint64_t)i + 1;
    return NVML_SUCCESS;
}

ENTRY(int, nvmlDeviceGetHandleByPciBusId_v2, const char *text, uint64_t *handle)
{
    NEEDS(text);
    NEEDS(handle);
    unsigned domain, bus;
    if (sscanf(text, "%x:%x", &domain, &bus) != 2 || device_of(bus) < 0)
        return NVML_NOT_FOUND;
    *handle = bus;
    return NVML_SUCCESS;
}

ENTRY(int, nvmlDeviceGetIndex, uint64_t handle, unsigned *i)
{
    NEEDS(i);
    *i = (unsigned)(handle - 1);
    return device_of(handle) < 0 ? NVML_BAD_ARGUMENT : NVML_SUCCESS;
}

ENTRY(int, nvmlDeviceGetName, uint64_t handle, char *text, unsigned n)
{
    NEEDS(text);
    if (device_of(handle) < 0)
        return NVML_BAD_ARGUMENT;
    return (unsigned)snprintf(text, n, "%s", cudasim_device_name()) < n ? NVML_SUCCESS : NVML_TOO_SMALL;
}

ENTRY(int, nvmlDeviceGetCudaComputeCapability, uint64_t handle, int *major, int *minor)
{
    NEEDS(major);
    NEEDS(minor);
    if (device_of(handle) < 0)
        return NVML_BAD_ARGUMENT;
    *major = (int)cudasim_capability() / 10;
    *minor = (int)cudasim_capability() % 10;
    return NVML_SUCCESS;
}

/* The ways are reading, writing, NVLink, atomics and PCI in this order. There is no NVLink. */
ENTRY(int, nvmlDeviceGetP2PStatus, uint64_t handle, uint64_t peer, int way, int *status)
{
    NEEDS(status);
    if (device_of(handle) < 0 || device_of(peer) < 0 || way < 0 || way > 4)
        return NVML_BAD_ARGUMENT;
    *status = way != 2 && handle != peer ? NVML_P2P_OK : NVML_P2P_NOT_SUPPORTED;
    return NVML_SUCCESS;
}

ENTRY(int, nvmlDeviceGetUUID, uint64_t handle, char *text, unsigned n)
{
    NEEDS(text);
    if (device_of(handle) < 0)
        return NVML_BAD_ARGUMENT;
    const int length = cudasim_card_uuid_text(device_of(handle), text, n);
    return (unsigned)length < n ? NVML_SUCCESS : NVML_TOO_SMALL;
}

ENTRY(int, nvmlDeviceGetPciInfo_v3, uint64_t handle, struct pci_v3 *out)
{
    NEEDS(out);
    if (device_of(handle) < 0)
        return NVML_BAD_ARGUMENT;
    memset(out, 0, sizeof *out);
    out->bus = (unsigned)handle;
    snprintf(out->legacy, sizeof out->legacy, "0000:%02X:00.0", out->bus & 0xff);
    snprintf(out->text, sizeof out->text, "00000000:%02X:00.0", out->bus & 0xff);
    return NVML_SUCCESS;
}

ENTRY(int, nvmlDeviceGetMemoryInfo, uint64_t handle, struct memory_v1 *out)
{
    NEEDS(out);
    const int device = cudasim_seen_as(device_of(handle));
    if (device_of(handle) < 0 ||
        cudasim_memory_seen(device < 0 ? 0 : device, &out->free_bytes, &out->total_bytes) != CODE_SUCCESS)
        return NVML_BAD_ARGUMENT;
    out->free_bytes = device < 0 ? out->total_bytes : out->free_bytes;
    out->total_bytes += cudasim_driver_bytes();
    out->used_bytes = out->total_bytes - out->free_bytes;
    return NVML_SUCCESS;
}

ENTRY(int, nvmlDeviceGetMemoryInfo_v2, uint64_t handle, struct memory_v2 *out)
{
    NEEDS(out);
    struct memory_v1 m;
    const int code = nvmlDeviceGetMemoryInfo(handle, &m);
    if (code != NVML_SUCCESS)
        return code;
    out->total_bytes = m.total_bytes;
    out->reserved_bytes = cudasim_driver_bytes();
    out->free_bytes = m.free_bytes;
    out->used_bytes = m.used_bytes - out->reserved_bytes;
    return NVML_SUCCESS;
}

/* The generation of PCI Express that cards of this class came with. */
ENTRY(int, nvmlDeviceGetCurrPcieLinkGeneration, uint64_t handle, unsigned *generation)
{
    NEEDS(generation);
    const unsigned capability = cudasim_capability();
    *generation = capability >= 90 ? 5 : capability >= 80 ? 4 : 3;
    return device_of(handle) < 0 ? NVML_BAD_ARGUMENT : NVML_SUCCESS;
}

ENTRY(int, nvmlDeviceGetCurrPcieLinkWidth, uint64_t handle, unsigned *lanes)
{
    NEEDS(lanes);
    *lanes = 16;
    return device_of(handle) < 0 ? NVML_BAD_ARGUMENT : NVML_SUCCESS;
}

/* On entry *n is the room for entries, on return their number. */
static int count_processes(uint64_t handle, unsigned *n, const void *out)
{
    NEEDS(n);
    const unsigned room = *n;
    if (device_of(handle) < 0)
        return NVML_BAD_ARGUMENT;
    *n = 1;
    return room < 1 || out == NULL ? NVML_TOO_SMALL : NVML_SUCCESS;
}

ENTRY(int, nvmlDeviceGetComputeRunningProcesses, uint64_t handle, unsigned *n, struct process_v1 *out)
{
    const int code = count_processes(handle, n, out);
    if (code == NVML_SUCCESS)
        *out = (struct process_v1){ .pid = (unsigned)getpid(), .used_bytes = process_bytes(handle) };
    return code;
}

ENTRY(int, nvmlDeviceGetComputeRunningProcesses_v2, uint64_t handle, unsigned *n, struct process_v2 *out)
{
    const int code = count_processes(handle, n, out);
    if (code == NVML_SUCCESS)
        *out = (struct process_v2){ .pid = (unsigned)getpid(), .used_bytes = process_bytes(handle),
                                    .gpu_instance = UINT32_MAX, .compute_instance = UINT32_MAX };
    return code;
}

ENTRY(int, nvmlDeviceGetComputeRunningProcesses_v3, uint64_t handle, unsigned *n, struct process_v2 *out)
{
    return nvmlDeviceGetComputeRunningProcesses_v2(handle, n, out);
}

/* This must be an answer, not an error: PyTorch 2.13 asks before it makes an expandable segment and accepts no
 * error. */
ENTRY(int, nvmlDeviceGetGpuFabricInfoV, uint64_t handle, struct fabric_info *out)
{
    NEEDS(out);
    const size_t room = out->version & 0xffffff, size = room < sizeof *out ? room : sizeof *out;
    if (device_of(handle) < 0 || size <= sizeof out->version)
        return NVML_BAD_ARGUMENT;
    memset((char *)out + sizeof out->version, 0, size - sizeof out->version);
    return NVML_SUCCESS;
}

/* Fields are of links, errors and clocks: none is known, and each says so. XLA loads nothing of this library without
 * this function. */
ENTRY(int, nvmlDeviceGetFieldValues, uint64_t handle, int n, struct field_value *values)
{
    NEEDS(values);
    if (device_of(handle) < 0 || n < 1)
        return NVML_BAD_ARGUMENT;
    for (int i = 0; i < n; i++)
        values[i].code = NVML_NOT_SUPPORTED;
    return NVML_SUCCESS;
}

/* The machine has no NVLink and no fabric, and is idle. */
#define NVML_ABSENT(name)                       \
    CUDASIM_API int name(void);                 \
    CUDASIM_API int name(void)                  \
    {                                           \
        return NVML_NOT_SUPPORTED;              \
    }

NVML_ABSENT(nvmlDeviceGetNvLinkState)
NVML_ABSENT(nvmlDeviceGetNvLinkRemoteDeviceType)
NVML_ABSENT(nvmlDeviceGetNvLinkRemotePciInfo_v2)
NVML_ABSENT(nvmlDeviceGetGpuFabricInfo)
NVML_ABSENT(nvmlDeviceGetUtilizationRates)
NVML_ABSENT(nvmlDeviceGetTemperature)
NVML_ABSENT(nvmlDeviceGetPowerUsage)
NVML_ABSENT(nvmlDeviceGetEnforcedPowerLimit)
NVML_ABSENT(nvmlDeviceGetTotalEnergyConsumption)
NVML_ABSENT(nvmlDeviceGetClockInfo)
NVML_ABSENT(nvmlDeviceGetMigMode)
