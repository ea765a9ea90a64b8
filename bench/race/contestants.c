#include "contestants.h"

#include <models/names.h>
#include <string.h>

/* A peer that was not found when this was built: its name, and a message for users who select it */
#define ABSENT(constant, its_name, its_title, package)                                           \
  static const char *constant##_missing(void) { return package " was not found at build time"; } \
  static const Contestant constant = {                                                           \
      .name = its_name, .title = its_title, .settings = "-", .missing = constant##_missing}

extern const Contestant contestant_cpodes_bdf, contestant_cpodes_bdf2, contestant_cpodes_adams;
extern const Contestant contestant_cpodes_bdf_fc, contestant_cpodes_adams_fc;
extern const Contestant contestant_cpodes_dop853, contestant_cpodes_dop853_fc,
    contestant_cpodes_radau, contestant_cpodes_auto;
extern const Contestant contestant_cvodes_hook, contestant_cvodes_adams;

#ifdef CPODES_RACE_IDA
extern const Contestant contestant_ida_dense, contestant_ida_klu;
#else
ABSENT(contestant_ida_dense, "ida-dense", "IDA, stabilised index 2, dense", "IDA with KLU");
ABSENT(contestant_ida_klu, "ida-klu", "IDA, stabilised index 2, KLU", "IDA with KLU");
#endif

#ifdef CPODES_RACE_SIMBODY
extern const Contestant contestant_simbody_bdf, contestant_simbody_adams;
#else
ABSENT(contestant_simbody_bdf, "simbody-bdf", "Simbody's CPodes, BDF", "Simbody");
ABSENT(contestant_simbody_adams, "simbody-adams", "Simbody's CPodes, Adams", "Simbody");
#endif
#ifdef CPODES_RACE_RADAU5
extern const Contestant contestant_radau5;
#else
ABSENT(contestant_radau5, "radau5", "RADAU5, index 3", "R with deSolve");
#endif

static const Contestant *const all[] = {
    &contestant_cpodes_bdf,       &contestant_cpodes_bdf2,     &contestant_cpodes_adams,
    &contestant_cpodes_bdf_fc,    &contestant_cpodes_adams_fc, &contestant_cpodes_dop853,
    &contestant_cpodes_dop853_fc, &contestant_cpodes_radau,    &contestant_cpodes_auto,
    &contestant_cvodes_hook,      &contestant_cvodes_adams,    &contestant_ida_dense,
    &contestant_ida_klu,          &contestant_simbody_bdf,     &contestant_simbody_adams,
    &contestant_radau5,
};
enum { COUNT = sizeof all / sizeof *all };

const Contestant *contestant(int i) { return i >= 0 && i < COUNT ? all[i] : NULL; }

const Contestant *contestant_find(const char *name) {
  for (int i = 0; i < COUNT; i++)
    if (!strcmp(all[i]->name, name)) return all[i];
  return NULL;
}

const char *contestant_nearest(const char *name) {
  const char *names[COUNT];
  for (int i = 0; i < COUNT; i++) names[i] = all[i]->name;
  return nearest_name(name, names, COUNT);
}
