/*
 * UTF-8 in texts that come from elsewhere and need not be any.
 */
#ifndef REPLAY_BASE_UTF8_H
#define REPLAY_BASE_UTF8_H

#include <stddef.h>

/* Bytes of the character at s, which a zero byte ends; 0 where there is none (RFC 3629, section 4), 1 at the end. */
size_t utf8_length(const unsigned char *s);

#endif
