"""The package: the cost of its import, and its metadata."""
import subprocess
import sys
from pathlib import Path

import pytest

import cpodes


def test_it_is_typed_and_documented():
    assert (Path(cpodes.__file__).parent / "py.typed").exists()
    for name in cpodes.__all__:
        assert getattr(cpodes, name).__doc__, name


def test_importing_it_imports_little():
    """The import takes 0.1 s in addition to numpy's. bench.py measures the time; this test checks what would increase it."""
    program = "import numpy, sys; before = set(sys.modules); import cpodes; print(*(set(sys.modules) - before))"
    more = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"scipy", "sympy", "matplotlib", "cffi", "numba", "tqdm"}
    assert not heavy & {m.split(".")[0] for m in more}
    assert len(more) < 30, more


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="solv"):
        cpodes.solv
