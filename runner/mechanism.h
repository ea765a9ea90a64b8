/* Mechanisms from files, as models. */
#ifndef CPODES_RUNNER_MECHANISM_H
#define CPODES_RUNNER_MECHANISM_H

#include <cpodes/cpodes_plugin.h>

/* Does this name belong to a file with a mechanism: .yaml, .yml, .xml, .urdf, .mjcf, .sdf, .world, .osim, .asmt, in upper or lower case? */
int mechanism_is_file(const char *name);
/* The path of an example's file by its name, "engine", or NULL: beside the program, or in its source. Until the next call. */
const char *mechanism_example(const char *name);
/* Example i in alphabetical order: its name, and what its first line says. Returns 0 if there are no more. Until the next call. */
int mechanism_example_at(int i, const char **name, const char **title);
/* The name of the example that is nearest to this one, or NULL if there are none. Until the next call. */
const char *mechanism_near(const char *name);
/* Has the mechanism been read from this file, as the file itself, its robot, an included file or a mesh? */
int mechanism_reads(const char *path);

/* Is this NAME=VALUE one of a parameter that the file names itself? Those of elements have a dot, "rod.mass". */
int mechanism_names(const char *setting);
/* Loads the model of the file, with the values of such settings [count] among others. A process has only one, for its whole life.
 * Returns NULL after a complaint. */
const CPPluginType *mechanism_load(const char *path, const char *const *settings, int count);

/* From now on, a mechanism whose start velocities its joints do not allow is refused, and not moved. */
void mechanism_be_strict(void);
/* From now on outputs are the distances from what the file has recorded (.asmt). */
void mechanism_compare(void);
/* The number of intervals between the recorded times, of the loaded file, or 0; t_end: out, the last one */
int mechanism_recorded(double *t_end);
/* The largest length of what is recorded, if quantity i is the distance from it, else -1 */
double mechanism_recorded_size(int i);
/* What that distance may be: 10 tolerances of this length. Negative for other quantities */
double mechanism_recorded_bound(int i, double rtol, double atol);
/* Are its recorded positions no motion, since the recorded accelerations contradict them? */
int mechanism_recorded_contradicts(int i);
/* From now on mechanisms have joint coordinates (1), or absolute ones (0). */
void mechanism_use_joints(int joints);
/* From now on robots start at START (options.h), in addition to others, and their base is KIND; the texts must stay. Returns 0,
 * or -1 after a complaint. */
int mechanism_start_at(const char *start);
void mechanism_use_base(const char *kind);
/* Has one of them been called? */
int mechanism_is_placed(void);

#endif
