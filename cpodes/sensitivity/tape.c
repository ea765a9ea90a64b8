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
  memcpy(tape->starts + (size_t)k * tape->n, N_VGetArrayPointer(tape->mem->y),
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
    flag                = mem->ops->dky(mem, t, 0, tape->y, tape->function);
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
    flag                     = mem->ops->evolve(mem, end, tape->y, &t, CV_ONE_STEP, tape->function);
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

void cpTapeState(CPTape *tape, sunrealtype t, N_Vector y) {
  if (tape->nsteps == 0) { /* a run without a step */
    memcpy(N_VGetArrayPointer(y), tape->starts + (size_t)tape->segment * tape->n,
           tape->n * sizeof *tape->starts);
    return;
  }
  const long int i        = cpTapeSteps(tape, t);
  const sunrealtype *v    = tape->values + tape->first[i];
  const int m             = (int)((tape->first[i + 1] - tape->first[i]) / tape->n) - 1;
  const sunrealtype theta = (t - tape->t[i]) / (tape->t[i + 1] - tape->t[i]);
  const sunrealtype *node = nodesOf(tape, m);
  sunrealtype *x = N_VGetArrayPointer(y), sum = 0.0;
  N_VConst(0.0, y);
  for (int j = 0; j <= m; j++) {
    const sunrealtype off = theta - node[j];
    const sunrealtype w   = (j % 2 ? -1.0 : 1.0) * (j == 0 || j == m ? 0.5 : 1.0) / off;
    if (off == 0.0) {
      memcpy(x, v + (size_t)j * tape->n, tape->n * sizeof *x);
      return;
    }
    sum += w;
    for (size_t l = 0; l < tape->n; l++) x[l] += w * v[(size_t)j * tape->n + l];
  }
  N_VScale(1.0 / sum, y, y);
}

/* With the weights w_j, p'(theta) = sum_j w_j / (theta - theta_j) (p - v_j) / (theta - theta_j) / sum_j w_j / (theta - theta_j), and
 * p'(theta_e) = sum_j w_j / w_e (v_j - v_e) / (theta_e - theta_j) (C. Schneider, W. Werner, Math. Comp. 47, 1986). */
void cpTapeRate(CPTape *tape, sunrealtype t, sunrealtype *rate) {
  const long int i     = cpTapeSteps(tape, t);
  const sunrealtype *v = tape->values + tape->first[i];
  const int m          = (int)((tape->first[i + 1] - tape->first[i]) / tape->n) - 1;
  const sunrealtype h = tape->t[i + 1] - tape->t[i], theta = (t - tape->t[i]) / h;
  const sunrealtype *node = nodesOf(tape, m);
  sunrealtype sum         = 0.0;
  int e                   = 0;
  cpTapeState(tape, t, tape->y);
  const sunrealtype *p = N_VGetArrayPointer(tape->y);
  memset(rate, 0, tape->n * sizeof *rate);
  while (e <= m && node[e] != theta) e++;
  for (int j = 0; j <= m; j++) {
    const sunrealtype off = theta - node[j];
    sunrealtype w         = (j % 2 ? -1.0 : 1.0) * (j == 0 || j == m ? 0.5 : 1.0);
    if (j == e) sum = -w;
    if (j == e) continue;
    w /= off;
    if (e > m) sum += w, w /= off;
    for (size_t k = 0; k < tape->n; k++) rate[k] += w * (p[k] - v[(size_t)j * tape->n + k]);
  }
  for (size_t k = 0; k < tape->n; k++) rate[k] /= sum * h;
}
