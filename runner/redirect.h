/* stderr to another place for a while. */
#ifndef CPODES_RUNNER_REDIRECT_H
#define CPODES_RUNNER_REDIRECT_H

/* To the open file, -1: nothing is done. Returns what stderr_restore takes, -1: it stays where it is */
int stderr_redirect(int file);
void stderr_restore(int saved);

#endif
