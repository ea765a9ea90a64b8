/* The main program of a room's tests: runs the suites that its arguments name, or all of them without arguments. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* suites.h, which CMake writes, lists the suites of the program: SUITE(name) each. */
#define SUITE(name) Suite *name##_suite(void);
#include "suites.h"
#undef SUITE
#define SUITE(name) {#name, name##_suite},
static const struct {
  const char *name;
  Suite *(*create)(void);
} suites[] = {
#include "suites.h"
};
enum { SUITES = sizeof suites / sizeof *suites };

static int find(const char *name) {
  for (int k = 0; k < SUITES; k++)
    if (!strcmp(suites[k].name, name)) return k;
  return -1;
}

int main(int argc, char **argv) {
  int status = EXIT_SUCCESS;
  for (int i = 1; i < argc; i++)
    if (find(argv[i]) < 0) {
      fprintf(stderr, "%s: there is no suite '%s', but", argv[0], argv[i]);
      for (int k = 0; k < SUITES; k++) fprintf(stderr, " %s", suites[k].name);
      fprintf(stderr, "\n");
      return 2;
    }
  for (int k = 0; k < (argc > 1 ? argc - 1 : SUITES); k++)
    if (run_suite(suites[argc > 1 ? find(argv[k + 1]) : k].create())) status = EXIT_FAILURE;
  return status;
}
