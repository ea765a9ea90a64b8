#define _POSIX_C_SOURCE 200809L /* newlocale, uselocale */
#include "plain_locale.h"

#include <locale.h>

void plain_locale(void) {
  static locale_t plain; /* one for the life of the process */
  if (!plain) plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (plain) uselocale(plain);
}
