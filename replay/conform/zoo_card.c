/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* A card behind the front functions of sim/device.h, and its log in the form of the cases. */
#include "replay/conform/zoo_card.h"

#include "base/array.h"
#include "base/units.h"

#include <stdlib.h>

#define ZOO_CARD_BASE UINT64_C(0x7f0000000000)

/* The device that the front functions see. Only its ops know the card. */
struct zoo_device {
    struct device    base;               /* first, so the two pointers convert */
    struct zoo_card *card;
    uint64_t         next;               /* the next address */
    uint32_t         n_phys;
};

static enum err zoo_device_open(const struct device_config *cfg, struct device **out, struct err_detail *err)
{
    (void)cfg;
    struct zoo_device *d = calloc(1, sizeof *d);
    if (d == NULL)
        return err_no_memory(err);
    d->next = ZOO_CARD_BASE;
    *out = &d->base;
    return ERR_OK;
}

static void zoo_device_close(struct device *dev)
{
    free(dev);
}

static bool zoo_card_admits(const struct zoo_card *card, uint64_t bytes)
{
    return bytes <= UINT64_MAX / 2 && align_up(bytes, card->page_bytes) <= card->total_bytes - card->used_bytes;
}

/* Numbers a new device block. */
static enum err zoo_card_enter(struct zoo_card *card, uint64_t addr, uint64_t bytes)
{
    struct zoo_card_extent *extents = array_grow(card->extents, card->n_extents, &card->cap_extents, sizeof *extents);
    if (extents == NULL)
        return ERR_HOST_NOMEM;
    card->extents = extents;
    extents[card->n_extents++] = (struct zoo_card_extent){.addr = addr, .bytes = bytes};
    card->used_bytes += align_up(bytes, card->page_bytes);
    return ERR_OK;
}

static enum err zoo_device_alloc(struct device *dev, uint64_t bytes, uint64_t *addr)
{
    struct zoo_device *d = (struct zoo_device *)dev;
    if (!zoo_card_admits(d->card, bytes))
        return ERR_DEVICE_OOM;
    const enum err e = zoo_card_enter(d->card, d->next, bytes);
    if (e != ERR_OK)
        return e;
    *addr = d->next;
    d->next += align_up(bytes, d->card->page_bytes) + d->card->gap_bytes;
    return ERR_OK;
}

/* The ordinal of the block that holds an address. */
static size_t zoo_card_find(const struct zoo_card *card, uint64_t addr)
{
    size_t i = card->n_extents;
    while (i > 0 && card->extents[i - 1].addr > addr)
        i--;
    return i == 0 ? 0 : i - 1;
}

static void zoo_device_free(struct device *dev, uint64_t addr, uint64_t bytes)
{
    struct zoo_card *card = ((struct zoo_device *)dev)->card;
    (void)bytes;
    card->used_bytes -= align_up(card->extents[zoo_card_find(card, addr)].bytes, card->page_bytes);
}

/* An allocator whose regions touch has one range of addresses; each page mapped to it is a device block of its own. */
static enum err zoo_device_reserve(struct device *dev, uint64_t bytes, uint64_t *addr)
{
    struct zoo_device *d = (struct zoo_device *)dev;
    *addr = d->next;
    d->next += bytes;
    return ERR_OK;
}

static void zoo_device_unreserve(struct device *dev, uint64_t addr, uint64_t bytes)
{
    (void)dev;
    (void)addr;
    (void)bytes;
}

static enum err zoo_device_create(struct device *dev, uint64_t bytes, uint32_t *phys)
{
    struct zoo_device *d = (struct zoo_device *)dev;
    if (!zoo_card_admits(d->card, bytes))
        return ERR_DEVICE_OOM;
    *phys = ++d->n_phys;
    return ERR_OK;
}

static void zoo_device_destroy(struct device *dev, uint32_t phys, uint64_t bytes)
{
    (void)dev;
    (void)phys;
    (void)bytes;
}

static enum err zoo_device_map(struct device *dev, uint64_t addr, uint64_t bytes, uint32_t phys)
{
    (void)phys;
    return zoo_card_enter(((struct zoo_device *)dev)->card, addr, bytes);
}

static const struct device_ops zoo_device = {
    .abi = DEVICE_ABI,
    .size = sizeof(struct device_ops),
    .name = "zoo",
    .open = zoo_device_open,             .close = zoo_device_close,
    .segment_alloc = zoo_device_alloc,   .segment_free = zoo_device_free,
    .range_reserve = zoo_device_reserve, .range_free = zoo_device_unreserve,
    .phys_create = zoo_device_create,    .phys_destroy = zoo_device_destroy,
    .map = zoo_device_map,               .unmap = zoo_device_unreserve,
};

static void zoo_card_hear(void *arg, const struct device_call *c)
{
    struct zoo_card *card = arg;
    const json_int_t op = card->op, bytes = (json_int_t)c->bytes;
    const json_int_t ordinal = (json_int_t)zoo_card_find(card, c->addr);
    json_t *entry = NULL;
    switch (c->kind) {
    case DEVICE_CALL_MALLOC:
    case DEVICE_CALL_MAP:
        entry = json_pack("[I,s,I,I]", op, "malloc", bytes, ordinal);
        break;
    case DEVICE_CALL_FREE:
        entry = json_pack("[I,s,I,I]", op, "free", (json_int_t)card->extents[ordinal].bytes, ordinal);
        break;
    case DEVICE_CALL_MALLOC_OOM:
    case DEVICE_CALL_CREATE_OOM:
        entry = json_pack("[I,s,I]", op, "malloc_oom", bytes);
        break;
    case DEVICE_CALL_WAIT_EVENT:
        entry = json_pack("[I,s]", op, "wait_event");
        break;
    case DEVICE_CALL_STREAM_SYNC:
        entry = json_pack("[I,s]", op, "stream_sync");
        break;
    case DEVICE_CALL_DEVICE_SYNC:
        entry = json_pack("[I,s]", op, "device_sync");
        break;
    case DEVICE_CALL_RESERVE:
    case DEVICE_CALL_UNRESERVE:
    case DEVICE_CALL_CREATE:
    case DEVICE_CALL_UNMAP:
    case DEVICE_CALL_RELEASE:
    case DEVICE_CALL_HOST_MALLOC:
    case DEVICE_CALL_HOST_FREE:
    case DEVICE_CALL_KINDS:
        return;
    }
    card->is_short |= json_array_append_new(card->calls, entry) != 0;
}

enum err zoo_card_open(struct zoo_card *card, struct err_detail *err)
{
    /* The front functions count whole pages of 2 MiB, so with smaller pages the card alone knows what is free. */
    const struct device_config cfg = {
        .total_bytes = card->page_bytes == DEVICE_PAGE_BYTES ? card->total_bytes : DEVICE_UNLIMITED,
    };
    const enum err e = device_open(&zoo_device, &cfg, &card->device, err);
    if (e != ERR_OK)
        return e;
    ((struct zoo_device *)card->device)->card = card;
    card->calls = json_array();
    card->is_short = card->calls == NULL;
    card->op = -1;
    card->log = (struct device_log){.call = zoo_card_hear, .arg = card};
    card->device->log = &card->log;
    return ERR_OK;
}

void zoo_card_close(struct zoo_card *card)
{
    device_close(card->device);
    json_decref(card->calls);
    free(card->extents);
}

json_t *zoo_card_place(const struct zoo_card *card, uint64_t addr)
{
    const size_t ordinal = zoo_card_find(card, addr);
    return json_pack("[I,I]", (json_int_t)ordinal, (json_int_t)(addr - card->extents[ordinal].addr));
}
