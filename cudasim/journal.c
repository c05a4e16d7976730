/*
 * Writing the journal: pages of a file, mapped; a record is stored into them and needs no system call.
 *
 * Room is claimed from the file system before it is mapped, so that a full disk is an error here and not a fault later.
 */
#include "cudasim/journal.h"

#include "base/file_room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WINDOW_BYTES = 1 << 20, JOURNAL_FOLDER_MAX = 512, JOURNAL_PATH_MAX = JOURNAL_FOLDER_MAX + 64 };

static struct {
    char     folder[JOURNAL_FOLDER_MAX];         /* empty: nothing is kept */
    int      fd;                     /* -1: not open yet */
    unsigned char *window;           /* [at, at + WINDOW_BYTES) of the file */
    uint64_t at;
    size_t   used;                   /* bytes of the window */
} journal = { .fd = -1 };

static void journal_stop(const char *reason)
{
    fprintf(stderr, "replay cudasim: the journal in '%s' ends here: %s\n", journal.folder, reason);
    journal.folder[0] = '\0';
}

static bool journal_map(uint64_t at)
{
    const int reason = file_room_take(journal.fd, (off_t)at, WINDOW_BYTES);
    if (reason != 0) {
        journal_stop(strerror(reason));
        return false;
    }
    void *window = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, journal.fd, (off_t)at);
    if (window == MAP_FAILED) {
        journal_stop(strerror(errno));
        return false;
    }
    if (journal.window != NULL)
        munmap(journal.window, WINDOW_BYTES);
    journal.window = window;
    journal.at = at;
    journal.used = 0;
    return true;
}

static void journal_put_bytes(const void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        if (journal.used == WINDOW_BYTES && !journal_map(journal.at + WINDOW_BYTES))
            return;
        const size_t room = WINDOW_BYTES - journal.used, part = n - done < room ? n - done : room;
        memcpy(journal.window + journal.used, (const char *)bytes + done, part);
        journal.used += part;
        done += part;
    }
}

static void journal_read_command(char command[96])
{
    const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? 0 : read(fd, command, 95);
    for (ssize_t i = 0; i + 1 < n; i++)
        if (command[i] == '\0')
            command[i] = ' ';
    if (fd >= 0)
        close(fd);
}

/* A new file: a program that replaced itself (exec) keeps its number, and numbers are used again. */
static int journal_create(uint32_t pid, char path[JOURNAL_PATH_MAX])
{
    int fd = -1;
    errno = 0;
    for (unsigned n = 0; fd < 0 && (n == 0 || errno == EEXIST); n++) {
        snprintf(path, JOURNAL_PATH_MAX, "%s/%u.%u.journal", journal.folder, (unsigned)pid, n);
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    }
    return fd;
}

/* Its first byte last: a head that a kill cut off is none. */
static void journal_put_head(uint32_t pid)
{
    struct journal_head head = { .record_bytes = sizeof(struct journal_record), .pid = pid };
    memcpy(head.magic, JOURNAL_MAGIC, sizeof head.magic);
    journal_read_command(head.command);
    memcpy(journal.window + 1, (const char *)&head + 1, sizeof head - 1);
    __atomic_store_n(journal.window, (unsigned char)head.magic[0], __ATOMIC_RELEASE);
    journal.used = sizeof head;
}

static void journal_begin(void)
{
    const uint32_t pid = (uint32_t)getpid();
    char path[JOURNAL_PATH_MAX];
    journal.fd = journal_create(pid, path);
    if (journal.fd < 0) {
        journal_stop(strerror(errno));
    } else if (journal_map(0)) {
        journal_put_head(pid);
    } else {
        unlink(path);
        close(journal.fd);
        journal.fd = -1;
    }
}

void journal_open(const char *folder)
{
    if (strlen(folder) < sizeof journal.folder)
        memcpy(journal.folder, folder, strlen(folder) + 1);
}

/* The kind is stored last: a record that a kill cut off is none. */
void journal_put(const struct journal_record *r)
{
    if (journal.folder[0] == '\0')
        return;
    if (journal.fd < 0)
        journal_begin();
    if (journal.folder[0] == '\0')
        return;
    if (WINDOW_BYTES - journal.used < sizeof *r) {
        journal_put_bytes(r, sizeof *r);
        return;
    }
    unsigned char *at = journal.window + journal.used;
    memcpy(at, r, offsetof(struct journal_record, kind));
    __atomic_store_n(at + offsetof(struct journal_record, kind), r->kind, __ATOMIC_RELEASE);
    journal.used += sizeof *r;
}

void journal_forked(void)
{
    if (journal.fd < 0)
        return;
    munmap(journal.window, WINDOW_BYTES);
    close(journal.fd);
    journal.window = NULL;
    journal.fd = -1;
}
