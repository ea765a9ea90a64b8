#include "reading.h"

#include "support/alloc.h"
#include "support/support.h"
#include "support/things.h"
#include <string.h>

CPBodiesFile file;
char message[READ_MESSAGE];

CPBodies read_as(const char *name, const char *text, size_t size) {
  CPBodies b = read_bodies(name, text, size, &file, message);
  if (b) CPBodiesSetFormulation(b, CP_ABSOLUTE); /* Check allocates memory as well. */
  return b;
}

CPBodies read_with(const char *path, const char *text, const char *parameters) {
  CPBodies b;
  file            = (CPBodiesFile)CP_INIT(CPBodiesFile);
  file.parameters = parameters;
  const int flag  = CPBodiesRead(path, text, text ? strlen(text) : 0, &b, &file);
  snprintf(message, sizeof message, "%s", flag ? CPObjectGetLastMessage(NULL) : "");
  return b;
}

void write_file(const char *name, const char *text) {
  char path[300];
  snprintf(path, sizeof path, "%s/%s", CPODES_TEST_FOLDER, name);
  FILE *f = fopen(path, "wb");
  ck_assert_msg(f != NULL, "%s", path);
  fputs(text, f);
  fclose(f);
}

void assert_refused(CPBodies b, const char *place, const char *rule) {
  ck_assert_ptr_null(b);
  ck_assert_msg(strstr(message, place) == message && strstr(message, rule),
                "\"%s\" is not at %s with \"%s\"", message, place, rule);
  ck_assert(!strchr(message, '\n'));
}

void assert_harmless(CPBodies b) {
  ck_assert(b || message[0]);
  CPBodiesFree(&b);
}

void assert_allocations_may_fail(const char *name, const char *text, size_t size, long least) {
  long n = 0;
  for (int failed = 1; failed;) {
    alloc_watch_failing(++n);
    CPBodies b = read_as(name, text, size);
    failed     = alloc_has_failed();
    ck_assert_msg((b == NULL) == failed, "allocation %ld", n);
    if (failed) ck_assert_mentions(message, "no memory");
    CPBodiesFree(&b);
    alloc_unwatch();
    ck_assert_int_eq(alloc_live(), 0);
  }
  ck_assert_int_gt(n, least);
}

size_t widen(const char *plain, char *wide) {
  size_t size  = 0;
  wide[size++] = '\xff', wide[size++] = '\xfe';
  for (const char *c = plain; *c; c++) wide[size++] = *c, wide[size++] = 0;
  return size;
}
