/* Readers of files */
#ifndef CPODES_BODIES_FILES_H
#define CPODES_BODIES_FILES_H

#include "elements.h"

#include <stdarg.h>

/* Reads a whole regular file of at most 1 GiB and appends a zero; the caller frees it. Returns NULL if
 * it cannot be read, with the reason *why. */
char *bodiesFile(const char *path, size_t *size, const char **why);
/* May the file `from` have this other one read? It must be in its folder or below, or both in a folder that is neither the root nor holds the
 * user's home, or in one of `folders`, which are separated by colons. Links are followed. */
int bodiesMayRead(const char *from, const char *path, const char *folders);
/* Does the name end with `end`, which is in lower case? Case does not matter. */
int bodiesEndsWith(const char *name, const char *end);
/* Records that the file at path has been read for this mechanism. Returns 0, or 1 if out of memory. */
int bodiesHasRead(CPBodies b, const char *path);
/* Writes to whole [length] the path of a file that stands in the folder of the file `from`, unless
 * path is absolute. Returns 1 if it is too long. */
int bodiesBeside(const char *from, const char *path, char *whole, size_t length);
/* What a YAML file beside a robot in URDF adds to it (yaml_loops.c); positions are those in that file. */
typedef struct {
  char frame[2][200]; /* links, or joints for those to which they lead */
  int fixed;          /* 1: the frames are equal; 0: their points meet */
  int line, column;
} LoopOfUrdf;
typedef struct {
  char joint[200], type[20];
  int line, column;
} ChangeOfUrdf;
typedef struct {
  LoopOfUrdf *loop;
  ChangeOfUrdf *change;
  int nloops, nchanges;
} Loops;
/* loops: in, zero; out, none if the text has no key closed_loop; the caller frees both arrays. Returns 0, or 1 with one line in
 * message [length]. */
int bodiesReadLoops(const char *data, size_t size, const char *name, Loops *loops, char *message,
                    size_t length);
/* The text [size] of a file, and what replaces its parameters (CPBodiesFile) */
typedef struct {
  const char *path, *text;
  size_t size;
  const char *parameters;
} FileText;
/* Reads text with decimal points, whatever the locale is, in the format that the path tells. run: in, its parameters; out. message
 * [TEXT]: out, if NULL is returned. */
CPBodies bodiesReadText(const FileText *file, Run *run, char *message);
/* Makes parameters of the file, whose mechanism is b, parameters of the mechanism (following.c): names, separated by blanks. Returns 0,
 * or 1 with one line in message [TEXT]. */
int bodiesFollowFile(CPBodies b, const FileText *file, const char *names, char *message);
/* A text that grows */
typedef struct {
  char *text; /* NULL: empty */
  size_t length, room;
  int failed; /* There was no memory. */
} Text;
/* Adds to a text, as printf. */
void bodiesPut(Text *t, const char *format, ...) CP_PRINTF(2, 3);
void bodiesPutList(Text *t, const char *format, va_list args) CP_PRINTF(2, 0);
/* The expression of a number of an element, or of a function f of it, that the element's record in a file is to have: where it stands, `at`
 * bytes from the beginning of the structure, its value, and its text, or NULL if it has none. uses: of names; used: it has been written */
typedef struct {
  size_t at;
  sunrealtype value;
  CPFunction f;
  char *text;
  int uses, used;
} Origin;
/* What a reader keeps of the texts of a file that is written as such a file again: the names of its scope `top`, lines of the section
 * `parameters`, lines that tell which numbers stand for expressions, and the sources of the element that is added next */
typedef struct Kept_ {
  struct Scope_ *top;
  Text parameters, values;
  Origin *source;
  int nsources;
} Kept;
void bodiesFreeOrigins(Origin *source, int n);
/* A format in which a mechanism is written (CPBodiesFile) */
typedef struct FileWriter_ {
  /* its name, if it has no mechanisms in the plane, or NULL */
  const char *only_in_space;
  /* Makes b->written. Returns 0, or 1 if out of memory. */
  int (*start)(CPBodies b);
  /* Takes an element that is added. */
  void (*element)(CPBodies b, const CPElement *e);
  /* Returns the file, which b owns, or NULL if out of memory. from: the file that the mechanism was read from */
  const char *(*finish)(CPBodies b, const char *from);
  /* Frees b->written, which may be NULL. */
  void (*free)(CPBodies b);
} FileWriter;
extern const FileWriter yaml_writer, mjcf_writer, urdf_writer, sdf_writer;
/* Starts what CPBodiesFile wants written: elements are written from now on. Returns 0, or 1 if out of memory. */
int bodiesRecord(CPBodies b, int writes);
/* Read a mechanism from text. run: in, its defaults; out. message [length]: out, one line if NULL is returned. */
CPBodies bodiesReadYaml(const char *data, size_t size, const char *name, Run *run, char *message,
                        size_t length);
CPBodies bodiesReadAsmt(const char *data, size_t size, const char *name, Run *run, char *message,
                        size_t length);
CPBodies bodiesReadXml(const char *data, size_t size, const char *name, Run *run, char *message,
                       size_t length);

#endif
