/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The parts of a page that are files of their own. The build embeds them as zero-terminated text
 * (report/page/embed.cmake).
 */
#ifndef REPLAY_REPORT_PAGE_PARTS_H
#define REPLAY_REPORT_PAGE_PARTS_H

extern const unsigned char page_template[];      /* page.html, with {{marks}} for the other parts */
extern const unsigned char page_style[], page_script[];
extern const unsigned char page_dygraph[], page_dygraph_style[];     /* Debian's libjs-dygraphs */
extern const unsigned char page_dygraph_licence[];

#endif
