/* The user's shell: its words, and the programs that it finds. */
#ifndef CPODES_RUNNER_SHELL_H
#define CPODES_RUNNER_SHELL_H

#include <stddef.h>

/* Is word the same for a shell without quotes? */
int shell_is_plain(const char *word);
/* text [length]: out, word as one word of a command, in quotes if necessary; cut if it is too long. */
void shell_quote(const char *word, char *text, size_t length);
/* Does PATH contain a program of this name? */
int shell_finds(const char *program);

#endif
