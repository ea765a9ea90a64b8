/* What files in JSON have in common. */
#ifndef CPODES_RUNNER_JSON_FILE_H
#define CPODES_RUNNER_JSON_FILE_H

#include <jansson.h>

/* null where it is not known, or not finite */
json_t *json_number(double value);
/* Writes it with 17 digits, completely or not at all, and gives it up; path "-": stdout. NULL: there was no memory for
   it. 0, or -1 after a complaint */
int json_save(json_t *json, const char *path);

#endif
