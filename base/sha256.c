/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The calls of libcrypto that take no memory. Those that replace them (EVP) look the algorithm up first, and OpenSSL
 * 3.0 crashes in that look-up if the host is out of memory.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/sha256.h"

#include <errno.h>
#include <openssl/sha.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void sum_finish(SHA256_CTX *sum, char hex[SHA256_HEX])
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA256_Final(digest, sum);
    for (unsigned i = 0; i + 1 < SHA256_HEX; i++)
        hex[i] = "0123456789abcdef"[digest[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15];
    hex[SHA256_HEX - 1] = '\0';
}

void sha256_texts(const char *const *texts, size_t n, char hex[SHA256_HEX])
{
    SHA256_CTX sum;
    SHA256_Init(&sum);
    for (size_t i = 0; i < n; i++)
        SHA256_Update(&sum, texts[i], strlen(texts[i]) + 1);
    sum_finish(&sum, hex);
}

enum err sha256_file(const char *path, char hex[SHA256_HEX], struct err_detail *why)
{
    enum { PIECE = 1 << 16 };
    unsigned char piece[PIECE];
    SHA256_CTX sum;
    FILE *in = fopen(path, "rb");
    if (in == NULL)
        return err_set(why, err_of_open(errno), 0, "%.150s: %.60s", path, strerror(errno));
    SHA256_Init(&sum);
    for (size_t n; (n = fread(piece, 1, PIECE, in)) > 0;)
        SHA256_Update(&sum, piece, n);
    const bool is_bad = ferror(in) != 0;
    fclose(in);
    sum_finish(&sum, hex);
    return is_bad ? err_set(why, ERR_INPUT, 0, "%.150s: cannot be read", path) : ERR_OK;
}
