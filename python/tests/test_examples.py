"""The programs of the guide run and print "ok"."""
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
NEEDS = {"fit": ("scipy", "sympy"), "compiled": ("sympy",)}


def test_the_lines_of_the_readme_run_as_they_stand(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path) # they write their plots there
    readme = (EXAMPLES.parents[1] / "README.md").read_text()
    (file,) = re.findall(r"```yaml\n(.*?)```", readme, re.S)
    (tmp_path / "crank_rocker.yaml").write_text(file)
    mechanism, equations = re.findall(r"```python\n(.*?)```", readme, re.S)
    names = {}
    exec(mechanism, names)
    linkage, sol, force = names["linkage"], names["sol"], names["force"]
    assert sol.success and sol.t[-1] == 1 and force.shape == (2, len(sol.t))
    turn = linkage.solve((0, 1), rtol=1e-8, atol=1e-8, t_eval=np.linspace(0, 1, 201)) # in a turn both bearings carry the weight
    load = sum(linkage.reaction(pin, turn.t[1:], turn.y[:, 1:])[:2].mean(axis=1) for pin in "AD")
    assert abs(load - [0, 3.2 * 9.81]).max() < 1e-5
    names = {}
    exec(equations, names)
    sol = names["sol"]
    assert sol.success and sol.t[-1] == 20 and sol.violation.max() < 1e-7
    assert (tmp_path / "pendulum.png").read_bytes().startswith(b"\x89PNG")


def test_the_lines_of_the_recipes_run_as_they_stand(monkeypatch):
    monkeypatch.chdir(EXAMPLES.parents[1] / "examples" / "mechanisms")
    page, names = (EXAMPLES.parents[1] / "doc" / "recipes.rst").read_text(), {}
    for lines in re.findall(r"\.\. code-block:: python\n\n((?:   .*\n|\n)+)", page):
        exec(textwrap.dedent(lines), names)
    assert names["sol"].success and len(names["torque"]) == len(names["sol"].t)
    assert np.hypot(*names["force"][:2]).max() > 1.2 * 9.81 / 2 # the rocker's weight rests on two pins


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_example(name, tmp_path):
    for needed in NEEDS.get(name, ()):
        pytest.importorskip(needed)
    package = Path(sys.modules["cpodes"].__file__).parents[1] if "cpodes" in sys.modules else ""
    done = subprocess.run([sys.executable, str(EXAMPLES / f"{name}.py")], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": str(package)})
    assert done.returncode == 0 and done.stdout.endswith("ok\n"), done.stdout + done.stderr
