/*
 * The parts of a page that are files of their own, embedded when the program is built (report/page/embed.cmake). Each
 * is text that a zero ends.
 */
#ifndef REPLAY_REPORT_PAGE_PARTS_H
#define REPLAY_REPORT_PAGE_PARTS_H

extern const unsigned char page_template[];      /* page.html, with {{marks}} where the others go */
extern const unsigned char page_style[], page_script[];
extern const unsigned char page_dygraph[], page_dygraph_style[];     /* Debian's libjs-dygraphs */
extern const unsigned char page_dygraph_licence[];

#endif
