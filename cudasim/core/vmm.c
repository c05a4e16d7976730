/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Virtual memory of the simulated CUDA: address ranges, physical memory, mappings.
 *
 * As the driver's documentation says, sizes are multiples of the granularity, a mapping is undone as a whole, and
 * physical memory lives until its handle is released and its last mapping undone.
 */
#include "cudasim/core/state.h"

#include "base/units.h"

#include <assert.h>
#include <stdlib.h>

struct cudasim_phys {
    struct cudasim_handle handle;    /* first, so the two pointers convert */
    uint64_t bytes;
    uint32_t phys;                   /* the device's number */
    int      device;
    unsigned refs;                   /* creations and retains that are not released yet */
    unsigned maps;
    bool     is_shareable;
    bool     is_imported;            /* another process made it: it has addresses here, and takes nothing of the card */
    uint32_t share;                  /* what it was exported by; 0: it was not */
};

static bool is_granular(uint64_t bytes)
{
    return bytes > 0 && bytes % DEVICE_PAGE_BYTES == 0;
}

enum cudasim_code cudasim_range_reserve(uint64_t bytes, uint64_t alignment, uint64_t *addr)
{
    if (!is_granular(bytes) || (alignment != 0 && !is_power_of_two(alignment)))
        return CODE_INVALID_VALUE;
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    const int device = cudasim_current_device();
    struct cudasim_device *d = &cudasim.devices[device];
    struct cudasim_allocation *a = calloc(1, sizeof *a);
    if (a == NULL || !address_map_reserve(&cudasim.pointers)) {
        free(a);
        return cudasim_end(CODE_OUT_OF_MEMORY);
    }
    enum err e = device_range_reserve(d->device, bytes, &a->segment);
    if (e == ERR_OK && bytes > d->end_addr - a->segment.addr) {
        device_range_free(d->device, &a->segment);
        e = ERR_DEVICE_OOM;
    }
    if (e != ERR_OK) {
        free(a);
        cudasim_note((struct call_record){ .kind = CALL_OOM, .device = (uint8_t)device, .bytes = bytes });
        return cudasim_end(cudasim_code_of(e));
    }
    a->kind = MEMORY_RANGE;
    a->device = device;
    a->bytes = bytes;
    a->number = d->numbers++;
    *addr = a->segment.addr;
    cudasim_address_given(d, *addr, bytes);
    address_map_put(&cudasim.pointers, *addr, bytes, a);
    cudasim_note((struct call_record){ .kind = CALL_RANGE, .device = (uint8_t)device, .addr = *addr, .bytes = bytes });
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_range_free(uint64_t addr, uint64_t bytes)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct address_extent *e = address_map_at(&cudasim.pointers, addr);
    struct cudasim_allocation *a = e == NULL ? NULL : e->value;
    if (a == NULL || a->kind != MEMORY_RANGE || e->bytes != bytes ||
        address_map_overlaps(&cudasim.mappings, addr, bytes))
        return cudasim_end(CODE_INVALID_VALUE);
    cudasim_note((struct call_record){ .kind = CALL_RANGE_FREE, .device = (uint8_t)a->device, .addr = addr,
                                       .bytes = bytes });
    device_range_free(cudasim.devices[a->device].device, &a->segment);
    address_map_remove(&cudasim.pointers, e);
    free(a);
    return cudasim_end(CODE_SUCCESS);
}

static void phys_note(enum call_kind kind, int device, uint64_t handle, uint64_t addr, uint64_t bytes)
{
    cudasim_note((struct call_record){ .kind = (uint8_t)kind, .space = CALL_SPACE_PHYSICAL, .device = (uint8_t)device,
                                       .addr = addr, .bytes = bytes, .other = handle });
}

enum cudasim_code cudasim_phys_create(int device, uint64_t bytes, bool is_shareable, uint64_t *handle)
{
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    if (device < 0 || device >= cudasim.n_devices)
        return cudasim_end(CODE_INVALID_DEVICE);
    if (!is_granular(bytes))
        return cudasim_end(CODE_INVALID_VALUE);
    struct cudasim_phys *p = calloc(1, sizeof *p);
    if (p == NULL || !cudasim_handle_put(&p->handle, HANDLE_PHYS))
        return cudasim_end(CODE_OUT_OF_MEMORY);
    code = cudasim_code_of(device_phys_create(cudasim.devices[device].device, bytes, &p->phys));
    if (code != CODE_SUCCESS) {
        cudasim_handle_drop(&p->handle);
        phys_note(CALL_OOM, device, 0, 0, bytes);
        return cudasim_end(code);
    }
    p->bytes = bytes;
    p->device = device;
    p->refs = 1;
    p->is_shareable = is_shareable;
    *handle = p->handle.name;
    phys_note(CALL_CREATE, device, *handle, 0, bytes);
    return cudasim_end(CODE_SUCCESS);
}

/* Frees physical memory once no handle and no mapping holds it. */
static void phys_settle(struct cudasim_phys *p)
{
    if (p->refs > 0 || p->maps > 0)
        return;
    assert(cudasim_handle_get(p->handle.name, HANDLE_PHYS) == &p->handle);
    if (!p->is_imported) {
        phys_note(CALL_PHYSICAL_FREE, p->device, p->handle.name, 0, p->bytes);
        device_phys_destroy(cudasim.devices[p->device].device, p->phys, p->bytes);
        cudasim_ipc_withdraw(p->share);
    }
    cudasim_handle_drop(&p->handle);
}

static struct cudasim_phys *phys_get(uint64_t handle)
{
    struct cudasim_phys *p = (struct cudasim_phys *)cudasim_handle_get(handle, HANDLE_PHYS);
    return p != NULL && p->refs > 0 ? p : NULL;
}

enum cudasim_code cudasim_phys_release(uint64_t handle)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct cudasim_phys *p = phys_get(handle);
    if (p == NULL)
        return cudasim_end(CODE_INVALID_VALUE);
    if (!p->is_imported)
        phys_note(CALL_RELEASE, p->device, handle, 0, 0);
    p->refs--;
    phys_settle(p);
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_phys_export(uint64_t handle, int *fd)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct cudasim_phys *p = phys_get(handle);
    if (p == NULL || !p->is_shareable || p->is_imported || fd == NULL)
        return cudasim_end(CODE_INVALID_VALUE);
    return cudasim_end(cudasim_ipc_export_physical(p->device, p->bytes, &p->share, fd));
}

/* What this process exported itself; NULL: it was released meanwhile. */
static struct cudasim_phys *phys_of_share(uint32_t share)
{
    const struct address_extent *e;
    for (uint64_t name = 0; (e = address_map_from(&cudasim.handles, name)) != NULL; name = e->addr + 1) {
        struct cudasim_handle *h = e->value;
        if (h->kind == HANDLE_PHYS && ((struct cudasim_phys *)h)->share == share)
            return (struct cudasim_phys *)h;
    }
    return NULL;
}

static enum cudasim_code phys_put_imported(int device, uint64_t bytes, uint64_t *handle)
{
    struct cudasim_phys *p = calloc(1, sizeof *p);
    if (p == NULL || !cudasim_handle_put(&p->handle, HANDLE_PHYS))
        return CODE_OUT_OF_MEMORY;
    p->bytes = bytes;
    p->device = device < cudasim.n_devices ? device : cudasim_current_device();
    p->refs = 1;
    p->is_imported = true;
    *handle = p->handle.name;
    return CODE_SUCCESS;
}

enum cudasim_code cudasim_phys_import(int fd, uint64_t *handle)
{
    uint64_t bytes;
    uint32_t share;
    int device;
    enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    code = handle == NULL ? CODE_INVALID_VALUE : cudasim_ipc_import_physical(fd, &device, &bytes, &share);
    if (code != CODE_SUCCESS || share == 0)
        return cudasim_end(code != CODE_SUCCESS ? code : phys_put_imported(device, bytes, handle));
    struct cudasim_phys *p = phys_of_share(share);
    if (p == NULL)
        return cudasim_end(CODE_INVALID_VALUE);
    p->refs++;
    *handle = p->handle.name;
    phys_note(CALL_RETAIN, p->device, *handle, 0, 0);
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_phys_device(uint64_t handle, int *device)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    const struct cudasim_phys *p = phys_get(handle);
    if (p != NULL)
        *device = p->device;
    return cudasim_end(p != NULL ? CODE_SUCCESS : CODE_INVALID_VALUE);
}

enum cudasim_code cudasim_phys_retain_at(uint64_t addr, uint64_t *handle)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    const struct address_extent *m = address_map_find(&cudasim.mappings, addr);
    if (m == NULL)
        return cudasim_end(CODE_INVALID_VALUE);
    struct cudasim_phys *p = m->value;
    p->refs++;
    *handle = p->handle.name;
    if (!p->is_imported)
        phys_note(CALL_RETAIN, p->device, *handle, m->addr, 0);
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_map(uint64_t addr, uint64_t bytes, uint64_t offset, uint64_t handle)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    struct cudasim_phys *p = phys_get(handle);
    const struct address_extent *e = address_map_find(&cudasim.pointers, addr);
    const struct cudasim_allocation *a = e == NULL ? NULL : e->value;
    if (p == NULL || a == NULL || a->kind != MEMORY_RANGE || offset != 0 || bytes != p->bytes ||
        addr % DEVICE_PAGE_BYTES != 0 || bytes > e->bytes - (addr - e->addr) ||
        address_map_overlaps(&cudasim.mappings, addr, bytes))
        return cudasim_end(CODE_INVALID_VALUE);
    if (!address_map_reserve(&cudasim.mappings))
        return cudasim_end(CODE_OUT_OF_MEMORY);
    struct device *dev = cudasim.devices[a->device].device;
    const enum err err = p->is_imported ? ERR_OK : device_map(dev, &a->segment, addr - e->addr, bytes, p->phys);
    if (err != ERR_OK)
        return cudasim_end(cudasim_code_of(err));
    address_map_put(&cudasim.mappings, addr, bytes, p);
    p->maps++;
    if (!p->is_imported)
        phys_note(CALL_MAP, a->device, handle, addr, bytes);
    return cudasim_end(CODE_SUCCESS);
}

/* Whether [addr, addr + bytes) consists of whole mappings, one after the other. */
static bool is_mapped_whole(uint64_t addr, uint64_t bytes)
{
    const struct address_extent *m;
    uint64_t done = 0;
    while (done < bytes && (m = address_map_at(&cudasim.mappings, addr + done)) != NULL)
        done += m->bytes;
    return bytes > 0 && done == bytes;
}

enum cudasim_code cudasim_unmap(uint64_t addr, uint64_t bytes)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    const struct address_extent *range = address_map_find(&cudasim.pointers, addr);
    if (range == NULL || bytes > range->bytes - (addr - range->addr) || !is_mapped_whole(addr, bytes))
        return cudasim_end(CODE_INVALID_VALUE);
    const struct cudasim_allocation *a = range->value;
    for (uint64_t done = 0; done < bytes;) {
        struct address_extent *m = address_map_at(&cudasim.mappings, addr + done);
        struct cudasim_phys *p = m->value;
        const uint64_t n = m->bytes;
        if (!p->is_imported)
            device_unmap(cudasim.devices[a->device].device, &a->segment, addr + done - range->addr, n);
        address_map_remove(&cudasim.mappings, m);
        if (!p->is_imported)
            phys_note(CALL_UNMAP, a->device, p->handle.name, addr + done, n);      /* its time: that of what it frees */
        assert(p->maps > 0);
        p->maps--;
        phys_settle(p);
        done += n;
    }
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_check_mapped(uint64_t addr, uint64_t bytes)
{
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    return cudasim_end(is_mapped_whole(addr, bytes) ? CODE_SUCCESS : CODE_INVALID_VALUE);
}
