/* One sequence of API calls: its present objects, what is known about them, and functions that make
 * and judge calls. */
#ifndef CPODES_FUZZ_WORLD_H
#define CPODES_FUZZ_WORLD_H

#include "contact_scene.h"

#include "disturb.h"
#include "mechanism.h"
#include "random.h"

#include <cpodes/cpodes_matrixfree.h>
#include <cpodes/cpodes_session.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <sundials/sundials_linearsolver.h>

/* The source of a failed call's message; NOBODY for functions of CVODES and SUNDIALS */
typedef enum { NOBODY, PROJECTOR, CPODE, ONESTEP, MECHANICS, CONTACT, SESSION, WHOS } Who;

/* What an integrator has promised since its newest start */
typedef struct {
  int started;
  int consistent;        /* was the start on the manifold? */
  int attached;          /* to a mechanical system */
  int projected;         /* does it project? */
  sunrealtype t0, t;     /* the start; the present time */
  sunrealtype low, high; /* bounds of the times that the integrator has reached */
  int idle;              /* number of consecutive successful steps that have not changed t */
  sunrealtype returned;  /* newest time returned; NaN: none */
  int quadrature;        /* CVodeQuadInit has been called: twice leaks in CVODES 6.4 */
  sunrealtype tol;   /* largest relative or absolute tolerance since the start; 0: none was set */
  sunrealtype eps;   /* largest eps of the projector */
  sunrealtype tstop; /* NaN: none */
  int roots;         /* have root functions been active, in all directions, since the start? */
  sunrealtype root_free; /* Y + L/2 and t - ROOT_TIME have been watched from here on */
  sunrealtype y0[MOST_N];
  sunrealtype reached, reference[MOST_N]; /* reference solution at the time `reached` */
} Promise;

/* A system with contacts, and the promises of its run */
typedef struct {
  CPMech mech;
  CPSens sens;
  CPContact contact;
  CPSession session;
  Scene scene;
  int steps;               /* left until its step function stops it */
  sunrealtype root_length; /* its own root is at multiples of this time; 0: it has none */
  int stops;               /* the return value of the event function */
  int started;
  int is_driven;
  int trusted;         /* are start and functions good? */
  sunrealtype t, tol;  /* newest time; larger tolerance */
  sunrealtype energy;  /* at the start */
  sunrealtype longest; /* longest step of time stepping; 0: none */
  sunrealtype p[2];    /* restitution and friction, if they are parameters */
} ContactWorld;

enum { POOL = 256 };

typedef struct {
  Random random;
  uint64_t seed;
  FILE *out;       /* verbose: prints calls here; NULL: quiet */
  sunrealtype odd; /* probability of an odd argument */
  SUNContext ctx;
  Mechanism m;
  sunrealtype t;   /* time of starts */
  int backward;    /* do runs go towards smaller times? */
  N_Vector start;  /* consistent at t */
  N_Vector like_c; /* template of c */
  /* the objects; NULL: not there */
  CPProjector P;
  CPMech mech;
  CPIntegrator mem;
  CPIntegrator one;
  ContactWorld contacts;
  void *foreign; /* CVODES memory to which mem is attached */
  int P_of_mem, P_of_one, mech_of_mem, mech_of_one, mech_freed; /* owners of P and mech */
  CPSens sens;       /* the newest one that mem has been given */
  int sensitivities; /* their number */
  /* An option was set that changes the solution, or takes outputs off the manifold. */
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
  /* the current call */
  const char *call;
  int deny; /* > 0: this allocation of the next call fails */
  int denied;
  long printed; /* number of bytes before the call */
  int calls;
} World;

/* ---- calls ---- */

/* Judges a call of the API: the code is known, every failure has a message, nothing is printed. */
#define CALL(w, who, expression) (call_begin((w), #expression), call_end((w), (who), (expression)))
void call_begin(World *w, const char *text);
int call_end(World *w, Who who, int flag);
/* The same for functions that return an object or nothing; they may print a reason. */
#define CREATE(w, expression) (call_begin((w), #expression), create_end((w), (expression)))
void *create_end(World *w, void *object);
#define FREE(w, expression) (call_begin((w), #expression), (expression), create_end((w), (w)))
/* Adds arguments to the printed call. */
void say(World *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reports a defect and ends the process. kind: without numbers, for counting. */
void complain(World *w, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));
/* Ends the process if the sequence itself lacks memory. */
void no_memory(void) __attribute__((noreturn));
/* CPErrHandlerFn; data: the World */
void world_message(int code, const char *function, const char *msg, void *data);

/* ---- promises ---- */

void promise_start(World *w, Promise *k, sunrealtype t0, N_Vector y0);
/* The result of CPIntegratorEvolve. reached: the integrator's own time. Before the call yout was SENTINEL */
#define SENTINEL SUN_RCONST(-777.0)
void promise_judge(World *w, Promise *k, int flag, sunrealtype tout, int itask, N_Vector yout,
                   sunrealtype tret, sunrealtype reached);
/* Compares a state at t that was reported as good with the reference. */
void promise_compare(World *w, Promise *k, sunrealtype t, N_Vector y, const char *what);

/* ---- arguments ---- */

int chance(World *w, sunrealtype probability);
int below(World *w, int n);
/* Log-uniform in [low, high], or, with probability odd, 0, negative, tiny, huge, NaN, Inf */
sunrealtype number(World *w, sunrealtype low, sunrealtype high);
int whole(World *w, int low, int high); /* the same for integers */
/* A new vector of the pool, of zeros; or, with probability odd, NULL or a vector of another length */
N_Vector vector(World *w, sunindextype n);
/* Filled with numbers; some of them odd */
N_Vector numbers(World *w, sunindextype n, sunrealtype low, sunrealtype high);
/* A start for an integrator or projection: consistent, nearby (off by about 1e-3) or odd */
N_Vector start_state(World *w);
N_Vector nearby(World *w, sunrealtype size);
/* Weights 1 / (tol (|y_i| + 1)) for the state y */
N_Vector weights_at(World *w, N_Vector y);
/* Frees an object at the end of the sequence; NULL is allowed. */
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
/* Runs a random entry of the table, by weight. */
void act(World *w, const Action *table);

/* The parts of set-ups */
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
void sensitivity_set(World *w);
/* Makes a size of the model wrong, or removes A or p. Returns 0 if the caller has to remove another
 * function. */
int mechanics_spoil(World *w, CPEquations *model);
void contact_create(World *w);
void contact_session(World *w);
void contact_start(World *w);
void contact_solve(World *w);
void contact_free(World *w);

/* ---- sequences ---- */

/* Runs the sequence of this seed; out: for its calls, or NULL. Returns the number of calls; a
 * defect ends the process. */
int sequence_run(uint64_t seed, FILE *out);
/* Sets where reports go: text [size] (NULL: nowhere), kind and text separated by a line feed;
 * printed output goes to the file descriptor captured. */
void complaints_to(char *text, size_t size, int captured);

#endif
