/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The bytes of a fuzzer as a file, for code that takes a path: one file per process, in memory, written anew each time.
 * */
#ifndef REPLAY_TESTS_FUZZ_INPUT_FILE_H
#define REPLAY_TESTS_FUZZ_INPUT_FILE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static char input_file_name[64];

/* Removes it again; after each input, because a fuzzer may end without a word. */
static inline void input_file_remove(void)
{
    unlink(input_file_name);
}

/* Removes a closed database, and the two files that SQLite may have left next to it. */
static inline void database_remove(const char *path)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char name[4096];
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
}

/* Writes a file that is there or not. */
static inline bool file_write(const char *path, const uint8_t *data, size_t n)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const bool is_written = fd >= 0 && write(fd, data, n) == (ssize_t)n;
    if (fd >= 0)
        close(fd);
    return is_written;
}

/* Writes the file; its name, or NULL if there is no place for it. */
static inline const char *input_file_write(const uint8_t *data, size_t n)
{
    if (input_file_name[0] == '\0') {
        const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(input_file_name, sizeof input_file_name, "%s/replay-fuzz-%d", folder, (int)getpid());
    }
    return file_write(input_file_name, data, n) ? input_file_name : NULL;
}

#endif
