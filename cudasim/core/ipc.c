/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Memory and events that processes of one run share by handles: cudaIpcGetMemHandle and its relatives.
 *
 * What was exported stands in one table, a file beside the journals that every process of the run maps. A handle names
 * a line of the table and its serial number, which is never used again:
 *
 *     exporter                     table                         importer
 *     cudaIpcGetMemHandle  ->  | line 7: pid, serial, bytes |  ->  cudaIpcOpenMemHandle: addresses, no memory
 *     cudaFree             ->  | line 7: vacant             |
 *
 * Memory is counted where it was allocated. The importer gets addresses of its own, as CUDA documents, and takes
 * nothing of the card. Bytes that the exporter's host copied there are not known to the importer.
 */
#define _GNU_SOURCE                   /* memfd_create */
#include "cudasim/core/state.h"

#include "base/file_room.h"
#include "base/units.h"
#include "cudasim/core/values.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IPC_LINES = 4096, IPC_SHARED_MAX = INT_MAX };

enum ipc_kind { IPC_MEMORY, IPC_EVENT, IPC_PHYSICAL };

/* Another process may vacate a line at any time. So `serial` is written last, and read again after the others. */
struct ipc_line {
    _Atomic uint64_t serial;         /* 0: nothing is exported here */
    _Atomic uint32_t pid;            /* whose line it is; 0: nobody's */
    int32_t  device;
    uint64_t bytes;                  /* of memory */
    uint64_t kind;                   /* enum ipc_kind */
    uint64_t unused[4];
};
static_assert(sizeof(struct ipc_line) == 64, "lines are an array in the file");

struct ipc_table {
    _Atomic uint64_t serials;        /* given out so far */
    uint64_t unused[7];
    struct ipc_line lines[IPC_LINES];
};

/* What stands in the 64 bytes of a handle. */
struct ipc_name {
    char     magic[8];
    uint32_t pid, line;
    uint64_t serial;
};
static_assert(sizeof(struct ipc_name) <= sizeof(struct cudasim_ipc_handle), "a handle holds it");

static const char ipc_magic[8] = "replay1";
static struct ipc_table *table;      /* mapped at the first export or import */

void cudasim_ipc_withdraw(uint32_t share)
{
    if (share == 0 || table == NULL)
        return;
    struct ipc_line *l = &table->lines[share - 1];
    atomic_store(&l->serial, 0);
    atomic_store(&l->pid, 0);
}

/* The run's table; NULL: the program was not started by `replay run-sim`, or there is no room. */
static struct ipc_table *ipc_table(void)
{
    char path[PATH_MAX];
    const char *folder = cudasim_journal_folder();
    if (table != NULL || folder == NULL || (size_t)snprintf(path, sizeof path, "%s/shared.ipc", folder) >= sizeof path)
        return table;
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    void *p = fd < 0 || file_room_take(fd, 0, sizeof *table) != 0
                  ? MAP_FAILED : mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    table = p == MAP_FAILED ? NULL : p;
    for (size_t i = 0; table != NULL && i < IPC_LINES; i++)         /* what this process was before an exec */
        if (atomic_load(&table->lines[i].pid) == (uint32_t)getpid())
            cudasim_ipc_withdraw((uint32_t)i + 1);
    return table;
}

static bool is_running(uint32_t pid)
{
    return kill((pid_t)pid, 0) == 0 || errno == EPERM;
}

/* Claims a line that is nobody's, or that of a process which has ended; NULL: all are in use. */
static struct ipc_line *claim_line(struct ipc_table *t)
{
    for (int is_full = 0; is_full < 2; is_full++)
        for (size_t i = 0; i < IPC_LINES; i++) {
            struct ipc_line *l = &t->lines[i];
            uint32_t pid = atomic_load(&l->pid);
            if (pid != 0 && (!is_full || is_running(pid)))
                continue;
            if (atomic_compare_exchange_strong(&l->pid, &pid, (uint32_t)getpid())) {
                atomic_store(&l->serial, 0);
                return l;
            }
        }
    return NULL;
}

/* Writes a line. *share: its number + 1, to withdraw it by. The lock is held. */
static enum cudasim_code export_line(enum ipc_kind kind, int device, uint64_t bytes, uint32_t *share)
{
    struct ipc_table *t = ipc_table();
    struct ipc_line *l = t == NULL ? NULL : claim_line(t);
    if (l == NULL)
        return t == NULL ? CODE_NOT_SUPPORTED : CODE_MAP_FAILED;
    l->device = device;
    l->bytes = bytes;
    l->kind = kind;
    atomic_store(&l->serial, atomic_fetch_add(&t->serials, 1) + 1);
    *share = (uint32_t)(l - t->lines) + 1;
    return CODE_SUCCESS;
}

static void fill_handle(uint32_t share, struct cudasim_ipc_handle *out)
{
    struct ipc_name name = { .pid = (uint32_t)getpid(), .line = share - 1 };
    name.serial = atomic_load(&table->lines[share - 1].serial);
    memcpy(name.magic, ipc_magic, sizeof name.magic);
    memset(out, 0, sizeof *out);
    memcpy(out, &name, sizeof name);
}

/* What a handle names that its process still has. INVALID_VALUE: it is no handle of that kind, or what it named is
 * gone. */
static enum cudasim_code look_up(const struct cudasim_ipc_handle *handle, enum ipc_kind kind, struct ipc_name *name,
                                 int *device, uint64_t *bytes)
{
    const struct ipc_table *t = ipc_table();
    if (t == NULL)
        return CODE_NOT_SUPPORTED;
    memcpy(name, handle, sizeof *name);
    if (memcmp(name->magic, ipc_magic, sizeof name->magic) != 0 || name->line >= IPC_LINES || name->serial == 0)
        return CODE_INVALID_VALUE;
    const struct ipc_line *l = &t->lines[name->line];
    if (atomic_load(&l->serial) != name->serial || l->kind != kind || !is_running(name->pid))
        return CODE_INVALID_VALUE;
    *device = l->device;
    *bytes = l->bytes;
    return atomic_load(&l->serial) == name->serial ? CODE_SUCCESS : CODE_INVALID_VALUE;
}

/* The same for what only another process may open. INVALID_CONTEXT: it is of this one. */
static enum cudasim_code look_up_other(const struct cudasim_ipc_handle *handle, enum ipc_kind kind,
                                       struct ipc_name *name, int *device, uint64_t *bytes)
{
    const enum cudasim_code code = look_up(handle, kind, name, device, bytes);
    return code == CODE_SUCCESS && name->pid == (uint32_t)getpid() ? CODE_INVALID_CONTEXT : code;
}

/* ---- memory ---- */

/* cudaMalloc's memory only: that of pools has ways of its own, and the rest none. */
enum cudasim_code cudasim_ipc_export(uint64_t addr, struct cudasim_ipc_handle *out)
{
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    const struct address_extent *e = address_map_find(&cudasim.pointers, addr);
    struct cudasim_allocation *a = e == NULL ? NULL : e->value;
    if (out == NULL || a == NULL || a->kind != MEMORY_DEVICE || a->pool != 0)
        return cudasim_end(CODE_INVALID_VALUE);
    code = a->share != 0 ? CODE_SUCCESS : export_line(IPC_MEMORY, a->device, a->bytes, &a->share);
    if (code == CODE_SUCCESS)
        fill_handle(a->share, out);
    return cudasim_end(code);
}

/* This process's mapping of shared memory for a device; NULL: there is none. */
static struct address_extent *find_import(uint64_t serial, int device)
{
    struct address_extent *e;
    for (uint64_t addr = 0; (e = address_map_from(&cudasim.pointers, addr)) != NULL; addr = e->addr + 1) {
        const struct cudasim_allocation *a = e->value;
        if (a->kind == MEMORY_SHARED && a->number == serial && a->device == device)
            return e;
    }
    return NULL;
}

static enum cudasim_code map_import(int device, uint64_t bytes, uint64_t serial, uint64_t *addr)
{
    struct cudasim_device *d = &cudasim.devices[device];
    struct cudasim_allocation *a = calloc(1, sizeof *a);
    if (a == NULL || !address_map_reserve(&cudasim.pointers)) {
        free(a);
        return CODE_OUT_OF_MEMORY;
    }
    const uint64_t room = align_up(bytes, DEVICE_PAGE_BYTES);
    enum err e = room == UINT64_MAX ? ERR_DEVICE_OOM : device_range_reserve(d->device, room, &a->segment);
    if (e == ERR_OK && room > d->end_addr - a->segment.addr) {
        device_range_free(d->device, &a->segment);
        e = ERR_DEVICE_OOM;
    }
    if (e != ERR_OK) {
        free(a);
        return CODE_MAP_FAILED;
    }
    a->kind = MEMORY_SHARED;
    a->device = device;
    a->bytes = bytes;
    a->number = serial;
    a->refs = 1;
    *addr = a->segment.addr;
    cudasim_address_given(d, *addr, room);
    address_map_put(&cudasim.pointers, *addr, bytes, a);
    return CODE_SUCCESS;
}

/* Memory of a card that this process does not see belongs to the current one. */
enum cudasim_code cudasim_ipc_import(const struct cudasim_ipc_handle *handle, uint64_t *addr)
{
    struct ipc_name name;
    uint64_t bytes = 0;
    int device = 0;
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    code = look_up_other(handle, IPC_MEMORY, &name, &device, &bytes);
    if (code != CODE_SUCCESS)
        return cudasim_end(code);
    if (device < 0 || device >= cudasim.n_devices)
        device = cudasim_current_device();
    const struct address_extent *e = find_import(name.serial, device);
    struct cudasim_allocation *a = e == NULL ? NULL : e->value;
    if (a == NULL)
        return cudasim_end(map_import(device, bytes, name.serial, addr));
    if (a->refs == IPC_SHARED_MAX)
        return cudasim_end(CODE_MAP_FAILED);
    a->refs++;
    *addr = e->addr;
    return cudasim_end(CODE_SUCCESS);
}

static void ipc_unmap(struct address_extent *e)
{
    struct cudasim_allocation *a = e->value;
    device_range_free(cudasim.devices[a->device].device, &a->segment);
    values_drop(e->addr, e->bytes);
    address_map_remove(&cudasim.pointers, e);
    free(a);
}

enum cudasim_code cudasim_ipc_close(uint64_t addr)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct address_extent *e = address_map_at(&cudasim.pointers, addr);
    struct cudasim_allocation *a = e == NULL ? NULL : e->value;
    if (a == NULL || a->kind != MEMORY_SHARED)
        return cudasim_end(CODE_INVALID_VALUE);
    if (--a->refs == 0)
        ipc_unmap(e);
    return cudasim_end(CODE_SUCCESS);
}

void cudasim_ipc_reset(int device)
{
    struct address_extent *e;
    for (uint64_t addr = UINT64_MAX; (e = address_map_below(&cudasim.pointers, addr)) != NULL;) {
        const struct cudasim_allocation *a = e->value;
        addr = e->addr;
        if (a->device == device && a->kind == MEMORY_SHARED)
            ipc_unmap(e);
    }
}

/* ---- events ---- */

enum cudasim_code cudasim_ipc_export_event(uint64_t event, struct cudasim_ipc_handle *out)
{
    uint32_t *share = NULL;
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    if (out == NULL)
        return cudasim_end(CODE_INVALID_VALUE);
    code = cudasim_event_share(event, &share);
    if (code == CODE_SUCCESS && *share == 0)
        code = export_line(IPC_EVENT, 0, 0, share);
    if (code == CODE_SUCCESS)
        fill_handle(*share, out);
    return cudasim_end(code);
}

/* What streams are given is finished at once, so an event of another process is an event of its own here. */
enum cudasim_code cudasim_ipc_import_event(const struct cudasim_ipc_handle *handle, uint64_t *event)
{
    struct ipc_name name;
    uint64_t bytes = 0;
    int device;
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    code = cudasim_end(look_up_other(handle, IPC_EVENT, &name, &device, &bytes));
    return code != CODE_SUCCESS
               ? code : cudasim_event_create(CUDASIM_EVENT_OF_PROCESSES | CUDASIM_EVENT_NO_TIMING, event);
}

/* ---- physical memory, by a descriptor that holds a handle ---- */

enum cudasim_code cudasim_ipc_export_physical(int device, uint64_t bytes, uint32_t *share, int *fd)
{
    struct cudasim_ipc_handle h;
    const enum cudasim_code code = *share != 0 ? CODE_SUCCESS : export_line(IPC_PHYSICAL, device, bytes, share);
    if (code != CODE_SUCCESS)
        return code;
    fill_handle(*share, &h);
    *fd = memfd_create("replay-shared", MFD_CLOEXEC);
    if (*fd >= 0 && write(*fd, &h, sizeof h) == (ssize_t)sizeof h)
        return CODE_SUCCESS;
    if (*fd >= 0)
        close(*fd);
    return CODE_OPERATING_SYSTEM;
}

enum cudasim_code cudasim_ipc_import_physical(int fd, int *device, uint64_t *bytes, uint32_t *own_share)
{
    struct cudasim_ipc_handle h;
    struct ipc_name name;
    if (pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h)
        return CODE_INVALID_VALUE;
    const enum cudasim_code code = look_up(&h, IPC_PHYSICAL, &name, device, bytes);
    *own_share = code == CODE_SUCCESS && name.pid == (uint32_t)getpid() ? name.line + 1 : 0;
    return code;
}
