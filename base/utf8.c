/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* Well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. */
#include "base/utf8.h"

#include <stdbool.h>

size_t utf8_length(const unsigned char *s)
{
    const unsigned char c = s[0];
    const size_t n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    const bool is_overlong = (c == 0xe0 && s[1] < 0xa0) || (c == 0xf0 && s[1] < 0x90);
    const bool is_outside = (c == 0xed && s[1] > 0x9f) || (c == 0xf4 && s[1] > 0x8f);
    return is_overlong || is_outside ? 0 : n;
}

uint32_t utf8_code(const unsigned char *s, size_t n)
{
    uint32_t code = n == 1 ? s[0] : s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++)
        code = code << 6 | (s[i] & 0x3fu);
    return code;
}
