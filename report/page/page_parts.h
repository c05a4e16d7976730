/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The parts of a page that are files of their own. The build shrinks and embeds them as zero-terminated text
 * (embed/embed.c). What is packed is deflated and in base 85; boot.js unpacks it.
 */
#ifndef REPLAY_REPORT_PAGE_PAGE_PARTS_H
#define REPLAY_REPORT_PAGE_PAGE_PARTS_H

extern const unsigned char page_template[];      /* page.html, with {{marks}} for the other parts */
extern const unsigned char page_style[];
extern const unsigned char page_boot[];
extern const unsigned char page_code[];          /* the other scripts, packed */

/* Debian's libjs-dygraphs; its script is packed. */
extern const unsigned char page_dygraph[], page_dygraph_style[], page_dygraph_licence[];

#endif
