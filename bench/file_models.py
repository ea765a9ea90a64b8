#!/usr/bin/env python3
"""Mechanisms as files and the same ones by hand, of the catalogue: instructions at equal error.

    bench/file_models.py PROGRAM [--methods LIST] [--per-decade N] [MODEL...]

PROGRAM: path of `cpodes`, of a release build. The models are andrews and bricard (default: both), by the catalogue's functions,
and by examples/mechanisms/MODEL.yaml in absolute and in joint coordinates. Each runs with all methods (default: auto, dop853,
radau, bdf, adams) at tolerances from 1e-3 to 1e-9, N of them in each decade (default: 4/3, which makes nine), under callgrind, which counts the
instructions of the integration (CPIntegratorEvolve); a run takes some seconds. The error is the largest one of the coordinates at the end, relative to the
largest coordinate, against a run of the same model with dop853 at 1e-13. For each error, a power of ten that all have reached,
the cheapest run of the file in either coordinates that is as accurate is compared with that by hand: the ratio of instructions,
and at the end the geometric mean for each model."""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile

FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "mechanisms")
LEAST, MOST = -9, -3  # decades of tolerances


def run(program, model, method, tolerance, counts=True):
    """Returns the coordinates at the end, and the number of instructions."""
    command = [program, "run", *model, "-m", method, "-r", f"{tolerance:g}", "-n", "1", "--no-estimate", "-q", "--json", "-"]
    with tempfile.TemporaryDirectory() as folder:
        if counts:  # The program works in a child, which counts for itself.
            command = ["valgrind", "--tool=callgrind", "--toggle-collect=CPIntegratorEvolve",
                       f"--callgrind-out-file={folder}/%p", *command]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    result = json.loads(done.stdout)
    if result["ending"] != "done":
        return None, 0
    instructions = [int(n) for n in re.findall(r"Collected : (\d+)", done.stderr)]
    return result["end"]["y"][:result["model"]["nq"]], max(instructions, default=0)


def ladder(program, model, methods, tolerances):
    """[(error, instructions)] of the runs that reach the end"""
    exact, _ = run(program, model, "dop853", 1e-13, counts=False)
    size = max(map(abs, exact))
    runs = []
    for method in methods:
        for tolerance in tolerances:
            end, instructions = run(program, model, method, tolerance)
            if end:
                runs.append((max(abs(x - y) for x, y in zip(end, exact)) / size, instructions))
    return runs


def cheapest(runs, error):
    return min((instructions for reached, instructions in runs if reached <= error), default=math.inf)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", nargs="*", default=[], metavar="MODEL")
    parser.add_argument("--methods", default="auto,dop853,radau,bdf,adams")
    parser.add_argument("--per-decade", type=float, default=8 / (MOST - LEAST))
    options = parser.parse_intermixed_args()
    count = round((MOST - LEAST) * options.per_decade)
    tolerances = [10 ** (MOST + (LEAST - MOST) * k / count) for k in range(count + 1)]
    for name in options.models or ["andrews", "bricard"]:
        path = os.path.join(FILES, name + ".yaml")
        forms = {"hand": [name], "joint": [path, "--coordinates", "joint"], "absolute": [path, "--coordinates", "absolute"]}
        runs = {form: ladder(options.program, model, options.methods.split(","), tolerances) for form, model in forms.items()}
        ratios = []
        print(f"{name}: millions of instructions\n{'error':>8} {'hand':>9} {'joint':>9} {'absolute':>9} {'ratio':>7}")
        for decade in range(MOST, LEAST - 1, -1):
            cost = {form: cheapest(of, 10 ** decade) for form, of in runs.items()}
            if math.inf in (cost["hand"], min(cost["joint"], cost["absolute"])):
                continue
            ratios.append(min(cost["joint"], cost["absolute"]) / cost["hand"])
            print(f"{10 ** decade:8.0e} " + " ".join(f"{1e-6 * of:9.2f}" for of in cost.values()) + f" {ratios[-1]:7.2f}", flush=True)
        if ratios:
            print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
