#include "redirect.h"

#include <stdio.h>
#include <unistd.h>

int stderr_redirect(int file) {
  fflush(stderr);
  const int saved = file >= 0 ? dup(STDERR_FILENO) : -1;
  if (saved >= 0) dup2(file, STDERR_FILENO);
  return saved;
}

void stderr_restore(int saved) {
  fflush(stderr);
  if (saved < 0) return;
  dup2(saved, STDERR_FILENO);
  close(saved);
}
