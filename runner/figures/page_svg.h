/* gnuplot's SVG, made an element of a page: its colours are the page's, its ids its own. */
#ifndef CPODES_RUNNER_PAGE_SVG_H
#define CPODES_RUNNER_PAGE_SVG_H

#include <stddef.h>

/* Colours that stand for the page's, as gnuplot takes them ("#010100"): text and axes, grid, events, curve i = 0, 1, ...,
   and the page's background */
extern const char page_ink[], page_faint[], page_event[], page_paper[];
const char *page_colour(int i);

/* The next SVG document at *text, which moves behind it, as an element whose ids begin with id. The caller frees it; NULL:
   there is none, or no memory */
char *page_svg(const char **text, const char *id);

#endif
