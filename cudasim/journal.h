/*
 * The journal: what a process did on the simulated devices, written as it goes.
 *
 * A file per process, <folder>/<pid>.<n>.journal, of fixed records in shared memory pages: a record is there as soon as
 * its call returned, however the process ends. n counts from 0; a process that replaces itself by exec, or gets the number
 * of an earlier one, takes the next. `replay run-sim` reads it afterwards (cudasim/journal_read.c).
 */
#ifndef REPLAY_CUDASIM_JOURNAL_H
#define REPLAY_CUDASIM_JOURNAL_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOURNAL_MAGIC "replay-journal-1"             /* 16 bytes, no terminator */

enum journal_kind {
    JOURNAL_END,                     /* no record yet: zeros behind the last one */
    JOURNAL_OPEN,                    /* a device was opened: bytes = its total, addr = context and others */
    JOURNAL_MALLOC, JOURNAL_FREE,    /* whole segments */
    JOURNAL_OOM,                     /* a growing call was refused: bytes as asked for */
    JOURNAL_RESERVE, JOURNAL_UNRESERVE, JOURNAL_CREATE, JOURNAL_RELEASE, JOURNAL_MAP, JOURNAL_UNMAP,
    JOURNAL_HOST_ALLOC, JOURNAL_HOST_FREE, JOURNAL_MANAGED_ALLOC, JOURNAL_MANAGED_FREE,
    JOURNAL_POOL_ALLOC, JOURNAL_POOL_FREE,           /* cudaMallocAsync, cudaFreeAsync: pool is the pool's handle */
    JOURNAL_NOTHING,                 /* first call of an entry point that does nothing; name in the text */
    JOURNAL_REFUSED,                 /* first call of one that is not simulated */
    JOURNAL_MISSING,                 /* a name that was looked up and is in no table */
    JOURNAL_CREATE_OOM,              /* as OOM, of physical memory */
    JOURNAL_KINDS
};

struct journal_record {
    uint64_t time_ns;                /* virtual clock */
    union {
        struct {
            uint64_t addr, bytes, stream, pool;
        };
        char name[40];               /* NOTHING, REFUSED, MISSING: terminated */
    };
    uint32_t thread;                 /* kernel's number of it */
    uint8_t  device;
    uint8_t  padding[2];
    uint8_t  kind;                   /* enum journal_kind; stored last */
};
static_assert(sizeof(struct journal_record) == 56, "records are an array in the file");

struct journal_head {
    char     magic[16];
    uint32_t record_bytes, pid;
    char     command[96];            /* as /proc/self/comm and on: for the report */
};
static_assert(sizeof(struct journal_head) == 120, "records begin at byte 120");

/* Starts this process's journal in a folder. Without one, records go nowhere. */
void journal_open(const char *folder);

/* Appends; the caller holds the lock of the simulated CUDA. */
void journal_put(const struct journal_record *r);

/* In the child after a fork: the parent's pages are left alone, and a journal of its own begins at the next record. */
void journal_forked(void);

#endif
