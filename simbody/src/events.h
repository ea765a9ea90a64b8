/* Where trigger functions e_i(t) change their signs (as SimTK::Integrator sees it): a trigger occurs in (low, high] if
 * e_i(low) is not zero and e_i(high) has another sign, or is zero. What leaves zero is no event, so that a function that
 * stays at zero triggers once. */
#ifndef CPODES_SIMBODY_EVENTS_H
#define CPODES_SIMBODY_EVENTS_H

#include <functional>
#include <vector>

namespace cpodes {

enum { FALLING = 1, RISING = 2 }; /* as SimTK::Event::Trigger */

struct TriggerKind {
  int directions; /* FALLING, RISING or both */
  double width;   /* of the window to which it is to be located */
};

struct EventWindow {
  double low, high;
  std::vector<int> which, direction; /* triggers that occur in it, and how */
  std::vector<double> times;         /* where by the secant rule */
};

/**
 * The first event in (window.low, window.high], located to the width of its trigger. eLow, eHigh: values at the ends; out: those
 * at the new ends. values(t, e): evaluates. report: a time that is to lie in no window's interior. narrowest: width
 * below which nothing is located, above roundoff of t. Returns false where no trigger occurs; window and values are
 * then as they were.
 */
bool locateEvent(EventWindow &window, std::vector<double> &eLow, std::vector<double> &eHigh,
                 const std::vector<TriggerKind> &kinds, double report, double narrowest,
                 const std::function<void(double, std::vector<double> &)> &values);

} // namespace cpodes
#endif
