/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The simulated CUDA: what the runtime, the driver and the management library share.
 *
 * One shared object, libreplay-cudasim.so, holds all state, so that cuMemFree can free what cudaMalloc gave. Device
 * memory comes from sim/device.h's front functions, so capacity, accounting, injected failures and addresses are those
 * of every replay. A device address has no memory on the host. One lock guards all state, and no function here calls
 * the program while it holds the lock.
 *
 * Functions return a code that the runtime and the driver number alike (codes.def). Places for answers must be
 * there: an entry point refuses a program that gives none (cudasim/core/entry.h).
 */
#ifndef REPLAY_CUDASIM_CORE_CORE_H
#define REPLAY_CUDASIM_CORE_CORE_H

#include "sim/device_workspaces.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUDASIM_API __attribute__((visibility("default")))

#define CUDASIM_CODE(number, name, runtime, driver, text) CODE_##name = number,
enum cudasim_code {
#include "cudasim/core/codes.def"
};
#undef CUDASIM_CODE

enum { CUDASIM_DEVICES_MAX = 16, CUDASIM_DRIVER_VERSION = 13000, CUDASIM_GRANULARITY = 2 << 20 };

/* The environment. `replay run-sim` sets it for its program only. */
#define CUDASIM_ENV_DEVICE  "REPLAY_CUDASIM_DEVICE"     /* "sim:24GiB,count=2": the cards of this machine */
#define CUDASIM_ENV_JOURNAL "REPLAY_CUDASIM_JOURNAL"    /* a folder, into which each process writes its journal */
#define CUDASIM_ENV_FAIL    "REPLAY_CUDASIM_FAIL_FROM"  /* tests: calls that take memory fail from the n-th on */

/* "EACH,ALL" or "EACH", sizes. Copies that are larger, and those beyond ALL bytes together, are not kept (values.h). */
#define CUDASIM_ENV_WAITS   "REPLAY_CUDASIM_WAITS"      /* "late": work ends when the program waits for it */
#define CUDASIM_ENV_VALUES  "REPLAY_CUDASIM_VALUES"
#define CUDASIM_ENV_SEARCH  "REPLAY_CUDASIM_SEARCH"     /* "most": a search of algorithms finds large workspaces */

/* ---- process and devices ---- */

/* Opens the devices at the first call. NOT_INITIALIZED, as in CUDA, in the child of a process that used CUDA before the
 * fork; NO_DEVICE if the device text is wrong (the sentence goes to stderr). */
CUDASIM_API enum cudasim_code cudasim_init(void);
CUDASIM_API void cudasim_runtime_loaded(void);          /* the runtime makes contexts current by itself */
CUDASIM_API bool cudasim_has_runtime(void);
CUDASIM_API int cudasim_device_count(void);            /* what CUDA_VISIBLE_DEVICES lets the process see */
CUDASIM_API enum cudasim_code cudasim_look(void);      /* as cudasim_init, for NVML: its process may fork afterwards */
CUDASIM_API int cudasim_machine_count(void);           /* cards of the machine, as NVML counts them */
CUDASIM_API int cudasim_seen_as(int card);             /* the device that a card of the machine is; -1: not seen */
CUDASIM_API void cudasim_device_uuid(int device, unsigned char uuid[16]);
CUDASIM_API int cudasim_card_uuid_text(int card, char *text, size_t n);   /* of the machine; as snprintf */
CUDASIM_API int cudasim_current_device(void);           /* of this thread */
CUDASIM_API enum cudasim_code cudasim_set_device(int device);
CUDASIM_API enum cudasim_code cudasim_memory_info(int device, uint64_t *free_bytes, uint64_t *total_bytes);
CUDASIM_API enum cudasim_code cudasim_memory_seen(int device, uint64_t *free_bytes, uint64_t *total_bytes);   /* NVML */
CUDASIM_API uint64_t cudasim_process_bytes(int device); /* as nvidia-smi shows it */
CUDASIM_API enum cudasim_code cudasim_reset(int device);
CUDASIM_API enum cudasim_code cudasim_peer_enable(int from, int to);
CUDASIM_API enum cudasim_code cudasim_peer_disable(int from, int to);
CUDASIM_API bool cudasim_peer_possible(int from, int to);

/* Keeps the runtime's error of this thread until it is asked for. Returns `code`. */
CUDASIM_API int cudasim_remember(enum cudasim_code code);
CUDASIM_API int cudasim_last_error(bool is_cleared);

/* Names and sentences of codes; NULL for an unknown number. */
CUDASIM_API const char *cudasim_code_text(int code);
CUDASIM_API const char *cudasim_code_runtime_name(int code);
CUDASIM_API const char *cudasim_code_driver_name(int code);

/* "cuda" properties and attributes by CUDA's attribute number; INVALID_VALUE for an unknown one. */
CUDASIM_API enum cudasim_code cudasim_attribute(int attribute, int device, int *value);
CUDASIM_API const char *cudasim_device_name(void);
CUDASIM_API unsigned cudasim_capability(void);          /* 86 for 8.6 */
CUDASIM_API uint64_t cudasim_driver_bytes(void);        /* of the memory that nvidia-smi shows, not for programs */

/* ---- kernels of the program: cudasim/code/kernels.c ---- */

/* What CUDA tells of a kernel. `binary` and `ptx` are the capability that its code was compiled for: 86. */
struct cudasim_kernel_facts {
    int      registers, max_threads, binary, ptx;
    uint64_t shared_bytes, constant_bytes, local_bytes, parameter_bytes;
    uint64_t dynamic_bytes;          /* shared memory that a launch may add; more after cudaFuncSetAttribute */
};

/* cudaFuncSetAttribute and its relatives, by number: most dynamic shared bytes, and the share of the memory that shared
 * memory may have, in percent. The others up to the last are of clusters and change nothing here. */
enum { FUNCTION_DYNAMIC_BYTES = 8, FUNCTION_SHARED_PERCENT = 9, FUNCTION_ATTRIBUTES = 16 };

/* INVALID_VALUE for an attribute that cannot be set, or a value that the card does not take. */
CUDASIM_API enum cudasim_code cudasim_function_set(const void *function, int attribute, int value);
CUDASIM_API enum cudasim_code cudasim_kernel_set(uint64_t kernel, int attribute, int value);

/* A launch: blocks in x, y and z, threads of each in x, y and z, and the shared memory that it adds to each. */
struct cudasim_launch {
    unsigned grid[3], block[3];
    uint64_t dynamic_bytes;
    bool     is_cooperative;         /* all blocks are to be on the card at once */
};

/* Whether the card takes it. INVALID_CONFIGURATION: beyond the card's limits; OUT_OF_RESOURCES: too many threads for
 * this kernel; INVALID_VALUE: too much shared memory; COOPERATIVE_TOO_LARGE. */
CUDASIM_API enum cudasim_code cudasim_launch_check(const struct cudasim_kernel_facts *k,
                                                   const struct cudasim_launch *l);

/* Blocks of a kernel that a multiprocessor holds at once, with shared memory that the launch adds; 0: a block is too
 * large for the card. The kernel's launch bounds play no part, as release 580 of the driver answered. */
CUDASIM_API int cudasim_resident_blocks(const struct cudasim_kernel_facts *k, int threads, uint64_t dynamic_bytes);

/* A fat binary that a program registers (its struct __fatBinC_Wrapper_t), a kernel of it by its host function, and a
 * variable by its host variable. The first returns a handle; binary and names are borrowed until it is unregistered. */
CUDASIM_API void *cudasim_binary_register(const void *wrapper);
CUDASIM_API void cudasim_binary_unregister(void *handle);
CUDASIM_API void cudasim_kernel_register(void *handle, const void *function, const char *name);
CUDASIM_API void cudasim_variable_register(void *handle, const void *symbol, const char *name, uint64_t bytes);

/* A kernel by its host function, or by its handle. One whose code is not at hand is taken for a typical one.
 * INVALID_FUNCTION: nobody registered it; NO_BINARY: its code is not for this card, and the card has a name or a
 * capability that was asked for. */
CUDASIM_API enum cudasim_code cudasim_function_facts(const void *function, struct cudasim_kernel_facts *out);

/* A variable by its host variable. INVALID_SYMBOL: nobody registered it. */
CUDASIM_API enum cudasim_code cudasim_symbol(const void *symbol, uint64_t *addr, uint64_t *bytes);

/* ---- modules: cudasim/code/modules.c ---- */

/* `image` is a fat binary, a cubin or PTX of at most `most` bytes. A program gives the driver a pointer without a
 * length (SIZE_MAX): then its own headers are trusted to say how long it is. It is copied. NO_BINARY: no code in it is
 * for this card; INVALID_IMAGE: it is damaged. */
CUDASIM_API enum cudasim_code cudasim_module_load(const void *image, size_t most, uint64_t *module);
CUDASIM_API enum cudasim_code cudasim_module_unload(uint64_t module);

/* By name; NOT_FOUND if the code is known and has no such thing. PTX is not compiled, so any name may be in it. */
CUDASIM_API enum cudasim_code cudasim_module_kernel(uint64_t module, const char *name, uint64_t *kernel);
CUDASIM_API enum cudasim_code cudasim_module_variable(uint64_t module, const char *name, uint64_t *addr,
                                                      uint64_t *bytes);

/* The first `most` kernels, or with NULL how many there are; *n is how many were written or counted. */
CUDASIM_API enum cudasim_code cudasim_module_kernels(uint64_t module, uint64_t *kernels, unsigned most, unsigned *n);

/* A kernel by its handle; INVALID_HANDLE. `name` and `module` may be NULL. The name is lent until the module is
 * unloaded. */
CUDASIM_API enum cudasim_code cudasim_kernel_facts(uint64_t kernel, struct cudasim_kernel_facts *out,
                                                   const char **name, uint64_t *module);

/* ---- memory: cudasim/core/memory.c ---- */

enum cudasim_memory_kind {
    MEMORY_UNKNOWN, MEMORY_DEVICE, MEMORY_RANGE, MEMORY_HOST, MEMORY_MANAGED, MEMORY_REGISTERED, MEMORY_VARIABLE,
    MEMORY_SHARED,                   /* another process's, opened here by a handle */
    MEMORY_GRAPH                     /* of a graph's node */
};

struct cudasim_pointer {
    enum cudasim_memory_kind kind;
    uint64_t base, bytes;            /* of the allocation that the address lies in */
    int      device;
    uint64_t pool;                   /* the memory pool it came from; 0 = none */
    uint64_t number;                 /* n-th successful cudaMalloc or reservation on its device, from 0 */
};

CUDASIM_API enum cudasim_code cudasim_malloc(uint64_t bytes, uint64_t *addr);
CUDASIM_API enum cudasim_code cudasim_free(uint64_t addr);
CUDASIM_API enum cudasim_code cudasim_host_alloc(uint64_t bytes, enum cudasim_memory_kind kind, void **out);
CUDASIM_API enum cudasim_code cudasim_host_free(void *p);

/* A place for a __managed__ variable, which nothing frees, because the host may know it, and which is not recorded;
 * NULL without host memory. */
CUDASIM_API void *cudasim_managed_variable(uint64_t bytes);
CUDASIM_API enum cudasim_code cudasim_host_register(void *p, uint64_t bytes);
CUDASIM_API enum cudasim_code cudasim_host_unregister(void *p);
CUDASIM_API struct cudasim_pointer cudasim_pointer(uint64_t addr);

/* Something may have written to any device address: what the host copied there is no longer known. */
CUDASIM_API void cudasim_values_unknown(void);

/* For python/replay_values.py: whether all bytes at a device address are known, with a copy of those that are in `to`;
 * bytes that are there from now on; and numbers that this thread's next reads of unknown bytes get instead of zeros,
 * one for up to 8 bytes (n 0: no more). */
CUDASIM_API bool cudasim_values_known(uint64_t from, void *to, uint64_t bytes);
CUDASIM_API void cudasim_values_keep(uint64_t to, const void *from, uint64_t bytes);
CUDASIM_API void cudasim_values_answer(const int64_t *numbers, uint64_t n);

/* The next of these numbers, for a library that says a size in host memory; 0: there is none. */
CUDASIM_API int64_t cudasim_values_next_answer(void);

/* Who is asked for bytes at a device address that are to be read; NULL: nobody any more. It lends all of them until
 * this thread asks again, or gives NULL: it does not know them. It is called without the lock. */
typedef const void *cudasim_values_teller(uint64_t from, uint64_t bytes);
CUDASIM_API void cudasim_values_ask(cudasim_values_teller *teller);

/* The numbers are those of cudaMemcpyKind. */
enum cudasim_direction { COPY_HOST_TO_HOST, COPY_TO_DEVICE, COPY_FROM_DEVICE, COPY_WITHIN_DEVICE, COPY_ANY };

/* Copies. Host to host is done. Bytes copied to a device are kept (cudasim/core/values.h) and come back; the rest of a
 * device reads as zeros. INVALID_VALUE for a device's address that is in no allocation, such as one that was freed, for
 * rows that run past their allocation, and for memory of the program that the copy says is the device's side.
 * INVALID_PITCH, INVALID_DIRECTION. Nothing is copied then. */
CUDASIM_API enum cudasim_code cudasim_copy(void *to, const void *from, uint64_t bytes, enum cudasim_direction d,
                                           uint64_t stream);
CUDASIM_API enum cudasim_code cudasim_copy_2d(void *to, uint64_t to_pitch, const void *from, uint64_t from_pitch,
                                              uint64_t width, uint64_t height, enum cudasim_direction d,
                                              uint64_t stream);
CUDASIM_API enum cudasim_code cudasim_set_2d(uint64_t to, uint64_t pitch, unsigned value, unsigned value_bytes,
                                             uint64_t width, uint64_t height, uint64_t stream);
CUDASIM_API enum cudasim_code cudasim_set(uint64_t to, unsigned value, unsigned value_bytes, uint64_t n,
                                          uint64_t stream);

/* ---- arrays: cudasim/core/arrays.c ---- */

enum { CUDASIM_LEVELS_MAX = 18 };    /* mipmap levels of the largest array */

/* cudaChannelFormatDesc, the extent in elements, and cudaMallocArray's flags. `levels` 0: without mipmaps. */
struct cudasim_array_facts {
    int      bits[4], kind;
    uint64_t extent[3];
    unsigned flags, levels;
};

/* Takes the bytes of all elements of the current device. INVALID_VALUE, INVALID_CHANNELS, OUT_OF_MEMORY. */
CUDASIM_API enum cudasim_code cudasim_array_create(const struct cudasim_array_facts *f, uint64_t *array);

/* INVALID_VALUE for what is no array of that sort. */
CUDASIM_API enum cudasim_code cudasim_array_free(uint64_t array, bool has_levels);
CUDASIM_API enum cudasim_code cudasim_array_facts(uint64_t array, struct cudasim_array_facts *out);
CUDASIM_API enum cudasim_code cudasim_array_level(uint64_t array, unsigned level, uint64_t *out);
CUDASIM_API uint64_t cudasim_element_bytes(const struct cudasim_array_facts *f);

/* A texture or a surface. `resource` is a cudaResourceType, `value` the array or the address. */
CUDASIM_API enum cudasim_code cudasim_view_create(int resource, uint64_t value, uint64_t *view);
CUDASIM_API enum cudasim_code cudasim_view_destroy(uint64_t view);

/* One side of a copy of a box: an array, or (array 0) layers of `height` rows of `pitch` bytes. It begins at `at`:
 * bytes, rows, layers. */
struct cudasim_side {
    uint64_t array;
    void    *p;
    uint64_t pitch, height, at[3];
};

/* `extent`: bytes, rows, layers. INVALID_VALUE for what lies outside of an array, and for layers of more rows than
 * their side has in each; otherwise as cudasim_copy_2d. */
CUDASIM_API enum cudasim_code cudasim_set_3d(const struct cudasim_side *to, unsigned value, const uint64_t extent[3],
                                             uint64_t stream);
CUDASIM_API enum cudasim_code cudasim_copy_3d(const struct cudasim_side *to, const struct cudasim_side *from,
                                              const uint64_t extent[3], enum cudasim_direction d, uint64_t stream);

/* ---- between processes: cudasim/core/ipc.c ---- */

/* cudaIpcMemHandle_t, cudaIpcEventHandle_t and their twins of the driver. */
struct cudasim_ipc_handle {
    unsigned char bytes[64];
};

/* For processes of one run of `replay run-sim`; elsewhere NOT_SUPPORTED. Of memory any address will do; the handle is
 * of the whole allocation, and the same each time. INVALID_VALUE for memory that cudaMalloc did not give. */
CUDASIM_API enum cudasim_code cudasim_ipc_export(uint64_t addr, struct cudasim_ipc_handle *out);

/* Opened again on the same device, the same address comes back, to be closed once more. INVALID_CONTEXT for a handle of
 * this process; INVALID_VALUE for one whose memory or process is gone. */
CUDASIM_API enum cudasim_code cudasim_ipc_import(const struct cudasim_ipc_handle *handle, uint64_t *addr);
CUDASIM_API enum cudasim_code cudasim_ipc_close(uint64_t addr);

/* INVALID_HANDLE unless the event was made for other processes. */
CUDASIM_API enum cudasim_code cudasim_ipc_export_event(uint64_t event, struct cudasim_ipc_handle *out);
CUDASIM_API enum cudasim_code cudasim_ipc_import_event(const struct cudasim_ipc_handle *handle, uint64_t *event);

/* ---- memory pools: cudasim/core/mempool.c ---- */

/* The numbers are those of cudaMemPoolAttr and of CUmemPool_attribute, which agree. */
enum cudasim_pool_attribute {
    POOL_REUSE_FOLLOW_EVENT = 1, POOL_REUSE_OPPORTUNISTIC, POOL_REUSE_INTERNAL, POOL_RELEASE_THRESHOLD,
    POOL_RESERVED_CURRENT, POOL_RESERVED_HIGH, POOL_USED_CURRENT, POOL_USED_HIGH,
};

CUDASIM_API enum cudasim_code cudasim_pool_create(int device, uint64_t *pool);
CUDASIM_API enum cudasim_code cudasim_pool_destroy(uint64_t pool);
CUDASIM_API enum cudasim_code cudasim_pool_default(int device, uint64_t *pool);
CUDASIM_API enum cudasim_code cudasim_pool_current(int device, uint64_t *pool);
CUDASIM_API enum cudasim_code cudasim_pool_set_current(int device, uint64_t pool);
CUDASIM_API enum cudasim_code cudasim_pool_get(uint64_t pool, int attribute, void *value);
CUDASIM_API enum cudasim_code cudasim_pool_set(uint64_t pool, int attribute, const void *value);
CUDASIM_API enum cudasim_code cudasim_pool_trim(uint64_t pool, uint64_t keep_bytes);
/* pool 0: the current one of the stream's device. */
CUDASIM_API enum cudasim_code cudasim_malloc_async(uint64_t bytes, uint64_t pool, uint64_t stream, uint64_t *addr);
CUDASIM_API enum cudasim_code cudasim_free_async(uint64_t addr, uint64_t stream);

/* ---- virtual memory: cudasim/core/vmm.c ---- */

CUDASIM_API enum cudasim_code cudasim_range_reserve(uint64_t bytes, uint64_t alignment, uint64_t *addr);
CUDASIM_API enum cudasim_code cudasim_range_free(uint64_t addr, uint64_t bytes);

/* `is_shareable`: it was asked for as memory that a descriptor may hold. */
CUDASIM_API enum cudasim_code cudasim_phys_create(int device, uint64_t bytes, bool is_shareable, uint64_t *handle);

/* Into a descriptor, which the caller closes, and out of one of this or another process. What another process made is
 * counted there. INVALID_VALUE for memory that is not shareable, and for what is gone. */
CUDASIM_API enum cudasim_code cudasim_phys_export(uint64_t handle, int *fd);
CUDASIM_API enum cudasim_code cudasim_phys_import(int fd, uint64_t *handle);
CUDASIM_API enum cudasim_code cudasim_phys_release(uint64_t handle);
CUDASIM_API enum cudasim_code cudasim_phys_device(uint64_t handle, int *device);
CUDASIM_API enum cudasim_code cudasim_phys_retain_at(uint64_t addr, uint64_t *handle);
CUDASIM_API enum cudasim_code cudasim_map(uint64_t addr, uint64_t bytes, uint64_t offset, uint64_t handle);
CUDASIM_API enum cudasim_code cudasim_unmap(uint64_t addr, uint64_t bytes);
CUDASIM_API enum cudasim_code cudasim_check_mapped(uint64_t addr, uint64_t bytes);

/* ---- streams, events, capture: cudasim/core/streams.c ---- */

CUDASIM_API enum cudasim_code cudasim_stream_create(unsigned flags, int priority, uint64_t *stream);
CUDASIM_API enum cudasim_code cudasim_stream_destroy(uint64_t stream);
CUDASIM_API enum cudasim_code cudasim_stream_query(uint64_t stream);
CUDASIM_API enum cudasim_code cudasim_stream_sync(uint64_t stream);
CUDASIM_API enum cudasim_code cudasim_device_sync(void);
CUDASIM_API enum cudasim_code cudasim_stream_facts(uint64_t stream, unsigned *flags, int *priority, int *device,
                                                   uint64_t *id);
/* Flags of events: cudaEventDisableTiming, cudaEventInterprocess. The second needs the first. */
enum { CUDASIM_EVENT_NO_TIMING = 2, CUDASIM_EVENT_OF_PROCESSES = 4 };
CUDASIM_API enum cudasim_code cudasim_event_create(unsigned flags, uint64_t *event);
CUDASIM_API enum cudasim_code cudasim_event_destroy(uint64_t event);
CUDASIM_API enum cudasim_code cudasim_event_record(uint64_t event, uint64_t stream);
CUDASIM_API enum cudasim_code cudasim_event_query(uint64_t event);
CUDASIM_API enum cudasim_code cudasim_event_sync(uint64_t event);
CUDASIM_API enum cudasim_code cudasim_event_elapsed(uint64_t start, uint64_t end, float *ms);
CUDASIM_API enum cudasim_code cudasim_stream_wait_event(uint64_t stream, uint64_t event);

/* The numbers are those of cudaGraphNodeType. */
enum cudasim_node {
    NODE_KERNEL, NODE_COPY, NODE_SET, NODE_HOST, NODE_GRAPH, NODE_EMPTY, NODE_WAIT, NODE_RECORD, NODE_ALLOC = 10,
    NODE_FREE,
};

/* Puts work on a stream, which advances the virtual clock; a captured one adds a node of this type. INVALID_HANDLE if
 * there is no such stream. */
CUDASIM_API enum cudasim_code cudasim_stream_work(uint64_t stream, uint64_t time_ns, enum cudasim_node type);

/* What putting work on a stream costs, apart from the work: about that of a launch on a server card. */
enum { LAUNCH_NS = 5000 };

/* The least between two records of events. Programs divide by what they measure (PyTorch's inductor does). */
enum { EVENT_NS = 2000 };

/* Puts a kernel on a stream. INVALID_HANDLE also if the stream is not of the current device. */
CUDASIM_API enum cudasim_code cudasim_stream_launch(uint64_t stream, uint64_t time_ns);

/* Runs a function of the host in its turn: at once, or at each launch of the graph that captures the stream. */
CUDASIM_API enum cudasim_code cudasim_host_function(uint64_t stream, void (*function)(void *), void *argument);

enum cudasim_capture { CAPTURE_NONE, CAPTURE_ACTIVE, CAPTURE_INVALIDATED };

/* `into`: the graph that gets the nodes; 0: a new one. */
CUDASIM_API enum cudasim_code cudasim_capture_begin(uint64_t stream, uint64_t into, int mode);
CUDASIM_API enum cudasim_code cudasim_capture_end(uint64_t stream, uint64_t *graph);

/* Some library has put work on a stream, which it does not name here. A capture that saw nothing else gets a node. */
CUDASIM_API void cudasim_library_work(void);
CUDASIM_API enum cudasim_code cudasim_capture_info(uint64_t stream, int *status, uint64_t *id, uint64_t *graph);

/* ---- graphs: cudasim/core/graphs.c ---- */

CUDASIM_API enum cudasim_code cudasim_graph_create(uint64_t *graph);

/* Flags of an instantiation: cudaGraphInstantiateFlagAutoFreeOnLaunch. */
enum { CUDASIM_GRAPH_FREES_ON_LAUNCH = 1 };
CUDASIM_API enum cudasim_code cudasim_graph_instantiate(uint64_t graph, uint64_t flags, uint64_t *exec);
CUDASIM_API enum cudasim_code cudasim_graph_clone(uint64_t graph, uint64_t *copy);

/* Adds a node. Edges are not kept, because nothing is computed; `function` (NULL: none) is the host's and runs at each
 * launch. A child graph's functions are copied. NOT_SUPPORTED for one that takes memory. */
CUDASIM_API enum cudasim_code cudasim_graph_add(uint64_t graph, enum cudasim_node type, void (*function)(void *),
                                                void *argument, uint64_t *node);
CUDASIM_API enum cudasim_code cudasim_graph_add_child(uint64_t graph, uint64_t child, uint64_t *node);

/* cudaMemAllocNodeParams and its twin of the driver. */
struct cudasim_alloc_params {
    struct {
        int      type, handle_types, location_type, location_id;
        void    *security;
        uint64_t max_bytes;
        unsigned char reserved[56];
    } pool;
    const void *access;
    uint64_t n_access, bytes, addr;  /* addr: the answer */
};

/* A node that takes memory at each launch, always at the same address, and one that gives it back. INVALID_VALUE for an
 * address that no node took or that has its free node. */
CUDASIM_API enum cudasim_code cudasim_graph_add_alloc(uint64_t graph, struct cudasim_alloc_params *params,
                                                      uint64_t *node);
CUDASIM_API enum cudasim_code cudasim_graph_add_free(uint64_t graph, uint64_t addr, uint64_t *node);

/* cudaGraphNodeParams and its twin: a node of any type. NOT_SUPPORTED for semaphores and conditions. */
struct cudasim_node_params {
    int type, reserved[3];
    union {
        struct {
            void (*function)(void *);
            void *argument;
        } host;
        uint64_t child, addr;
        struct cudasim_alloc_params alloc;
    } of;
};
CUDASIM_API enum cudasim_code cudasim_graph_add_any(uint64_t graph, struct cudasim_node_params *params, uint64_t *node);
CUDASIM_API enum cudasim_code cudasim_graph_destroy(uint64_t graph_or_exec);

/* INVALID_VALUE if memory of an earlier launch is live and the flag is not set; OUT_OF_MEMORY. */
CUDASIM_API enum cudasim_code cudasim_graph_launch(uint64_t exec, uint64_t stream);
CUDASIM_API enum cudasim_code cudasim_graph_upload(uint64_t exec);

/* As cudaGraphGetNodes: `nodes` NULL asks how many there are; others are set to 0. */
CUDASIM_API enum cudasim_code cudasim_graph_nodes(uint64_t graph, uint64_t *nodes, size_t *n);
CUDASIM_API enum cudasim_code cudasim_graph_node_type(uint64_t node, int *type);

/* The first node alone is a root, because nodes run in their order. */
CUDASIM_API enum cudasim_code cudasim_graph_roots(uint64_t graph, uint64_t *nodes, size_t *n);

/* Whether an instantiated graph may have a child's parameters set anew. NOT_SUPPORTED if the child has functions of the
 * host. */
CUDASIM_API enum cudasim_code cudasim_graph_set_child(uint64_t exec, uint64_t child);

/* The numbers are those of cudaGraphExecUpdateResult. */
enum cudasim_graph_update {
    UPDATE_SUCCESS, UPDATE_ERROR, UPDATE_TOPOLOGY_CHANGED, UPDATE_TYPE_CHANGED, UPDATE_NOT_SUPPORTED = 6
};

/* Makes an instantiated graph like another one with as many nodes of the same types; otherwise GRAPH_UPDATE, and
 * *result and *node say why. */
struct cudasim_update_info {
    int      result;
    uint64_t node, from_node;
};
CUDASIM_API enum cudasim_code cudasim_graph_update(uint64_t exec, uint64_t graph, int *result, uint64_t *node);

/* The pool of a device's graphs. The numbers are those of cudaGraphMemAttributeType: used, its high-water mark,
 * reserved, its high-water mark, in bytes. */
CUDASIM_API enum cudasim_code cudasim_graph_pool_get(int device, int attribute, uint64_t *value);
CUDASIM_API enum cudasim_code cudasim_graph_pool_set(int device, int attribute, const uint64_t *value);
CUDASIM_API enum cudasim_code cudasim_graph_pool_trim(int device);

/* A new number, never used again in this process: names a kernel, a module or a context. */
CUDASIM_API uint64_t cudasim_new_name(void);

/* ---- entry points without a body: cudasim/core/sites.c ---- */

/* An entry point that does nothing or is not simulated. Each has one static struct; its first call is recorded. */
struct cudasim_site {
    const char *name;
    int         is_seen;             /* 0 until the first call; set atomically */
};
CUDASIM_API int cudasim_do_nothing(struct cudasim_site *site);   /* 0: the call succeeds */
CUDASIM_API int cudasim_refuse(struct cudasim_site *site);       /* NOT_SUPPORTED, and a line on stderr */
CUDASIM_API void cudasim_note_missing(const char *name);         /* looked up by name; there is none */

/* What the library's calls say that they need: workspaces= of the device's text; *bytes: if convolutions have one size.
 * The first question of each library is recorded. */
CUDASIM_API enum device_workspaces cudasim_workspaces(enum workspace_library library, uint64_t *bytes);

/* Records, once, that a program tries out algorithms (cudnn.benchmark). */
CUDASIM_API void cudasim_note_algorithm_search(void);

/* The code at `caller` asks whether work is done. Notes the first time, unless nothing of the card's hangs on it. */
CUDASIM_API void cudasim_note_event_asked(const void *caller);

/* `caller` asks for memory. The journal gets its framework, once. */
CUDASIM_API void cudasim_note_framework(const void *caller);

/* ---- for tests: held streams, as sim/stream_queues.h ---- */
CUDASIM_API void cudasim_hold_all(int is_held);
CUDASIM_API void cudasim_hold(uint64_t stream, int is_held);
CUDASIM_API void cudasim_complete(uint64_t stream, int n);
CUDASIM_API void cudasim_fail_from(int device, uint64_t call);   /* 0: never */
CUDASIM_API void cudasim_set_total(int device, uint64_t bytes);
CUDASIM_API uint64_t cudasim_segment(uint64_t addr, uint64_t *offset);   /* cudasim_pointer.number, or UINT64_MAX */

#endif
