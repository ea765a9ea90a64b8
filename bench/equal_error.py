#!/usr/bin/env python3
"""Two versions of the program `cpodes` over the catalogue: work at equal error, and error per tolerance.

    bench/equal_error.py OLD NEW [MODEL[:PARAMETER=VALUE]...]

OLD, NEW: paths of the program. Each runs `compare` with bdf, adams and dop853 (stiff models: bdf) at 21 tolerances from
1e-4 to 1e-9. For both, log(steps) and log(evaluations of f) are fitted by quadratic polynomials of log(error), and compared
over the errors that both have reached: NEW over OLD, geometric mean. Then come the errors at the end in tolerances, the
geometric mean of both and the largest of NEW, and the runs that failed. Single runs scatter by some per cent, these means
by one or two."""
import csv
import io
import math
import subprocess
import sys

import numpy
from numpy.polynomial import Polynomial

MODELS = ("pendulum slider_crank andrews car_axis knife_edge chain newton_cradle spatial_chain bricard heavy_top "
          "flexible_crank bushing_crank bending_chain flyball_governor").split()
STIFF = {"flexible_crank", "bushing_crank", "bending_chain", "flyball_governor"}
POINTS = 21


def runs(program, model):
    """{method: [(tolerance, error, steps, evaluations)]}, {method: failed runs}"""
    name, _, parameters = model.partition(":")
    command = [program, "compare", name, "--from", "1e-4", "--to", "1e-9", "--per-decade", "4", "--csv", "-",
               "--methods", "bdf" if name in STIFF else "bdf,adams,dop853"]
    for parameter in filter(None, parameters.split(",")):
        command += ["--param", parameter]
    done, failed = {}, {}
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    for row in csv.DictReader(io.StringIO(out)):
        good = row["ending"] == "done" and float(row["error"]) > 0
        failed[row["method"]] = failed.get(row["method"], 0) + (not good)
        if good:
            done.setdefault(row["method"], []).append(
                (float(row["tolerance"]), float(row["error"]), int(row["steps"]), int(row["rhs"])))
    return done, failed


def at_equal_error(old, new, column):
    """NEW over OLD, or NaN if there are fewer than three errors for a polynomial"""
    logs = [(numpy.log([run[1] for run in side]), numpy.log([run[column] for run in side])) for side in (old, new)]
    if any(len(set(errors)) < 3 for errors, _ in logs):
        return math.nan
    f, g = (Polynomial.fit(errors, work, 2) for errors, work in logs)
    at = numpy.linspace(max(e.min() for e, _ in logs), min(e.max() for e, _ in logs), POINTS)
    return math.exp(numpy.mean(g(at) - f(at)))


def mean_per_tolerance(side):
    return math.exp(sum(math.log(run[1] / run[0]) for run in side) / len(side))


def main():
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    means = {}
    print(f"{'model':18} {'method':7} {'steps':>6} {'f':>6}   {'error/tol':>9} {'before':>9} {'largest':>9}  failed, before")
    for model in sys.argv[3:] or MODELS:
        (old, old_failed), (new, new_failed) = runs(sys.argv[1], model), runs(sys.argv[2], model)
        for method in new:
            if min(len(old.get(method, [])), len(new[method])) < 5:
                print(f"{model:18} {method:7} too few runs; failed {new_failed[method]}, {old_failed.get(method, 0)}")
                continue
            steps, f = (at_equal_error(old[method], new[method], column) for column in (2, 3))
            largest = max(run[1] / run[0] for run in new[method])
            print(f"{model:18} {method:7} {steps:6.3f} {f:6.3f}   {mean_per_tolerance(new[method]):9.3g} "
                  f"{mean_per_tolerance(old[method]):9.3g} {largest:9.3g}  {new_failed[method]}, {old_failed[method]}",
                  flush=True)
            if model.partition(":")[0] not in STIFF and not math.isnan(steps):
                means.setdefault(method, []).append((math.log(steps), math.log(f)))
    for method, logs in means.items():
        steps, f = (math.exp(sum(log[k] for log in logs) / len(logs)) for k in (0, 1))
        print(f"{'not stiff, mean':18} {method:7} {steps:6.3f} {f:6.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
