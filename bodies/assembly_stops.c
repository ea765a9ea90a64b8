/* Stops of coordinates that the nearest closed position violates, and that of the guess does not: such loops have another branch, in
 * which the file means them to be closed. */
#include "assembly_impl.h"

#include <stdlib.h>
#include <string.h>

/* The row of a rigid stop of one coordinate, which is then that of the coordinate *i, or NULL */
static const Row *stopOf(const Mechanism *b, const Contact *contact, int *i) {
  const Row *row = &b->row[b->joint[contact->joint].first];
  if (contact->on != CP_ON_STOP || contact->elastic != NONE || row->nterms != 1) return NULL;
  const Term *stop = bodiesRowTerm(b, row, 0);
  for (*i = 0; *i < b->ncoordinates; ++*i) {
    Term own;
    bodiesCoordinate(b, *i, &own);
    if (own.pair == stop->pair && !memcmp(&own.m, &stop->m, sizeof own.m) && !stop->f &&
        stop->ratio == NONE && stop->coef == row->limit * own.coef)
      return row;
  }
  return NULL;
}

int bodiesStops(const Assembly *a, CPRange **range, const Joint **broken) {
  const Mechanism *b = a->b;
  int n              = 0, i;
  *range             = b->ncontacts > 0 ? malloc((size_t)b->ncontacts * sizeof **range) : NULL;
  *broken            = NULL;
  if (b->ncontacts == 0) return 0;
  if (!*range) return CP_MEM_FAIL;
  if (bodiesPositionRows(a, a->y, a->begin) || bodiesPositionRows(a, a->x, a->p)) return 0;
  for (int k = 0; k < b->ncontacts; k++) {
    const Row *row = stopOf(b, &b->contact[k], &i);
    if (!row) continue;
    const sunrealtype at = b->param[row->offset];
    CPRange *own         = *range;
    while (own < *range + n && own->coordinate != i) own++;
    if (own == *range + n) (*range)[n++] = (CPRange){i, -INFINITY, INFINITY};
    if (row->limit > 0) own->low = fmax(own->low, at);
    else own->high = fmin(own->high, at);
    if (!*broken && a->begin[row->first] >= -calc_ic && a->p[row->first] < -calc_ic)
      *broken = &b->joint[b->contact[k].joint];
  }
  return n;
}
