/* Locates sign changes of trigger functions e_i(t), as SimTK::Integrator defines them: a trigger
 * occurs in (low, high] if e_i(low) is not zero and e_i(high) has another sign or is zero. Leaving
 * zero is no event, so that a function that stays at zero triggers once. */
#ifndef CPODES_SIMBODY_EVENTS_H
#define CPODES_SIMBODY_EVENTS_H

#include <functional>
#include <vector>

namespace cpodes {

enum { FALLING = 1, RISING = 2 }; /* as SimTK::Event::Trigger */

struct TriggerKind {
  int directions; /* FALLING, RISING or both */
  double width;   /* of the window in which it is to be located */
};

struct EventWindow {
  double low, high;
  std::vector<int> which, direction; /* triggers that occur in the window, and their directions */
  std::vector<double> times;         /* their times, by the secant rule */
};

/** Finds the first event in (window.low, window.high] and locates it to the width of its trigger.
 *
 * eLow, eHigh: in, out, the values at the ends. values(t, e): evaluates the triggers. report: a
 * time that no window may contain in its interior. narrowest: the least width of a window, above
 * the roundoff of t. Returns false if no trigger occurs; then window and values are unchanged. */
bool locateEvent(EventWindow &window, std::vector<double> &eLow, std::vector<double> &eHigh,
                 const std::vector<TriggerKind> &kinds, double report, double narrowest,
                 const std::function<void(double, std::vector<double> &)> &values);

} // namespace cpodes
#endif
