/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The process of the simulated CUDA: its devices, the lock, handles, the virtual clock and the journal.
 */
#include "cudasim/core/state.h"

#include "base/units.h"
#include "cudasim/core/device_text.h"
#include "cudasim/core/visible_cards.h"
#include "sim/cards.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Device addresses lie in user space that a 64-bit Linux hands out to nobody by itself. A device address that is used
 * on the host therefore faults and never hits somebody's memory. The devices share the range evenly:
 *
 *     0x200000000000                          0x600000000000
 *     | device 0      | device 1      | ...  |                  address = base + offset in the device's own space
 */
#define ADDRESSES_BEGIN UINT64_C(0x200000000000)
#define ADDRESSES_BYTES UINT64_C(0x400000000000)

struct cudasim_state cudasim;
static pthread_mutex_t cudasim_mutex = PTHREAD_MUTEX_INITIALIZER;

static bool has_runtime;             /* set while libraries are loaded, so before it is read */

/* Per thread, as CUDA has it. */
static __thread int thread_device;
static __thread int thread_error;

void cudasim_lock(void)
{
    journal_file_notice_fork();
    pthread_mutex_lock(&cudasim_mutex);
}

void cudasim_unlock(void)
{
    pthread_mutex_unlock(&cudasim_mutex);
}

/* CUDA does not survive a fork, and neither do we. The child of a process that only looked by NVML begins anew. */
static void cudasim_forked(void)
{
    const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
    cudasim_mutex = unlocked;
    cudasim.is_forked = cudasim.is_open = cudasim.is_used;
}

/* The child's only thread held the lock at the fork, so the state is consistent. */
static void cudasim_after_fork(void)
{
    journal_file_forked();
    cudasim_forked();
}

/* What run-sim says in the environment. A program may overwrite its environment, for a title in the list of processes,
 * so a copy is made when the library is loaded. */
enum { SETTING_JOURNAL, SETTING_DEVICE, SETTING_VALUES, N_SETTINGS };

static struct {
    const char *const name;
    char text[PATH_MAX];
} settings[N_SETTINGS] = {
    [SETTING_JOURNAL] = { .name = CUDASIM_ENV_JOURNAL },
    [SETTING_DEVICE]  = { .name = CUDASIM_ENV_DEVICE },
    [SETTING_VALUES]  = { .name = CUDASIM_ENV_VALUES },
};

const char *cudasim_setting(const char *name)
{
    const char *text = getenv(name);
    for (size_t i = 0; text == NULL && i < N_SETTINGS; i++)
        if (strcmp(settings[i].name, name) == 0 && settings[i].text[0] != '\0')
            text = settings[i].text;
    return text;
}

__attribute__((constructor)) static void cudasim_loaded(void)
{
    pthread_atfork(cudasim_lock, cudasim_unlock, cudasim_after_fork);
    for (size_t i = 0; i < N_SETTINGS; i++) {
        const char *text = getenv(settings[i].name);
        if (text != NULL && strlen(text) < sizeof settings[i].text)
            memcpy(settings[i].text, text, strlen(text) + 1);
    }
    if (settings[SETTING_JOURNAL].text[0] != '\0')
        cudasim_open_journal();
}

/* All devices are described by one text; each has addresses of its own. */
static enum err cudasim_open_devices(struct err_detail *err)
{
    struct device_config cfg;
    const struct device_ops *ops;
    int n = 0;
    const char *text = cudasim_setting(CUDASIM_ENV_DEVICE), *fail = getenv(CUDASIM_ENV_FAIL);
    enum err e = cards_add_own(err);
    if (e == ERR_OK)
        e = cudasim_parse_devices(text == NULL || text[0] == '\0' ? "sim" : text, &cfg, &ops, &n, err);
    cudasim.n_machine = n;
    n = e == ERR_OK ? visible_cards_read(getenv("CUDA_VISIBLE_DEVICES"), n, CUDASIM_DEVICES_MAX, cudasim.places) : 0;
    for (int i = 0; i < n; i++)
        cudasim.n_machine = cudasim.places[i] < cudasim.n_machine ? cudasim.n_machine : cudasim.places[i] + 1;
    if (e == ERR_OK)
        cudasim.card = device_found(&cfg);
    cudasim.is_card_given = e == ERR_OK && (cfg.model != NULL || cfg.capability != 0);
    cfg.fail_from_call = e == ERR_OK && fail != NULL ? strtoull(fail, NULL, 10) : 0;
    const uint64_t pages = e == ERR_OK && n > 0 ? ADDRESSES_BYTES / (uint64_t)n / DEVICE_PAGE_BYTES : 0;
    const uint64_t stride = pages * DEVICE_PAGE_BYTES;
    for (int i = 0; e == ERR_OK && i < n; i++) {
        struct cudasim_device *d = &cudasim.devices[i];
        const uint64_t base = ADDRESSES_BEGIN + (uint64_t)i * stride;
        const bool is_falling = cfg.addresses == ADDRESSES_DESCENDING || cfg.addresses == ADDRESSES_LINUX;
        cfg.base_addr = is_falling ? base + stride : base;
        e = device_open(ops, &cfg, &d->device, err);
        d->end_addr = base + stride;
        if (e == ERR_OK)
            cudasim.n_devices = i + 1;
    }
    if (e == ERR_OK)
        cudasim_streams_open();
    return e;
}

/* The journal may begin before the devices do: a program registers its kernels when it is loaded. The folder's name is
 * copied, because a program may change its environment. */
static char journal_folder[PATH_MAX];

const char *cudasim_journal_folder(void)
{
    return journal_folder[0] == '\0' ? NULL : journal_folder;
}

void cudasim_open_journal(void)
{
    const char *folder = cudasim_setting(CUDASIM_ENV_JOURNAL);
    if (cudasim.has_journal)
        return;
    if (folder != NULL && strlen(folder) < sizeof journal_folder)
        memcpy(journal_folder, folder, strlen(folder) + 1);
    journal_file_begin(cudasim_journal_folder(), CALL_CARD_SIMULATED, false, cudasim_forked);
    cudasim.has_journal = true;
}

/* What the parent of this process had opened to look at. */
static void cudasim_close_devices(void)
{
    for (int i = 0; i < cudasim.n_devices; i++) {
        device_close(cudasim.devices[i].device);
        cudasim.devices[i] = (struct cudasim_device){ .device = NULL };
    }
    cudasim.n_devices = 0;
}

static void cudasim_open(void)
{
    struct err_detail err;
    cudasim_close_devices();
    cudasim.is_open = true;
    if (cudasim.next_handle == 0)
        cudasim.next_handle = HANDLES_FIRST;
    cudasim_open_journal();
    if (cudasim_open_devices(&err) != ERR_OK) {
        fprintf(stderr, "replay cudasim: %s\n", err.text);
        cudasim.is_broken = true;
        return;
    }
    if (cudasim.n_devices == 0)
        fprintf(stderr, "replay cudasim: CUDA_VISIBLE_DEVICES hides all cards from process %d\n", (int)getpid());
    for (int i = 0; i < cudasim.n_devices; i++) {
        const struct device_config *cfg = &cudasim.devices[i].device->cfg;
        cudasim_note((struct call_record){ .kind = CALL_DEVICE, .device = (uint8_t)i, .bytes = cfg->total_bytes,
                                           .other = cfg->total_bytes - cfg->context_bytes - cfg->others_bytes });
    }
}

enum cudasim_code cudasim_begin_look(void)
{
    cudasim_lock();
    if (!cudasim.is_open)
        cudasim_open();
    return cudasim.is_broken || cudasim.n_devices == 0 ? cudasim_end(CODE_NO_DEVICE) : CODE_SUCCESS;
}

enum cudasim_code cudasim_begin(void)
{
    const enum cudasim_code code = cudasim_begin_look();
    if (code != CODE_SUCCESS)
        return code;
    cudasim.is_used = true;
    return cudasim.is_forked ? cudasim_end(CODE_NOT_INITIALIZED) : CODE_SUCCESS;
}

enum cudasim_code cudasim_end(enum cudasim_code code)
{
    cudasim_unlock();
    return code;
}

enum cudasim_code cudasim_code_of(enum err e)
{
    return e == ERR_OK ? CODE_SUCCESS
         : e == ERR_DEVICE_OOM || e == ERR_HOST_NOMEM ? CODE_OUT_OF_MEMORY
         : e == ERR_UNSUPPORTED ? CODE_NOT_SUPPORTED : CODE_UNKNOWN;
}

/* A program's own code and data may lie in the range that the devices share, so only what was given out counts. */
void cudasim_address_given(struct cudasim_device *d, uint64_t addr, uint64_t bytes)
{
    const bool is_first = d->given_end == 0;
    d->given_begin = is_first || addr < d->given_begin ? addr : d->given_begin;
    d->given_end = is_first || addr + bytes > d->given_end ? addr + bytes : d->given_end;
}

bool cudasim_was_given(uint64_t addr)
{
    bool was_given = false;
    for (int i = 0; i < cudasim.n_devices; i++)
        was_given = was_given || (addr >= cudasim.devices[i].given_begin && addr < cudasim.devices[i].given_end);
    return was_given;
}

uint64_t cudasim_now_ns(void)
{
    uint64_t now = cudasim.clock_ns;
    for (int i = 0; i < cudasim.n_devices; i++)
        now = add_capped(now, cudasim.devices[i].device->usage.time_ns);
    return now;
}

void cudasim_note(struct call_record r)
{
    r.time_ns = cudasim_now_ns();
    r.thread = (uint32_t)syscall(SYS_gettid);
    r.call = CALL_NO_LINE;
    (void)journal_file_put(&r);
}

/* ---- handles ---- */

bool cudasim_handle_put(struct cudasim_handle *h, enum cudasim_handle_kind kind)
{
    if (!address_map_reserve(&cudasim.handles)) {
        free(h);
        return false;
    }
    h->kind = kind;
    h->name = cudasim.next_handle;
    cudasim.next_handle += 0x100;
    address_map_put(&cudasim.handles, h->name, 1, h);
    return true;
}

struct cudasim_handle *cudasim_handle_get(uint64_t name, enum cudasim_handle_kind kind)
{
    const struct address_extent *e = address_map_at(&cudasim.handles, name);
    struct cudasim_handle *h = e == NULL ? NULL : e->value;
    return h != NULL && h->kind == kind ? h : NULL;
}

void cudasim_handle_drop(struct cudasim_handle *h)
{
    address_map_remove(&cudasim.handles, address_map_at(&cudasim.handles, h->name));
    free(h);
}

uint64_t cudasim_new_name(void)
{
    cudasim_lock();
    const uint64_t name = cudasim.next_handle < HANDLES_FIRST ? HANDLES_FIRST : cudasim.next_handle;
    cudasim.next_handle = name + 0x100;
    cudasim_unlock();
    return name;
}

/* ---- devices ---- */

enum cudasim_code cudasim_init(void)
{
    const enum cudasim_code code = cudasim_begin();
    return code != CODE_SUCCESS ? code : cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_look(void)
{
    const enum cudasim_code code = cudasim_begin_look();
    return code != CODE_SUCCESS ? code : cudasim_end(CODE_SUCCESS);
}

void cudasim_runtime_loaded(void)
{
    has_runtime = true;
}

bool cudasim_has_runtime(void)
{
    return has_runtime;
}

int cudasim_device_count(void)
{
    return cudasim_init() == CODE_SUCCESS ? cudasim.n_devices : 0;
}

int cudasim_machine_count(void)
{
    return cudasim_look() == CODE_SUCCESS ? cudasim.n_machine : 0;
}

int cudasim_seen_as(int card)
{
    const int n = cudasim_look() == CODE_SUCCESS ? cudasim.n_devices : 0;
    for (int i = 0; i < n; i++)
        if (cudasim.places[i] == card)
            return i;
    return -1;
}

void cudasim_device_uuid(int device, unsigned char uuid[16])
{
    const int card = device >= 0 && device < cudasim.n_devices ? cudasim.places[device] : 0;
    visible_card_uuid(getenv("CUDA_VISIBLE_DEVICES"), card, uuid);
}

int cudasim_card_uuid_text(int card, char *text, size_t n)
{
    return visible_card_uuid_text(card, text, n);
}

int cudasim_current_device(void)
{
    return thread_device;
}

enum cudasim_code cudasim_set_device(int device)
{
    const enum cudasim_code code = cudasim_init();
    if (code != CODE_SUCCESS)
        return code;
    if (device < 0 || device >= cudasim.n_devices)
        return CODE_INVALID_DEVICE;
    thread_device = device;
    return CODE_SUCCESS;
}

static enum cudasim_code device_code(enum cudasim_code begun, int device)
{
    return begun != CODE_SUCCESS ? begun
         : device >= 0 && device < cudasim.n_devices ? CODE_SUCCESS : cudasim_end(CODE_INVALID_DEVICE);
}

enum cudasim_code cudasim_begin_device(int device)
{
    return device_code(cudasim_begin(), device);
}

static enum cudasim_code memory_info(enum cudasim_code begun, int device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    const enum cudasim_code code = device_code(begun, device);
    if (code != CODE_SUCCESS)
        return code;
    device_memory_info(cudasim.devices[device].device, free_bytes, total_bytes);
    return cudasim_end(CODE_SUCCESS);
}

enum cudasim_code cudasim_memory_info(int device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    return memory_info(cudasim_begin(), device, free_bytes, total_bytes);
}

enum cudasim_code cudasim_memory_seen(int device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    return memory_info(cudasim_begin_look(), device, free_bytes, total_bytes);
}

uint64_t cudasim_process_bytes(int device)
{
    if (device_code(cudasim_begin_look(), device) != CODE_SUCCESS)
        return 0;
    const struct device *dev = cudasim.devices[device].device;
    const uint64_t bytes = device_process_bytes(dev, dev->usage.page_bytes);
    cudasim_unlock();
    return bytes;
}

bool cudasim_peer_possible(int from, int to)
{
    const int n = cudasim_device_count();
    return from != to && from >= 0 && to >= 0 && from < n && to < n;
}

static enum cudasim_code cudasim_peer_set(int from, int to, bool is_on)
{
    if (!cudasim_peer_possible(from, to))
        return CODE_INVALID_DEVICE;
    const enum cudasim_code code = cudasim_begin();
    if (code != CODE_SUCCESS)
        return code;
    bool *peer = &cudasim.devices[from].peers[to];
    const bool was_on = *peer;
    *peer = is_on;
    return cudasim_end(was_on != is_on ? CODE_SUCCESS : is_on ? CODE_PEER_ENABLED : CODE_PEER_NOT_ENABLED);
}

enum cudasim_code cudasim_peer_enable(int from, int to)
{
    return cudasim_peer_set(from, to, true);
}

enum cudasim_code cudasim_peer_disable(int from, int to)
{
    return cudasim_peer_set(from, to, false);
}

/* ---- errors ---- */

int cudasim_remember(enum cudasim_code code)
{
    if (code != CODE_SUCCESS)
        thread_error = (int)code;
    return (int)code;
}

int cudasim_last_error(bool is_cleared)
{
    const int error = thread_error;
    if (is_cleared)
        thread_error = 0;
    return error;
}

#define CUDASIM_CODE(number, name, runtime, driver, text) { number, runtime, driver, text },
static const struct { int number; const char *runtime, *driver, *text; } codes[] = {
#include "cudasim/core/codes.def"
};
#undef CUDASIM_CODE

enum { N_CODES = sizeof codes / sizeof codes[0] };

static size_t cudasim_code_index(int code)
{
    size_t i = 0;
    while (i < N_CODES && codes[i].number != code)
        i++;
    return i;
}

const char *cudasim_code_text(int code)
{
    const size_t i = cudasim_code_index(code);
    return i < N_CODES ? codes[i].text : NULL;
}

const char *cudasim_code_runtime_name(int code)
{
    const size_t i = cudasim_code_index(code);
    return i < N_CODES ? codes[i].runtime : NULL;
}

const char *cudasim_code_driver_name(int code)
{
    const size_t i = cudasim_code_index(code);
    return i < N_CODES ? codes[i].driver : NULL;
}

/* ---- for tests ---- */

void cudasim_fail_from(int device, uint64_t call)
{
    if (cudasim_begin_device(device) != CODE_SUCCESS)
        return;
    struct device *dev = cudasim.devices[device].device;
    dev->cfg.fail_from_call = call == 0 ? 0 : dev->growing_calls + call;
    cudasim_unlock();
}

void cudasim_set_total(int device, uint64_t bytes)
{
    if (cudasim_begin_device(device) != CODE_SUCCESS)
        return;
    cudasim.devices[device].device->cfg.total_bytes = bytes;
    cudasim_unlock();
}
