/* What OndselSolver has recorded in an assembly (.asmt): places of parts and forces of joints. */
#ifndef CPODES_RUNNER_RECORDED_H
#define CPODES_RUNNER_RECORDED_H

typedef struct {
  char of[256]; /* the quantity of the mechanism, "Part1.position" */
  double sign;  /* of the recorded vector in it */
  double *x;    /* [3 n] all x, all y, all z */
  /* 1: positions whose second differences are, for the most part, not those of the recorded accelerations. Analyses of kinematics
   * record such, which leave parts at rest that nothing drives. */
  int contradicts;
} Series;

typedef struct {
  int n;     /* number of times, which are equally spaced, from 0 on */
  double *t; /* [n] */
  int count;
  Series *series; /* [count] */
} Recorded;

/* Reads the text of a file. Returns 0, or -1 after a complaint. What it allocates stays for the life of the process. */
int recorded_read(const char *path, const char *text, Recorded *recorded);
/* The distance of x [3] from a series at time t, or NaN at a time that is not recorded */
double recorded_distance(const Recorded *recorded, const Series *series, double t, const double *x);
/* The largest length of its vectors */
double recorded_size(const Recorded *recorded, const Series *series);

#endif
