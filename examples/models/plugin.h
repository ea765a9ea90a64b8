/* What the catalogue, the runner, tests and benchmarks ask of models, and what their tables are made with. */
#ifndef MODELS_PLUGIN_H
#define MODELS_PLUGIN_H

#include <cpodes/cpodes_plugin.h>

/* ---- questions ---- */

/* Returns the index of the parameter of this name, or -1 if there is none. */
int plugin_find_parameter(const CPPluginType *type, const char *name);
/* Returns 1 if all parameters have their defaults, else 0. */
int plugin_is_default(const CPPlugin *model);
/* Returns the length of q, or half that of the state if there is no CPMech. */
sunindextype plugin_num_positions(const CPPlugin *model);
/* Returns the number of components that plugin_error compares. */
sunindextype plugin_num_compared(const CPPlugin *model);
/* Returns 1 if quantity i is conserved with the parameters of the model. If not, the quantity may only fall, or is an
 * output (its member `conserved` is CP_QUANTITY_FREE). */
int plugin_conserves(const CPPlugin *model, int i);
/* Returns the scale of quantity i with the parameters of the model. */
sunrealtype plugin_scale(const CPPlugin *model, int i);
/* Returns max_i |y_i - reference_i| over the compared components, or NaN if there is no reference at t. */
sunrealtype plugin_error(const CPPlugin *model, sunrealtype t, N_Vector y);

/* ---- for the functions of a type ---- */

/* Sets model->n, and model->y0 to n zeros, which the caller replaces. Returns 0, or -1 if out of memory. */
int plugin_start(CPPlugin *model, sunindextype n);
/* For type->points: sets xyz [3 npoints] to the points x [npoints] in the plane z = 0. */
void plugin_planar(int npoints, const sunrealtype (*x)[2], sunrealtype *xyz);
/* For type->reference: sets y to y0 at t = 0, or to end [n] at t_end, and returns 0. Returns 1 at any other t. */
int plugin_ends(const CPPlugin *model, sunrealtype t, const sunrealtype *end, N_Vector y);
/* The same for type->reference_lambda, with start, end and lambda [na]. */
int plugin_ends_lambda(const CPPlugin *model, sunrealtype t, int na, const sunrealtype *start,
                       const sunrealtype *end, sunrealtype *lambda);
/* Returns the value at (t, y) of a quantity in the table of model's type. */
sunrealtype plugin_value(const CPPlugin *model, const CPPluginQuantity *quantity, sunrealtype t,
                         N_Vector y);

#endif
