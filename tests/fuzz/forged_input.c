/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
#include "tests/fuzz/forged_input.h"

#include "tests/forge.h"

#include <openssl/evp.h>
#include <zlib.h>

enum { FORGED_LETTERS_MAX = 3, GZIP_WINDOW_BITS = 16 + MAX_WBITS };

/* The sections of an input. */
static struct forge *forged_sections(const uint8_t *data, size_t n)
{
    struct forge *f = calloc(1, sizeof *f);
    struct cursor in = cursor_over(data, n);
    while (in.at < in.end && f->n < FORGE_SECTIONS) {
        const uint32_t kind = (uint32_t)cursor_le(&in, 1) % SECTION_KINDS;
        const uint64_t rows = cursor_le(&in, 2) + 1;
        const size_t length = (size_t)cursor_le(&in, 2), left = (size_t)(in.end - in.at);
        const size_t n_content = length < left ? length : left;
        const unsigned char *content = cursor_take(&in, n_content);
        if (content == NULL)
            break;
        if (kind == SECTION_INDEX) {
            bytes_put(&f->index, content, n_content);
        } else {
            f->sections[f->n] = (struct forge_section){.kind = kind, .rows = (uint32_t)rows};
            bytes_put(&f->sections[f->n++].content, content, n_content);
        }
    }
    return f;
}

bool forged_is_sections(const uint8_t *data, size_t n)
{
    static const char database[] = "SQLite";
    if (n >= sizeof database && memcmp(data, database, sizeof database - 1) == 0)
        return false;
    return n > 0 && (data[0] == 'S' || data[0] == 'U');
}

/* The native trace of a list of sections; bytes_free() it. */
static struct bytes forged_trace(const uint8_t *data, size_t n)
{
    struct forge *f = forged_sections(data + 1, n - 1);
    f->is_unfinished = data[0] == 'U';
    const struct bytes file = forge_pack(f);
    forge_free(f);
    return file;
}

static struct bytes forged_zstd(const struct bytes *inner)
{
    struct bytes out = {0};
    const size_t room = ZSTD_compressBound(inner->n);
    void *packed = malloc(room);
    bytes_put(&out, packed, ZSTD_compress(packed, room, inner->data, inner->n, 1));
    free(packed);
    return out;
}

static struct bytes forged_gzip(const struct bytes *inner)
{
    struct bytes out = {0};
    z_stream z = {.next_in = inner->data, .avail_in = (uInt)inner->n};
    if (deflateInit2(&z, 1, Z_DEFLATED, GZIP_WINDOW_BITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return out;
    const size_t room = deflateBound(&z, inner->n);
    unsigned char *packed = malloc(room);
    z.next_out = packed;
    z.avail_out = (uInt)room;
    deflate(&z, Z_FINISH);
    bytes_put(&out, packed, room - z.avail_out);
    deflateEnd(&z);
    free(packed);
    return out;
}

static struct bytes forged_page(const struct bytes *inner)
{
    static const char before[] = "<!DOCTYPE html>\n<script>const x = [{\"name\": \"snapshot.pickle\", \"base64\": \"";
    static const char after[] = "\"}]</script>\n";
    struct bytes out = {0};
    unsigned char *digits = malloc(inner->n / 3 * 4 + 5);
    bytes_put(&out, before, sizeof before - 1);
    bytes_put(&out, digits, (size_t)EVP_EncodeBlock(digits, inner->data, (int)inner->n));
    bytes_put(&out, after, sizeof after - 1);
    free(digits);
    return out;
}

void *forged_file(const uint8_t *data, size_t n, size_t *n_file)
{
    size_t letters = 0;
    while (letters < n && letters < FORGED_LETTERS_MAX && memchr("ZGH", data[letters], 3) != NULL)
        letters++;
    struct bytes file = {0};
    const uint8_t *rest = data + letters;
    if (forged_is_sections(rest, n - letters))
        file = forged_trace(rest, n - letters);
    else
        bytes_put(&file, rest, n - letters);
    while (letters-- > 0) {
        const struct bytes outer = data[letters] == 'Z'   ? forged_zstd(&file)
                                   : data[letters] == 'G' ? forged_gzip(&file)
                                                          : forged_page(&file);
        bytes_free(&file);
        file = outer;
    }
    *n_file = file.n;
    return file.data;
}
