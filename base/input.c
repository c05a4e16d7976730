/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * A stack of layers. The lowest layer reads a file, standard input or memory; each layer above undoes one encoding of
 * the layer below it:
 *
 *     base64      input_peek reads the top layer
 *     zstd          ^
 *     gzip          |
 *     source      file, standard input or memory
 *
 * Every layer has its own window, so that a layer can be added after a look at the first bytes.
 */
#include "base/input.h"

#include "base/processes_beside.h"
#include "base/read_files.h"
#include "base/temporary_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>

enum {
    WINDOW_BYTES = 4 * INPUT_PEEK_MAX,
    GZIP_WINDOW = 16 + MAX_WBITS,     /* zlib: gzip only */
    LAYERS_MAX = 4,                   /* source, two of compression, base64 */
    COMPRESSIONS_MAX = 2
};

enum layer_kind { LAYER_SOURCE, LAYER_GZIP, LAYER_ZSTD, LAYER_BASE64 };

/* bytes[begin, end) is readable. A source in memory has no buffer of its own: it lends the memory. */
struct layer {
    enum layer_kind kind;
    bool at_end;                      /* nothing follows bytes[end - 1] */
    bool is_unfinished;               /* compressed data has begun and has not ended */
    const unsigned char *bytes;       /* own buffer, or borrowed memory */
    unsigned char *own;
    size_t begin, end;
    uint64_t taken;                   /* bytes that left the window */
    z_stream gzip;
    ZSTD_DStream *zstd;
};

struct input {
    struct layer layers[LAYERS_MAX];
    unsigned n_layers;
    bool is_sniffed;                  /* the first bytes were searched for compression */
    bool owns_fd;
    int fd;                           /* -1: memory */
    uint64_t size;
    uint64_t allowed;                 /* unpacked bytes; 0: by the ratio */
    char *name;
};

static enum err layer_peek(struct input *in, unsigned i, size_t want, struct err_detail *err);

static enum err input_fail(const struct input *in, enum err e, const char *what, struct err_detail *err)
{
    const struct layer *source = &in->layers[0];
    const uint64_t at = source->taken + source->begin;
    return err_at(err, e, at, in->name, "%s (byte %llu of the file)", what, (unsigned long long)at);
}

/* Moves the window to the front of its buffer; returns the free bytes after it. */
static size_t layer_room(struct layer *l)
{
    assert(l->begin <= l->end && l->end <= WINDOW_BYTES);
    if (l->begin > 0) {
        memmove(l->own, l->own + l->begin, l->end - l->begin);
        l->taken += l->begin;
        l->end -= l->begin;
        l->begin = 0;
    }
    return WINDOW_BYTES - l->end;
}

static enum err source_fill(struct input *in, struct err_detail *err)
{
    struct layer *l = &in->layers[0];
    ssize_t n;
    if (in->fd < 0) {
        l->at_end = true;
        return ERR_OK;
    }
    const size_t room = layer_room(l);
    do
        n = read(in->fd, l->own + l->end, room);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_at(err, ERR_INPUT, 0, in->name, "%s", strerror(errno));
    l->end += (size_t)n;
    l->at_end = n == 0;
    return ERR_OK;
}

/* Decompresses into the window; a gzip file may have several members. */
static enum err gzip_fill(struct input *in, unsigned i, struct err_detail *err)
{
    struct layer *l = &in->layers[i], *below = &in->layers[i - 1];
    const size_t room = layer_room(l), have = below->end - below->begin;
    l->gzip.next_in = below->bytes + below->begin;
    l->gzip.avail_in = (uInt)(have < INPUT_PEEK_MAX ? have : INPUT_PEEK_MAX);
    l->gzip.next_out = l->own + l->end;
    l->gzip.avail_out = (uInt)room;
    const uInt given = l->gzip.avail_in;
    const int rc = inflate(&l->gzip, Z_NO_FLUSH);
    below->begin += given - l->gzip.avail_in;
    l->end += room - l->gzip.avail_out;
    if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
        return input_fail(in, rc == Z_MEM_ERROR ? ERR_HOST_NOMEM : ERR_FORMAT, "damaged gzip data", err);
    l->is_unfinished = rc != Z_STREAM_END;
    if (rc == Z_STREAM_END)
        inflateReset2(&l->gzip, GZIP_WINDOW);
    return ERR_OK;
}

static enum err zstd_fill(struct input *in, unsigned i, struct err_detail *err)
{
    struct layer *l = &in->layers[i], *below = &in->layers[i - 1];
    const size_t room = layer_room(l);
    ZSTD_inBuffer from = {.src = below->bytes + below->begin, .size = below->end - below->begin};
    ZSTD_outBuffer to = {.dst = l->own + l->end, .size = room};
    const size_t rc = ZSTD_decompressStream(l->zstd, &to, &from);
    below->begin += from.pos;
    l->end += to.pos;
    if (ZSTD_isError(rc))
        return input_fail(in, ERR_FORMAT, "damaged zstd data", err);
    l->is_unfinished = rc != 0;
    return ERR_OK;
}

static int base64_digit(unsigned char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Four digits become three bytes. The last group may be shorter, padded or not. */
static enum err base64_fill(struct input *in, unsigned i, struct err_detail *err)
{
    struct layer *l = &in->layers[i], *below = &in->layers[i - 1];
    const size_t room = layer_room(l), begin = l->end;
    const enum err e = layer_peek(in, i - 1, 4, err);
    if (e != ERR_OK)
        return e;
    while (l->end - begin + 3 <= room && below->end > below->begin) {
        const unsigned char *s = below->bytes + below->begin;
        const size_t have = below->end - below->begin;
        uint32_t bits = 0;
        unsigned n = 0;
        while (n < 4 && n < have && base64_digit(s[n]) >= 0)
            bits = bits << 6 | (uint32_t)base64_digit(s[n++]);
        if (n < 4 && n == have && !below->at_end)
            return ERR_OK;                               /* the rest of the group comes with the next window */
        bits <<= 6 * (4 - n);
        for (unsigned k = 0; k + 1 < n; k++)
            l->own[l->end++] = (unsigned char)(bits >> (16 - 8 * k));
        below->begin += n;
        if (n < 4) {
            l->at_end = true;
            return ERR_OK;
        }
    }
    if (below->at_end && below->begin == below->end)
        l->at_end = true;
    return ERR_OK;
}

/* Refuses what unpacks to far more than its size. */
static enum err layer_check_ratio(const struct input *in, const struct layer *l, struct err_detail *err)
{
    const struct layer *source = &in->layers[0];
    const uint64_t packed = source->taken + source->begin, unpacked = l->taken + l->end;
    const uint64_t most = in->allowed != 0 ? in->allowed : INPUT_UNPACKED_FREE + INPUT_UNPACKED_RATIO * packed;
    if (unpacked <= most)
        return ERR_OK;
    return input_fail(in, ERR_FORMAT, in->allowed != 0 ? "unpacks to more than --memory-limit allows"
                                                       : "unpacks to more than 1,000 times its size; --memory-limit "
                                                         "SIZE allows that", err);
}

/* Undoes compression; the ratio is looked at window by window. */
static enum err compressed_fill(struct input *in, unsigned i, struct err_detail *err)
{
    const struct layer *l = &in->layers[i];
    const enum err e = l->kind == LAYER_GZIP ? gzip_fill(in, i, err) : zstd_fill(in, i, err);
    return e == ERR_OK ? layer_check_ratio(in, l, err) : e;
}

/* Adds at least one byte to a window, or sets at_end, or fails; may also only make progress below. */
static enum err layer_fill(struct input *in, unsigned i, struct err_detail *err)
{
    struct layer *l = &in->layers[i];
    if (i == 0)
        return source_fill(in, err);
    if (l->kind == LAYER_BASE64)
        return base64_fill(in, i, err);
    const enum err e = layer_peek(in, i - 1, 1, err);
    if (e != ERR_OK)
        return e;
    if (in->layers[i - 1].begin < in->layers[i - 1].end)
        return compressed_fill(in, i, err);
    /* Without more input the decoder gives what it still holds. */
    const size_t end = l->end - l->begin;
    if (l->is_unfinished) {
        const enum err f = compressed_fill(in, i, err);
        if (f != ERR_OK)
            return f;
        if (l->is_unfinished && l->end - l->begin == end)
            return input_fail(in, ERR_FORMAT, "the compressed data is cut off", err);
        return ERR_OK;
    }
    l->at_end = true;
    return ERR_OK;
}

/* Fills the window until it holds `want` bytes or the layer ends. */
static enum err layer_peek(struct input *in, unsigned i, size_t want, struct err_detail *err)
{
    struct layer *l = &in->layers[i];
    while (l->end - l->begin < want && !l->at_end) {
        const enum err e = layer_fill(in, i, err);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* Adds a layer on top. */
static enum err layer_push(struct input *in, enum layer_kind kind, struct err_detail *err)
{
    if (in->n_layers == LAYERS_MAX)
        return input_fail(in, ERR_UNSUPPORTED, "too many encodings inside one another", err);
    struct layer *l = &in->layers[in->n_layers];
    *l = (struct layer){.kind = kind, .own = malloc(WINDOW_BYTES)};
    l->bytes = l->own;
    bool ok = l->own != NULL;
    if (ok && kind == LAYER_GZIP)
        ok = inflateInit2(&l->gzip, GZIP_WINDOW) == Z_OK;
    if (ok && kind == LAYER_ZSTD)
        ok = (l->zstd = ZSTD_createDStream()) != NULL;
    if (!ok) {
        free(l->own);
        return input_fail(in, ERR_HOST_NOMEM, "no memory to read", err);
    }
    in->n_layers++;
    return ERR_OK;
}

static void layer_pop(struct layer *l)
{
    if (l->kind == LAYER_GZIP)
        inflateEnd(&l->gzip);
    ZSTD_freeDStream(l->zstd);
    free(l->own);
}

/* Adds the layers that the first bytes ask for. */
static enum err input_sniff(struct input *in, struct err_detail *err)
{
    static const unsigned char gzip_magic[] = {0x1f, 0x8b}, zstd_magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    if (in->is_sniffed)
        return ERR_OK;
    for (unsigned k = 0; k < COMPRESSIONS_MAX; k++) {
        const struct layer *top = &in->layers[in->n_layers - 1];
        enum err e = layer_peek(in, in->n_layers - 1, sizeof zstd_magic, err);
        if (e != ERR_OK)
            return e;
        const unsigned char *head = top->bytes + top->begin;
        const size_t n = top->end - top->begin;
        if (n >= sizeof gzip_magic && memcmp(head, gzip_magic, sizeof gzip_magic) == 0)
            e = layer_push(in, LAYER_GZIP, err);
        else if (n >= sizeof zstd_magic && memcmp(head, zstd_magic, sizeof zstd_magic) == 0)
            e = layer_push(in, LAYER_ZSTD, err);
        else
            break;
        if (e != ERR_OK)
            return e;
    }
    in->is_sniffed = true;
    return ERR_OK;
}

static struct input *input_new(const char *name)
{
    struct input *in = calloc(1, sizeof *in);
    if (in == NULL)
        return NULL;
    in->fd = -1;
    in->n_layers = 1;
    in->name = strdup(name);
    if (in->name == NULL) {
        free(in);
        return NULL;
    }
    return in;
}

/* What is said of a file that cannot be opened. A recording of several processes has other names. */
static enum err refuse_open(const struct input *in, int number, struct err_detail *err)
{
    char beside[PROCESSES_BESIDE_BYTES] = "";
    if (number == ENOENT)
        processes_beside(in->name, beside);
    return err_at(err, err_of_open(number), 0, in->name, "%s%s", strerror(number), beside);
}

/* Makes the file in->fd the source. */
static enum err input_start(struct input *in, struct err_detail *err)
{
    struct stat st;
    if (in->fd < 0 || fstat(in->fd, &st) != 0)
        return refuse_open(in, errno, err);
    if (S_ISDIR(st.st_mode))
        return err_at(err, ERR_INPUT, 0, in->name, "is a directory: name a file in it (replay FOLDER compares all "
                      "recordings of a job)");
    in->size = S_ISREG(st.st_mode) && st.st_size > 0 ? (uint64_t)st.st_size : 0;
    in->layers[0].own = malloc(WINDOW_BYTES);
    in->layers[0].bytes = in->layers[0].own;
    if (in->layers[0].own == NULL)
        return err_no_memory(err);
    return ERR_OK;
}

/* Opens a name with these flags beside the usual ones. */
static enum err input_open_with(const char *path, int flags, struct input **out, struct err_detail *err)
{
    struct input *in = input_new(strcmp(path, "-") == 0 ? "<stdin>" : path);
    if (in == NULL)
        return err_no_memory(err);
    in->owns_fd = strcmp(path, "-") != 0;
    in->fd = in->owns_fd ? open(path, O_RDONLY | O_CLOEXEC | flags) : STDIN_FILENO;
    const enum err e = input_start(in, err);
    if (e != ERR_OK) {
        input_close(in);
        return e;
    }
    *out = in;
    return ERR_OK;
}

void input_is_of_use(const struct input *in)
{
    if (in->owns_fd && in->fd >= 0)
        read_files_note(in->fd);
}

enum err input_open(const char *path, struct input **out, struct err_detail *err)
{
    return input_open_with(path, 0, out, err);
}

enum err input_open_again(const char *path, struct input **out, struct err_detail *err)
{
    struct input *in = NULL;
    struct stat st;
    const enum err e = input_open_with(path, O_NONBLOCK, &in, err);
    if (e != ERR_OK)
        return e;
    if (!in->owns_fd || fstat(in->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        input_close(in);
        return err_at(err, ERR_INPUT, 0, path, "is not a file, and cannot be read more than once");
    }
    *out = in;
    return ERR_OK;
}

bool input_is_once(const char *path)
{
    struct stat st;
    return strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

enum err input_open_whole(int fd, const char *name, struct input **out, struct err_detail *err)
{
    struct input *in = input_new(name);
    if (in == NULL)
        return err_no_memory(err);
    in->fd = lseek(fd, 0, SEEK_SET) == 0 ? fd : -1;
    const enum err e = input_start(in, err);
    if (e != ERR_OK) {
        input_close(in);
        return e;
    }
    in->is_sniffed = true;
    *out = in;
    return ERR_OK;
}

enum err input_open_bytes(const void *bytes, size_t n, struct input **out, struct err_detail *err)
{
    struct input *in = input_new("<bytes>");
    if (in == NULL)
        return err_no_memory(err);
    in->size = n;
    in->layers[0].bytes = bytes;
    in->layers[0].end = n;
    *out = in;
    return ERR_OK;
}

void input_allow(struct input *in, uint64_t unpacked_bytes)
{
    in->allowed = unpacked_bytes;
}

uint64_t input_free_bytes(const struct input *in)
{
    return in->allowed != 0 ? in->allowed : INPUT_UNPACKED_FREE;
}

void input_close(struct input *in)
{
    if (in == NULL)
        return;
    while (in->n_layers > 0)
        layer_pop(&in->layers[--in->n_layers]);
    if (in->owns_fd && in->fd >= 0)
        close(in->fd);
    free(in->name);
    free(in);
}

enum err input_peek(struct input *in, size_t want, const unsigned char **bytes, size_t *n, struct err_detail *err)
{
    assert(want <= INPUT_PEEK_MAX);
    enum err e = input_sniff(in, err);
    if (e != ERR_OK)
        return e;
    const struct layer *top = &in->layers[in->n_layers - 1];
    if ((e = layer_peek(in, in->n_layers - 1, want, err)) != ERR_OK)
        return e;
    *bytes = top->bytes + top->begin;
    *n = top->end - top->begin;
    return ERR_OK;
}

void input_skip(struct input *in, size_t n)
{
    struct layer *top = &in->layers[in->n_layers - 1];
    assert(n <= top->end - top->begin);
    top->begin += n;
}

enum err input_push_base64(struct input *in, struct err_detail *err)
{
    assert(in->is_sniffed && in->layers[in->n_layers - 1].kind != LAYER_BASE64);
    return layer_push(in, LAYER_BASE64, err);
}

void input_pop_base64(struct input *in)
{
    assert(in->layers[in->n_layers - 1].kind == LAYER_BASE64);
    layer_pop(&in->layers[--in->n_layers]);
}

/* Copies what is left of an input into a file. */
static enum err copy_rest(struct input *in, int fd, struct err_detail *err)
{
    for (;;) {
        const unsigned char *bytes;
        size_t n;
        enum err e = input_peek(in, INPUT_PEEK_MAX, &bytes, &n, err);
        if (e == ERR_OK && n > 0)
            e = temporary_file_append(fd, bytes, n, err);
        if (e != ERR_OK || n == 0)
            return e;
        input_skip(in, n);
    }
}

int input_regular_file(const struct input *in)
{
    struct stat st;
    const bool is_regular = in->owns_fd && fstat(in->fd, &st) == 0 && S_ISREG(st.st_mode);
    return is_regular ? fcntl(in->fd, F_DUPFD_CLOEXEC, 0) : -1;
}

enum err input_whole_file(struct input *in, int *fd, struct err_detail *err)
{
    const unsigned char *bytes;
    size_t n;
    enum err e = input_peek(in, 1, &bytes, &n, err);
    if (e != ERR_OK)
        return e;
    assert(input_offset(in) == 0);
    if (in->n_layers == 1 && (*fd = input_regular_file(in)) >= 0)
        return ERR_OK;
    if ((e = temporary_file_open(fd, err)) != ERR_OK)
        return e;
    if ((e = copy_rest(in, *fd, err)) != ERR_OK)
        close(*fd);
    return e;
}

void input_keep_raw(struct input *in)
{
    assert(in->n_layers == 1);
    in->is_sniffed = true;
}

enum err input_peek_raw(struct input *in, size_t want, const unsigned char **bytes, size_t *n, struct err_detail *err)
{
    const struct layer *source = &in->layers[0];
    assert(want <= INPUT_PEEK_MAX && in->n_layers == 1);
    const enum err e = layer_peek(in, 0, want, err);
    if (e != ERR_OK)
        return e;
    *bytes = source->bytes + source->begin;
    *n = source->end - source->begin;
    return ERR_OK;
}

uint64_t input_offset(const struct input *in)
{
    const struct layer *top = &in->layers[in->n_layers - 1];
    return top->taken + top->begin;
}

uint64_t input_raw_offset(const struct input *in)
{
    return in->layers[0].taken + in->layers[0].begin;
}

uint64_t input_raw_size(const struct input *in)
{
    return in->size;
}

const char *input_name(const struct input *in)
{
    return in->name;
}
