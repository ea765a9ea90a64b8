/* One sequence of API calls: the objects that it has at the moment, what is known about them, and how calls
 * are made and judged. */
#ifndef CPODES_FUZZ_WORLD_H
#define CPODES_FUZZ_WORLD_H

#include "contact_scene.h"
#include "disturb.h"
#include "mechanism.h"
#include "random.h"

#include <cpodes/cpodes_onestep.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <sundials/sundials_linearsolver.h>

/* Who gives the message of a failed call; CVODES' and SUNDIALS' own functions: NOBODY */
typedef enum { NOBODY, PROJECTOR, CPODE, ONESTEP, MECHANICS, CONTACT, WHOS } Who;

/* What an integrator has promised since its newest start. */
typedef struct {
  int started;
  int consistent;        /* was the start on the manifold? */
  int attached;          /* to a mechanical system */
  int projected;         /* does it project? */
  sunrealtype t0, t;     /* the start; where the integrator is */
  sunrealtype low, high; /* between which the integrator has been */
  int idle;              /* successful steps that have not changed t, one after another */
  sunrealtype returned;  /* newest time that was handed out; NaN: none */
  int quadrature;        /* CVodeQuadInit has been called: twice leaks in CVODES 6.4 */
  sunrealtype tol;   /* largest relative or absolute tolerance since the start; 0: none was set */
  sunrealtype eps;   /* largest eps of the projector */
  sunrealtype tstop; /* NaN: none */
  int roots;         /* are root functions on, in all directions, since the start? */
  sunrealtype root_free; /* Y + L/2 and t - ROOT_TIME have been watched from here on */
  sunrealtype y0[MOST_N];
  sunrealtype reached, reference[MOST_N]; /* reference solution at the time `reached` */
} Promise;

/* A system with contacts, and what its run has promised. */
typedef struct {
  CPContact contact;
  CPodeMem mem;
  CPOneStepMem one;
  Scene scene;
  int stops; /* what the function of events returns */
  int started;
  int is_driven;
  int trusted;         /* start and functions are good */
  sunrealtype t, tol;  /* newest time; larger tolerance */
  sunrealtype energy;  /* at the start */
  sunrealtype longest; /* step of time stepping; 0: there is none */
  sunrealtype p[2];    /* restitution and friction, if they are parameters */
} ContactWorld;

enum { POOL = 256 };

typedef struct {
  Random random;
  uint64_t seed;
  FILE *out;       /* verbose: calls are printed here; NULL: not */
  sunrealtype odd; /* probability that an argument is an odd one */
  SUNContext ctx;
  Mechanism m;
  sunrealtype t;   /* where starts are made */
  int backward;    /* are runs towards smaller times? */
  N_Vector start;  /* consistent there */
  N_Vector like_c; /* template of c */
  /* the objects; NULL: not there */
  CPProjector P;
  CPMech mech;
  CPodeMem mem;
  CPOneStepMem one;
  ContactWorld contacts;
  void *foreign; /* CVODES memory to which mem is attached */
  int P_of_mem, P_of_one, mech_of_mem, mech_of_one, mech_freed; /* who uses P and mech */
  int adjoint, sensitivities,
      functionals; /* CVodeAdjInit, CPodeSensInit1 have been called for mem */
  /* Options were set after which the solution is another, or outputs are not on the manifold. */
  int another_solution, off_manifold;
  Promise promise[2]; /* of mem and one */
  /* what lives until the end of the sequence */
  N_Vector vectors[POOL];
  int nvectors;
  struct {
    void *object;
    void (*destroy)(void *);
  } others[POOL];
  int nothers;
  /* messages */
  int messages, last_code, loud;
  char text[600];
  /* the call that is made */
  const char *call;
  int deny; /* > 0: this allocation of the next call fails */
  int denied;
  long printed; /* bytes, before the call */
  int calls;
} World;

/* ---- calls ---- */

/* A call of the API, judged: the code known, a message with every failure, nothing printed. */
#define CALL(w, who, expression) (call_begin((w), #expression), call_end((w), (who), (expression)))
void call_begin(World *w, const char *text);
int call_end(World *w, Who who, int flag);
/* The same for functions that return an object, or nothing: they may print why not. */
#define CREATE(w, expression) (call_begin((w), #expression), create_end((w), (expression)))
void *create_end(World *w, void *object);
#define FREE(w, expression) (call_begin((w), #expression), (expression), create_end((w), (w)))
/* Adds arguments to the printed call. */
void say(World *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A defect: ends the process. kind: without numbers, for counting. */
void complain(World *w, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));
/* The sequence itself lacks memory: ends the process. */
void no_memory(void) __attribute__((noreturn));
/* CPErrHandlerFn; data: the World */
void world_message(int code, const char *function, const char *msg, void *data);

/* ---- promises ---- */

void promise_start(World *w, Promise *k, sunrealtype t0, N_Vector y0);
/* The result of CPode, CPOneStepEvolve. reached: the integrator's own time. Before the call yout was SENTINEL */
#define SENTINEL SUN_RCONST(-777.0)
void promise_judge(World *w, Promise *k, int flag, sunrealtype tout, int itask, N_Vector yout,
                   sunrealtype tret, sunrealtype reached);
/* A state at t that was said to be good: compared with the reference. */
void promise_compare(World *w, Promise *k, sunrealtype t, N_Vector y, const char *what);

/* ---- arguments ---- */

int chance(World *w, sunrealtype probability);
int below(World *w, int n);
/* In [low, high], its logarithm uniform; or, with probability odd, 0, negative, tiny, huge, NaN, Inf */
sunrealtype number(World *w, sunrealtype low, sunrealtype high);
int whole(World *w, int low, int high); /* the same for integers */
/* A new vector of the pool, of zeros; NULL, or one of another length, with probability odd */
N_Vector vector(World *w, sunindextype n);
/* Filled with numbers; some of them odd */
N_Vector numbers(World *w, sunindextype n, sunrealtype low, sunrealtype high);
/* A start for an integrator or projection: consistent, nearby (off by some 1e-3) or odd */
N_Vector start_state(World *w);
N_Vector nearby(World *w, sunrealtype size);
/* Weights 1 / (tol (|y_i| + 1)) for the state y */
N_Vector weights_at(World *w, N_Vector y);
/* Freed at the end of the sequence; NULL is no matter. */
void *keep(World *w, void *object, void (*destroy)(void *));

/* ---- actions ---- */

typedef struct {
  const char *name;
  void (*run)(World *w);
  int weight;
} Action;

/* Tables that end with a NULL name */
extern const Action projector_actions[], cpode_actions[], onestep_actions[], mechanics_actions[],
    sensitivity_actions[], contact_actions[];
/* Runs one of the table by its weight. */
void act(World *w, const Action *table);

/* What set-ups are made of */
void projector_create(World *w);
void projector_create_user(World *w);
void projector_linear_solver(World *w);
void projector_jacobian(World *w);
void mechanics_create(World *w);
void mechanics_attach(World *w);
void cpode_create(World *w);
void cpode_attach(World *w);
void cpode_init(World *w);
void cpode_tolerances(World *w);
void cpode_projector(World *w);
void cpode_solver(World *w);
void cpode_evolve(World *w);
void cpode_free(World *w);
void onestep_create(World *w);
void onestep_init(World *w);
void onestep_tolerances(World *w);
void onestep_projector(World *w);
void onestep_evolve(World *w);
void onestep_free(World *w);
void sensitivity_init(World *w);
void sensitivity_parameters(World *w);
/* Makes a size of the model wrong, or takes A or p away. 0: the caller is to take away another function. */
int mechanics_spoil(World *w, CPMechModel *model);
void contact_create(World *w);
void contact_integrator(World *w);
void contact_attach(World *w);
void contact_solve(World *w);
void contact_free(World *w);

/* ---- sequences ---- */

/* Runs the sequence of this seed; out: for its calls, or NULL. Returns the number of calls; a defect ends
 * the process. */
int sequence_run(uint64_t seed, FILE *out);
/* Where complaints go: text [size] (NULL: nowhere), kind and text divided by a line feed; what is printed goes to
 * the file descriptor captured. */
void complaints_to(char *text, size_t size, int captured);

#endif
