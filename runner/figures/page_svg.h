/* Turns gnuplot's SVG into an element of a page, with the page's colours and its own ids. */
#ifndef CPODES_RUNNER_PAGE_SVG_H
#define CPODES_RUNNER_PAGE_SVG_H

/* Placeholders for the page's colours, as gnuplot takes them ("#010100"): text and axes, grid,
 * events, curve i = 0, 1, ..., and the page's background */
extern const char page_ink[], page_faint[], page_event[], page_paper[];
const char *page_colour(int i);

/* Returns the next SVG document at *text, which moves past it, as an element whose ids begin with
 * id. The caller frees it. Returns NULL if there is none, or if out of memory. */
char *page_svg(const char **text, const char *id);

#endif
