#include "diagnosis.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

using namespace SimTK;

namespace cpodes {

namespace {

std::string number(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

/* The first three of a list, and how many there are besides */
std::string some(const std::vector<std::string> &items) {
  std::string text;
  const std::size_t shown = std::min<std::size_t>(items.size(), 3);
  for (std::size_t k = 0; k < shown; k++) text += (k ? ", " : "") + items[k];
  return items.size() > shown ? text + " and " + std::to_string(items.size() - shown) + " more"
                              : text;
}
std::string element(const char *name, int k) { return name + ("[" + std::to_string(k) + "]"); }

} // namespace

std::string notFinite(const Vector &values, const char *name) {
  std::vector<std::string> items;
  for (int k = 0; k < values.size(); k++)
    if (!isFinite(values[k])) items.push_back(element(name, k) + " = " + number(values[k]));
  return some(items);
}
std::string notFinite(const State &state) {
  for (const auto &part : {std::make_pair(&state.getQ(), "q"), std::make_pair(&state.getU(), "u"),
                           std::make_pair(&state.getZ(), "z")}) {
    const std::string text = notFinite(*part.first, part.second);
    if (!text.empty()) return text;
  }
  return "";
}

std::string withoutMass(const MultibodySystem &system, const State &state) {
  const SimbodyMatterSubsystem &matter = system.getMatterSubsystem();
  const Array_<UIndex> &known          = matter.getKnownUDotIndex(state);
  Matrix mass;
  matter.calcM(state, mass);
  std::vector<std::string> items;
  for (int k = 0; k < mass.nrow(); k++)
    if (mass(k, k) == 0.0 && std::find(known.begin(), known.end(), UIndex(k)) == known.end())
      items.push_back(element("u", k));
  if (items.empty()) return "";
  Real total = 0.0;
  for (MobilizedBodyIndex b(1); b < matter.getNumBodies(); ++b)
    total += matter.getMobilizedBody(b).getBodyMass(state);
  return (total == 0.0 ? "no body of the model has a mass; " : "") +
         ("no mass is moved by " + some(items)) + ": give one to a body that it moves, or lock it";
}

std::string violated(const MultibodySystem &system, State state, double tolerance) {
  const SimbodyMatterSubsystem &matter = system.getMatterSubsystem();
  system.realize(state, Stage::Velocity);
  std::vector<std::pair<double, std::string>> open;
  for (ConstraintIndex c(0); c < matter.getNumConstraints(); ++c) {
    const Constraint &constraint = matter.getConstraint(c);
    if (constraint.isDisabled(state)) continue;
    int np, nv, na;
    constraint.getNumConstraintEquationsInUse(state, np, nv, na);
    const double p = np ? constraint.getPositionErrorsAsVector(state).normInf() : 0.0,
                 v = np + nv ? constraint.getVelocityErrorsAsVector(state).normInf() : 0.0;
    if (p > tolerance)
      open.emplace_back(p, element("constraint", c) + " is violated by " + number(p));
    else if (v > tolerance)
      open.emplace_back(v, element("constraint", c) + " is violated by " + number(v) +
                               " at velocities");
  }
  if (open.empty()) return "";
  std::stable_sort(open.begin(), open.end(),
                   [](const auto &a, const auto &b) { return a.first > b.first; });
  std::vector<std::string> items, locked;
  for (const auto &one : open) items.push_back(one.second);
  for (UIndex k : matter.getKnownUDotIndex(state)) locked.push_back(element("u", k));
  return some(items) + (locked.empty()
                            ? ""
                            : ", while the motion of " + some(locked) + " is locked or prescribed");
}

} // namespace cpodes
