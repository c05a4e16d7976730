/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The state of the simulated CUDA (core.h), for the files of libreplay-cudasim.so only. Hold the lock to read
 * or change it.
 */
#ifndef REPLAY_CUDASIM_CORE_STATE_H
#define REPLAY_CUDASIM_CORE_STATE_H

#include "capture/journal_file.h"
#include "cudasim/core/address_map.h"
#include "cudasim/core/core.h"
#include "policies/policy.h"
#include "sim/device.h"

enum {
    HANDLES_FIRST = 0x10000,         /* opaque handles are small numbers, in order of creation: runs are reproducible */
};

/* Physical memory of the pool of graphs that no live allocation has. */
struct graph_chunk {
    uint64_t bytes;
    uint32_t phys;
};

/* The memory of all graphs of a device (cudasim/core/graph_memory.c). */
struct cudasim_graph_pool {
    uint64_t name;                   /* in the journal; 0: no graph took memory yet */
    uint64_t used_bytes, used_high, reserved_bytes, reserved_high;
    struct graph_chunk *idle;        /* with a place for each chunk */
    size_t   n_idle, n_chunks, idle_room;
};

struct cudasim_device {
    struct device *device;
    uint64_t end_addr;               /* the end of its own addresses, exclusive */
    uint64_t given_begin, given_end; /* all that it ever gave out lies between */
    uint64_t numbers;                /* successful segment calls and reservations so far */
    uint64_t default_pool, current_pool;
    struct cudasim_graph_pool graphs;
    bool     peers[CUDASIM_DEVICES_MAX];
};

/* One allocation: the value in `pointers`. */
struct cudasim_allocation {
    enum cudasim_memory_kind kind;
    int      device;
    struct segment segment;          /* MEMORY_DEVICE of no pool, MEMORY_RANGE, MEMORY_SHARED: its addresses */
    uint64_t bytes;                  /* as asked for */
    uint64_t pool;                   /* of cudaMallocAsync; 0 = none */
    struct block block;              /* of the pool's memory */
    uint64_t number;                 /* MEMORY_SHARED: the serial number of its handle */
    uint32_t share;                  /* what it was exported by; 0: it was not */
    int      refs;                   /* MEMORY_SHARED: times that it was opened and not closed */
    bool     is_variable;            /* of a kernel: no call took it, none frees it */
};

struct cudasim_state {
    int      n_devices;              /* those that the process sees */
    int      n_machine;              /* those that the machine has */
    int      places[CUDASIM_DEVICES_MAX];    /* of each that is seen: its number in the machine */
    struct cudasim_device devices[CUDASIM_DEVICES_MAX];
    struct device_model card;        /* of all devices; set when they are opened */
    bool     is_card_given;          /* the card has a name, or a capability that was asked for */
    struct address_map pointers;     /* every allocation, device and host: struct cudasim_allocation */
    struct address_map mappings;     /* cuMemMap: struct cudasim_phys */
    struct address_map handles;      /* streams, events, graphs, pools, physical memory: struct cudasim_handle */
    uint64_t next_handle;
    uint64_t clock_ns;               /* the virtual clock, without the devices' modelled time */
    bool     is_open, is_broken;     /* is_broken: the devices could not be opened */
    bool     has_journal;            /* the environment was asked for the journal's folder */
    bool     is_used;                /* by CUDA; NVML only looks */
    bool     is_forked;              /* this is the child of a process that had used them */
};

extern struct cudasim_state cudasim;

void cudasim_lock(void);
void cudasim_unlock(void);

/* Locks, and opens the devices if they are not open yet. SUCCESS: the caller unlocks. Otherwise nothing is locked. */
enum cudasim_code cudasim_begin(void);

/* The same for NVML, which is not CUDA: a process that only looked may fork, and a child may look. */
enum cudasim_code cudasim_begin_look(void);

/* As cudasim_begin, for a device of the program's: INVALID_DEVICE if there is none of that number. */
enum cudasim_code cudasim_begin_device(int device);

/* Unlocks; returns `code`. */
enum cudasim_code cudasim_end(enum cudasim_code code);

enum cudasim_code cudasim_code_of(enum err e);

/* Says that a device gave out these addresses. The lock is held. */
void cudasim_address_given(struct cudasim_device *d, uint64_t addr, uint64_t bytes);

/* Whether an address lies between those that a device ever gave out. The lock is held. */
bool cudasim_was_given(uint64_t addr);

/* Virtual time: modelled driver time of all devices and what streams were given to do. */
uint64_t cudasim_now_ns(void);

/* Puts a record into the journal; time, thread and call are set here. Under the lock records are in the order of what
 * they tell. */
void cudasim_note(struct call_record r);

/* ---- handles ---- */

enum cudasim_handle_kind { HANDLE_STREAM, HANDLE_EVENT, HANDLE_GRAPH, HANDLE_EXEC, HANDLE_POOL, HANDLE_PHYS,
                           HANDLE_MODULE, HANDLE_KERNEL, HANDLE_ARRAY, HANDLE_MIPMAPS, HANDLE_VIEW,
                           HANDLE_POOL_ENDED };

struct cudasim_handle {              /* the first member of every object that has a handle */
    enum cudasim_handle_kind kind;
    uint64_t name;
};

/* Gives a calloc'ed object its name. False (object freed) without host memory. */
bool cudasim_handle_put(struct cudasim_handle *h, enum cudasim_handle_kind kind);
struct cudasim_handle *cudasim_handle_get(uint64_t name, enum cudasim_handle_kind kind);
void cudasim_handle_drop(struct cudasim_handle *h);

/* ---- between the files ---- */

/* A variable of the environment; what it was when the library was loaded if the program has lost it. NULL: not set. */
const char *cudasim_setting(const char *name);

/* Starts the journal if the environment names a folder for it. The lock is held. */
void cudasim_open_journal(void);

/* Gives a segment of the device back. The lock is held. */
void cudasim_segment_give(struct address_extent *e);

/* Whether bytes from an address on lie in its allocation. The program's own memory is its own affair. It locks. */
bool cudasim_is_within(uint64_t addr, uint64_t bytes);

/* What cudaFuncSetAttribute does to a kernel's facts. The lock is held. */
enum cudasim_code cudasim_facts_set(struct cudasim_kernel_facts *k, int attribute, int value);

/* A place for a variable of a kernel, and its end. The card's context counts such memory, so it takes nothing of the
 * device and is not recorded. The lock is held. */
enum cudasim_code cudasim_variable_place(uint64_t bytes, uint64_t *addr);
void cudasim_variable_give(uint64_t addr);

/* The folder of the run's journals; NULL: there is none. */
const char *cudasim_journal_folder(void);

/* Ends what an allocation or an event was exported by (0: nothing). */
void cudasim_ipc_withdraw(uint32_t share);

/* Physical memory in a descriptor, which the caller closes: of an export, and what is in one. *own_share: what it was
 * exported by, if that was this process; otherwise 0. The lock is held. */
enum cudasim_code cudasim_ipc_export_physical(int device, uint64_t bytes, uint32_t *share, int *fd);
enum cudasim_code cudasim_ipc_import_physical(int fd, int *device, uint64_t *bytes, uint32_t *own_share);

/* Where an event keeps what it was exported by. INVALID_HANDLE: it is not for other processes. The lock is held. */
enum cudasim_code cudasim_event_share(uint64_t event, uint32_t **share);

/* As CUDASIM_ENV_WAITS says. The lock is held. */
void cudasim_streams_open(void);

/* The program has waited for a stream of a device, or for the device: pools give back what they keep above their
 * threshold. The lock is held. */
void cudasim_pools_settle_stream(int device, uint64_t stream);
void cudasim_pools_settle_device(int device);

/* What cudaDeviceReset does to a part (cudasim/core/reset.c). The lock is held. Pools are as new then, and one that was
 * destroyed ends. Memory of other processes is closed, however often it was opened. */
void cudasim_pools_reset(int device);
void cudasim_segments_reset(int device);
void cudasim_ipc_reset(int device);
void cudasim_graph_memory_reset(int device);
void cudasim_arrays_reset(int device);

/* Device of a stream handle, the current one for the special streams 0, 1 and 2; -1 if there is no such stream. */
int cudasim_stream_device(uint64_t stream);

/* Advances the clock by work on a stream. A stream that is captured adds a node to its graph instead. */
enum cudasim_code cudasim_work(uint64_t stream, uint64_t time_ns, enum cudasim_node type);

/* The graph that a stream's work goes to; NULL: it is not captured. */
struct cudasim_graph;
struct cudasim_graph *cudasim_captured_graph(uint64_t stream);

#endif
