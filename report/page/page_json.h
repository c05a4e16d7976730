/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The data of a page, for its script (report/page/page.js). */
#ifndef REPLAY_REPORT_PAGE_PAGE_JSON_H
#define REPLAY_REPORT_PAGE_PAGE_JSON_H

#include "report/page/page.h"

#include <stdio.h>

/* One line of JSON, escaped for use within HTML. */
void page_json(FILE *out, const struct page *p);

#endif
