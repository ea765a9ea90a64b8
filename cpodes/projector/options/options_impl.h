/* Shared by the files of options. */
#ifndef CPODES_PROJECTOR_OPTIONS_H
#define CPODES_PROJECTOR_OPTIONS_H

#include "cpodes/projector/projector_impl.h"

/* P is there and (second) not of the user kind. */
int cpOptionOf(CPProjector P, const char *function);
int cpOptionOfInternal(CPProjector P, const char *function);
/* ... and they are its own, not those of a mechanical system? */
int cpOptionOfConstraints(CPProjector P, const char *function);
/* Is v like tmpl? */
int cpCheckLike(CPProjector P, N_Vector v, N_Vector tmpl, const char *name, const char *function);
int cpCheckFinite(CPProjector P, N_Vector v, const char *name, const char *function);
/* Replaces *copy by a copy of v, or by NULL if v is NULL. */
int cpReplaceCopy(CPProjector P, N_Vector *copy, N_Vector v, const char *function);

/* Values are computed anew. */
void cpChangedValues(CPProjector P);
/* ... and levels and solvers set up anew. */
void cpChangedSolver(CPProjector P);
/* ... and the storage, and levels detected anew: the templates, or the rows, are others. */
void cpChangedShape(CPProjector P);

#endif
