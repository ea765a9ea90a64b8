/* K and C in absolute coordinates, by blocks: of constraints, of laws and of forces at points */
#include "blocks.h"
#include "laws.h"
#include "tree.h"
#include "wrench.h"

/* The number of blocks of a Hessian: one for each direction and group */
static int blocksOf(const Space *s, unsigned H) {
  int count = 0;
  for (int k = 0; k < 16; k++)
    if (H & (1u << k)) count += s->last[k % 2] - s->first[k % 2];
  return count;
}

/* K -= lambda H for one row. */
static void fillKRow(const Mechanism *b, const Row *row, const sunrealtype *lambda, Writer *K) {
  const Space *s = &b->space;
  int acts       = !K->data;
  for (int i = bodiesComponents(b, row) - 1; i >= 0; i--) acts |= lambda[row->first + i] != 0;
  for (int k = 0; k < row->nterms; k++) {
    const Term *term     = bodiesRowTerm(b, row, k);
    const Pair *pair     = &b->pair[term->pair];
    const Mask mask      = bodiesTermMask(b, term);
    sunrealtype force[3] = {0, 0, 0}, c = 0;
    if (!acts) { /* of an open contact, say */
      K->count += blocksOf(s, mask.H);
      continue;
    }
    Moving d;
    Jet jet;
    if (term->m.kind == POINT) {
      for (int i = 0; i < s->dimension; i++) force[i] = lambda[row->first + i];
      bodiesSpanOf(b, term->pair, HESSIAN, &d);
    } else if (mask.H) {
      c = bodiesWeight(b, term) * lambda[row->first];
      bodiesTermJet(b, term, HESSIAN, &jet);
    }
    EACH_DIRECTION(s, mask.g, j)
    for (int gi = 0; gi < 4; gi++) {
      if (!(mask.H & (1u << (4 * gi + j / 3)))) continue;
      const int from = 3 * gi + s->first[gi % 2], to = 3 * gi + s->last[gi % 2];
      sunrealtype *column =
          next(K, bodiesColumnOf(s, pair, from), bodiesColumnOf(s, pair, j), to - from);
      for (int i = from; i < to; i++)
        column[i - from] +=
            term->m.kind == POINT ? bodiesMovingHessian(&d, i, j, force) : -c * jet.H[i][j];
    }
  }
}

/* The part of K and C by which a force on a pair depends on an input s: K += D F_s s_q, C += D F_s s_u, where D [LOCAL] are the
 * columns of the force, in these groups, and F_s its derivative. */
static void fillInput(const Mechanism *b, const Pair *pair, unsigned groups, sunrealtype D[LOCAL][3],
                      const Input *input, const sunrealtype *F_s, Writer *K, Writer *C) {
  const Space *s = &b->space;
  const Pair *of = &b->pair[input->term.pair];
  Jet jet;
  bodiesTermJet(b, &input->term, HESSIAN, &jet);
  EACH_DIRECTION(s, bodiesMask(s, of, &input->term.m).g, j) {
    const sunrealtype by_q = input->term.coef * (input->level ? jet.rate_q[j] : jet.g[j]),
                      by_u = input->level ? input->term.coef * jet.g[j] : 0;
    for (int gi = 0; gi < 4; gi++) {
      if (!(groups & (1u << gi))) continue;
      const int from = 3 * gi + s->first[gi % 2], to = 3 * gi + s->last[gi % 2];
      const sunindextype row = bodiesColumnOf(s, pair, from), col = bodiesColumnOf(s, of, j);
      sunrealtype *k = next(K, row, col, to - from), *c = next(C, row, col, to - from);
      for (int i = from; i < to; i++) {
        const sunrealtype part = dot3(D[i], F_s);
        k[i - from] += part * by_q;
        c[i - from] += part * by_u;
      }
    }
  }
}

/* K += T H + g (T_x g + T_x' D s')^T, C += T_x' g g^T, where an inertance I adds -I s'' to T. A sum of terms has their
 * gradients and Hessians, and blocks of two terms in g g^T. Returns what a user's function returned. */
static int fillLaw(const Mechanism *b, const Law *law, sunrealtype t, const sunrealtype *lambda,
                   Writer *K, Writer *C) {
  const Space *s      = &b->space;
  const int inert     = law->inertance != NONE;
  const Order order   = inert ? ACCELERATION : HESSIAN;
  const sunrealtype I = inert ? b->param[law->inertance] : 0;
  int first, count;
  sunrealtype T[3] = {0, 0, 0}, x, rate, acc;
  bodiesLawSum(b, law, order, &x, &rate, &acc);
  const sunrealtype N =
      law->kind == FRICTION ? bodiesReactionSize(b, law->joint, lambda, &first, &count) : 0;
  /* While blocks are listed, the state is not a user's state, so the user's functions are not
   * called. */
  const int flag = K->data ? bodiesLaw(b, law, t, x, rate, N, GRADIENT, T) : 0;
  T[0] -= I * acc;
  for (int n = 0; n < law->nterms * law->nterms; n++) {
    const Term *term = bodiesLawTerm(b, law, n / law->nterms),
               *of   = bodiesLawTerm(b, law, n % law->nterms);
    const Pair *pair = &b->pair[term->pair];
    const Mask mask = bodiesTermMask(b, term), of_mask = bodiesTermMask(b, of);
    const sunrealtype c = bodiesWeight(b, term), by = bodiesWeight(b, of);
    Jet jet, jet_of, acc_of;
    bodiesTermJet(b, term, HESSIAN, &jet);
    if (of != term) bodiesTermJet(b, of, HESSIAN, &jet_of);
    if (inert) bodiesTermJet(b, of, ACCELERATION, &acc_of);
    const Jet *second = of == term ? &jet : &jet_of;
    EACH_DIRECTION(s, of_mask.g, j)
    for (int gi = 0; gi < 4; gi++) {
      if (!(mask.g & (1u << gi))) continue;
      const int from = 3 * gi + s->first[gi % 2], to = 3 * gi + s->last[gi % 2];
      const sunindextype row = bodiesColumnOf(s, pair, from),
                         col = bodiesColumnOf(s, &b->pair[of->pair], j);
      sunrealtype *k = next(K, row, col, to - from), *d = next(C, row, col, to - from);
      for (int i = from; i < to; i++) {
        if (of == term && mask.H & (1u << (4 * gi + j / 3))) k[i - from] += c * T[0] * jet.H[i][j];
        k[i - from] += c * by * jet.g[i] * (T[1] * second->g[j] + T[2] * second->rate_q[j]);
        d[i - from] += c * by * jet.g[i] * T[2] * second->g[j];
        if (!inert) continue;
        k[i - from] -= I * c * by * jet.g[i] * acc_of.acc_q[j];
        d[i - from] -= I * c * by * jet.g[i] * acc_of.acc_u[j];
      }
    }
  }
  if (!law->formula || law->formula->ninputs == 0) return flag;
  const sunrealtype own[2] = {x, rate};
  sunrealtype value, by[CP_MOST_VARIABLES] = {0}, D[LOCAL][3] = {{0}};
  if (K->data && bodiesFormula(b, law->formula, 0, t, 2, own, &value, by)) return 1;
  for (int n = 0; n < law->nterms; n++) {
    const Term *term = bodiesLawTerm(b, law, n);
    const Mask mask  = bodiesTermMask(b, term);
    Jet jet;
    bodiesTermJet(b, term, GRADIENT, &jet);
    EACH_DIRECTION(s, mask.g, j) D[j][0] = bodiesWeight(b, term) * jet.g[j];
    for (int i = 0; i < law->formula->ninputs; i++)
      fillInput(b, &b->pair[term->pair], mask.g, D, &law->formula->input[i],
                (sunrealtype[]){by[3 + i], 0, 0}, K, C);
  }
  return flag;
}

static int fillForce(const Mechanism *b, const PointForce *force, sunrealtype t, Writer *K,
                     Writer *C) {
  const Space *s   = &b->space;
  const Pair *pair = &b->pair[force->pair];
  sunrealtype F[3] = {0, 0, 0}, Fx[9] = {0}, Fv[9] = {0}, D[LOCAL][3], rate[3], turned[3];
  Moving d;
  bodiesSpanOf(b, force->pair, HESSIAN, &d);
  const int flag = K->data ? bodiesPointForce(b, force, t, &d, F, Fx, Fv) : 0; /* as in fillLaw */
  EACH_DIRECTION(s, 0xC, j) bodiesMovingX(&d, j, D[j]);
  EACH_DIRECTION(s, 0xC, j) {
    sunrealtype by_q[3], by_u[3], follow[3] = {0, 0, 0};
    cross3(d.pose[1]->axis[j % 3], d.side[1].rate, rate);
    for (int k = 0; k < 3; k++) {
      by_u[k] = dot3(Fv + 3 * k, D[j]);
      by_q[k] = dot3(Fx + 3 * k, D[j]) + (j % 6 < 3 ? 0 : dot3(Fv + 3 * k, rate));
    }
    if (force->follows && j % 6 >= 3) {
      cross3(d.pose[1]->axis[j % 3], F, turned);
      add3(1, turned, follow);
    }
    add3(1, follow, by_q);
    for (int gi = 2; gi < 4; gi++) {
      const int from = 3 * gi + s->first[gi % 2], to = 3 * gi + s->last[gi % 2];
      const sunindextype row = bodiesColumnOf(s, pair, from), col = bodiesColumnOf(s, pair, j);
      sunrealtype *k = next(K, row, col, to - from), *c = next(C, row, col, to - from);
      for (int i = from; i < to; i++) {
        k[i - from] += bodiesMovingHessian(&d, i, j, F) + dot3(D[i], by_q);
        c[i - from] += dot3(D[i], by_u);
      }
    }
  }
  if (!force->formula) return flag;
  const sunrealtype at[6] = {d.x[0], d.x[1], d.x[2], d.rate[0], d.rate[1], d.rate[2]};
  sunrealtype value, by[3][CP_MOST_VARIABLES] = {{0}};
  for (int k = 0; k < 3 && K->data; k++)
    if (bodiesFormula(b, force->formula, k, t, 6, at, &value, by[k])) return 1;
  for (int i = 0; i < force->formula->ninputs; i++)
    fillInput(b, pair, 0xC, D, &force->formula->input[i],
              (sunrealtype[]){by[0][7 + i], by[1][7 + i], by[2][7 + i]}, K, C);
  return flag;
}

int bodiesFillDynamics(Mechanism *b, sunrealtype t, const sunrealtype *u, const sunrealtype *lambda,
                       Writer *K, Writer *C) {
  const Space *s = &b->space;
  int flag       = 0;
  *next(K, 0, 0, 1) += 0; /* A pattern must not be empty. */
  *next(C, 0, 0, 1) += 0;
  /* Of a tree, what depends on the velocities of masses is that of composite bodies (inverse.c). */
  for (int i = 0; i < b->nbodies && s->dimension == 3 && !b->tree; i++) {
    const Body *body = &b->body[i];
    sunrealtype spin[3], torque[3], moment[3], left[3], right[3];
    const sunrealtype *omega = u + 6 * i + 3;
    bodiesGyroscopic(b, i, omega, spin, torque);
    for (int k = 0; k < 3; k++) { /* (J e_k) x omega + (J omega) x e_k */
      sunrealtype e[3]    = {k == 0, k == 1, k == 2};
      sunrealtype *column = next(C, bodiesColumn(s, i, 1), bodiesColumn(s, i, 1) + k, 3);
      for (int l = 0; l < 3; l++) moment[l] = bodiesInertia(body, b->param + body->param, l, k);
      cross3(moment, omega, left);
      cross3(spin, e, right);
      for (int l = 0; l < 3; l++) column[l] += left[l] + right[l];
    }
  }
  for (int i = 0; i < b->nrows; i++) fillKRow(b, &b->row[i], lambda, K);
  for (int i = 0; i < b->nrolls; i++) fillKRow(b, &b->roll[i], lambda, K);
  for (int i = 0; i < b->nlaws && !flag; i++)
    if (!bodiesIsOnTree(b, i)) flag = fillLaw(b, &b->law[i], t, lambda, K, C);
  for (int i = 0; i < b->nforces && !flag; i++)
    flag = b->force[i].law != AT_A_POINT ? bodiesFillWrench(b, &b->force[i], K, C)
                                         : fillForce(b, &b->force[i], t, K, C);
  return flag;
}
