/* The data of a page, as the script in it reads them (report/page/page.js). */
#ifndef REPLAY_REPORT_PAGE_JSON_H
#define REPLAY_REPORT_PAGE_JSON_H

#include "report/page.h"

#include <stdio.h>

/* One line of JSON that may stand within HTML. */
void page_json(FILE *out, const struct page *p);

#endif
