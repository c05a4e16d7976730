/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * Fuzz target: what people type for a card.
 */
#include "sim/device.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct device_config cfg;
    bool is_real, has_total;
    struct err_detail err = { .text = "" };
    char *text = strndup((const char *)data, n);
    if (text == NULL)
        return 0;
    if (device_parse_any(text, &cfg, &is_real, &has_total, &err) != ERR_OK)
        FUZZ_EXPECT(err.text[0] != '\0' && err.offset <= strlen(text));
    else
        FUZZ_EXPECT(cfg.total_bytes > 0 && (is_real || cfg.limit_bytes == 0));
    free(text);
    return 0;
}
