#define _POSIX_C_SOURCE 200809L /* access, stat */
#include "shell.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A shell treats words of these characters literally. */
int shell_is_plain(const char *word) {
  return *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "_-./+,:=@%") == strlen(word);
}

void shell_quote(const char *word, char *text, size_t length) {
  size_t used = 0;
  if (shell_is_plain(word) || length < 8) {
    snprintf(text, length, "%s", word);
    return;
  }
  text[used++] = '\'';
  for (; *word && used + 6 < length; word++)
    if (*word == '\'') used += (size_t)snprintf(text + used, length - used, "'\\''");
    else text[used++] = *word;
  text[used++] = '\'';
  text[used]   = '\0';
}

static int is_program(const char *path) {
  struct stat file;
  return !stat(path, &file) && S_ISREG(file.st_mode) && !access(path, X_OK);
}

int shell_finds(const char *program) {
  char path[2 * PATH_MAX];
  for (const char *folder = getenv("PATH"); folder;) {
    const size_t length = strcspn(folder, ":");
    /* An empty folder means the current one. */
    snprintf(path, sizeof path, "%.*s%s%s", (int)length, folder, length ? "/" : "./", program);
    if (is_program(path)) return 1;
    folder = folder[length] ? folder + length + 1 : NULL;
  }
  return 0;
}
