/* cpodes describe MODEL: prints the model's description. */
#include "../command.h"
#include "../process/guarded.h"
#include "../simulation/records.h"

#include <models/model.h>
#include <models/plugin.h>
#include <string.h>

enum { KEY_PARAMETERS = 1000, LIMIT = 100, MESSAGE = 600 };

static const struct argp_option options[] = {
    MODEL_PARAM_OPTION(0),
    {"parameters", KEY_PARAMETERS, NULL, 0, "only the names of its parameters", 0},
    {0}};

typedef struct {
  ModelArguments arguments;
  int parameters;
} DescribeOptions;

static error_t parse(int key, char *text, struct argp_state *state) {
  DescribeOptions *o = state->input;
  if (key != KEY_PARAMETERS) return take_model_arguments(&o->arguments, key, text);
  o->parameters = 1;
  return 0;
}

/* -------------------------------------------------------------------------------------- tables -- */

static void print_parameters(FILE *out, const CPPlugin *model) {
  const CPPluginType *type = model->type;
  int name = 4, unit = 4;
  for (int i = 0; i < type->nparameters; i++) {
    name = wider(name, type->parameters[i].name);
    unit = wider(unit, unit_text(type->parameters[i].unit));
  }
  fprintf(out, "\nparameters\n");
  if (type->nparameters == 0) fprintf(out, "  none\n");
  else
    fprintf(out, "  %-*s  %12s  %10s  %10s  %-*s  meaning\n", name, "name", "value", "least",
            "most", unit, "unit");
  for (int i = 0; i < type->nparameters; i++) {
    const CPPluginParameter *p = &type->parameters[i];
    fprintf(out, "  %-*s  %12.6g  %10g  %10g  %-*s  %s\n", name, p->name,
            (double)model->parameter[i], (double)p->least, (double)p->most, unit,
            unit_text(p->unit), p->meaning);
  }
}

/* Prints the first `named` of `all` components, whose initial values are y. */
static void print_components(FILE *out, const char *heading, const CPPluginCoordinate *q, int named,
                             long all, const sunrealtype *y) {
  int name = 4, unit = 4;
  if (named == 0 || named > all) return;
  for (int i = 0; i < named; i++) {
    name = wider(name, q[i].name);
    unit = wider(unit, unit_text(q[i].unit));
  }
  fprintf(out, "\n%s\n  %-*s  %12s  %-*s  meaning\n", heading, name, "name", "start", unit, "unit");
  for (int i = 0; i < named; i++)
    fprintf(out, "  %-*s  %12.6g  %-*s  %s\n", name, q[i].name, (double)y[i], unit,
            unit_text(q[i].unit), q[i].meaning);
  if (named < all) fprintf(out, "  and %ld more\n", all - named);
}

static void print_coordinates(FILE *out, const CPPlugin *model) {
  const CPPluginType *type = model->type;
  const long nq            = (long)plugin_num_positions(model);
  const sunrealtype *y     = N_VGetArrayPointer(model->y0);
  print_components(out, "coordinates", type->coordinates, type->ncoordinates, nq, y);
  print_components(out, "velocities", type->velocities, type->nvelocities, (long)model->mech.nu,
                   y + nq);
}

static void print_quantities(FILE *out, const CPPlugin *model) {
  const CPPluginType *type = model->type;
  fprintf(out, "\nwhat the motion keeps, and outputs\n");
  if (type->nquantities == 0) fprintf(out, "  nothing that is known\n");
  for (int i = 0; i < type->nquantities; i++) {
    const CPPluginQuantity *q = &type->quantities[i];
    if (q->conserved == CP_QUANTITY_FREE) {
      fprintf(out, "  %s: an output, %g%s%s at the start\n", q->name,
              (double)plugin_value(model, q, 0, model->y0), unit_space(q->unit), unit_text(q->unit));
      continue;
    }
    fprintf(out, "  %s: %s, %g%s%s at the start; changes are judged by %g%s%s or more\n", q->name,
            plugin_conserves(model, i) ? "conserved" : "never rises",
            (double)plugin_value(model, q, 0, model->y0), unit_space(q->unit), unit_text(q->unit),
            (double)plugin_scale(model, i), unit_space(q->unit), unit_text(q->unit));
  }
}

/* --------------------------------------------------------------------------------------- facts -- */

/* A line of facts, such as "  constraints   1 of positions" */
#define FACT "  %-14s"

/* Prints "2 points" after the separator. */
static void print_count(FILE *out, const char *separator, long count, const char *what) {
  fprintf(out, "%s%ld %s%s", separator, count, what, count == 1 ? "" : "s");
}

static void print_constraints(FILE *out, const CPEquations *m) {
  const long np = (long)m->np, nv = (long)(m->nv > m->np ? m->nv : m->np);
  const long na = (long)(m->na > nv ? m->na : nv);
  fprintf(out, FACT, "constraints");
  if (na == 0) fprintf(out, "none");
  if (np > 0) fprintf(out, "%ld of positions", np);
  if (nv > np) fprintf(out, "%s%ld of velocities", np > 0 ? ", " : "", nv - np);
  if (na > nv) fprintf(out, "%s%ld of accelerations", nv > 0 ? ", " : "", na - nv);
  fputc('\n', out);
}

static void print_mechanism(FILE *out, const CPPlugin *model) {
  const CPEquations *m = &model->mech;
  const int sparse     = m->M_tmpl && SUNMatGetID(m->M_tmpl) == SUNMATRIX_SPARSE;
  if (m->nu == 0) return;
  fprintf(out, FACT, "form mech");
  print_count(out, "", (long)plugin_num_positions(model), "coordinate");
  fprintf(out, ", %ld velocit%s", (long)m->nu, m->nu == 1 ? "y" : "ies");
  if (m->nz > 0) print_count(out, ", ", (long)m->nz, "auxiliary state");
  fprintf(out, "; %s\n", !m->M ? "operators" : sparse ? "sparse matrices" : "dense matrices");
  print_constraints(out, m);
}

static void print_ode(FILE *out, const CPPlugin *model) {
  if (!model->f) return;
  fprintf(out, FACT "y' = f(t, y), ", "form ode");
  print_count(out, "", (long)model->n, "component");
  print_count(out, "; ", (long)model->m, "invariant");
  fputc('\n', out);
}

static void print_method(FILE *out, const CPPlugin *model) {
  Method method = *method_at(0);
  char reason[METHOD_REASON], unresolved[METHOD_REASON];
  /* 1e-6 is the default of `cpodes run`. */
  method_resolve(&method, model, (double)model->type->t_end, 1e-6, reason, unresolved);
  if (unresolved[0]) complain("warning: %s", unresolved);
  fprintf(out, FACT "auto is %s: %s\n", "method", method.name, method.title);
  fprintf(out, FACT "%s\n", "because", reason);
}

static void print_contacts(FILE *out, const CPPlugin *model) {
  for (int i = 0; i < model->ncontacts; i++) {
    const CPContactPoint *c = &model->contact[i];
    if (c->law.stiffness > 0)
      fprintf(out, FACT "%s: stiffness %g, damping %g", i ? "" : "contacts", c->name,
              (double)c->law.stiffness, (double)c->law.damping);
    else
      fprintf(out, FACT "%s: restitution %g", i ? "" : "contacts", c->name,
              (double)c->law.restitution);
    if (c->ntangents > 0) fprintf(out, ", friction %g", (double)c->law.mu);
    fputc('\n', out);
  }
}

static void print_events(FILE *out, const CPPlugin *model) {
  if (model->nroots > 0)
    fprintf(out, FACT "at the zeros of %d function%s\n", "events", model->nroots,
            model->nroots == 1 ? "" : "s");
  if (model->nstops > 0) fprintf(out, FACT "at t =", "kinks");
  for (int i = 0; i < model->nstops; i++)
    fprintf(out, "%s %g", i ? "," : "", (double)model->stop[i]);
  if (model->nstops > 0) fputc('\n', out);
}

static void print_known(FILE *out, const CPPlugin *model) {
  const CPPluginType *type = model->type;
  if (model->known)
    fprintf(out, FACT "known, to %.1e\n", "reference", (double)model->reference_error);
  else
    fprintf(out, FACT "%s\n", "reference",
            type->reference ? "known for other parameters only" : "none");
  fprintf(out, FACT, "drawing");
  if (type->points) print_count(out, "", model->drawing.npoints, "point");
  if (type->points) print_count(out, ", ", model->drawing.nsegments, "segment");
  if (type->points && model->drawing.nshapes)
    print_count(out, ", ", model->drawing.nshapes, "shape");
  fprintf(out, "%s\n", type->points ? "" : "none");
}

static void print_lines(FILE *out, const char *head, const char *lines) {
  for (int i = 0; lines && *lines; i++) {
    const size_t length = strcspn(lines, "\n");
    fprintf(out, FACT "%.*s\n", i ? "" : head, (int)length, lines);
    lines += length + (lines[length] == '\n');
  }
}

static void print_facts(FILE *out, const CPPlugin *model) {
  const CPPluginType *type = model->type;
  fprintf(out, "%s (%s)\n", type->title, type->name);
  if (type->source) fprintf(out, FACT "%s\n", "source", type->source);
  fprintf(out, FACT "0 to %g\n", "t", (double)type->t_end);
  print_mechanism(out, model);
  print_ode(out, model);
  print_method(out, model);
  print_contacts(out, model);
  print_events(out, model);
  print_known(out, model);
  print_lines(out, "left out", type->left_out);
  print_lines(out, "remarks", type->remarks);
}

static int describe(const Guarded *guarded, const CPPlugin *model, void *data) {
  FILE *out = guarded->out;
  char message[MESSAGE];
  (void)data;
  if (model_check_created(model, message, sizeof message))
    return complain("%s", message), STATUS_USAGE;
  print_facts(out, model);
  print_parameters(out, model);
  print_coordinates(out, model);
  print_quantities(out, model);
  return STATUS_DONE;
}

static int print_names(const CPPluginType *type) {
  for (int i = 0; i < type->nparameters; i++) puts(type->parameters[i].name);
  return STATUS_DONE;
}

static int describe_main(int argc, char **argv) {
  static const struct argp argp = {.options  = options,
                                   .parser   = parse,
                                   .args_doc = "MODEL",
                                   .doc = "Describes a model: its sizes, parameters, coordinates, "
                                          "conserved quantities. The model is " MODEL_KINDS "."};
  DescribeOptions o             = {0};
  int status                    = parse_options(&argp, argc, argv, &o);
  if (status == STATUS_DONE)
    status = o.parameters ? print_names(o.arguments.choice.type)
                          : run_with_model(&o.arguments.choice, LIMIT, describe, NULL);
  free_model_arguments(&o.arguments);
  return status;
}

const Command describe_command = {"describe", "describes a model", describe_main};
