"""The programs of the guide run and print "ok"."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NEEDS = {"fit": ("scipy", "sympy"), "compiled": ("sympy",)}


def test_the_lines_of_the_readme_run_as_they_stand(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path) # they write their plots there
    readme = (EXAMPLES.parents[1] / "README.md").read_text()
    (lines,) = re.findall(r"```python\n(.*?)```", readme, re.S)
    names = {}
    exec(lines, names)
    sol = names["sol"]
    assert sol.success and sol.t[-1] == 20 and sol.violation.max() < 1e-7
    assert (tmp_path / "pendulum.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_example(name, tmp_path):
    for needed in NEEDS.get(name, ()):
        pytest.importorskip(needed)
    package = Path(sys.modules["cpodes"].__file__).parents[1] if "cpodes" in sys.modules else ""
    done = subprocess.run([sys.executable, str(EXAMPLES / f"{name}.py")], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": str(package)})
    assert done.returncode == 0 and done.stdout.endswith("ok\n"), done.stdout + done.stderr
