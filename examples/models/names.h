/* Help with misspelt names */
#ifndef CPODES_EXAMPLES_NAMES_H
#define CPODES_EXAMPLES_NAMES_H

/* The one of names [count > 0] with the least edit distance to name, the first of equals */
const char *nearest_name(const char *name, const char *const *names, int count);
/* Could one be a slip for the other: do they differ by about half of the longer one at most? */
int is_near_name(const char *a, const char *b);

#endif
