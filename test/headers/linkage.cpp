// The public functions have C linkage in C++.
#include <cpodes/cpodes.h>
#include <cpodes/cpodes_integrator.h>
#include <cpodes/cpodes_mechanics.h>
#include <cstdlib>
#include <cstring>

int main() {
  char *name     = CPGetReturnFlagName(CP_SUCCESS);
  bool good      = name && !std::strcmp(name, "CP_SUCCESS");
  CPEquations of = CP_INIT(CPEquations); // an empty model, which is refused
  CPMech mech    = CPMechCreate(CPModelCreate(&of), nullptr, nullptr);
  good           = good && !mech && CPMechSetUserData(mech, nullptr) == CP_MEM_NULL;
  CPMechFree(&mech);
  good = good && CPIntegratorSetFixedStep(nullptr, 1.0) == CP_MEM_NULL;
  std::free(name);
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
