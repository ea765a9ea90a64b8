/* Assemblies in the text of OndselSolver (.asmt), which FreeCAD writes: a tree of lines, by the tabulators before them. */
#ifndef CPODES_ASMT_IMPL_H
#define CPODES_ASMT_IMPL_H

#include "files.h"

#include <cpodes/cpodes_language.h>

/* A line; those below it follow it, up to `end` */
typedef struct {
  const char *text;
  int line, depth, end;
} AsmtLine;

/* A frame on a part: its origin, and its axes by columns */
typedef struct {
  sunrealtype r[3], A[3][3];
} AsmtFrame;

typedef struct {
  char *path; /* "/Assembly/Part/Marker" */
  int part;   /* NONE: the assembly, which is the ground */
  AsmtFrame frame;
  int curve; /* 1 + the index of its curve, where it is at s; or 0 */
  sunrealtype s;
} AsmtMarker;

/* A curve on a part, in the plane of x and y of a frame. motion: x(s), y(s) and the heading; NULL: it is no plane spline */
typedef struct {
  AsmtFrame frame;
  CPFunction motion[3];
} AsmtCurve;

typedef struct {
  char name[110];
  AsmtFrame frame; /* in the assembly */
} AsmtPart;

/* A joint of the mechanism, from part[0] to part[1]. axis: its z in the assembly. slide, turn: which of its coordinates is its
 * displacement, and its angle, or NONE */
typedef struct {
  char name[110], path[400];
  int part[2], slide, turn;
  sunrealtype axis[3], value[2]; /* value: of its coordinates at the placement */
} AsmtJoint;

typedef struct {
  const char *file;
  char *message, *notes, *text; /* text: what the lines are cut from */
  size_t length, noted;
  CPBodies bodies;
  AsmtLine *line;
  AsmtMarker *marker;
  AsmtCurve *curve;
  AsmtPart *part;
  AsmtJoint *joint;
  int nlines, nmarkers, ncurves, nparts, njoints;
} Asmt;

/* ---- asmt_text.c ---- */

/* Cuts the text into lines, up to the recorded series. Returns 0, or 1 after a message. */
int asmtParse(Asmt *a, const char *data, size_t size);
/* Writes "file:line:1: ..." and returns 1. */
int asmtWrong(Asmt *a, int at, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* Notes what acts and is left out. Returns 0, or 1 if out of memory. */
int asmtNote(Asmt *a, int at, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* The first line below `at` with this text, or NONE */
int asmtChild(const Asmt *a, int at, const char *text);
/* The line below that one, as the name below "Name", or NULL */
const char *asmtValue(const Asmt *a, int at, const char *text);
/* The same as numbers. Returns 0, or 1 after a message, also if they are missing. */
int asmtNumbers(Asmt *a, int at, const char *text, int count, sunrealtype *x);
extern const AsmtFrame asmt_origin;
/* Position3D and RotationMatrix; none is that of what is around it */
int asmtFrame(Asmt *a, int at, AsmtFrame *frame);
/* c = a b */
void asmtFollow(const AsmtFrame *a, const AsmtFrame *b, AsmtFrame *c);
/* A frame of a part in the assembly */
void asmtPlaced(const Asmt *a, int part, const AsmtFrame *frame, AsmtFrame *out);
/* Adds a part, at a frame in the assembly, whose body has its other members. Returns its index, or NONE after a message. */
int asmtAddPart(Asmt *a, int at, const char *name, const AsmtFrame *frame, CPBody *body);
/* Makes a name that no element has of the last part of a path. */
void asmtName(const Asmt *a, const char *path, char *name);
/* Returns 1 after a message if flag is an error code of a->bodies. */
int asmtRefused(Asmt *a, int at, int flag);

/* Keeps a marker of a part, or of the assembly (owner ""), with the path of its name. */
int asmtAddMarker(Asmt *a, int at, const char *assembly, const char *owner, AsmtMarker *own);

/* ---- asmt_joints.c ---- */

CPMarker asmtMarkerAt(const AsmtFrame *frame);
/* What the mechanism calls a part; NULL: the ground */
const char *asmtPartName(const Asmt *a, int part);
/* The marker that MarkerI or MarkerJ names, or NULL after a message */
const AsmtMarker *asmtMarker(Asmt *a, int at, const char *which);
int asmtAddJoint(Asmt *a, int at);

/* ---- asmt_couplers.c ---- */

/* Gears, racks and screws couple the joints between their parts. */
int asmtCouples(const char *type);
int asmtAddCoupler(Asmt *a, int at);

int asmtAddMotion(Asmt *a, int at);
int asmtAddLimit(Asmt *a, int at);
int asmtAddForce(Asmt *a, int at);

/* ---- asmt_curves.c ---- */

/* Keeps the curves of a part, or of the assembly, and their markers. */
int asmtReadCurves(Asmt *a, int at, int part, const char *assembly, const char *owner);
/* Keeps the curves of two markers in contact. name: of the contact, which no element has */
int asmtAddContact(Asmt *a, int at, const char *name);

#endif
