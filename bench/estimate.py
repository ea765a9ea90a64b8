#!/usr/bin/env python3
"""How accurate are the runner's estimates of its errors?

    bench/estimate.py build/release/runner/cpodes [--models NAME,...] [--jobs N]

Runs every mechanism of the catalogue by every method at tolerances 1e-2 ... 1e-10 and compares the estimated error with the
true one: from the catalogue's reference or, if there is none, from DOP853 at 1e-13 (for stiff models BDF at 1e-13). Errors
below ten times the reference's own are excluded. The bounds: within a factor of 3 in 90 %, of 10 in 99 %, at a cost of at
most five times the run's, in counts (evaluations, factorisations, steps), which are the same on any machine. Then chaotic
motions: the time from which digits are lost, compared with the time at which the run separates from one at 1e-13. The exit
status is 1 if a bound is missed."""

import argparse
import csv
import io
import json
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

METHODS = "bdf adams adams-newton dop853 radau dopri5 bdf2".split()
TOLERANCES = [10.0**-k for k in range(2, 11)]
PATIENCE = 60  # seconds of CPU time for a run; runs that need more are excluded, and counted
SHORT = 5e6  # the cost of an estimate, times the number of components, that is permitted for any run: about a second
CHAOTIC = [  # models that are chaotic with these arguments
    "chain --param n=2 --t-end 40",
    "chain --param n=3 --t-end 40",
    "chain --param n=5 --t-end 40",
    "spatial_chain --param n=3 --t-end 40",
    "spatial_chain --param n=4 --t-end 20",
]


def run(program, arguments):
    """The summary of a run and its trajectory, or None if it took too long or failed"""
    command = [program, "run", *arguments, "--quiet"]
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE + 2))
    process = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
    return process.stdout if process.returncode == 0 else None


def summary(program, *arguments):
    text = run(program, [*arguments, "--json", "-"])
    return json.loads(text) if text else None


def trajectory(program, *arguments):
    """[(t, compared components)]"""
    text = run(program, [*arguments, "--csv", "-", "--no-estimate"])
    return [[float(x) for x in row] for row in list(csv.reader(io.StringIO(text)))[1:]] if text else None


def distance(a, b, compared):
    return max(abs(x - y) for x, y in zip(a[:compared], b[:compared]))


def true_error(job, reference):
    """The true error, from the model's reference or another run, and the accuracy of that"""
    if job["error"] is not None:
        return job["error"], job["reference_error"]
    n = job["model"]["compared"]
    size = max(abs(x) for x in reference["end"]["y"][:n])
    return distance(job["end"]["y"], reference["end"]["y"], n), 1e-12 * max(1, size)


def quantile(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))] if values else float("nan")


def catalogue(program, models, processes):
    """For each method [(model, tol, estimate / error, cost, stopped)], and the excluded runs"""
    results, left_out = {}, []

    def one(case):
        model, method, tol = case
        return summary(program, model, "--method", method, "--rtol", repr(tol), "--outputs", "1")

    for model in models:
        stiff = "stiff         yes" in subprocess.run([program, "describe", model], capture_output=True, text=True).stdout
        reference = summary(program, model, "--rtol", "1e-13", "--no-estimate", "--outputs", "1",
                            "--method", "bdf" if stiff else "dop853")
        cases = [(model, method, tol) for method in METHODS for tol in TOLERANCES]
        with ThreadPoolExecutor(processes) as pool:
            jobs = list(pool.map(one, cases))
        for (_, method, tol), job in zip(cases, jobs):
            if not job or (job["error"] is None and not reference):
                left_out.append((model, method, tol, "slow, or failed"))
                continue
            error, known = true_error(job, reference)
            estimate = job["estimate"]
            if error < 10 * known:
                continue
            ratio = estimate["error"] / error if estimate["error"] else float("nan")
            short = estimate["cost"] * job["counts"]["work"] * job["model"]["n"] <= SHORT
            settled = estimate["part"] is not None and estimate["part"] > 3e-3  # by two more runs at tight tolerances
            cost = None if short or settled else estimate["cost"]
            print(model, method, tol, f"{ratio:.3g}", cost and f"{cost:.2f}", file=sys.stderr, flush=True)
            results.setdefault(method, []).append((model, tol, ratio, cost, estimate["stopped"], estimate["chaotic"]))
    return results, left_out


def within(rows, factor):
    return sum(1 / factor <= row[2] <= factor for row in rows) / len(rows)


def print_catalogue(results, left_out):
    print("| method | runs | within 3 | within 10 | second run stopped | cost, median | 90 % | most |")
    print("|---|---|---|---|---|---|---|---|")
    for method, rows in [*results.items(), ("all", sum(results.values(), []))]:
        costs = [row[3] for row in rows if row[3]]
        print(
            f"| {method} | {len(rows)} | {100 * within(rows, 3):.1f} % | {100 * within(rows, 10):.1f} % "
            f"| {sum(row[4] for row in rows)} | {quantile(costs, 0.5):.2f} | {quantile(costs, 0.9):.2f} | {quantile(costs, 1):.2f} |"
        )
    print("\nnot within 3:")
    for method, rows in results.items():
        for model, tol, ratio, _, stopped, lost in rows:
            if not 1 / 3 <= ratio <= 3:
                print(f"  {model:22} {method:13} {tol:.0e}  {ratio:.2g}{' stopped' if stopped else ''}{' chaotic' if lost else ''}")
    print("\nleft out:", *(f"{m} {k} {t:.0e}" for m, k, t, _ in left_out), sep="\n  ")


def parting(program, arguments, tol, method):
    """The (estimated, true) time at which digits are lost, or None"""
    job = summary(program, *arguments, "--rtol", repr(tol), "--method", method, "--outputs", "1")
    mine = trajectory(program, *arguments, "--rtol", repr(tol), "--method", method, "--outputs", "2000")
    tight = trajectory(program, *arguments, "--rtol", "1e-13", "--method", "dop853", "--outputs", "2000")
    if not (job and mine and tight):
        return None
    compared = range(1, 1 + job["model"]["compared"])
    spans = [max(row[i] for row in mine) - min(row[i] for row in mine) for i in compared]
    for a, b in zip(mine, tight):
        if any(abs(a[i] - b[i]) > 0.1 * span > 1e-4 * max(spans) for i, span in zip(compared, spans)):
            return job["estimate"]["digits_lost_after"], a[0], job["estimate"]["chaotic"]
    return job["estimate"]["digits_lost_after"], None, job["estimate"]["chaotic"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--models", help="default: all of the catalogue")
    parser.add_argument("--jobs", type=int, default=2, help="runs side by side")
    options = parser.parse_args()
    names = subprocess.run([options.program, "list"], capture_output=True, text=True).stdout.splitlines()
    models = options.models.split(",") if options.models else [line.split()[0] for line in names if line.strip()]
    results, left_out = catalogue(options.program, models, options.jobs)
    print_catalogue(results, left_out)
    everything = sum(results.values(), [])
    good = within(everything, 3) >= 0.9 and within(everything, 10) >= 0.99
    good = good and all(row[3] is None or row[3] <= 2 for row in everything)
    print("\n| chaotic motion | method | tol | digits are lost after | true | said to be chaotic |\n|---|---|---|---|---|---|")
    for case in [] if options.models else CHAOTIC:
        for method, tol in ("dop853", 1e-6), ("dop853", 1e-9), ("bdf", 1e-6), ("adams", 1e-8):
            found = parting(options.program, case.split(), tol, method)
            if not found:
                continue
            estimated, true, chaotic = found
            print(f"| {case} | {method} | {tol:.0e} | {estimated} | {true} | {chaotic} |")
            if true and estimated and abs(estimated - true) > 0.2 * true or bool(true) != bool(estimated):
                good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
