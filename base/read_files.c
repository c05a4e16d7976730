/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "base/read_files.h"

#include "base/array.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

struct file_number {
    dev_t device;
    ino_t inode;
};

static struct {
    pthread_mutex_t lock;
    struct file_number *at;
    size_t n, room;
} read_files = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_noted(const struct stat *st)
{
    size_t i = 0;
    while (i < read_files.n && (read_files.at[i].device != st->st_dev || read_files.at[i].inode != st->st_ino))
        i++;
    return i < read_files.n;
}

/* A file that is opened again and again is noted once if nothing else was opened in between. */
static void note(const struct stat *st)
{
    pthread_mutex_lock(&read_files.lock);
    const struct file_number *last = read_files.n == 0 ? NULL : &read_files.at[read_files.n - 1];
    const bool is_new = last == NULL || last->device != st->st_dev || last->inode != st->st_ino;
    struct file_number *grown = is_new ? array_grow(read_files.at, read_files.n, &read_files.room, sizeof *grown)
                                       : NULL;
    if (grown != NULL) {
        read_files.at = grown;
        read_files.at[read_files.n++] = (struct file_number){ .device = st->st_dev, .inode = st->st_ino };
    }
    pthread_mutex_unlock(&read_files.lock);
}

void read_files_note(int fd)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        note(&st);
}

void read_files_note_name(const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
        note(&st);
}

bool read_files_have(const struct stat *st)
{
    pthread_mutex_lock(&read_files.lock);
    const bool is_there = is_noted(st);
    pthread_mutex_unlock(&read_files.lock);
    return is_there;
}

void read_files_close(void)
{
    pthread_mutex_lock(&read_files.lock);
    free(read_files.at);
    read_files.at = NULL;
    read_files.n = read_files.room = 0;
    pthread_mutex_unlock(&read_files.lock);
}
