/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * SHA-256 (FIPS 180-4) by OpenSSL's libcrypto: identifies a file by its content, so that a result can be tied to it.
 */
#ifndef REPLAY_BASE_SHA256_H
#define REPLAY_BASE_SHA256_H

#include "base/err.h"

#include <stddef.h>

enum { SHA256_HEX = 65 };            /* 64 hexadecimal digits and a zero */

/* The sum of several texts, each with its terminating zero. */
void sha256_texts(const char *const *texts, size_t n, char hex[SHA256_HEX]);

/* The sum of a file as it is on disk, not decompressed. ERR_INPUT with the path; ERR_HOST_NOMEM. */
MUST_USE enum err sha256_file(const char *path, char hex[SHA256_HEX], struct err_detail *err);

#endif
