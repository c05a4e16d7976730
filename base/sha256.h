/*
 * SHA-256 (FIPS 180-4): names a file by its content, so that a result can be tied to it.
 */
#ifndef REPLAY_BASE_SHA256_H
#define REPLAY_BASE_SHA256_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct sha256 {
    uint32_t state[8];
    uint64_t n_bytes;                /* taken so far */
    unsigned char block[64];         /* its first n_bytes % 64 wait for the rest */
};

enum { SHA256_HEX = 65 };

void sha256_start(struct sha256 *s);
void sha256_take(struct sha256 *s, const void *bytes, size_t n);

/* Ends the sum and writes it as 64 hexadecimal digits and a zero. */
void sha256_finish(struct sha256 *s, char hex[SHA256_HEX]);

/* The sum of a file as it lies on the disk, not decompressed. ERR_IO with the path. */
MUST_USE enum err sha256_file(const char *path, char hex[SHA256_HEX], struct err_detail *why);

#endif
