/* Helpers for the tests of both readers of files. */
#ifndef CPODES_TEST_BODIES_READING_H
#define CPODES_TEST_BODIES_READING_H

#include "support/things.h"

/* of the newest file */
extern CPBodiesFile file;
extern char message[READ_MESSAGE];

CPBodies read_as(const char *name, const char *text, size_t size);

/* The same with parameters, lines NAME=TEXT, or NULL, in the formulation that the reader chooses. text: NULL for that of the file */
CPBodies read_with(const char *path, const char *text, const char *parameters);

/* Writes a file into CPODES_TEST_FOLDER. */
void write_file(const char *name, const char *text);

/* b: the result. The message begins with the place, contains the rule, and is one line. */
void assert_refused(CPBodies b, const char *place, const char *rule);
/* The text gives a mechanism or a message; the mechanism is freed. */
void assert_harmless(CPBodies b);
/* Each allocation of the reader fails in turn; there are more than `least`. */
void assert_allocations_may_fail(const char *name, const char *text, size_t size, long least);
/* wide: out, the plain text in UTF-16, little-endian. Returns its size. */
size_t widen(const char *plain, char *wide);

#endif
