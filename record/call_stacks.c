/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Call stacks as records of the journal, each frame once per caller.
 *
 * One hash table says what the journal has: (program counter, caller's record) -> the frame's record, and (program
 * counter, STACK_IS_TEXT) -> the record of its text. Stacks share their outer frames:
 *
 *     main        FRAME #3 <- TEXT #1, #2
 *      `- train   FRAME #5 <- TEXT #4, caller #3
 *          |- a   FRAME #7 <- TEXT #6, caller #5
 *          `- b   FRAME #9 <- TEXT #8, caller #5
 */
#define _GNU_SOURCE                   /* dladdr, MAP_ANONYMOUS */
#include "record/call_stacks.h"

#include "capture/journal_file.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK_FRAMES_MAX = 128, STACK_TEXT_MAX = 400, STACK_FIRST_ROOM = 1 << 12 };
#define STACK_IS_TEXT UINT64_MAX

struct stack_entry {
    uint64_t pc, caller;
    uint64_t record;                  /* + 1; 0 = vacant */
};

/* Open addressing, at most half full. It lies in pages of its own, because the program's malloc may be what called us.
 * While the lock is held, nothing is called that may take a lock of the program's. */
static struct {
    pthread_mutex_t lock;
    struct stack_entry *entries;
    size_t n, room;
} stacks = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct stack_entry *stack_slot(struct stack_entry *entries, size_t room, uint64_t pc, uint64_t caller)
{
    uint64_t hash = (pc ^ (caller * UINT64_C(0x9E3779B97F4A7C15))) * UINT64_C(0xD6E8FEB86659FD93);
    hash ^= hash >> 32;
    size_t i = (size_t)hash & (room - 1);
    while (entries[i].record != 0 && (entries[i].pc != pc || entries[i].caller != caller))
        i = (i + 1) & (room - 1);
    return &entries[i];
}

/* Makes room for one more entry. False without memory: the stack is then cut short. */
static bool stack_room(void)
{
    if (stacks.room > 0 && stacks.n < stacks.room / 2)
        return true;
    const size_t room = stacks.room == 0 ? STACK_FIRST_ROOM : 2 * stacks.room;
    struct stack_entry *entries =
        mmap(NULL, room * sizeof *entries, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (entries == MAP_FAILED)
        return false;
    for (size_t i = 0; i < stacks.room; i++)
        if (stacks.entries[i].record != 0)
            *stack_slot(entries, room, stacks.entries[i].pc, stacks.entries[i].caller) = stacks.entries[i];
    if (stacks.room > 0)
        munmap(stacks.entries, stacks.room * sizeof *stacks.entries);
    stacks.entries = entries;
    stacks.room = room;
    return true;
}

/* Enters a record of the journal under its key. Returns its number + 1, or 0 if there was no room on the disk for
 * it. */
static uint64_t stack_add(uint64_t pc, uint64_t caller, uint64_t number)
{
    if (number == JOURNAL_FILE_LOST)
        return 0;
    *stack_slot(stacks.entries, stacks.room, pc, caller) =
        (struct stack_entry){.pc = pc, .caller = caller, .record = number + 1};
    stacks.n++;
    return number + 1;
}

/* Puts a text in parts; the number of the last one. */
static uint64_t text_put(const char *text)
{
    uint64_t number = JOURNAL_FILE_LOST;
    size_t left = strlen(text);
    do {
        struct call_text part = {.before = number == JOURNAL_FILE_LOST ? 0 : number + 1, .kind = CALL_TEXT};
        struct call_record record;
        const size_t n = left < sizeof part.text ? left : sizeof part.text;
        memcpy(part.text, text, n);
        memcpy(&record, &part, sizeof record);
        number = journal_file_put(&record);
        text += n;
        left -= n;
    } while (left > 0 && number != JOURNAL_FILE_LOST);
    return number;
}

/* "function+0x10 library", or "library+0x1a40" if no name is known. */
static void frame_text(uint64_t pc, char text[STACK_TEXT_MAX])
{
    Dl_info info;
    const void *address = (const void *)(uintptr_t)pc;
    if (dladdr(address, &info) == 0 || info.dli_fname == NULL)
        snprintf(text, STACK_TEXT_MAX, "0x%llx", (unsigned long long)pc);
    else if (info.dli_sname != NULL)
        snprintf(text, STACK_TEXT_MAX, "%s+0x%llx %s", info.dli_sname,
                 (unsigned long long)(pc - (uint64_t)(uintptr_t)info.dli_saddr), info.dli_fname);
    else
        snprintf(text, STACK_TEXT_MAX, "%s+0x%llx", info.dli_fname,
                 (unsigned long long)(pc - (uint64_t)(uintptr_t)info.dli_fbase));
}

/* The number of a frame's text, + 1. The lock is given up while a new text is made: dladdr takes the dynamic linker's
 * lock, and a thread that holds the linker's lock, in the constructor of a library, may be waiting for ours. */
static uint64_t text_number(uint64_t pc)
{
    char text[STACK_TEXT_MAX];
    const struct stack_entry *known = stack_slot(stacks.entries, stacks.room, pc, STACK_IS_TEXT);
    if (known->record != 0)
        return known->record;
    pthread_mutex_unlock(&stacks.lock);
    frame_text(pc, text);
    pthread_mutex_lock(&stacks.lock);
    if (!stack_room())
        return 0;
    known = stack_slot(stacks.entries, stacks.room, pc, STACK_IS_TEXT);
    return known->record != 0 ? known->record : stack_add(pc, STACK_IS_TEXT, text_put(text));
}

/* The number of a frame, + 1. Another thread may have put the same one while the lock was given up. */
static uint64_t frame_number(uint64_t pc, uint64_t caller)
{
    if (!stack_room())
        return 0;
    const struct stack_entry *known = stack_slot(stacks.entries, stacks.room, pc, caller);
    if (known->record != 0)
        return known->record;
    const uint64_t text = text_number(pc);
    if (text == 0 || !stack_room())
        return 0;
    known = stack_slot(stacks.entries, stacks.room, pc, caller);
    const struct call_record frame = {.kind = CALL_FRAME, .addr = pc, .other = text, .stack = caller};
    return known->record != 0 ? known->record : stack_add(pc, caller, journal_file_put(&frame));
}

void call_stacks_begin(void)
{
    void *frames[1];
    (void)backtrace(frames, 1);
}

uint64_t call_stack_put(const void *caller)
{
    void *frames[STACK_FRAMES_MAX];
    const int n = backtrace(frames, STACK_FRAMES_MAX);
    int first = 0;
    for (int i = 0; i < n && first == 0; i++)
        first = frames[i] == caller ? i : 0;
    uint64_t number = 0;
    pthread_mutex_lock(&stacks.lock);
    for (int i = n - 1; i >= first && (number != 0 || i == n - 1); i--)
        number = frame_number((uint64_t)(uintptr_t)frames[i], number);
    pthread_mutex_unlock(&stacks.lock);
    return number;
}

void call_stacks_forked(void)
{
    const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
    stacks.lock = unlocked;
    stacks.entries = NULL;            /* it has the parent's numbers, and another thread may have been changing it */
    stacks.n = stacks.room = 0;
}
