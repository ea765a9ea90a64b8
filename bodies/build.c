/* The model, which is constant and belongs to nobody, and the data of each CPMech of it */
#include "following.h"
#include "formulas.h"
#include "kinks.h"
#include "loops.h"
#include "polyhedra.h"
#include "sources.h"
#include "tree.h"

#include <stdlib.h>
#include <string.h>
#include <sunmatrix/sunmatrix_dense.h>

#ifndef SUN_COMM_NULL
#define SUN_COMM_NULL NULL /* before SUNDIALS 7 */
#endif

/* Numbers the rows of p, v and A; those of edges of the tree have none. */
static void numberRows(Mechanism *m) {
  int row = 0;
  for (int i = 0; i < m->njoints; i++) {
    const int edge = m->tree && treeHas(m->tree, m, i);
    for (int k = 0; k < m->joint[i].nrows; k++) {
      Row *own   = &m->row[m->joint[i].first + k];
      own->first = edge ? NONE : row;
      if (!edge) row += bodiesComponents(m, own);
    }
  }
  m->np = row;
  for (int i = 0; i < m->nrolls; i++) m->roll[i].first = row++;
  m->nv = row;
}

int bodiesChooseCoordinates(CPBodies b) {
  treeFree(b->m.tree);
  b->m.tree = NULL;
  if (b->formulation == CP_JOINT_COORDINATES && b->m.nbodies > 0 && !(b->m.tree = treeMake(&b->m)))
    return cpReport(&b->log, CP_MEM_FAIL, "CPBodiesBuild", "no memory for joint coordinates");
  if (b->m.tree && b->m.tree->nu == 0) { /* Nothing moves, and a model must have velocities. */
    treeFree(b->m.tree);
    b->m.tree = NULL;
  }
  numberRows(&b->m);
  b->numbered = 1;
  return CP_SUCCESS;
}

/* Forgets the rows of the joints that are edges of the tree. */
static void dropRows(Mechanism *m) {
  int kept = 0;
  for (int i = 0; i < m->njoints; i++) {
    Joint *joint    = &m->joint[i];
    const int first = joint->first, count = joint->nrows;
    joint->first = kept;
    joint->nrows = 0;
    for (int k = 0; k < count && m->row[first + k].first != NONE; k++)
      m->row[kept++] = m->row[first + k], joint->nrows++;
  }
  m->nrows = kept;
}

int bodiesCopyArray(void *address, size_t size) {
  void **array = address, *copy = malloc(size + 1);
  if (copy && size > 0) memcpy(copy, *array, size);
  *array = copy;
  return !copy;
}
#define COPY(array, n) bodiesCopyArray(&(array), (size_t)(n) * sizeof *(array))

/* Parameters, followed by the offsets and the moves of latches, which are 0, and by where the file's parameters are known to be */
static int copyNumbers(Mechanism *m) {
  const int moved = m->nparams + m->np + 6 * m->njoints, n = moved + OF_LATCH * m->nreleases,
            known  = bodiesFollowers(m);
  sunrealtype *all = calloc((size_t)(n + known) + 1, sizeof *all);
  if (all) memcpy(all, m->param, (size_t)m->nparams * sizeof *all);
  if (all && known) memcpy(all + n, m->known, (size_t)known * sizeof *all);
  m->param = all;
  m->known = known && all ? all + n : NULL;
  m->shift = all ? all + m->nparams : NULL;
  m->moved = all ? all + moved : NULL;
  return !all;
}

static void freeData(void *data) {
  Mechanism *m = data;
  if (!m) return;
  treeFreeCopy(m->tree);
  bodiesFreeActing(m);
  bodiesFreeKinks(m);
  touchingFree(m);
  free(m->param);
  free(m->pair);
  free(m->pose);
  free(m->changed);
  free(m->failed);
  if (m->follow) free(m->body), free(m->term), free(m->law);
  free(m);
}

static void freeModel(void *model) {
  Mechanism *m  = model;
  void *owned[] = {m->body, m->joint, m->term,    m->row,        m->roll,    m->drive,
                   m->law,  m->force, m->contact, m->controller, m->release, m->length,
                   m->text, m->entry, m->shape,   m->meeting};
  for (int i = 0; i < m->nshapes && m->shape; i++) polyhedronRelease(m->shape[i].mesh);
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
  for (int i = 0; i < NUM_PLANS; i++) {
    if (m->plan[i].tmpl) SUNMatDestroy(m->plan[i].tmpl);
    free(m->plan[i].place);
  }
  bodiesFreeFormulas(m);
  bodiesFreeFollow(&m->follow);
  treeFree(m->tree);
  m->tree = NULL;
  if (m->plans) SUNContext_Free(&m->plans);
  CPModelFree(&m->absolute);
  freeData(m);
}

/* What runs have found belongs to one CPMech. */
static void forgetRuns(Mechanism *m) {
  m->changed = NULL, m->acting = NULL, m->kinks = NULL, m->meetings = NULL;
  m->failed = NULL, m->turns = NULL, m->latch = NULL;
}

/* Makes the data of a CPMech: a mechanism whose elements are the model's. */
static int newData(void *model, SUNContext ctx, void **data) {
  const Mechanism *from = model;
  Mechanism *m          = malloc(sizeof *m);
  if (!m) return 1;
  *m             = *from;
  m->ctx         = ctx;
  m->built       = from->pair;
  m->built_known = from->known;
  forgetRuns(m);
  m->pose   = calloc((size_t)m->nbodies, sizeof *m->pose);
  m->failed = calloc(1, sizeof *m->failed);
  int n     = copyNumbers(m) + COPY(m->pair, m->npairs);
  if (m->follow) n += COPY(m->body, m->nbodies) + COPY(m->term, m->nterms) + COPY(m->law, m->nlaws);
  if (from->tree) m->tree = treeCopy(from->tree, m);
  const int loops = m->tree && m->nv > 0 && treeIsRecursive(m);
  if (loops) m->tree->delassus = treeDelassus(m);
  if (n == 0 && m->pose && m->failed && (m->tree || !from->tree) && (!loops || m->tree->delassus))
    return *data = m, 0;
  freeData(m);
  return 1;
}

/* Makes a mechanism with copies of all elements, which belongs to a model. Returns NULL if out of memory. */
static Mechanism *copyOf(const Mechanism *from) {
  Mechanism *m = malloc(sizeof *m);
  if (!m) return NULL;
  *m       = *from;
  m->tree  = NULL;
  m->built = NULL;
  forgetRuns(m);
  bodiesShareFormulas(m);
  bodiesCopyFollow(&m->follow);
  m->pose    = calloc((size_t)m->nbodies, sizeof *m->pose);
  int failed = !m->pose + (from->follow && !m->follow) + copyNumbers(m) + COPY(m->pair, m->npairs) +
               COPY(m->body, m->nbodies) + COPY(m->joint, m->njoints) + COPY(m->term, m->nterms) +
               COPY(m->row, m->nrows) + COPY(m->roll, m->nrolls) + COPY(m->drive, m->ndrives) +
               COPY(m->law, m->nlaws) + COPY(m->force, m->nforces) + COPY(m->shape, m->nshapes) +
               COPY(m->contact, m->ncontacts) + COPY(m->meeting, m->nmeetings) +
               COPY(m->controller, m->ncontrollers) + COPY(m->release, m->nreleases) +
               COPY(m->length, m->nlengths) + COPY(m->entry, m->capacity) + COPY(m->text, m->ntext);
  for (int i = 0; i < m->nshapes && m->shape; i++) polyhedronShare(m->shape[i].mesh);
  int *count = calloc((size_t)m->nbodies, sizeof *count);
  if (!failed && count) bodiesChooseFrames(m, count);
  if (!failed && count && from->tree) {
    dropRows(m);
    failed = !(m->tree = treeMake(m));
  }
  failed |= !count;
  free(count);
  if (failed) freeModel(m), m = NULL;
  return m;
}

/* Makes the quaternions of bodies, or of nodes. Returns their number. */
static int findQuaternions(const Mechanism *m, CPQuaternion *quaternion) {
  int n = 0;
  for (int i = 0; !m->tree && i < m->nbodies; i++)
    quaternion[n++] = (CPQuaternion){7 * i + 3, 6 * i + 3, CP_FRAME_BODY};
  for (int i = 0; m->tree && i < m->tree->nnodes; i++) {
    const Node *node = &m->tree->node[i];
    const int before = node->kind == AFLOAT ? 3 : 0;
    if (node->nq > node->nu)
      quaternion[n++] = (CPQuaternion){node->q + before, node->u + before, CP_FRAME_BODY};
  }
  return n;
}

/* Makes the list of coordinates that are angles: of bodies in the plane, and of hinges. Returns their number. */
static int findAngles(const Mechanism *m, sunindextype *angle) {
  int n = 0;
  for (int i = 0; !m->tree && i < m->nbodies && m->space.dimension == 2; i++)
    angle[n++] = 3 * i + 2;
  for (int i = 0; m->tree && i < m->tree->nnodes; i++)
    if (m->tree->node[i].kind == HINGE) angle[n++] = m->tree->node[i].q;
  return n;
}

/* Do joints connect the bodies without loops, and are there no other rows? Then these are independent at each position.
 * set [nbodies + 1] is workspace: what leads from a body, or at the end from the ground, to that which stands for all that are
 * connected with it. */
static int isForest(const Mechanism *b, int *set) {
  for (int i = 0; i <= b->nbodies; i++) set[i] = i;
  for (int k = 0; k < b->njoints; k++) {
    int end[2];
    if (b->joint[k].kind < 0 || b->joint[k].kind > CP_JOINT_FIXED) return 0;
    for (int side = 0; side < 2; side++) {
      const int body = b->pair[b->joint[k].pair].side[side].body;
      end[side]      = body == GROUND ? b->nbodies : body;
      while (set[end[side]] != end[side]) end[side] = set[end[side]] = set[set[end[side]]];
    }
    if (end[0] == end[1]) return 0;
    set[end[0]] = end[1];
  }
  return 1;
}

/* Makes the model of a description whose rows have numbers. Returns NULL if out of memory. */
static CPModel buildModel(const Mechanism *from) {
  const Space *s = &from->space;
  CPModel model  = NULL;
  SUNContext ctx = NULL; /* of the templates, which the model copies */
  Mechanism *b   = copyOf(from);
  const int n    = s->nu * from->nbodies;
  int *active    = b && b->nv > 0 ? malloc((size_t)b->nv * sizeof *active) : NULL;
  int *set       = malloc(((size_t)from->nbodies + 1) * sizeof *set);
  CPQuaternion *quaternion =
      s->dimension == 3 ? calloc((size_t)from->nbodies, sizeof *quaternion) : NULL;
  sunindextype *angle = b ? malloc(((size_t)bodiesCoordinates(b) + 1) * sizeof *angle) : NULL;
  int failed          = !b || !set || !angle || (s->dimension == 3 && !quaternion) ||
               (b->nv > 0 && !active) || SUNContext_Create(SUN_COMM_NULL, &ctx) ||
               (treeHasMatrices(b) && bodiesMakePlans(b, n, b->nv, ctx));
  if (!failed && b->tree) failed = treeMakePlans(b, ctx);
  if (active) bodiesWithoutContacts(b, active);
  if (!failed) {
    CPEquations e = {CP_SIZED(CPEquations),
                     .nu              = bodiesVelocities(b),
                     .nq              = bodiesCoordinates(b),
                     .nz              = b->nactivations + b->balance,
                     .nquad           = b->balance,
                     .work            = b->balance ? b->nactivations + 1 : 0,
                     .np              = b->np,
                     .nv              = b->nv,
                     .na              = b->nv,
                     .quaternions     = quaternion,
                     .nquaternions    = quaternion ? findQuaternions(b, quaternion) : 0,
                     .angles          = angle,
                     .nangles         = findAngles(b, angle),
                     .active          = active,
                     .regular         = isForest(b, set),
                     .model_data      = b,
                     .new_data        = newData,
                     .free_data       = freeData,
                     .free_model_data = freeModel};
    if (e.nquaternions == 0) e.quaternions = NULL;
    if (b->ncontacts > 0) e.contact_law = bodiesContactLaw;
    const int kinks = bodiesHasKinks(b), acts = b->nreleases + b->ncontrollers + b->nmeetings > 0;
    if (kinks || acts) e.event_source = bodiesEventSource;
    e.kinks = !acts && !bodiesKinksJump(b);
    bodiesTakeFunctions(b, &e);
    if (b->nactivations > 0) e.Zz_tmpl = SUNDenseMatrix(b->nactivations, b->nactivations, ctx);
    if (b->nactivations == 0 || e.Zz_tmpl) model = CPModelCreate(&e);
    if (e.Zz_tmpl) SUNMatDestroy(e.Zz_tmpl);
  }
  if (b &&
      b->tree) { /* whose matrices are made of those of the bodies, and which needs its own patterns */
    b->plans = ctx;
    ctx      = NULL;
  }
  for (int i = 0; b && !b->tree && i < NUM_PLANS; i++) {
    if (b->plan[i].tmpl) SUNMatDestroy(b->plan[i].tmpl);
    b->plan[i].tmpl = NULL;
  }
  if (!model && b) freeModel(b);
  free(quaternion);
  free(active);
  free(set);
  free(angle);
  if (ctx) SUNContext_Free(&ctx);
  return model;
}

static int noMemory(CPBodies b) {
  return cpReport(&b->log, CP_MEM_FAIL, "CPBodiesBuild", "no memory for %d bodies", b->m.nbodies);
}

/* Returns as bodiesChooseCoordinates. */
static int chooseFormulation(CPBodies b, CPFormulation formulation) {
  b->formulation = formulation;
  return bodiesChooseCoordinates(b);
}

/* Coordinates of the tree count turns. Where others are known up to whole turns only, refuses couplers of angles whose ratios
 * are not those of teeth, and springs whose free angle is more than half a turn away. */
static int checkTurns(CPBodies b) {
  for (int i = 0; i < b->m.nlaws && b->m.space.dimension == 3; i++) {
    const Law *law       = &b->m.law[i];
    const sunrealtype *p = b->m.param + law->param; /* stiffness, damping, free angle */
    if (law->kind != SPRING || law->nterms > 1 || bodiesLawTerm(&b->m, law, 0)->m.kind != ANGLE ||
        p[0] == 0 || fabs(p[2]) <= 4 * atan(SUN_RCONST(1.0)) || (b->m.tree && law->on_tree))
      continue;
    return cpRefuse(&b->log, "CPBodiesBuild",
                    "%s: the free angle must be at most half a turn, unless it is one of a joint "
                    "coordinate, and is %g rad",
                    b->m.text + b->label[law->param].owner, (double)p[2]);
  }
  for (int i = 0; i < b->m.njoints; i++) {
    const Row *row = &b->m.row[b->m.joint[i].first];
    sunrealtype ratio[CP_MOST_COUPLED];
    int angles = 0;
    if (b->m.joint[i].kind != NONE || b->m.joint[i].nrows == 0 || b->m.space.dimension == 2)
      continue;
    for (int k = 0; k < row->nterms; k++) {
      const Term *term = bodiesRowTerm(&b->m, row, k);
      if (term->m.kind != ANGLE) continue;
      if (!term->f) ratio[angles++] = bodiesWeight(&b->m, term);
      else if (!(b->m.tree && term->velocity != NONE) && !bodiesHasPeriod(term->f))
        return cpRefuse(
            &b->log,
            "CPBodiesBuild", "%s: its function must have the period of a turn, unless the angle is a joint coordinate",
            b->m.text + b->m.joint[i].name);
    }
    if (angles < 2 || !row->wraps || bodiesCountsTurns(&b->m, row) || bodiesIsToothed(&b->m, row))
      continue;
    return cpRefuse(&b->log, "CPBodiesBuild",
                    "%s: ratios of angles must be whole numbers (of teeth), unless both are joint "
                    "coordinates, and are %g and %g",
                    b->m.text + b->m.joint[i].name, (double)ratio[0], (double)ratio[1]);
  }
  return CP_SUCCESS;
}

/* Joints by functions have no rows. */
static int checkCustom(CPBodies b) {
  for (int i = 0; i < b->m.njoints; i++) {
    const char *name = b->m.text + b->m.joint[i].name;
    if (!b->m.joint[i].custom || (b->m.tree && treeHas(b->m.tree, &b->m, i))) continue;
    if (b->formulation == CP_JOINT_COORDINATES)
      return cpRefuse(&b->log, "CPBodiesBuild",
                      "%s: a joint by functions cannot close a loop: cut it at another joint", name);
    return cpRefuse(&b->log, "CPBodiesBuild",
                    "%s: a joint by functions needs joint coordinates (CP_JOINT_COORDINATES)", name);
  }
  return CP_SUCCESS;
}

/* A law on a sum or function of coordinates acts on bodies, and own coordinates are not those of bodies. */
static int checkOwnLaws(CPBodies b) {
  for (int i = 0; i < b->m.nlaws && b->m.tree; i++) {
    const Law *law = &b->m.law[i];
    for (int k = 0; k < law->nterms && !law->on_tree; k++)
      if (bodiesLawTerm(&b->m, law, k)->m.kind == OWN)
        return cpReport(&b->log, CP_NOT_SUPPORTED, "CPBodiesBuild",
                        "%s: a force on a coordinate of a joint by functions must act on it alone",
                        b->m.text + law->name);
  }
  return CP_SUCCESS;
}

static int hasCustom(const Mechanism *m) {
  for (int i = 0; i < m->njoints; i++)
    if (m->joint[i].custom) return 1;
  return 0;
}

int CPBodiesBuild(CPBodies bodies, CPModel *model) {
  if (!bodies) return cpReport(NULL, CP_MEM_NULL, __func__, "bodies must not be NULL");
  CPLog *log = &bodies->log;
  if (bodiesGiven(log, __func__, "model", model != NULL)) return CP_ILL_INPUT;
  *model = NULL;
  if (bodies->m.nbodies == 0) return cpRefuse(log, __func__, "there must be a body; there is none");
  bodiesUpdate(&bodies->m);
  CPModel absolute          = NULL;
  const CPFormulation asked = bodies->formulation;
  int flag                  = CP_SUCCESS;
  flag                      = chooseFormulation(bodies, asked);
  if (!flag) flag = checkCustom(bodies);
  if (!flag && bodiesAreLight(&bodies->m)) {
    flag = chooseFormulation(bodies, CP_JOINT_COORDINATES);
    if (!flag) flag = bodiesCheckMass(bodies);
  }
  if (!flag) flag = chooseFormulation(bodies, asked);
  if (!flag) flag = checkTurns(bodies);
  if (!flag) flag = checkOwnLaws(bodies);
  if (!flag && bodies->m.tree && bodies->m.nv > 0 &&
      !hasCustom(&bodies->m)) { /* loops, which are closed in absolute coordinates */
    flag = chooseFormulation(bodies, CP_ABSOLUTE);
    if (!flag && !(absolute = buildModel(&bodies->m))) flag = noMemory(bodies);
    if (!flag) flag = chooseFormulation(bodies, asked);
  }
  bodies->formulation = asked;
  if (!flag && !(*model = buildModel(&bodies->m))) flag = noMemory(bodies);
  if (*model && absolute)
    ((Mechanism *)CPModelGetEquations(*model)->model_data)->absolute = absolute;
  else CPModelFree(&absolute);
  return flag;
}

int bodiesOf(CPMech mech, const char *function, Mechanism **m) {
  const CPModel model = CPMechGetModel(mech);
  if (!model) return cpReport(NULL, CP_MEM_NULL, function, "mech must not be NULL");
  const CPMechMatrixFn M = CPModelGetEquations(model)->M;
  if (M != bodiesMass && M != treeMassMatrix && CPModelGetEquations(model)->udot != treeAccelerations)
    return cpRefuse(CP_OBJECT(mech), function, "the model of mech must come from CPBodiesBuild");
  *m = CPMechGetUserData(mech);
  bodiesUpdate(*m);
  return CP_SUCCESS;
}

int bodiesAt(CPMech mech, N_Vector y, const char *function, Mechanism **m) {
  const int flag = bodiesOf(mech, function, m);
  if (flag) return flag;
  if (!y) return cpReport(CP_OBJECT(mech), CP_MEM_NULL, function, "y must not be NULL");
  if (N_VGetLength(y) == bodiesStates(*m)) {
    (*m)->z = N_VGetArrayPointer(y) + bodiesCoordinates(*m) + bodiesVelocities(*m);
    return CP_SUCCESS;
  }
  return cpRefuse(CP_OBJECT(mech), function, "y must have %d components, and has %ld",
                  bodiesStates(*m), (long)N_VGetLength(y));
}
