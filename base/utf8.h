/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Checks UTF-8 in foreign texts, which may be anything.
 */
#ifndef REPLAY_BASE_UTF8_H
#define REPLAY_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at the start of the zero-terminated s; 0 if s does not start with valid UTF-8 (RFC 3629,
 * section 4); 1 at the terminator. */
size_t utf8_length(const unsigned char *s);

/* The code point of a character of n bytes, n as utf8_length says. */
uint32_t utf8_code(const unsigned char *s, size_t n);

#endif
