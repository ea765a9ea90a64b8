#include "names.h"

#include <string.h>
#include <strings.h>

enum { LONGEST = 63 }; /* further characters are ignored */

/* Levenshtein distance: number of insertions, deletions and substitutions from a to b, computed row by row of the table */
static int edit_distance(const char *a, const char *b) {
  const int m = (int)strnlen(a, LONGEST), n = (int)strnlen(b, LONGEST);
  int row[LONGEST + 1];
  for (int j = 0; j <= n; j++) row[j] = j;
  for (int i = 1; i <= m; i++) {
    int diagonal = row[0];
    row[0]       = i;
    for (int j = 1; j <= n; j++) {
      const int substitute = diagonal + (a[i - 1] != b[j - 1]);
      const int other      = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
      diagonal             = row[j];
      row[j]               = substitute < other ? substitute : other;
    }
  }
  return row[n];
}

const char *nearest_name(const char *name, const char *const *names, int count) {
  int nearest = 0;
  for (int i = 1; i < count; i++)
    if (edit_distance(name, names[i]) < edit_distance(name, names[nearest])) nearest = i;
  return names[nearest];
}

int is_near_name(const char *a, const char *b) {
  const size_t m = strnlen(a, LONGEST), n = strnlen(b, LONGEST);
  const int longer = (int)(m > n ? m : n), distance = edit_distance(a, b);
  return !strcasecmp(a, b) || (distance < longer && 2 * distance <= longer + 1);
}
