/* The placement of the bodies of a tree from the coordinates of its joints. */
#include "tree.h"

#include "elements.h"

#include <stdlib.h>
#include <string.h>

int bodiesPlaceAt(CPBodies bodies, const sunrealtype *x, const sunrealtype *rate,
                  const sunrealtype *own) {
  Mechanism *b = &bodies->m;
  int flag     = bodiesChooseCoordinates(bodies);
  if (flag || !b->tree) return flag;
  const Tree *tree = b->tree;
  const Space *s   = &b->space;
  const int each   = s->nq + s->nu;
  sunrealtype *q = calloc((size_t)(tree->nq + tree->nu) + 1, sizeof *q), *u = q + tree->nq;
  Pose *given = b->pose, *pose = calloc((size_t)b->nbodies + 1, sizeof *pose);
  if (q && pose) {
    for (int n = 0; n < tree->nnodes; n++) {
      const Node *node = &tree->node[n];
      if (node->kind == AFLOAT || node->kind == SWIVEL) {
        const sunrealtype *of = own + each * node->body;
        memcpy(q + node->q, of, (size_t)node->nq * sizeof *q);
        memcpy(u + node->u, of + s->nq, (size_t)node->nu * sizeof *q);
        continue;
      }
      for (int k = 0; k < node->nu && node->joint != NONE; k++) {
        const int i    = b->joint[node->joint].first_coordinate + node->coordinate + k;
        q[node->q + k] = x[i], u[node->u + k] = rate[i];
      }
    }
    b->pose = pose;
    treePose(b, q, u, NULL);
    b->tree->level = 0;
    for (int i = 0; i < b->nbodies; i++) {
      sunrealtype *guess = b->body[i].guess;
      memcpy(guess, pose[i].r, (size_t)s->dimension * sizeof *guess);
      if (s->dimension == 3) bodiesAttitude(&pose[i], guess + 3);
      else guess[2] = pose[i].phi;
      memcpy(guess + s->nq, tree->twist + s->nu * i, (size_t)s->nu * sizeof *guess);
    }
    b->pose = given;
  } else flag = cpReport(&bodies->log, CP_MEM_FAIL, "CPBodiesRead", "no memory for coordinates");
  free(pose);
  free(q);
  return flag;
}
