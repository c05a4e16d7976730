/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* All calls of OpenSSL fail alike; for SHA-256 the only cause is a lack of memory. */
#include "base/sha256.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static EVP_MD_CTX *sum_start(void)
{
    EVP_MD_CTX *sum = EVP_MD_CTX_new();
    if (sum != NULL && EVP_DigestInit_ex(sum, EVP_sha256(), NULL) == 1)
        return sum;
    EVP_MD_CTX_free(sum);
    return NULL;
}

/* Ends and frees the sum. `is_good`: no call before failed. */
static enum err sum_finish(EVP_MD_CTX *sum, bool is_good, char hex[SHA256_HEX], struct err_detail *why)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    is_good = is_good && EVP_DigestFinal_ex(sum, digest, &n) == 1;
    EVP_MD_CTX_free(sum);
    if (!is_good)
        return err_set(why, ERR_HOST_NOMEM, 0, "no memory for a SHA-256 sum");
    for (unsigned i = 0; i < 2 * n && i + 1 < SHA256_HEX; i++)
        hex[i] = "0123456789abcdef"[digest[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15];
    hex[SHA256_HEX - 1] = '\0';
    return ERR_OK;
}

enum err sha256_texts(const char *const *texts, size_t n, char hex[SHA256_HEX], struct err_detail *why)
{
    EVP_MD_CTX *sum = sum_start();
    bool is_good = sum != NULL;
    for (size_t i = 0; i < n && is_good; i++)
        is_good = EVP_DigestUpdate(sum, texts[i], strlen(texts[i]) + 1) == 1;
    return sum_finish(sum, is_good, hex, why);
}

enum err sha256_file(const char *path, char hex[SHA256_HEX], struct err_detail *why)
{
    enum { PIECE = 1 << 16 };
    unsigned char piece[PIECE];
    FILE *in = fopen(path, "rb");
    if (in == NULL)
        return err_set(why, ERR_INPUT, 0, "%.150s: %.60s", path, strerror(errno));
    EVP_MD_CTX *sum = sum_start();
    bool is_good = sum != NULL;
    for (size_t n; is_good && (n = fread(piece, 1, PIECE, in)) > 0;)
        is_good = EVP_DigestUpdate(sum, piece, n) == 1;
    const bool is_bad = ferror(in) != 0;
    fclose(in);
    const enum err e = sum_finish(sum, is_good, hex, why);
    return is_bad ? err_set(why, ERR_INPUT, 0, "%.150s: cannot be read", path) : e;
}
