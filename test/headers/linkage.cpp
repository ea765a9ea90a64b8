// The public functions have C linkage in C++.
#include <cpodes/cpodes.h>
#include <cstdlib>
#include <cstring>

int main() {
  char *name      = CPodeGetReturnFlagName(CP_SUCCESS);
  const bool good = name && !std::strcmp(name, "CP_SUCCESS");
  std::free(name);
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
