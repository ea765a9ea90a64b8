#include "report.h"

#include <string.h>

static bool is_motion(const Figure *f) { return !strcmp(f->id, "motion"); }

bool report_is_pictured(const Report *r) {
  for (int i = 0; i < r->nfigures; i++)
    if (is_motion(&r->figure[i])) return true;
  return false;
}

/* <svg ...> gets the name and the description that stand above it */
static void drawing(const Figure *f, FILE *out) {
  const char *svg = strstr(f->svg, "<svg");
  if (!svg) return;
  fprintf(out,
          "<div class=\"scroll\"><svg role=\"img\" aria-labelledby=\"figure-%s-title\" "
          "aria-describedby=\"figure-%s-description\"%s</div>\n",
          f->id, f->id, svg + strlen("<svg"));
}

static void figure(const Figure *f, FILE *out) {
  fprintf(out, "<figure id=\"figure-%s\">\n<figcaption><h3 id=\"figure-%s-title\">", f->id, f->id);
  html_text(out, f->title);
  fputs("</h3></figcaption>\n", out);
  drawing(f, out);
  fprintf(out, "<p class=\"note\" id=\"figure-%s-description\">", f->id);
  html_text(out, f->description);
  fputs("</p>\n</figure>\n", out);
}

void report_figures(const Report *r, FILE *out) {
  if (r->nfigures < 0)
    fputs("<p id=\"no-figures\">They are missing: gnuplot was not found where the report was made, "
          "or "
          "failed.</p>\n",
          out);
  else if (r->nfigures == 0) fputs("<p id=\"no-figures\">There is nothing to draw.</p>\n", out);
  /* the mechanism first: on paper it stands for the animation */
  for (int i = 0; i < r->nfigures; i++)
    if (is_motion(&r->figure[i])) figure(&r->figure[i], out);
  for (int i = 0; i < r->nfigures; i++)
    if (!is_motion(&r->figure[i])) figure(&r->figure[i], out);
}
