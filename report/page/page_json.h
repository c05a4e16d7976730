/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/* The data of a page, for its script (report/page/page.js). */
#ifndef REPLAY_REPORT_PAGE_PAGE_JSON_H
#define REPLAY_REPORT_PAGE_PAGE_JSON_H

#include "report/page/page.h"

#include <stdio.h>

/* One line of JSON, escaped for use within HTML. Paths are told from the folder on that all share: other folders are
 * the machine's alone. */
void page_json(FILE *out, const struct page *p);

/* The letters of the folder that both sides of a difference are in. */
size_t page_folder_of_names(const struct page_difference *d);

#endif
