/* The polynomials of a tape: values of the integrator's own interpolant, unprojected, at Chebyshev's nodes of each step,
 *
 *   theta_j = (1 - cos(pi j / m)) / 2,  j = 0 ... m,
 *
 * which the barycentric formula interpolates with the weights (-1)^j, halved at both ends (J.-P. Berrut, L. N. Trefethen,
 * SIAM Review 46, 2004). m is the order of the step, at least the degree of its interpolant. */
#include "tape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int noMemory(const CPTape *tape) {
  return cpReport(&tape->mem->log, CP_MEM_FAIL, tape->function, "no memory for the forward run");
}

/* Makes room for count elements at *address. */
static int grow(void **address, size_t count, size_t size) {
  void *more = realloc(*address, count * size);
  if (more) *address = more;
  return !more;
}

/* A new segment starts at the state of the integrator. */
static int begin(CPTape *tape) {
  const long int k = tape->nsegments;
  if (k == tape->room_segments) {
    const size_t room = 2 * (size_t)k + 1;
    if (grow((void **)&tape->begins, room, sizeof *tape->begins) ||
        grow((void **)&tape->starts, room * tape->n, sizeof *tape->starts))
      return noMemory(tape);
    tape->room_segments = (long int)room;
  }
  tape->begins[k] = tape->mem->t;
  N_VScale(1.0, tape->mem->y, tape->y);
  cpStepperAddTurns(tape->mem, tape->y);
  memcpy(tape->starts + (size_t)k * tape->n, N_VGetArrayPointer(tape->y),
         tape->n * sizeof *tape->starts);
  tape->nsegments++;
  tape->segment = k;
  tape->nsteps  = 0;
  return CP_SUCCESS;
}

int cpTapeCreate(CPTape *tape, CPIntegrator mem, sunrealtype t1, long int most,
                 const char *function) {
  *tape   = (CPTape){.mem = mem, .function = function, .most = most, .end = t1};
  tape->n = (size_t)N_VGetLength(mem->y0);
  tape->y = N_VClone(mem->y0);
  if (!tape->y || grow((void **)&tape->t, 1, sizeof *tape->t) ||
      grow((void **)&tape->first, 1, sizeof *tape->first))
    return noMemory(tape);
  tape->first[0] = 0;
  tape->ordered  = t1 > mem->t0 ? 1 : -1;
  return begin(tape);
}

void cpTapeFree(CPTape *tape) {
  if (tape->y) N_VDestroy(tape->y);
  free(tape->begins), free(tape->starts), free(tape->t), free(tape->first), free(tape->values);
  *tape = (CPTape){.n = 0};
}

static sunrealtype weight(int m, int j) {
  return (j % 2 ? -1.0 : 1.0) * (j == 0 || j == m ? 0.5 : 1.0);
}

/* The nodes theta_0 ... theta_m. Steps mostly have as many as the ones beside them. */
static const sunrealtype *nodesOf(CPTape *tape, int m) {
  for (int j = 0; j <= m && tape->m != m; j++)
    tape->node[j] = 0.5 * (1.0 - cos(acos(-1.0) * j / m));
  tape->m = m;
  return tape->node;
}

static int record(CPTape *tape, sunrealtype before) {
  const CPIntegrator mem = tape->mem;
  const long int i       = tape->nsteps;
  int order              = 1;
  mem->ops->method(mem, &order, NULL, NULL);
  const int m      = order < 1 ? 1 : order < CP_TAPE_NODES ? order : CP_TAPE_NODES - 1;
  const size_t end = tape->first[i] + (size_t)(m + 1) * tape->n;
  if (i == tape->room_steps) {
    const size_t room = 2 * (size_t)i + 2;
    if (grow((void **)&tape->t, room + 1, sizeof *tape->t) ||
        grow((void **)&tape->first, room + 1, sizeof *tape->first))
      return noMemory(tape);
    tape->room_steps = (long int)room;
  }
  if (end > tape->room_values) {
    const size_t room = 2 * end;
    if (grow((void **)&tape->values, room, sizeof *tape->values)) return noMemory(tape);
    tape->room_values = room;
  }
  const sunrealtype *theta      = nodesOf(tape, m);
  const sunbooleantype projects = mem->project_output;
  int flag                      = CP_SUCCESS;
  mem->project_output           = SUNFALSE;
  for (int j = 0; j <= m && !flag; j++) {
    const sunrealtype t = j == 0 ? before : j == m ? mem->t : before + theta[j] * (mem->t - before);
    flag                = cpStepperDky(mem, t, 0, tape->y, tape->function);
    memcpy(tape->values + tape->first[i] + (size_t)j * tape->n, N_VGetArrayPointer(tape->y),
           tape->n * sizeof *tape->values);
  }
  mem->project_output = projects;
  if (flag) return flag;
  tape->t[i] = before, tape->t[i + 1] = mem->t;
  tape->first[i + 1] = end;
  tape->nsteps++;
  return CP_SUCCESS;
}

int cpTapeRecord(CPTape *tape, sunrealtype before) {
  const int flag = record(tape, before);
  return flag || tape->nsteps < tape->most ? flag : begin(tape);
}

int cpTapeLoad(CPTape *tape, long int k, long int mxsteps) {
  const CPIntegrator mem = tape->mem;
  const sunrealtype end  = k + 1 < tape->nsegments ? tape->begins[k + 1] : tape->end;
  sunrealtype t          = tape->begins[k];
  if (k == tape->segment) return CP_SUCCESS;
  memcpy(N_VGetArrayPointer(tape->y), tape->starts + (size_t)k * tape->n,
         tape->n * sizeof *tape->starts);
  tape->segment = k;
  tape->nsteps = tape->newest = 0;
  int flag                    = mem->ops->reinit(mem, t, tape->y, tape->function);
  if (!flag) flag = mem->ops->stop(mem, end, tape->function);
  for (int ends = 0; !flag && !ends;) {
    const sunrealtype before = mem->t;
    flag                     = cpStepperEvolve(mem, end, tape->y, &t, CV_ONE_STEP, tape->function);
    ends                     = flag == CV_TSTOP_RETURN;
    if (flag > 0) flag = CP_SUCCESS; /* the end, or a root */
    if (!flag && mem->t != before) flag = record(tape, before);
    if (!flag && tape->nsteps > mxsteps)
      flag = cpReport(&mem->log, CV_TOO_MUCH_WORK, tape->function,
                      "%ld steps have not repeated the forward run from t = %.15g to %.15g",
                      mxsteps, tape->begins[k], end);
  }
  if (flag) mem->ops->stop(mem, copysign(INFINITY, (double)tape->ordered), tape->function);
  return flag;
}

long int cpTapeSteps(CPTape *tape, sunrealtype t) {
  long int i = tape->newest;
  while (i + 1 < tape->nsteps && (t - tape->t[i + 1]) * tape->ordered > 0.0) i++;
  while (i > 0 && (t - tape->t[i]) * tape->ordered < 0.0) i--;
  return tape->newest = i;
}

sunrealtype cpTapeIndex(CPTape *tape, sunrealtype t) {
  const long int i       = cpTapeSteps(tape, t);
  const sunrealtype part = (t - tape->t[i]) / (tape->t[i + 1] - tape->t[i]);
  return (sunrealtype)i + fmin(fmax(part, 0.0), 1.0);
}

sunrealtype cpTapeTime(const CPTape *tape, sunrealtype index) {
  const long int i = (long int)index;
  return tape->t[i] + (index - (sunrealtype)i) * (tape->t[i + 1] - tape->t[i]);
}

/* basis [m + 1] <- Lagrange's polynomials of the nodes at theta */
static void lagrange(const CPTape *tape, sunrealtype theta, sunrealtype *basis) {
  sunrealtype sum = 0.0;
  for (int j = 0; j <= tape->m; j++) {
    const sunrealtype off = theta - tape->node[j];
    if (isinf(1.0 / off)) {
      memset(basis, 0, CP_TAPE_NODES * sizeof *basis);
      basis[j] = 1.0;
      return;
    }
    sum += basis[j] = weight(tape->m, j) / off;
  }
  for (int j = 0; j <= tape->m; j++) basis[j] /= sum;
}

/* y [n] <- the sum of factor_j v_j over the values of step i */
static void combine(const CPTape *tape, long int i, const sunrealtype *factor, sunrealtype *y) {
  const sunrealtype *v = tape->values + tape->first[i];
  memset(y, 0, tape->n * sizeof *y);
  for (int j = 0; j <= tape->m; j++, v += tape->n)
    for (size_t l = 0; l < tape->n; l++) y[l] += factor[j] * v[l];
}

/* basis [m + 1] <- Lagrange's polynomials of the step of t at t. Returns its number. */
static long int at(CPTape *tape, sunrealtype t, sunrealtype *basis) {
  const long int i = cpTapeSteps(tape, t);
  nodesOf(tape, (int)((tape->first[i + 1] - tape->first[i]) / tape->n) - 1);
  lagrange(tape, (t - tape->t[i]) / (tape->t[i + 1] - tape->t[i]), basis);
  return i;
}

void cpTapeState(CPTape *tape, sunrealtype t, N_Vector y) {
  sunrealtype basis[CP_TAPE_NODES];
  if (tape->nsteps == 0) /* a run without a step */
    memcpy(N_VGetArrayPointer(y), tape->starts + (size_t)tape->segment * tape->n,
           tape->n * sizeof *tape->starts);
  else {
    const long int i = at(tape, t, basis);
    combine(tape, i, basis, N_VGetArrayPointer(y));
  }
}

/* The derivatives at the nodes, p'(theta_e) = sum_j w_j / w_e (v_j - v_e) / (theta_e - theta_j), are interpolated, as quotients by
 * theta - theta_j are lost in roundoff near a node. */
void cpTapeRate(CPTape *tape, sunrealtype t, sunrealtype *rate) {
  sunrealtype basis[CP_TAPE_NODES], factor[CP_TAPE_NODES] = {0.0};
  const long int i    = at(tape, t, basis);
  const sunrealtype h = tape->t[i + 1] - tape->t[i];
  for (int e = 0; e <= tape->m; e++)
    for (int j = 0; j <= tape->m; j++) {
      if (j == e) continue;
      const sunrealtype d =
          weight(tape->m, j) / weight(tape->m, e) / (tape->node[e] - tape->node[j]);
      factor[j] += basis[e] * d / h, factor[e] -= basis[e] * d / h;
    }
  combine(tape, i, factor, rate);
}
