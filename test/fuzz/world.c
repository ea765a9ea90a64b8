/* Calls, their judgement, and their arguments. */
#include "world.h"

#include "unit/support/alloc.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reports of defects ---- */

static char *complaint;
static size_t complaint_size;
static int printed_to;
static const World *running; /* for the function that detects endless calls */

void complaints_to(char *text, size_t size, int captured) {
  printed_to     = captured;
  complaint      = text;
  complaint_size = size;
}

void complain(World *w, const char *kind, const char *format, ...) {
  char text[800];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (complaint) snprintf(complaint, complaint_size, "%s\n%s", kind, text);
  if (w->out) fprintf(w->out, "\n*** %s\n    %s\n", kind, text), fflush(w->out);
  _exit(3);
}

void no_memory(void) { _exit(4); }

/* ---- calls ---- */

void say(World *w, const char *format, ...) {
  if (!w->out) return;
  va_list args;
  va_start(args, format);
  vfprintf(w->out, format, args);
  va_end(args);
  fflush(w->out);
}

void world_message(int code, const char *function, const char *msg, void *data) {
  World *w = data;
  w->messages++;
  w->last_code = code;
  snprintf(w->text, sizeof w->text, "%s: %s", function, msg);
  if (!msg[0]) complain(w, "empty message", "%s, code %d", function, code);
  if (strchr(msg, '\n')) complain(w, "line feed in a message", "%s", w->text);
}

static long printed(void) {
  struct stat s;
  fflush(stdout);
  return fstat(printed_to, &s) == 0 ? (long)s.st_size : 0;
}

/* No call of a sequence needs a quarter of this. Most callbacks occur in a functional of 200 steps,
 * whose integrand projects three sensitivities at five nodes of each step, by differences of
 * constraints that are differences themselves. */
#define MOST_CALLBACKS 20000000L

static void endless(void) {
  complain((World *)running, "endless call", "more than %ld callbacks in %s", disturb_count() - 1,
           running->call);
}

void call_begin(World *w, const char *text) {
  running = w;
  w->call = text;
  w->calls++;
  w->messages = 0;
  w->text[0]  = '\0';
  w->printed  = printed();
  say(w, "%s", text);
  disturb_restart_count(MOST_CALLBACKS, endless);
  if (w->deny) alloc_watch_failing(w->deny);
}

/* Completes what call_begin has begun. */
static void settle(World *w) {
  w->denied = 0;
  if (w->deny) {
    alloc_unwatch();
    w->denied = alloc_has_failed();
    if (w->denied) say(w, " [allocation %d fails]", w->deny);
    w->deny = 0;
  }
  if (disturb_struck(NULL)) say(w, " [disturbed %ld]", disturb_struck(NULL));
}

static const char *last_message(const World *w, Who who) {
  return who == PROJECTOR   ? CPObjectGetLastMessage(CP_OBJECT(w->P))
         : who == CPODE     ? CPObjectGetLastMessage(CP_OBJECT(w->mem))
         : who == ONESTEP   ? CPObjectGetLastMessage(CP_OBJECT(w->one))
         : who == MECHANICS ? CPObjectGetLastMessage(CP_OBJECT(w->mech))
         : who == CONTACT   ? CPObjectGetLastMessage(CP_OBJECT(w->contacts.contact))
         : who == SESSION   ? CPObjectGetLastMessage(CP_OBJECT(w->contacts.session))
                            : "-";
}

static int is_there(const World *w, Who who) {
  return who == PROJECTOR   ? w->P != NULL
         : who == CPODE     ? w->mem != NULL
         : who == ONESTEP   ? w->one != NULL
         : who == MECHANICS ? w->mech != NULL
         : who == CONTACT   ? w->contacts.contact != NULL
         : who == SESSION   ? w->contacts.session != NULL
                            : 0;
}

/* Positive codes: those of CVODES, and [r] ones of projections */
static void check_code(World *w, int flag) {
  char *name = CPGetReturnFlagName(flag);
  if (!name) complain(w, "no name", "%s: %d has no name", w->call, flag);
  say(w, " -> %s\n", name);
  /* CVODES has no names for some of its own codes */
  if (flag <= CP_MEM_NULL && strcmp(name, "NONE") == 0)
    complain(w, "unknown code", "%s returned %d", w->call, flag);
  free(name);
}

static void check_message(World *w, Who who, int flag) {
  const int failed = flag < 0 || (who == PROJECTOR && flag > 0);
  if (!is_there(w, who) || !failed) return;
  const char *text = last_message(w, who);
  if (!text || !text[0])
    complain(w, "failure without a message", "%s returned %d, the newest message is empty", w->call,
             flag);
  if (w->loud) return;
  if (w->messages == 0)
    complain(w, "failure that was not reported", "%s returned %d, no message was sent; \"%s\"",
             w->call, flag, text);
  if (w->last_code != flag)
    complain(w, "failure reported with another code", "%s returned %d, but the message has %d: %s",
             w->call, flag, w->last_code, w->text);
}

/* Without an object there is no handler, so the message is printed. */
static void check_silence(World *w, int expected) {
  char text[200] = "";
  if (expected || w->loud || printed() == w->printed) return;
  const ssize_t n = pread(printed_to, text, sizeof text - 1, w->printed);
  complain(w, "the library printed", "%s: %s", w->call, n > 0 ? text : "");
}

int call_end(World *w, Who who, int flag) {
  settle(w);
  check_code(w, flag);
  if (w->messages) say(w, "      %s\n", w->text);
  check_message(w, who, flag);
  check_silence(w, who == NOBODY ? !w->mem : !is_there(w, who));
  if (w->denied && flag >= 0 && who != NOBODY)
    complain(w, "a failed allocation was not noticed", "%s returned %d", w->call, flag);
  return flag;
}

void *create_end(World *w, void *object) {
  settle(w);
  say(w, " -> %s\n", object ? "done" : "NULL");
  check_silence(w, !object);
  return object;
}

/* ---- arguments ---- */

int chance(World *w, sunrealtype probability) { return random_chance(&w->random, probability); }
int below(World *w, int n) { return random_below(&w->random, n); }

static sunrealtype odd_number(World *w) {
  static const sunrealtype odd[] = {0.0,    -0.0, -1.0, 1e-300,   5e-324,    1e300,
                                    -1e-20, 1e9,  NAN,  INFINITY, -INFINITY, 1e-16};
  return odd[below(w, sizeof odd / sizeof odd[0])];
}

sunrealtype number(World *w, sunrealtype low, sunrealtype high) {
  const sunrealtype x = chance(w, w->odd) ? odd_number(w) : random_magnitude(&w->random, low, high);
  say(w, "{%.17g} ", x);
  return x;
}

int whole(World *w, int low, int high) {
  static const int odd[] = {0, -1, 1, 1000000, -2147483647 - 1, 2147483647};
  const int i            = chance(w, w->odd) ? odd[below(w, 6)] : low + below(w, high - low + 1);
  say(w, "{%d} ", i);
  return i;
}

void *keep(World *w, void *object, void (*destroy)(void *)) {
  if (!object || w->nothers == POOL) no_memory();
  w->others[w->nothers].object    = object;
  w->others[w->nothers++].destroy = destroy;
  return object;
}

N_Vector vector(World *w, sunindextype n) {
  if (chance(w, w->odd * 0.3)) {
    say(w, "{NULL} ");
    return NULL;
  }
  if (chance(w, w->odd * 0.3)) n = 1 + below(w, 12), say(w, "{length %ld} ", (long)n);
  N_Vector v = w->nvectors < POOL ? N_VNew_Serial(n, w->ctx) : NULL;
  if (!v) no_memory();
  N_VConst(0.0, v);
  return w->vectors[w->nvectors++] = v;
}

N_Vector numbers(World *w, sunindextype n, sunrealtype low, sunrealtype high) {
  N_Vector v = vector(w, n);
  if (!v) return NULL;
  for (sunindextype i = 0; i < N_VGetLength(v); i++)
    N_VGetArrayPointer(v)[i] = random_magnitude(&w->random, low, high);
  if (chance(w, w->odd)) {
    N_VGetArrayPointer(v)[below(w, (int)N_VGetLength(v))] = odd_number(w);
    say(w, "{an odd entry} ");
  }
  if (chance(w, w->odd * 0.3)) N_VConst(odd_number(w), v), say(w, "{all odd} ");
  return v;
}

N_Vector nearby(World *w, sunrealtype size) {
  N_Vector y = vector(w, w->m.n);
  if (!y) return NULL;
  for (sunindextype i = 0; i < N_VGetLength(y) && i < w->m.n; i++)
    N_VGetArrayPointer(y)[i] = N_VGetArrayPointer(w->start)[i] +
                               (size > 0.0 ? random_between(&w->random, -size, size) : 0.0);
  return y;
}

N_Vector start_state(World *w) {
  N_Vector y = nearby(w, chance(w, 2.0 * w->odd) ? random_magnitude(&w->random, 1e-9, 1.0) : 0.0);
  if (y && chance(w, w->odd * 0.3))
    N_VGetArrayPointer(y)[below(w, (int)N_VGetLength(y))] = odd_number(w), say(w, "{odd start} ");
  return y;
}

N_Vector weights_at(World *w, N_Vector y) {
  const sunrealtype tol = random_magnitude(&w->random, 1e-9, 1e-3);
  N_Vector ewt          = numbers(w, w->m.n, 1.0, 2.0);
  if (!ewt || !y || chance(w, w->odd) || N_VGetLength(y) != N_VGetLength(ewt)) return ewt;
  for (sunindextype i = 0; i < N_VGetLength(y); i++)
    N_VGetArrayPointer(ewt)[i] /= tol * (1.0 + fabs(N_VGetArrayPointer(y)[i]));
  return ewt;
}
