/* Reading a journal. */
#include "cudasim/journal_read.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct journal_record record_at(const unsigned char *records, size_t i)
{
    struct journal_record r;
    memcpy(&r, records + i * sizeof r, sizeof r);
    return r;
}

enum err journal_view(const void *bytes, size_t n, struct journal_view *out, struct err_detail *why)
{
    struct journal_view v = { 0 };
    if (n < sizeof v.head || memcmp(bytes, JOURNAL_MAGIC, sizeof v.head.magic) != 0)
        return err_set(why, ERR_FORMAT, 0, "no journal of a simulated run");
    memcpy(&v.head, bytes, sizeof v.head);
    if (v.head.record_bytes != sizeof(struct journal_record))
        return err_set(why, ERR_FORMAT, 16, "a journal with records of %u bytes, not %zu", v.head.record_bytes,
                       sizeof(struct journal_record));
    v.head.command[sizeof v.head.command - 1] = '\0';
    v.records = (const unsigned char *)bytes + sizeof v.head;
    const size_t room = (n - sizeof v.head) / sizeof(struct journal_record);
    while (v.n < room && record_at(v.records, v.n).kind != JOURNAL_END) {
        const struct journal_record r = record_at(v.records, v.n);
        if (r.kind >= JOURNAL_KINDS || r.device >= JOURNAL_DEVICES)
            return err_set(why, ERR_FORMAT, sizeof v.head + v.n * sizeof r, "record %zu is of kind %u on device %u",
                           v.n, r.kind, r.device);
        v.n++;
    }
    *out = v;
    return ERR_OK;
}

bool journal_is_name(const char *file)
{
    const size_t n = strlen(file), k = strlen(".journal");
    return n > k && strcmp(file + n - k, ".journal") == 0;
}

/* Maps a file; *out is NULL for one that is empty. */
static enum err file_map(const char *path, void **out, size_t *n, struct err_detail *why)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool is_there = fd >= 0 && fstat(fd, &st) == 0;
    void *bytes = is_there && st.st_size > 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    const int reason = errno;
    if (fd >= 0)
        close(fd);
    if (!is_there || bytes == MAP_FAILED)
        return err_set(why, ERR_IO, 0, "%.150s: %s", path, strerror(reason));
    *out = bytes;
    *n = bytes == NULL ? 0 : (size_t)st.st_size;
    return ERR_OK;
}

enum err journal_view_file(const char *path, struct journal_view *out, struct err_detail *why)
{
    struct journal_view v = { .n = 0 };
    struct err_detail reason = { .text = "" };
    void *bytes = NULL;
    size_t n = 0;
    enum err e = file_map(path, &bytes, &n, why);
    if (e != ERR_OK)
        return e;
    const bool has_head = bytes != NULL && *(const unsigned char *)bytes != 0;
    if (has_head && (e = journal_view(bytes, n, &v, &reason)) != ERR_OK) {
        munmap(bytes, n);
        return err_set(why, e, reason.offset, "%.100s: %.120s", path, reason.text);
    }
    v.mapped = bytes;
    v.mapped_bytes = n;
    *out = v;
    return ERR_OK;
}

void journal_view_close(struct journal_view *v)
{
    if (v->mapped != NULL)
        munmap(v->mapped, v->mapped_bytes);
    *v = (struct journal_view){ .n = 0 };
}

struct journal_record journal_at(const struct journal_view *v, size_t i)
{
    struct journal_record r = record_at(v->records, i);
    if (r.kind == JOURNAL_NOTHING || r.kind == JOURNAL_REFUSED || r.kind == JOURNAL_MISSING)
        r.name[sizeof r.name - 1] = '\0';
    return r;
}

static void use_grow(struct journal_use *u, uint64_t bytes)
{
    u->calls++;
    u->held_bytes += bytes;
    if (u->held_bytes > u->peak_bytes)
        u->peak_bytes = u->held_bytes;
}

void journal_sum(const struct journal_view *v, struct journal_use use[JOURNAL_DEVICES])
{
    for (size_t i = 0; i < v->n; i++) {
        const struct journal_record r = journal_at(v, i);
        struct journal_use *u = &use[r.device];
        switch (r.kind) {
        case JOURNAL_OPEN:
            u->total_bytes = r.bytes;
            u->taken_bytes = r.addr;
            break;
        case JOURNAL_MALLOC:
        case JOURNAL_CREATE:
            use_grow(u, r.bytes);
            break;
        case JOURNAL_FREE:
        case JOURNAL_RELEASE:
            u->calls++;
            u->held_bytes -= r.bytes < u->held_bytes ? r.bytes : u->held_bytes;
            break;
        case JOURNAL_OOM:
        case JOURNAL_CREATE_OOM:
            u->refusals++;
            u->last_refused_bytes = r.bytes;
            break;
        default:
            break;
        }
    }
}
