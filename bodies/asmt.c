/* Assemblies of FreeCAD in the text of OndselSolver (https://github.com/FreeCAD/OndselSolver): parts with masses and markers, joints
 * between markers, motions and limits. The assembly is the ground. What the solver has recorded is read by the program. */
#include "asmt_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keeps the markers of a part, or of the assembly. */
static int readMarkers(Asmt *a, int at, int part, const char *assembly, const char *owner) {
  const int points = asmtChild(a, at, "RefPoints");
  if (points == NONE) return 0;
  for (int i = points + 1; i < a->line[points].end; i = a->line[i].end) {
    AsmtFrame base;
    const int markers = asmtChild(a, i, "Markers");
    if (asmtFrame(a, i, &base)) return 1;
    for (int k = markers + 1; markers != NONE && k < a->line[markers].end; k = a->line[k].end) {
      AsmtMarker own = {.part = part};
      if (asmtFrame(a, k, &own.frame)) return 1;
      asmtFollow(&base, &own.frame, &own.frame);
      if (asmtAddMarker(a, k, assembly, owner, &own)) return 1;
    }
  }
  return 0;
}

static int readPart(Asmt *a, int at, const char *assembly) {
  const char *name = asmtValue(a, at, "Name");
  const int marker = asmtChild(a, at, "PrincipalMassMarker");
  AsmtFrame frame, mass;
  CPBody body = {.mass = 0};
  sunrealtype moments[3];
  if (!name) return asmtWrong(a, at, "Name must be given");
  if (asmtFrame(a, at, &frame)) return 1;
  if ((asmtChild(a, at, "Velocity3D") != NONE && asmtNumbers(a, at, "Velocity3D", 3, body.velocity)) ||
      (asmtChild(a, at, "Omega3D") != NONE && asmtNumbers(a, at, "Omega3D", 3, body.omega)))
    return 1;
  if (marker != NONE) {
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    if (asmtFrame(a, marker, &mass) || asmtNumbers(a, marker, "Mass", 1, &body.mass) ||
        asmtNumbers(a, marker, "MomentOfInertias", 3, moments))
      return 1;
    memcpy(body.centre, mass.r, sizeof body.centre);
    for (int k = 0; k < 6; k++) /* A J A^T */
      for (int l = 0; l < 3; l++)
        body.inertia[k] += mass.A[row[k]][l] * moments[l] * mass.A[col[k]][l];
  }
  const int part = asmtAddPart(a, at, name, &frame, &body);
  if (part != NONE && marker != NONE && asmtValue(a, marker, "Name")) {
    AsmtMarker own = {.part = part, .frame = mass};
    if (asmtAddMarker(a, marker, assembly, name, &own)) return 1;
  }
  return part == NONE || readMarkers(a, at, part, assembly, name) ||
         asmtReadCurves(a, at, part, assembly, name);
}

/* Calls a function with each line below the first one of this text below `at`. */
static int each(Asmt *a, int at, const char *text, int (*f)(Asmt *a, int at)) {
  const int list = asmtChild(a, at, text);
  if (list == NONE) return 0;
  for (int i = list + 1; i < a->line[list].end; i = a->line[i].end)
    if (f(a, i)) return 1;
  return 0;
}

static int chooseCoordinates(Asmt *a, int at) {
  sunrealtype radius[2];
  if (!strcmp(a->line[at].text, "CurveCurveContact") || !strcmp(a->line[at].text, "GeneralMotion"))
    a->bodies->formulation = CP_JOINT_COORDINATES;
  if (strcmp(a->line[at].text, "GearJoint")) return 0;
  if (asmtNumbers(a, at, "radiusI", 1, &radius[0]) || asmtNumbers(a, at, "radiusJ", 1, &radius[1]))
    return 1;
  if (radius[0] != round(radius[0]) || radius[1] != round(radius[1]))
    a->bodies->formulation = CP_JOINT_COORDINATES;
  return 0;
}

static int leaveOut(Asmt *a, int at) { return asmtNote(a, at, "%.60s", a->line[at].text); }

static int order(const void *x, const void *y) {
  return strcmp(((const AsmtMarker *)x)->path, ((const AsmtMarker *)y)->path);
}

static int readAssembly(Asmt *a, int at, Run *run) {
  const char *name = asmtValue(a, at, "Name");
  const int parts = asmtChild(a, at, "Parts"), sets = asmtChild(a, at, "ConstraintSets");
  sunrealtype g[3] = {0, 0, 0}, start = 0, end = 0;
  if (!name) return asmtWrong(a, at, "Name must be given");
  snprintf(run->title, sizeof run->title, "%s", name);
  bodiesOneLine(run->title, sizeof run->title);
  if ((asmtChild(a, at, "ConstantGravity") != NONE && asmtNumbers(a, at, "ConstantGravity", 3, g)) ||
      asmtRefused(a, at, bodiesSetGravity(a->bodies, g)) || readMarkers(a, at, NONE, name, "") ||
      asmtReadCurves(a, at, NONE, name, ""))
    return 1;
  for (int i = parts + 1; parts != NONE && i < a->line[parts].end; i = a->line[i].end)
    if (readPart(a, i, name)) return 1;
  if (a->nparts == 0) return asmtWrong(a, at, "there is no part");
  if (a->nmarkers > 0) qsort(a->marker, (size_t)a->nmarkers, sizeof *a->marker, order);
  const int parameters = asmtChild(a, at, "SimulationParameters");
  if (parameters != NONE && (asmtNumbers(a, parameters, "tstart", 1, &start) ||
                             asmtNumbers(a, parameters, "tend", 1, &end)))
    return 1;
  if (end > 0) run->t_end = end;
  if (start != 0 &&
      asmtNote(a, parameters, "the start at %g s; the motion begins at 0", (double)start))
    return 1;
  /* In absolute coordinates couplers of angles have whole ratios, in those of joints any; joints by functions need the latter. */
  if (each(a, sets, "Joints", chooseCoordinates) || each(a, sets, "Motions", chooseCoordinates))
    return 1;
  /* Couplers need the joints between their parts, motions and limits the joints that they name. */
  return each(a, sets, "Joints", asmtAddJoint) || each(a, sets, "Joints", asmtAddCoupler) ||
         each(a, sets, "Motions", asmtAddMotion) || each(a, sets, "Limits", asmtAddLimit) ||
         each(a, sets, "GeneralConstraintSets", leaveOut) ||
         each(a, at, "ForceTorques", asmtAddForce);
}

CPBodies bodiesReadAsmt(const char *data, size_t size, const char *name, Run *run, char *message,
                        size_t length) {
  Asmt a     = {.file = name, .message = message, .length = length};
  int failed = !(a.bodies = CPBodiesCreate(3, NULL)) ? asmtWrong(&a, NONE, "no memory") : 0;
  if (!failed && bodiesRecord(a.bodies, run->writes)) failed = asmtWrong(&a, NONE, "no memory");
  if (!failed) failed = asmtParse(&a, data, size);
  int at = NONE;
  for (int i = 0; i < a.nlines && at == NONE && !failed; i = a.line[i].end)
    if (!strcmp(a.line[i].text, "Assembly")) at = i;
  if (!failed && at == NONE) failed = asmtWrong(&a, NONE, "there is no Assembly");
  if (!failed) failed = readAssembly(&a, at, run);
  if (!failed && run->balance) failed = asmtRefused(&a, at, CPBodiesSetBalance(a.bodies));
  if (!failed) {
    a.bodies->notes = a.notes;
    a.notes         = NULL;
  }
  if (failed) CPBodiesFree(&a.bodies);
  for (int i = 0; i < a.nmarkers; i++) free(a.marker[i].path);
  for (int i = 0; i < 3 * a.ncurves; i++) CPFunctionFree(&a.curve[i / 3].motion[i % 3]);
  void *owned[] = {a.text, a.notes, a.line, a.marker, a.curve, a.part, a.joint};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
  return a.bodies;
}
