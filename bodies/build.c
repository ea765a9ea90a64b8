/* The model, which is constant and belongs to nobody, and the data of each CPMech of it */
#include "formulas.h"
#include "loops.h"

#include <stdlib.h>
#include <string.h>

#ifndef SUN_COMM_NULL
#define SUN_COMM_NULL NULL /* before SUNDIALS 7 */
#endif

void bodiesNumber(Mechanism *m) {
  int row = 0;
  for (int i = 0; i < m->nrows; i++) {
    m->row[i].first = row;
    row += m->row[i].term[0].m.kind == POINT ? m->space.dimension : 1;
  }
  m->np = row;
  for (int i = 0; i < m->nrolls; i++) m->roll[i].first = row++;
  m->nv = row;
}

/* Copies an array. Returns 1 if there is no memory. */
static int copyArray(void *address, size_t size) {
  void **array = address, *copy = malloc(size + 1);
  if (copy && size > 0) memcpy(copy, *array, size);
  *array = copy;
  return !copy;
}
#define COPY(array, n) copyArray(&(array), (size_t)(n) * sizeof *(array))

/* Parameters, followed by the offsets, which are 0 */
static int copyNumbers(Mechanism *m) {
  sunrealtype *all = calloc((size_t)(m->nparams + m->np + 6 * m->njoints) + 1, sizeof *all);
  if (all) memcpy(all, m->param, (size_t)m->nparams * sizeof *all);
  m->param = all;
  m->shift = all ? all + m->nparams : NULL;
  return !all;
}

static void freeData(void *data) {
  Mechanism *m = data;
  if (!m) return;
  free(m->param);
  free(m->pair);
  free(m->pose);
  free(m->changed);
  free(m);
}

static void freeModel(void *model) {
  Mechanism *m  = model;
  void *owned[] = {m->body,  m->joint,   m->row,    m->roll, m->drive, m->law,
                   m->force, m->contact, m->length, m->text, m->entry, m->shape};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
  for (int i = 0; i < NUM_PLANS; i++) {
    if (m->plan[i].tmpl) SUNMatDestroy(m->plan[i].tmpl);
    free(m->plan[i].place);
  }
  bodiesFreeFormulas(m);
  freeData(m);
}

/* Makes the data of a CPMech: a mechanism whose elements are the model's. */
static int newData(void *model, SUNContext ctx, void **data) {
  const Mechanism *from = model;
  Mechanism *m          = malloc(sizeof *m);
  if (!m) return 1;
  *m          = *from;
  m->ctx      = ctx;
  m->built    = from->pair;
  m->changed  = NULL;
  m->pose     = calloc((size_t)m->nbodies, sizeof *m->pose);
  const int n = copyNumbers(m) + COPY(m->pair, m->npairs);
  if (n == 0 && m->pose) return *data = m, 0;
  freeData(m);
  return 1;
}

/* Makes a mechanism with copies of all elements, which belongs to a model. Returns NULL without memory. */
static Mechanism *copyOf(const Mechanism *from) {
  Mechanism *m = malloc(sizeof *m);
  if (!m) return NULL;
  *m       = *from;
  m->built = NULL, m->changed = NULL;
  bodiesShareFormulas(m);
  m->pose    = calloc((size_t)m->nbodies, sizeof *m->pose);
  int failed = !m->pose + copyNumbers(m) + COPY(m->pair, m->npairs) + COPY(m->body, m->nbodies) +
               COPY(m->joint, m->njoints) + COPY(m->row, m->nrows) + COPY(m->roll, m->nrolls) +
               COPY(m->drive, m->ndrives) + COPY(m->law, m->nlaws) + COPY(m->force, m->nforces) +
               COPY(m->shape, m->nshapes) + COPY(m->contact, m->ncontacts) +
               COPY(m->length, m->nlengths) + COPY(m->entry, m->capacity) + COPY(m->text, m->ntext);
  int *count = calloc((size_t)m->nbodies, sizeof *count);
  if (!failed && count) bodiesChooseFrames(m, count);
  failed |= !count;
  free(count);
  if (failed) freeModel(m), m = NULL;
  return m;
}

int CPBodiesBuild(CPBodies bodies, CPModel *model) {
  if (!bodies) return cpReport(NULL, CP_MEM_NULL, __func__, "bodies must not be NULL");
  CPLog *log = &bodies->log;
  if (bodiesGiven(log, __func__, "model", model != NULL)) return CP_ILL_INPUT;
  *model = NULL;
  if (bodies->m.nbodies == 0) return cpRefuse(log, __func__, "there must be a body; there is none");
  bodiesNumber(&bodies->m);
  bodies->numbered      = 1;
  const Space *s        = &bodies->m.space;
  const sunindextype nu = (sunindextype)s->nu * bodies->m.nbodies;
  SUNContext ctx        = NULL; /* of the templates, which the model copies */
  Mechanism *b          = copyOf(&bodies->m);
  int *active           = b && b->nv > 0 ? malloc((size_t)b->nv * sizeof *active) : NULL;
  CPQuaternion *quaternion =
      s->dimension == 3 ? calloc((size_t)bodies->m.nbodies, sizeof *quaternion) : NULL;
  const int failed = !b || (s->dimension == 3 && !quaternion) || (b->nv > 0 && !active) ||
                     SUNContext_Create(SUN_COMM_NULL, &ctx) || bodiesMakePlans(b, nu, b->nv, ctx);
  for (int i = 0; quaternion && i < bodies->m.nbodies; i++)
    quaternion[i] = (CPQuaternion){7 * i + 3, 6 * i + 3, CP_FRAME_BODY};
  if (active) bodiesWithoutContacts(b, active);
  if (!failed) {
    CPEquations e = {CP_SIZED(CPEquations),
                     .nu              = nu,
                     .nq              = (sunindextype)s->nq * b->nbodies,
                     .nz              = b->balance,
                     .nquad           = b->balance,
                     .np              = b->np,
                     .nv              = b->nv,
                     .na              = b->nv,
                     .quaternions     = quaternion,
                     .nquaternions    = quaternion ? b->nbodies : 0,
                     .active          = active,
                     .model_data      = b,
                     .new_data        = newData,
                     .free_data       = freeData,
                     .free_model_data = freeModel};
    bodiesTakeFunctions(b, &e);
    *model = CPModelCreate(&e);
  }
  for (int i = 0; b && i < NUM_PLANS; i++) {
    if (b->plan[i].tmpl) SUNMatDestroy(b->plan[i].tmpl);
    b->plan[i].tmpl = NULL;
  }
  if (!*model && b) freeModel(b);
  free(quaternion);
  free(active);
  if (ctx) SUNContext_Free(&ctx);
  return *model ? CP_SUCCESS
                : cpReport(log, CP_MEM_FAIL, __func__, "no memory for %d bodies", bodies->m.nbodies);
}

int bodiesOf(CPMech mech, const char *function, Mechanism **m) {
  const CPModel model = CPMechGetModel(mech);
  if (!model) return cpReport(NULL, CP_MEM_NULL, function, "mech must not be NULL");
  if (CPModelGetEquations(model)->M != bodiesMass)
    return cpRefuse(CP_OBJECT(mech), function, "the model of mech must come from CPBodiesBuild");
  *m = CPMechGetUserData(mech);
  return CP_SUCCESS;
}

int bodiesAt(CPMech mech, N_Vector y, const char *function, Mechanism **m) {
  const int flag = bodiesOf(mech, function, m);
  if (flag) return flag;
  if (!y) return cpReport(CP_OBJECT(mech), CP_MEM_NULL, function, "y must not be NULL");
  if (N_VGetLength(y) == bodiesStates(*m)) return CP_SUCCESS;
  return cpRefuse(CP_OBJECT(mech), function, "y must have %d components, and has %ld",
                  bodiesStates(*m), (long)N_VGetLength(y));
}
