/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The calls of libcrypto that take no memory. Those that replace them (EVP) look the algorithm up first, and OpenSSL
 * 3.0 crashes in that look-up if the host is out of memory.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <string.h>
#include <unistd.h>

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

enum err sha256_file(const char *path, char hex[SHA256_HEX], struct err_detail *err)
{
    enum { PIECE = 1 << 16 };
    unsigned char piece[PIECE];
    SHA256_CTX sum;
    /* Nobody is waited for: whoever asks reads the file again, so it is no pipe, or was none. */
    const int in = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (in < 0)
        return err_at(err, err_of_open(errno), 0, path, "%s", strerror(errno));
    SHA256_Init(&sum);
    ssize_t n;
    while ((n = read(in, piece, PIECE)) > 0 || (n < 0 && errno == EINTR))
        SHA256_Update(&sum, piece, n < 0 ? 0 : (size_t)n);
    close(in);
    sum_finish(&sum, hex);
    return n < 0 ? err_at(err, ERR_INPUT, 0, path, "cannot be read") : ERR_OK;
}
