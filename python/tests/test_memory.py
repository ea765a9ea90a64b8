"""Pointers into arrays of Python: nothing that C reads may have been freed."""
import gc
import os
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import cpodes
from cpodes._core import pointer


@pytest.mark.parametrize("make", [lambda: np.arange(3.0), lambda: np.ones((2, 3), order="F"), lambda: np.arange(4, dtype=np.int64)])
def test_a_pointer_keeps_its_array(make):
    array = make()
    held, alive = pointer(array), weakref.ref(array)
    del array
    gc.collect()
    assert alive() is not None and held is not None
    del held
    gc.collect()
    assert alive() is None


def test_an_array_of_other_numbers_has_no_pointer():
    with pytest.raises(KeyError):
        pointer(np.ones(2, dtype=np.float32))


# Blocks above 1 kB leave numpy's and glibc's caches at once, so that MALLOC_PERTURB_ overwrites them when they are freed.
FREED = """
import numpy as np, cpodes
from cpodes._mechanism import Model
short = Model._all
Model._all = lambda self: np.append(short(self), np.zeros(1000))
m = cpodes.model("slider_crank", a=0.375)
assert m.values["a"] == 0.375 and np.isfinite(m.y0).all(), m.y0
sol = m.solve((0, 0.1), rtol=1e-6, atol=1e-6)
assert sol.violation.max() < 1e-5, sol.violation
sol, gradient = m.gradient(lambda t, y, p: y[0], {"a": 0.375}, t_span=(0, 0.1))
assert np.isfinite(gradient["a"])
"""


def test_parameters_of_models_outlive_the_call_that_reads_them():
    debug = dict(os.environ, PYTHONMALLOC="debug", MALLOC_PERTURB_="165")
    done = subprocess.run([sys.executable, "-P", "-c", FREED], env=debug, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_threads_with_models_of_their_own_get_their_own_parameters():
    values = np.linspace(0.3, 0.6, 1000)
    start = lambda a: cpodes.model("slider_crank", a=a).y0
    serial = [start(a) for a in values]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            threads = list(pool.map(start, values))
    finally:
        sys.setswitchinterval(interval)
    assert np.array_equal(serial, threads)
