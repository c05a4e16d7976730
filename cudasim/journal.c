/*
 * Writing the journal: pages of a file, mapped; a record is stored into them and needs no system call.
 *
 * Room is claimed from the file system before it is mapped, so that a full disk is an error here and not a fault later.
 */
#include "cudasim/journal.h"

#include "record/file_room.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WINDOW_BYTES = 1 << 20 };

static struct {
    char     folder[512];            /* empty: nothing is kept */
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
        journal_stop("it cannot be mapped");
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

static void journal_begin(void)
{
    struct journal_head head = { .record_bytes = sizeof(struct journal_record), .pid = (uint32_t)getpid() };
    memcpy(head.magic, JOURNAL_MAGIC, sizeof head.magic);
    journal_read_command(head.command);
    char path[600];
    snprintf(path, sizeof path, "%s/%u.journal", journal.folder, head.pid);
    journal.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (journal.fd < 0)
        journal_stop("it cannot be created");
    else if (journal_map(0))
        journal_put_bytes(&head, sizeof head);
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
