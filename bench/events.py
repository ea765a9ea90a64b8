#!/usr/bin/env python3
"""Do errors follow the tolerance if contacts open, close, slide and collide?

    bench/events.py build/dev/runner/cpodes [--models NAME,...] [--methods NAME,...]

Runs every model with contacts, of the catalogue and of examples/mechanisms, at thirteen tolerances 1e-4 ... 1e-10, and
compares the states at the end with those of DOP853 at 1e-12, and that run with RADAU's. A line for each model and method
contains: the largest error in units of the tolerance, where |y - y_ref| / (1 + |y_ref|) is the error of a component; the
slope of log(error) over log(tolerance), by least squares, where errors are above 1e-11 and 30 times the difference of both
references; and the tolerances at which the events differ from those of the reference in number, order, contacts, phases or
impacts. Consecutive impacts at one contact count as one, since their number before an accumulation is closed depends on the
tolerance. Models with an asterisk had an interval of time stepping at some tolerance; those runs are excluded from slopes.
Bounds: 100 tolerances (BDF and Adams, whose errors add up over the steps of a flight: 1,000), a slope of 0.75, the same
events from 1e-6 on. Values that miss a bound are marked with !."""

import argparse
import json
import math
import pathlib
import subprocess
import sys

FILES = pathlib.Path(__file__).resolve().parents[1] / "examples" / "mechanisms"
CATALOGUE = "bouncing_ball sliding_block woodpecker rolling_ball impacting_stick rocking_block painleve_rod slider_crank_clearance".split()
MECHANISMS = "box_stack wheel_curb chain_floor four_bar_clearance tippe_top".split()
END = {"bouncing_ball": 8, "rocking_block": 1.2, "tippe_top": 1, "woodpecker": 0.3}  # before accumulations, and before sensitive intervals
METHODS = "dop853 radau bdf adams".split()
TOLERANCES = [10 ** (-k / 2) for k in range(8, 21)]


def run(program, model, method, tolerance):
    """The summary of a run, or None if it failed"""
    name = str(FILES / f"{model}.yaml") if model in MECHANISMS else model
    command = [program, "run", name, "-m", method, "-r", repr(tolerance), "-a", repr(tolerance), "--no-estimate", "-q", "--json", "-"]
    if model in END:
        command += ["-t", repr(END[model])]
    process = subprocess.run(command, capture_output=True, text=True)
    return json.loads(process.stdout) if process.returncode == 0 else None


def sequence(summary):
    """Events, with consecutive impacts at one contact as one"""
    events = []
    for e in summary["events"]:
        event = e["contact"], e["before"], e["after"], e["impact"]
        if not events or not e["impact"] or event != events[-1]:
            events.append(event)
    return events


def error(summary, reference):
    return max(abs(a - b) / (1 + abs(b)) for a, b in zip(summary["end"]["y"], reference["end"]["y"]))


def slope(points):
    if len(points) < 3:
        return math.nan
    x, y = ([math.log10(p[i]) for p in points] for i in (0, 1))
    mx, my = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mx) * (b - my) for a, b in zip(x, y)) / sum((a - mx) ** 2 for a in x)


def ladder(program, model, method, reference, known):
    """A line of the table; True if a bound is missed"""
    points, worst, other, failed, time_stepped = [], 0, [], [], False
    for tolerance in TOLERANCES:
        summary = run(program, model, method, tolerance)
        if summary is None:
            failed.append(tolerance)
            continue
        e = error(summary, reference)
        worst = max(worst, e / tolerance)
        if sequence(summary) != sequence(reference):
            other.append(tolerance)
        if summary["contacts"]["intervals"]:
            time_stepped = True
        elif e > max(1e-11, 30 * known):
            points.append((tolerance, e))
    rate = slope(points)
    late = [t for t in other if t <= 1.01e-6]
    missed = worst > (1000 if method in ("bdf", "adams") else 100) or rate < 0.75 or bool(late) or bool(failed)
    told = " ".join(f"{t:.0e}" for t in other) or "-"
    print(
        f"{model + ('*' if time_stepped else ''):24}{method:8}{worst:10.3g}{rate:8.2f}  {len(reference['events']):4}  {told}"
        + (f"  failed: {' '.join(f'{t:.0e}' for t in failed)}" if failed else "")
        + ("  !" if missed else ""),
        flush=True,
    )
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--models", default=",".join(CATALOGUE + MECHANISMS))
    parser.add_argument("--methods", default=",".join(METHODS))
    options = parser.parse_args()
    print(f"{'model':24}{'method':8}{'error/tol':>10}{'slope':>8}  events  others at")
    missed = 0
    for model in options.models.split(","):
        reference, second = (run(options.program, model, method, 1e-12) for method in ("dop853", "radau"))
        if reference is None:
            sys.exit(f"{model}: DOP853 fails at 1e-12")
        known = error(second, reference) if second else 0
        for method in options.methods.split(","):
            missed += ladder(options.program, model, method, reference, known)
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
