/* The user's shell: its words, and the programs it finds. */
#ifndef CPODES_RUNNER_SHELL_H
#define CPODES_RUNNER_SHELL_H

#include <stddef.h>

/* Is it the same to a shell without quotes? */
int shell_is_plain(const char *word);
/* word as one word of a command: in quotes if it needs them; text [length]: out, cut if it is too short */
void shell_quote(const char *word, char *text, size_t length);
/* Is there a program of this name in PATH? */
int shell_finds(const char *program);

#endif
