// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The files of this room, for programs that make pages of them: NUL-terminated texts of static storage. */
#ifndef BEZEL_VIEWS_WEB_PAGES_H
#define BEZEL_VIEWS_WEB_PAGES_H

extern const char view_page_css[];    /* colours and layout of all pages */
extern const char view_elements_js[]; /* elements and tables of all pages */
extern const char view_axis_js[];     /* axes, and values as words */
extern const char view_plot_js[];     /* the drawing of plots */
extern const char view_report_js[];   /* the page of `bezel report --html`, and its part of that of `bezel view` */
extern const char view_live_js[];     /* the connection of a page of `bezel view` */
extern const char view_rows_js[];     /* its rows */
extern const char view_path_js[];     /* why something took long, drawn over its rows */
extern const char view_view_js[], view_view_html[];

#endif
