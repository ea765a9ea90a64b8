#define _GNU_SOURCE /* open_memstream, memmem */
#include "page_svg.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  COLOURS = 8,
  MARK    = 1
}; /* red and green of a placeholder colour, whose number is its blue */
enum { INK = 101, FAINT, EVENT, PAPER };

const char page_ink[]   = "#010165";
const char page_faint[] = "#010166";
const char page_event[] = "#010167";
const char page_paper[] = "#010168";

const char *page_colour(int i) {
  static const char *const colours[COLOURS] = {"#010101", "#010102", "#010103", "#010104",
                                               "#010105", "#010106", "#010107", "#010108"};
  return colours[i % COLOURS];
}

/* Grid and events are fainter text, which suits light and dark pages. The ink is the fallback of
 * var(). */
static void put_colour(FILE *out, int number) {
  if (number >= 1 && number <= COLOURS) fprintf(out, "var(--c%d,currentColor)", number);
  else if (number == FAINT) fputs("var(--figure-grid,rgba(128,128,128,.25))", out);
  else if (number == EVENT) fputs("var(--figure-event,rgba(128,128,128,.8))", out);
  else if (number == PAPER) fputs("var(--figure-paper,Canvas)", out);
  else fputs("currentColor", out);
}

/* Reads "rgb(  1,   1,   5)". Returns its length, or 0 if it is another colour. sscanf would
 * determine the length of all that follows. */
static size_t read_colour(const char *text, int *number) {
  long part[3];
  char *end = (char *)text + 3;
  if (strncmp(text, "rgb(", 4)) return 0;
  for (int k = 0; k < 3; k++) part[k] = strtol(end + 1, &end, 10); /* past "(" or "," */
  *number = (int)part[2];
  return *end == ')' && part[0] == MARK && part[1] == MARK ? (size_t)(end + 1 - text) : 0;
}

/* Literal replacements. gnuplot's own colours would be those of a light page. */
static const struct {
  const char *from, *to;
} replaced[] = {
    {" color=\"black\"", ""},
    {" color=\"white\"", ""},
    {" color=\"gray\"", ""},
    {"\"black\"", "\"currentColor\""},
    {"'black'", "'currentColor'"},
    {" font-family=\"sans-serif\"", ""},
    {" class=\"gridline\"", ""},
    {" stroke-linecap=\"butt\" stroke-linejoin=\"miter\"", " stroke-linejoin=\"round\""},
};
enum { REPLACED = sizeof replaced / sizeof replaced[0] };

/* Sections that are left out: names that browsers would show, and unused filters. */
static const struct {
  const char *from, *to;
} dropped[] = {{"<title>gnuplot_plot_", "</title>"}, {"<filter ", "</filter>"}, {"<!--", "-->"}};
enum { DROPPED = sizeof dropped / sizeof dropped[0] };

/* Returns the length of "<g ...>\n</g>\n", of which gnuplot writes many, or 0. */
static size_t empty_group(const char *text) {
  static const char ending[] = ">\n</g>\n";
  if (strncmp(text, "<g ", 3)) return 0;
  const char *end = strchr(text, '>');
  return end && !strncmp(end, ending, sizeof ending - 1) ? (size_t)(end - text) + sizeof ending - 1
                                                         : 0;
}

/* Recognises ids and references to them: id='gpPt0', id="a", xlink:href='#gpPt0'. Returns the
 * length or 0. */
static size_t begins_id(const char *text, const char **written) {
  static const struct {
    const char *from, *to;
  } ids[] = {{" id='", " id='"}, {" id=\"", " id=\""}, {" xlink:href='#", " href='#"}};
  for (int i = 0; i < 3; i++)
    if (!strncmp(text, ids[i].from, strlen(ids[i].from))) {
      *written = ids[i].to;
      return strlen(ids[i].from);
    }
  return 0;
}

/* Writes the replacement for the beginning of the text. Returns how much of the text that was. */
static size_t put_next(FILE *out, const char *text, const char *id) {
  int number;
  const char *written;
  size_t length = read_colour(text, &number);
  if (length) {
    put_colour(out, number);
    return length;
  }
  if ((length = begins_id(text, &written))) {
    fprintf(out, "%s%s-", written, id);
    return length;
  }
  if ((length = empty_group(text))) return length;
  for (int i = 0; i < DROPPED; i++) {
    if (strncmp(text, dropped[i].from, strlen(dropped[i].from))) continue;
    const char *end = strstr(text, dropped[i].to);
    if (end) return (size_t)(end - text) + strlen(dropped[i].to);
  }
  for (int i = 0; i < REPLACED; i++)
    if (!strncmp(text, replaced[i].from, strlen(replaced[i].from))) {
      fputs(replaced[i].to, out);
      return strlen(replaced[i].from);
    }
  fputc(*text, out);
  return 1;
}

/* Omits width and height, so that the drawing takes the width of its place. */
static bool put_opening(FILE *out, const char *svg) {
  int width, height;
  const char *box = strstr(svg, "viewBox=\"0 0 ");
  if (!box || sscanf(box, "viewBox=\"0 0 %d %d\"", &width, &height) != 2) return false;
  fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" fill=\"none\">\n",
          width, height);
  return true;
}

char *page_svg(const char **text, const char *id) {
  static const char closing[] = "</svg>";
  char *element               = NULL;
  size_t length               = 0;
  const char *svg = strstr(*text, "<svg"), *end = svg ? strstr(svg, closing) : NULL;
  const char *body = svg ? strstr(svg, "<g id=\"gnuplot_canvas\"") : NULL;
  if (!end || !body || body > end) return NULL;
  FILE *out = open_memstream(&element, &length);
  if (!out) return NULL;
  bool good = put_opening(out, svg);
  while (body < end) body += put_next(out, body, id);
  fputs(closing, out);
  good  = !ferror(out) && good;
  good  = !fclose(out) && good;
  *text = end + sizeof closing - 1;
  if (good) return element;
  free(element);
  return NULL;
}
