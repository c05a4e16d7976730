/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Input: the same bytes come out of every compression; every error has one sentence. */
#include "base/input.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

struct blob {
    unsigned char *bytes;
    size_t n;
};

/* n bytes that do not repeat and hardly compress. */
static struct blob blob_make(size_t n)
{
    struct blob b = {.bytes = malloc(n + 1), .n = n};
    uint32_t x = 12345;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        b.bytes[i] = (unsigned char)(i % 3 == 0 ? x >> 24 : i >> 8);
    }
    return b;
}

static struct blob blob_gzip(const struct blob *from)
{
    struct blob b = {.bytes = malloc(from->n + from->n / 100 + 128)};
    z_stream z = {.next_in = from->bytes, .avail_in = (uInt)from->n, .next_out = b.bytes,
                  .avail_out = (uInt)(from->n + from->n / 100 + 128)};
    cr_assert_eq(deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    b.n = z.total_out;
    deflateEnd(&z);
    return b;
}

static struct blob blob_zstd(const struct blob *from)
{
    struct blob b = {.bytes = malloc(ZSTD_compressBound(from->n))};
    b.n = ZSTD_compress(b.bytes, ZSTD_compressBound(from->n), from->bytes, from->n, 3);
    cr_assert(!ZSTD_isError(b.n));
    return b;
}

static struct blob blob_join(const struct blob *a, const struct blob *b)
{
    struct blob both = {.bytes = malloc(a->n + b->n), .n = a->n + b->n};
    memcpy(both.bytes, a->bytes, a->n);
    memcpy(both.bytes + a->n, b->bytes, b->n);
    return both;
}

/* Reads everything in steps of `step` bytes; the caller frees *got. */
static enum err read_all(struct input *in, size_t step, struct blob *got, struct err_detail *err)
{
    *got = (struct blob){.bytes = malloc(1)};
    for (;;) {
        const unsigned char *bytes;
        size_t n;
        const enum err e = input_peek(in, step, &bytes, &n, err);
        if (e != ERR_OK || n == 0)
            return e;
        const size_t take = n < step ? n : step;
        got->bytes = realloc(got->bytes, got->n + take);
        memcpy(got->bytes + got->n, bytes, take);
        got->n += take;
        input_skip(in, take);
        cr_assert_eq(input_offset(in), got->n);
    }
}

static void expect_same(const struct blob *packed, const struct blob *plain, size_t step)
{
    struct input *in;
    struct blob got;
    struct err_detail err = {.text = ""};
    cr_assert_eq(input_open_bytes(packed->bytes, packed->n, &in, &err), ERR_OK);
    cr_assert_eq(read_all(in, step, &got, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(got.n, plain->n);
    cr_expect(got.n == plain->n && memcmp(got.bytes, plain->bytes, got.n) == 0);
    input_close(in);
    free(got.bytes);
}

static enum err read_error(const struct blob *packed, struct err_detail *err)
{
    struct input *in;
    struct blob got = {.bytes = NULL};
    cr_assert_eq(input_open_bytes(packed->bytes, packed->n, &in, err), ERR_OK);
    const enum err e = read_all(in, 1000, &got, err);
    input_close(in);
    free(got.bytes);
    return e;
}

Test(input, every_wrapping_gives_the_same_bytes)
{
    const struct blob plain = blob_make(700001);
    const struct blob gz = blob_gzip(&plain), zst = blob_zstd(&plain), both = blob_zstd(&gz), twice = blob_gzip(&gz);
    const size_t steps[] = {1000, 4096, INPUT_PEEK_MAX};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        expect_same(&plain, &plain, steps[i]);
        expect_same(&gz, &plain, steps[i]);
        expect_same(&zst, &plain, steps[i]);
        expect_same(&both, &plain, steps[i]);
        expect_same(&twice, &plain, steps[i]);
    }
    free(plain.bytes);
    free(gz.bytes);
    free(zst.bytes);
    free(both.bytes);
    free(twice.bytes);
}

Test(input, joined_compressed_files_are_read_as_one)
{
    const struct blob a = blob_make(1000), b = blob_make(300000), plain = blob_join(&a, &b);
    const struct blob ga = blob_gzip(&a), gb = blob_gzip(&b), gz = blob_join(&ga, &gb);
    const struct blob za = blob_zstd(&a), zb = blob_zstd(&b), zst = blob_join(&za, &zb);
    expect_same(&gz, &plain, 4096);
    expect_same(&zst, &plain, 4096);
    const struct blob all[] = {a, b, plain, ga, gb, gz, za, zb, zst};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i].bytes);
}

Test(input, empty_input_is_no_error)
{
    const struct blob nothing = {.bytes = (unsigned char *)""};
    const struct blob gz = blob_gzip(&(struct blob){.bytes = (unsigned char *)"", .n = 0});
    expect_same(&nothing, &nothing, 10);
    expect_same(&gz, &nothing, 10);
    free(gz.bytes);
}

Test(input, every_cut_of_compressed_data_is_noticed)
{
    const struct blob plain = blob_make(3000);
    struct blob packed[] = {blob_gzip(&plain), blob_zstd(&plain)};
    for (size_t k = 0; k < 2; k++) {
        for (size_t n = 4; n < packed[k].n; n++) {
            struct err_detail err = {.text = ""};
            const struct blob cut = {.bytes = packed[k].bytes, .n = n};
            cr_assert_eq(read_error(&cut, &err), ERR_FORMAT, "cut at %zu of %zu", n, packed[k].n);
            cr_assert_neq(err.text[0], '\0');
        }
        free(packed[k].bytes);
    }
    free(plain.bytes);
}

Test(input, damaged_gzip_is_noticed)
{
    const struct blob plain = blob_make(3000), gz = blob_gzip(&plain);
    struct err_detail err = {.text = ""};
    gz.bytes[gz.n / 2] ^= 0xff;
    cr_expect_eq(read_error(&gz, &err), ERR_FORMAT);
    cr_expect(strstr(err.text, "gzip") != NULL, "%s", err.text);
    free(plain.bytes);
    free(gz.bytes);
}

Test(input, a_missing_file_and_a_directory_are_told_apart)
{
    struct input *in = NULL;
    struct err_detail err = {.text = ""};
    cr_expect_eq(input_open("/nonexistent/file", &in, &err), ERR_INPUT);
    cr_expect(strstr(err.text, "No such file") != NULL, "%s", err.text);
    cr_expect_eq(input_open("/", &in, &err), ERR_INPUT);
    cr_expect(strstr(err.text, "directory") != NULL, "%s", err.text);
}

/* Two processes of a program have two recordings, whose names have their numbers. */
Test(input, recordings_of_processes_are_named_where_theirs_is_missing)
{
    char folder[] = "/tmp/replay-input-XXXXXX", path[64];
    struct input *in = NULL;
    struct err_detail err = {.text = ""};
    cr_assert_not_null(mkdtemp(folder));
    static const char *const names[] = {"two.9.zst", "two.8.zst", "two.8.driver.zst", "two.x.zst", "twofold.7.zst"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        fclose(fopen(path, "w"));
    }
    snprintf(path, sizeof path, "%s/two.zst", folder);
    cr_expect_eq(input_open(path, &in, &err), ERR_INPUT);
    cr_expect(strstr(err.text, "directory: there is two.8.zst, two.9.zst") != NULL, "%s", err.text);
    snprintf(path, sizeof path, "%s/one.zst", folder);
    cr_expect_eq(input_open(path, &in, &err), ERR_INPUT);
    cr_expect(strstr(err.text, "there is") == NULL, "%s", err.text);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        remove(path);
    }
    rmdir(folder);
}

/* A file that was read may be a pipe when it is opened again: nobody waits for its other end. */
Test(input, only_a_file_is_opened_again)
{
    char folder[] = "/tmp/replay-test-again-XXXXXX", fifo[64], file[64];
    struct input *in = NULL;
    struct err_detail err = {.text = ""};
    cr_assert_not_null(mkdtemp(folder));
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    snprintf(file, sizeof file, "%s/file", folder);
    cr_assert_eq(mkfifo(fifo, 0600), 0);
    FILE *f = fopen(file, "wb");
    cr_assert(f != NULL && fclose(f) == 0);
    for (size_t i = 0; i < 3; i++) {
        const char *name = (const char *const[]){fifo, "/dev/null", "-"}[i];
        cr_expect_eq(input_open_again(name, &in, &err), ERR_INPUT, "%s", name);
        cr_expect(strstr(err.text, "cannot be read more than once") != NULL, "%s", err.text);
        cr_expect(input_is_once(name), "%s", name);
    }
    cr_assert_eq(input_open_again(file, &in, &err), ERR_OK, "%s", err.text);
    input_close(in);
    cr_expect(!input_is_once(file) && !input_is_once(folder) && !input_is_once("/nonexistent/file"));
    unlink(fifo);
    unlink(file);
    rmdir(folder);
}

Test(input, a_file_reads_like_its_bytes)
{
    char path[] = "/tmp/replay-test-input-XXXXXX";
    const struct blob plain = blob_make(300000), gz = blob_gzip(&plain);
    const int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, gz.bytes, gz.n), (ssize_t)gz.n);
    close(fd);
    struct input *in;
    struct blob got;
    struct err_detail err = {.text = ""};
    cr_assert_eq(input_open(path, &in, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(input_raw_size(in), gz.n);
    cr_assert_eq(read_all(in, 5000, &got, &err), ERR_OK, "%s", err.text);
    cr_expect_eq(got.n, plain.n);
    cr_expect(got.n == plain.n && memcmp(got.bytes, plain.bytes, got.n) == 0);
    cr_expect_eq(input_raw_offset(in), gz.n);
    input_close(in);
    unlink(path);
    free(got.bytes);
    free(plain.bytes);
    free(gz.bytes);
}

Test(input, the_raw_head_can_be_seen_before_anything_is_undone)
{
    const struct blob plain = blob_make(100), gz = blob_gzip(&plain);
    struct input *in;
    const unsigned char *bytes;
    size_t n;
    cr_assert_eq(input_open_bytes(gz.bytes, gz.n, &in, NULL), ERR_OK);
    cr_assert_eq(input_peek_raw(in, 2, &bytes, &n, NULL), ERR_OK);
    cr_expect_eq(bytes[0], 0x1f);
    cr_assert_eq(input_peek(in, 2, &bytes, &n, NULL), ERR_OK);
    cr_expect_eq(bytes[0], plain.bytes[0]);
    input_close(in);
    cr_assert_eq(input_open_bytes(gz.bytes, gz.n, &in, NULL), ERR_OK);
    input_keep_raw(in);
    cr_assert_eq(input_peek(in, 2, &bytes, &n, NULL), ERR_OK);
    cr_expect_eq(bytes[0], 0x1f);
    input_close(in);
    free(plain.bytes);
    free(gz.bytes);
}

static void expect_base64(const char *text, const char *decoded)
{
    struct input *in;
    const unsigned char *bytes;
    struct blob got;
    size_t n;
    cr_assert_eq(input_open_bytes(text, strlen(text), &in, NULL), ERR_OK);
    cr_assert_eq(input_peek(in, 1, &bytes, &n, NULL), ERR_OK);
    cr_assert_eq(input_push_base64(in, NULL), ERR_OK);
    cr_assert_eq(read_all(in, 3, &got, NULL), ERR_OK);
    cr_expect(got.n == strlen(decoded) && memcmp(got.bytes, decoded, got.n) == 0, "%s", text);
    input_close(in);
    free(got.bytes);
}

Test(input, base64_is_undone_up_to_its_end)
{
    expect_base64("", "");
    expect_base64("\"}", "");
    expect_base64("TQ==", "M");
    expect_base64("TWE=\"}", "Ma");
    expect_base64("TWFu", "Man");
    expect_base64("TWFuTWE", "ManMa");
    expect_base64("+/+/\"TWFu", "\xfb\xff\xbf");
}
