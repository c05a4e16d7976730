/* SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors. */
/*
 * The parts of a page that are files of their own. The build embeds them as zero-terminated text
 * (report/page/embed.cmake).
 */
#ifndef REPLAY_REPORT_PAGE_PARTS_H
#define REPLAY_REPORT_PAGE_PARTS_H

extern const unsigned char page_template[];      /* page.html, with {{marks}} for the other parts */
extern const unsigned char page_style[];

/* The page's own scripts, report/page/NAME.js: X(NAME). The template puts them in an order of its own. */
#define PAGE_SCRIPTS(X)                                                                                     \
    X(words) X(view) X(unpack) X(lives) X(tables) X(grid) X(frontier) X(over_time) X(requests)  \
    X(address_map) X(holders) X(refusal) X(fragmentation) X(page)

#define PAGE_SCRIPT(name) extern const unsigned char page_script_##name[];
PAGE_SCRIPTS(PAGE_SCRIPT)
#undef PAGE_SCRIPT

extern const unsigned char page_dygraph[], page_dygraph_style[];     /* Debian's libjs-dygraphs */
extern const unsigned char page_dygraph_licence[];

#endif
