/* Redirects stderr temporarily. */
#ifndef CPODES_RUNNER_REDIRECT_H
#define CPODES_RUNNER_REDIRECT_H

/* Redirects stderr to the open file; -1: does nothing. Returns the argument of stderr_restore, or
 * -1 if stderr stays. */
int stderr_redirect(int file);
void stderr_restore(int saved);

#endif
