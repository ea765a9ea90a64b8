/* Help with misspelt names */
#ifndef CPODES_EXAMPLES_NAMES_H
#define CPODES_EXAMPLES_NAMES_H

/* The first of names [count > 0] with the least edit distance to name */
const char *nearest_name(const char *name, const char *const *names, int count);
/* Returns 1 if one may be a misspelling of the other, that is, if they differ by at most about half of the longer one */
int is_near_name(const char *a, const char *b);

#endif
