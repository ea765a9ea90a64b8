#include "report.h"
#include "../output/files.h"
#include "../output/judge.h"
#include "../output/writers.h"
#include "report_texts.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void title(const Report *r, FILE *out) { html_text(out, r->type->title); }

static void version(const Report *r, FILE *out) {
  (void)r;
  fputs(CPGetVersion(NULL, NULL, NULL), out);
}

static void date(const Report *r, FILE *out) {
  (void)r;
  char text[80]       = "";
  const time_t now    = time(NULL);
  const struct tm *at = localtime(&now);
  if (at && strftime(text, sizeof text, "%Y-%m-%d %H:%M", at)) fputs(text, out);
}

static void subtitle(const Report *r, FILE *out) {
  const RunSettings *s = r->info->settings;
  char rtol[NUMBER_TEXT], atol[NUMBER_TEXT], end[NUMBER_TEXT];
  html_within(out, "", r->type->name, ", 0 to ");
  fprintf(out, "%s s, by ", number_text(end, s->t_end, 6));
  html_text(out, r->info->method);
  fprintf(out, "; <span class=\"whole\">rtol %s</span>, <span class=\"whole\">atol %s</span>",
          number_text(rtol, s->rtol, 3), number_text(atol, s->atol, 3));
}

static void style(const Report *r, FILE *out) {
  (void)r;
  fputs((const char *)text_report_css, out);
}

static void script(const Report *r, FILE *out) {
  (void)r;
  fputs((const char *)text_boxes_js, out);
  fputs((const char *)text_figures_js, out);
  fputs((const char *)text_motion_js, out);
}

static void contents(const Report *r, FILE *out) {
  if (report_moves(r)) fputs("<li><a href=\"#motion\">Motion</a></li>\n", out);
  fputs("<li><a href=\"#facts\">Results</a></li>\n"
        "<li><a href=\"#figures\">Figures</a></li>\n",
        out);
  if (r->history->events > 0) fputs("<li><a href=\"#events\">Events</a></li>\n", out);
  fputs("<li><a href=\"#how\">How to reproduce it</a></li>", out);
}

static void motion(const Report *r, FILE *out) {
  if (report_moves(r)) report_piece(r, out, text_motion_html);
}

static void events(const Report *r, FILE *out) {
  if (r->history->events > 0) report_piece(r, out, text_events_html);
}

/* ---------------------------------------------------------------------------------- the figures -- */

static bool is_motion(const Figure *f) { return !strcmp(f->id, "motion"); }

bool report_is_pictured(const Report *r) {
  for (int i = 0; i < r->nfigures; i++)
    if (is_motion(&r->figure[i])) return true;
  return false;
}

/* Gives <svg ...> the name and the description that precede it. */
static void drawing(const Figure *f, FILE *out) {
  const char *svg = strstr(f->svg, "<svg");
  if (!svg) return;
  fprintf(out,
          "<div class=\"scroll\"><svg role=\"img\" aria-labelledby=\"figure-%s-title\" "
          "aria-describedby=\"figure-%s-description\"%s</div>\n",
          f->id, f->id, svg + strlen("<svg"));
}

static void figure(const Figure *f, FILE *out) {
  fprintf(out, "<figure id=\"figure-%s\">\n<figcaption><h3 id=\"figure-%s-title\"", f->id, f->id);
  html_within(out, ">", f->title, "</h3></figcaption>\n");
  drawing(f, out);
  if (f->caption[0]) html_within(out, "<p class=\"note\">", f->caption, "</p>\n");
  fprintf(out, "<p class=\"heard\" id=\"figure-%s-description\"", f->id);
  html_within(out, ">", f->description, "</p>\n");
  if (f->data) {
    fputs("<script type=\"application/json\">", out);
    html_script(out, f->data, strlen(f->data));
    fputs("</script>\n", out);
  }
  fputs("</figure>\n", out);
}

static void figures(const Report *r, FILE *out) {
  if (r->nfigures < 0)
    fputs("<p id=\"no-figures\">They are missing: gnuplot was not found where the report was made, "
          "or "
          "failed.</p>\n",
          out);
  else if (r->nfigures == 0) fputs("<p id=\"no-figures\">There is nothing to draw.</p>\n", out);
  /* The mechanism comes first: on paper it replaces the animation. */
  for (int i = 0; i < r->nfigures; i++)
    if (is_motion(&r->figure[i])) figure(&r->figure[i], out);
  for (int i = 0; i < r->nfigures; i++)
    if (!is_motion(&r->figure[i])) figure(&r->figure[i], out);
}

/* ---------------------------------------------------------------------------------- the verdict -- */

static void verdict_class(const Report *r, FILE *out) {
  static const char *const classes[] = {"good", "doubt", "doubt", "bad"};
  fputs(classes[judge(r->history, NULL, NULL)], out);
}

static void verdict(const Report *r, FILE *out) {
  static const char *const ended[] = {
      [RUN_FAILED]      = "Failed",
      [RUN_CRASHED]     = "Crashed",
      [RUN_INTERRUPTED] = "Interrupted",
      [RUN_UNWRITTEN]   = "Stopped, because a file could not be written,",
  };
  static const char *const remarks[] = {"", ", with parts left out", ", with doubts",
                                        ", with wrong results"};
  const RunResult *result            = &r->history->result;
  char t[NUMBER_TEXT], end[NUMBER_TEXT];
  number_text(t, result->t, 6);
  number_text(end, r->info->settings->t_end, 6);
  if (result->ending == RUN_DONE)
    fprintf(out, "Reached its end, t = %s s%s", t, remarks[judge(r->history, NULL, NULL)]);
  else fprintf(out, "%s at t = %s s of %s s", ended[result->ending], t, end);
}

typedef struct {
  FILE *out;
  int count;
} Concerns;

static void concern(void *data, const char *reason) {
  Concerns *c = data;
  html_within(c->out, c->count++ ? "<li>" : "<ul>\n<li>", reason, "</li>\n");
}

/* One concern for each line of a text, which may be NULL */
static void concern_lines(Concerns *c, const char *begin, const char *line) {
  while (line && *line) {
    char text[RUN_TEXT + 20];
    const size_t length = strcspn(line, "\n");
    snprintf(text, sizeof text, "%s%.*s", begin, (int)length, line);
    concern(c, text);
    line += length + (line[length] == '\n');
  }
}

static void concerns(const Report *r, FILE *out) {
  const RunResult *result = &r->history->result;
  Concerns c              = {out, 0};
  if (result->message[0]) html_within(out, "<p>", result->message, "</p>\n");
  if (result->ending != RUN_DONE && result->samples > 0)
    fputs("<p>All below is of the time until then.</p>\n", out);
  concern_lines(&c, "Without ", r->type->left_out);
  judge(r->history, concern, &c);
  concern_lines(&c, "", r->type->remarks);
  if (c.count) fputs("</ul>\n", out);
}

/* ------------------------------------------------------------------------------------ the slots -- */

static const struct {
  const char *name;
  ReportPart *part;
} slots[] = {
    {"title", title},
    {"version", version},
    {"date", date},
    {"subtitle", subtitle},
    {"style", style},
    {"script", script},
    {"contents", contents},
    {"verdict", verdict},
    {"verdict-class", verdict_class},
    {"concerns", concerns},
    {"invariants", report_invariants},
    {"violations", report_violations},
    {"work", report_work},
    {"state", report_state},
    {"motion", motion},
    {"motion-class", report_motion_class},
    {"motion-description", report_motion_description},
    {"motion-keys", report_motion_keys},
    {"motion-data", report_motion_data},
    {"legend", report_legend},
    {"figures", figures},
    {"events", events},
    {"events-summary", report_events_summary},
    {"events-table", report_events_table},
    {"command", report_command},
    {"settings", report_settings},
    {"parameters", report_parameters},
    {"versions", report_versions},
    {"source", report_source},
};

static ReportPart *find_part(const char *name, size_t length) {
  for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++)
    if (strlen(slots[i].name) == length && !memcmp(slots[i].name, name, length))
      return slots[i].part;
  return NULL;
}

/* A slot without a part stays as it is: it would be an error in the piece, and visible. */
void report_piece(const Report *report, FILE *out, const unsigned char *piece) {
  const char *text = (const char *)piece, *slot, *close;
  while ((slot = strstr(text, "{{")) && (close = strstr(slot, "}}"))) {
    fwrite(text, 1, (size_t)(slot - text), out);
    ReportPart *part = find_part(slot + 2, (size_t)(close - slot - 2));
    if (part) part(report, out);
    else fwrite(slot, 1, (size_t)(close + 2 - slot), out);
    text = close + 2;
  }
  fputs(text, out);
}

static Report *create(const History *history, int argc, char **argv) {
  Report *r = calloc(1, sizeof *r);
  if (!r) return complain("there is no memory for the report"), NULL;
  r->history     = history;
  r->info        = history->info;
  r->type        = history->info->settings->model.type;
  r->argc        = argc;
  r->argv        = argv;
  r->usual_force = report_usual_force(r);
  r->nfigures    = figures_possible() ? figures_for_page(history, r->figure, REPORT_FIGURES) : -1;
  return r;
}

static void destroy(Report *r) {
  for (int i = 0; i < r->nfigures; i++) figure_free(&r->figure[i]);
  free(r);
}

int report_write(const History *history, int argc, char **argv, const char *path) {
  char temporary[TEMPORARY_LENGTH];
  if (!history->info) return complain("%s is not written: the run did not begin", path);
  Report *report = create(history, argc, argv);
  if (!report) return -1;
  FILE *out = whole_file_open(path, temporary);
  if (out) report_piece(report, out, text_page_html);
  destroy(report);
  return out ? whole_file_close(out, temporary, path) : -1;
}
