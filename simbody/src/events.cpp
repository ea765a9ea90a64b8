#include "events.h"

#include <algorithm>
#include <cmath>

namespace cpodes {

namespace {

int sign(double e) { return (e > 0.0) - (e < 0.0); }

int transition(double before, double after) {
  if (sign(before) == 0 || sign(before) == sign(after)) return 0;
  return before > 0.0 ? FALLING : RISING;
}

/* The triggers of `from` that occur between two sets of values. */
std::vector<int> occurring(const std::vector<int> &from, const std::vector<TriggerKind> &kinds,
                           const std::vector<double> &eLow, const std::vector<double> &eHigh) {
  std::vector<int> result;
  for (int k : from) {
    const auto i = static_cast<std::size_t>(k);
    if (transition(eLow[i], eHigh[i]) & kinds[i].directions) result.push_back(k);
  }
  return result;
}

/* The zero of the secant through both ends, with the upper value divided by bias: a bias above 1
 * moves it up. Functions that are zero at an end, as discontinuous ones are, are bisected. */
double secant(double low, double high, double eLow, double eHigh, double bias) {
  if (eHigh == 0.0) return low + (high - low) / 2.0;
  const double upper = eHigh / bias;
  return high - upper / (upper - eLow) * (high - low);
}

} // namespace

bool locateEvent(EventWindow &w, std::vector<double> &eLow, std::vector<double> &eHigh,
                 const std::vector<TriggerKind> &kinds, double report, double narrowest,
                 const std::function<void(double, std::vector<double> &)> &values) {
  std::vector<int> all(kinds.size());
  for (std::size_t i = 0; i < all.size(); i++) all[i] = static_cast<int>(i);
  std::vector<int> candidates = occurring(all, kinds, eLow, eHigh);
  if (candidates.empty()) return false;
  std::vector<double> eMid(eLow.size());
  double bias = 1.0; /* doubled and halved while the secant rule moves the same end (Illinois) */
  int side    = 0;
  for (;;) {
    const double h = w.high - w.low;
    double width = h, mid = w.high;
    w.times.clear();
    for (int k : candidates) {
      const auto i = static_cast<std::size_t>(k);
      width        = std::min(width, std::max(kinds[i].width, narrowest));
      w.times.push_back(secant(w.low, w.high, eLow[i], eHigh[i], bias));
      mid = std::min(mid, w.times.back());
    }
    const bool split = w.low < report && report < w.high;
    if (h <= width && !split) break;
    const double margin = std::max(0.1 * h, narrowest / 2.0);
    mid                 = split ? report : std::min(std::max(mid, w.low + margin), w.high - margin);
    if (!(w.low < mid && mid < w.high)) break; /* There is no number between low and high. */
    values(mid, eMid);
    const std::vector<int> lower = occurring(candidates, kinds, eLow, eMid);
    const int newSide            = lower.empty() ? 1 : -1;
    bias                         = newSide != side ? 1.0 : newSide > 0 ? 2.0 * bias : bias / 2.0;
    side                         = newSide;
    if (lower.empty()) {
      w.low = mid;
      eLow  = eMid;
    } else {
      w.high     = mid;
      eHigh      = eMid;
      candidates = lower;
    }
  }
  w.which = candidates;
  w.direction.clear();
  for (int k : candidates) {
    const auto i = static_cast<std::size_t>(k);
    w.direction.push_back(transition(eLow[i], eHigh[i]));
  }
  return true;
}

} // namespace cpodes
