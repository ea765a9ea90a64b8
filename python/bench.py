"""Measures what the guide's chapter "Python" says about speed. Times are minima of many repeats, ratios are taken in turn.

    python3 bench.py [overhead] [import] [andrews]"""
import subprocess
import sys
import time

import numpy as np

import cpodes


def overhead() -> None:
    """Of one callback with n = 14, beyond the function itself."""
    n, value = 14, np.zeros(14)
    f = lambda t, y: value
    y = np.zeros(n)
    run = alone = np.inf
    for _ in range(200):
        begin = time.perf_counter()
        for _ in range(1000):
            f(0.0, y)
        alone = min(alone, (time.perf_counter() - begin) / 1000)
        system = cpodes._solve.Ode(f, 0.0, y, float, None, None, None, (), 1e-3, 1e-6)
        raw, ode = cpodes._solve.lib.glue_rhs, system.ode
        a, b = system.scratch_vectors
        empty = time.perf_counter()
        for _ in range(1000):
            raw(0.0, a, b, ode)
        run = min(run, (time.perf_counter() - empty) / 1000)
    print(f"a callback, n = 14: {1e6 * (run - alone):.2f} microseconds beyond the function (which takes {1e6 * alone:.2f})")


def importing() -> None:
    program = "import numpy, time; t = time.perf_counter(); import cpodes; print(time.perf_counter() - t)"
    times = [float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout) for _ in range(15)]
    print(f"import cpodes after numpy: {1e3 * min(times):.0f} ms")


if __name__ == "__main__":
    parts = {"overhead": overhead, "import": importing}
    for name in sys.argv[1:] or parts:
        parts[name]()
