/* Functions as motions, laws and forces. The description and its models own them together. */
#include "formulas.h"

#include "following.h"
#include "kinks.h"
#include "sensors.h"
#include "tree.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Formulas_ {
  atomic_int owners;
  Formula *first;
  Custom *custom;
} Formulas;

static void haveFormulas(Mechanism *m) {
  if (!m->formulas && (m->formulas = calloc(1, sizeof *m->formulas))) m->formulas->owners = 1;
}

int bodiesKeepCustom(CPBodies b, const char *name, const Custom *custom, const Custom **kept) {
  Custom *new = malloc(sizeof *new);
  haveFormulas(&b->m);
  if (!new || !b->m.formulas) return free(new), bodiesNoMemory(b, name);
  *new      = *custom;
  new->next = b->m.formulas->custom;
  *kept = b->m.formulas->custom = new;
  return CP_SUCCESS;
}

static Formula *newFormula(Mechanism *m, Use use) {
  Formula *formula = calloc(1, sizeof *formula);
  haveFormulas(m);
  if (!formula || !m->formulas) return free(formula), NULL;
  formula->use         = use;
  formula->of_time     = 1;
  formula->next        = m->formulas->first;
  formula->number      = formula->next ? formula->next->number + 1 : 0;
  formula->first_input = formula->next ? formula->next->first_input + formula->next->ninputs : 0;
  m->formulas->first   = formula;
  return formula;
}

/* Adds the quantity of this name. Returns 0, or an error code that has been reported. */
static int addInput(CPBodies b, const char *element, const char *name, Formula *formula) {
  Sensor s;
  Pair own;
  Input *input = &formula->input[formula->ninputs];
  char rule[RULE_TEXT];
  if (bodiesSensor(&b->m, NULL, name, &s, rule))
    return refused(b, CP_ILL_INPUT, "%s: %s", element, rule);
  if ((input->level = bodiesSensorTerm(&b->m, &s, &own, &input->term)) == NONE)
    return refused(
        b, CP_NOT_SUPPORTED,
        "%s: a function may depend on coordinates, lengths, positions, velocities and their "
        "components, and not on %.100s",
        element, name);
  if (input->term.m.kind == OWN)
    return refused(
        b, CP_NOT_SUPPORTED,
        "%s: a function must not depend on the coordinate %.100s of a joint by functions", element,
        name);
  if (input->term.pair == NONE) {
    if (ROOM(b->m.pair, b->m.npairs, 1)) return bodiesNoMemory(b, element);
    input->term.pair         = b->m.npairs;
    b->m.pair[b->m.npairs++] = own;
  }
  input->term.velocity = NONE; /* its rate is that of the bodies */
  formula->ninputs++;
  return CP_SUCCESS;
}

int bodiesTakeFormula(CPBodies b, const char *name, Use use, int count, const CPFunction *f,
                      int own, const char *inputs, Formula **formula) {
  char word[TEXT];
  int given = 0, flag = CP_SUCCESS;
  *formula = NULL;
  for (int k = 0; k < count; k++) given += f[k] != NULL;
  if (given == 0) return CP_SUCCESS;
  Formula *new = newFormula(&b->m, use);
  if (!new || !(new->name = malloc(strlen(name) + 1))) return bodiesNoMemory(b, name);
  memcpy(new->name, name, strlen(name) + 1);
  for (const char *at = bodiesNextWord(inputs ? inputs : "", word); *word && !flag;
       at             = bodiesNextWord(at, word)) {
    if (1 + own + new->ninputs == CP_MOST_VARIABLES)
      return refused(b, CP_ILL_INPUT, "%s: a function has at most %d variables", name,
                     CP_MOST_VARIABLES);
    flag = addInput(b, name, word, new);
  }
  for (int k = 0; k < count && !flag; k++) {
    if (f[k] && cpFunctionCount(f[k]) != 1 + own + new->ninputs)
      flag = refused(b, CP_ILL_INPUT, "%s: its function must have %d variables, and has %d", name,
                     1 + own + new->ninputs, cpFunctionCount(f[k]));
    else {
      new->f[k]     = cpFunctionShare(f[k]);
      new->place[k] = b->m.nplaces;
      if (f[k]) b->m.nplaces += cpFunctionPieces(f[k]);
    }
  }
  if (!flag) *formula = new; /* if not, it stays without use, as long as the mechanism */
  return flag;
}

int bodiesTakeVariable(CPBodies b, const char *name, Use use, CPFunction f, Formula **formula) {
  *formula = NULL;
  if (f && cpFunctionCount(f) != 1)
    return refused(b, CP_ILL_INPUT, "%s: its function must have one variable, and has %d", name,
                   cpFunctionCount(f));
  const int flag = bodiesTakeFormula(b, name, use, 1, &f, 0, NULL, formula);
  if (*formula) (*formula)->of_time = 0;
  return flag;
}

int bodiesHasPeriod(const Formula *formula) {
  enum { PLACES = 8 };
  static const sunrealtype rounding = SUN_RCONST(1e-9);
  const sunrealtype turn            = 8 * atan(SUN_RCONST(1.0));
  sunrealtype off = 0, size = 0;
  for (int k = 0; k < PLACES; k++) {
    sunrealtype x = turn * k / PLACES - turn / 2, v[2], g[2];
    if (CPFunctionEvaluate(formula->f[0], &x, &v[0], &g[0], NULL)) return 0;
    x += turn;
    if (CPFunctionEvaluate(formula->f[0], &x, &v[1], &g[1], NULL)) return 0;
    off  = fmax(off, fmax(fabs(v[1] - v[0]), fabs(g[1] - g[0])));
    size = fmax(size, fmax(fabs(v[0]), fabs(g[0])));
  }
  return off <= rounding * size;
}

const Formula *bodiesFirstFormula(const Mechanism *m) {
  return m->formulas ? m->formulas->first : NULL;
}

void bodiesShareFormulas(Mechanism *m) {
  if (m->formulas) atomic_fetch_add(&m->formulas->owners, 1);
}

void bodiesFreeFormulas(Mechanism *m) {
  Formulas *all = m->formulas;
  m->formulas   = NULL;
  if (!all || atomic_fetch_sub(&all->owners, 1) > 1) return;
  for (Formula *formula = all->first, *next; formula; formula = next) {
    next = formula->next;
    for (int k = 0; k < 3; k++) CPFunctionFree(&formula->f[k]);
    free(formula->name);
    free(formula);
  }
  for (Custom *custom = all->custom, *next; custom; custom = next) {
    next = custom->next;
    free(custom);
  }
  free(all);
}

/* CPFunctionEvaluate of component k, with the pieces of a run, and moved by the parameters of the file */
static int evaluate(const Mechanism *m, const Formula *formula, int k, const sunrealtype *x,
                    sunrealtype *value, sunrealtype *g, sunrealtype *H) {
  Pieces room;
  const Pieces *pieces = bodiesPieces(m, formula, k, &room);
  int flag             = cpFunctionEvaluate(formula->f[k], x, pieces, value, g, H);
  if (!flag && m->follow) flag = bodiesAddMoved(m, formula->number, k, x, pieces, value, g, H);
  if (flag && m->failed) *m->failed = (Failed){.formula = formula, .k = k};
  else if (m->failed && m->failed->formula == formula) *m->failed = (Failed){NULL};
  return flag;
}

void bodiesFailure(const Mechanism *m, char *text, size_t length) {
  const Formula *formula = m->failed ? m->failed->formula : NULL;
  const char *place      = formula ? cpFunctionPlace(formula->f[m->failed->k]) : NULL;
  if (m->failed && m->failed->force)
    snprintf(text, length,
             m->failed->force->law == OF_A_TYRE
                 ? "the wheel of tyre \"%.60s\" has its centre below the ground"
                 : "the force \"%.60s\" is not defined",
             m->text + m->failed->force->name);
  if (!formula) return;
  snprintf(text, length, "%s%s of \"%.60s\" has no finite value", place ? place : "",
           place ? "" : "the function", formula->name);
}

int bodiesFormula(const Mechanism *m, const Formula *formula, int k, sunrealtype t, int nown,
                  const sunrealtype *own, sunrealtype *value, sunrealtype g[CP_MOST_VARIABLES]) {
  sunrealtype at[CP_MOST_VARIABLES];
  *value = at[0] = 0;
  for (int i = 0; i < 1 + nown + formula->ninputs && g; i++) g[i] = 0;
  if (!formula->f[k]) return 0;
  at[0] = t;
  memcpy(at + 1, own, (size_t)nown * sizeof *at);
  for (int i = 0; i < formula->ninputs; i++) {
    const Input *input = &formula->input[i];
    const Term *term   = m->tree ? &m->tree->input[formula->first_input + i] : &input->term;
    Jet jet;
    bodiesTermJet(m, term, VALUES, &jet);
    at[1 + nown + i] = input->term.coef * (input->level ? jet.rate : jet.s);
  }
  return evaluate(m, formula, k, at, value, g, NULL);
}

int bodiesMotion(const Mechanism *m, const Formula *formula, sunrealtype x, sunrealtype *g) {
  return evaluate(m, formula, 0, &x, g, g + 1, g + 2);
}

int bodiesThird(const Mechanism *m, const Formula *formula, sunrealtype x, sunrealtype *d) {
  const sunrealtype h = cbrt(DBL_EPSILON) * fmax(1, fabs(x)), at[2] = {x - h, x + h};
  sunrealtype g[2][3] = {{0}, {0}};
  Pieces room;
  const Pieces *own = bodiesPieces(m, formula, 0, &room);
  const Pieces held = {own ? own->held : NULL, NULL, NULL, 1}; /* at x, and not nearby */
  for (int k = 0; k < 2; k++)
    if (cpFunctionEvaluate(formula->f[0], &at[k], own ? &held : NULL, &g[k][0], &g[k][1], &g[k][2]))
      return 1;
  *d = (g[1][2] - g[0][2]) / (at[1] - at[0]);
  return 0;
}

int bodiesMotionOf(sunrealtype t, sunrealtype *g, void *formula) {
  return CPFunctionEvaluate(((Formula *)formula)->f[0], &t, g, g + 1, g + 2);
}
