#include "html.h"

#include "../shell.h"

#include <ctype.h>
#include <stdarg.h>

static void put(FILE *out, char c) {
  switch (c) {
  case '&': fputs("&amp;", out); break;
  case '<': fputs("&lt;", out); break;
  case '>': fputs("&gt;", out); break;
  case '"': fputs("&quot;", out); break;
  case '\'': fputs("&#39;", out); break;
  default:
    /* HTML has no other control characters. */
    if (!iscntrl((unsigned char)c) || c == '\n' || c == '\t') fputc(c, out);
  }
}

void html_text(FILE *out, const char *text) {
  while (*text) put(out, *text++);
}

void html_within(FILE *out, const char *before, const char *text, const char *after) {
  fputs(before, out);
  html_text(out, text);
  fputs(after, out);
}

void html_script(FILE *out, const char *json, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (json[i] == '<') fputs("\\u003c", out);
    else fputc(json[i], out);
  }
}

void html_argument(FILE *out, const char *argument) {
  if (shell_is_plain(argument)) {
    html_text(out, argument);
    return;
  }
  put(out, '\'');
  for (; *argument; argument++) {
    /* closes the quotes, adds a quote, opens them again */
    if (*argument == '\'') html_text(out, "'\\''");
    else put(out, *argument);
  }
  put(out, '\'');
}

/* -------------------------------------------------------------------------------------- tables -- */

static void open_table(FILE *out, const char *id, bool wide, const char *caption) {
  fprintf(out,
          "<div class=\"%s\"><div class=\"scroll\" role=\"group\" aria-labelledby=\"%s-caption\">"
          "<table id=\"%s\">\n<caption id=\"%s-caption\">",
          wide ? "wide" : "", id, id, id);
  html_within(out, "", caption, "</caption>\n");
}

void table_begin(FILE *out, const char *id, bool wide, const char *caption, const Column *column,
                 int columns) {
  open_table(out, id, wide, caption);
  fputs("<thead><tr>", out);
  for (int i = 0; i < columns; i++) {
    fprintf(out, "<th scope=\"col\"%s", column[i].number ? " class=\"number\"" : "");
    html_within(out, ">", column[i].head, "</th>");
  }
  fputs("</tr></thead>\n<tbody>\n", out);
}

void table_row(FILE *out, const char *name) {
  html_within(out, "<tr><th scope=\"row\">", name, "</th>");
}

void table_text(FILE *out, const char *text) { html_within(out, "<td>", text, "</td>"); }

void table_unit(FILE *out, const char *unit) {
  fputs("<td class=\"whole\">", out);
  for (const char *c = unit_text(unit); *c; c++) {
    const bool square = c[0] == '^' && c[1] == '2', cube = c[0] == '^' && c[1] == '3';
    if (square || cube) {
      fputs(square ? "²" : "³", out);
      c++;
    } else put(out, *c);
  }
  fputs("</td>", out);
}

void table_number(FILE *out, double value, int digits) {
  char text[NUMBER_TEXT];
  fprintf(out, "<td class=\"number\">%s</td>", number_text(text, value, digits));
}

void table_row_end(FILE *out) { fputs("</tr>\n", out); }

void table_end(FILE *out, const char *note) {
  fputs("</tbody></table></div>", out);
  if (note) html_within(out, "<p class=\"note\">", note, "</p>");
  fputs("</div>\n", out);
}

void pairs_begin(FILE *out, const char *id, const char *caption) {
  open_table(out, id, false, caption);
  fputs("<tbody>\n", out);
}

void pair(FILE *out, const char *name, const char *format, ...) {
  char text[1000];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  table_row(out, name);
  table_text(out, text);
  table_row_end(out);
}
