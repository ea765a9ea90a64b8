"""Runs commands of the guide as they stand on the page, and compares their output with the page. The guide's drawings must
be those that their target makes.

A block of code-block:: console has commands after "$ " and lines of their output. A line "..." stands for any lines, and at
the end of a line for the rest of the line. All numbers must be those of the page, except that roundoff may differ between
two machines: a count of steps or evaluations may differ by a fifth, and errors, violations and the like, with at most two
digits, by a factor of 3, unless both are roundoff. Numbers with more digits must agree to a hundredth.

pages_test.py RUNNER EXAMPLES [PAGE]     EXAMPLES: folder of the compiled examples

With a PAGE, only that page is run, and nothing of it may be left out.

A command that ends in "; echo $?" shows its exit status last; others must succeed. A command "cpodes ..." is the runner,
"./NAME" an example in C, "python3 NAME.py" one in Python, and "test/..." a test in the build's folder. Examples are left
out if something that they need is not installed."""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["tutorial_first.rst", "tutorial_drift.rst", "tutorial_events.rst", "tutorial_fit.rst", "tutorial_stiff.rst",
         "tutorial_index3.rst", "tutorial_simbody.rst", "troubleshooting.rst",
         "runner.rst", "recipes.rst", "promises.rst"]
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")
SIMBODY = {"./simbody_example_bouncing", "./simbody_example_loops", "./simbody_four_bar.so"}
OPTIONAL = {"./car_axis_fit"} | SIMBODY # built only with GSL, and with Simbody
EXACT = re.compile(r" *(method|end|rank|because|all \d+ are right|\d+%: Checks)")
COUNTS = re.compile(r" *(work|rejected) |\d+ sequences")
COMPARISON = re.compile(r"(bdf|adams|dop853|radau) +[\de.-]+ +\d")


def blocks(text):
    for block in re.findall(r"\.\. code-block:: console\n\n((?:   .*\n|\n)+)", text):
        lines = [line[3:] for line in block.splitlines()]
        starts = [i for i, line in enumerate(lines) if line.startswith("$ ")]
        for begin, end in zip(starts, starts[1:] + [len(lines)]):
            yield lines[begin][2:], [line.rstrip() for line in lines[begin + 1:end] if line.strip()]


def count(a, b):
    return abs(a - b) <= 0.2 * max(a, b) + 1


def figure(a, b):
    return a == b or a * b > 0 and 1 / 3 <= a / b <= 3 or max(abs(a), abs(b)) < 1e-12


def value(a, b):
    return abs(a - b) <= 0.01 * abs(a)


def rule(line, number):
    if COUNTS.match(line):
        return count
    return value if len(number.split("e")[0].replace(".", "").lstrip("+-0")) > 2 else figure


def exact(a, b):
    return a == b


def alike(shown, printed):
    if shown.endswith(" ..."):
        shown = shown[:-4]
        printed = " ".join(printed.split()[:len(shown.split())])
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return False
    a, b = ([float(x) for x in NUMBER.findall(line)] for line in (shown, printed))
    if COMPARISON.match(shown): # tolerance, error, steps, rejected, f, CPU time
        rules = [exact, figure, count, count, count, lambda a, b: True]
    elif EXACT.match(shown):
        rules = [exact] * len(a)
    else:
        rules = [rule(shown, number) for number in NUMBER.findall(shown)]
    return all(same(x, y) for same, x, y in zip(rules, a, b))


class Page(unittest.TestCase):
    """What pages and the README have in common."""

    def program(self, command):
        """The command's program and arguments, or the reason why it is left out."""
        first, *rest = command.split()
        for word in OPTIONAL.intersection([first, *rest]):
            if not (EXAMPLES / word).exists():
                return None, f"{word} is not built"
        if first == "cpodes":
            return [RUNNER, *(EXAMPLES / word if word in SIMBODY else word for word in rest)], None
        if first.startswith("test/"):
            return [EXAMPLES.parent / first, *rest], None
        if first == "python3":
            program = ROOT / "python" / "examples" / rest[0]
            needed = re.findall(r"^(?:import|from) (\w+)", program.read_text(), re.M)
            missing = [name for name in needed if not importlib.util.find_spec(name)]
            return [sys.executable, program, *rest[1:]], f"{missing[0]} is not installed" if missing else None
        self.assertTrue(first.startswith("./"), command)
        return [EXAMPLES / first, *rest], None

    def follow(self, command, shown, printed):
        position, anywhere = 0, False
        for line in shown:
            if line == "...":
                anywhere = True
                continue
            end = len(printed) if anywhere else min(position + 1, len(printed))
            found = next((i for i in range(position, end) if alike(line, printed[i])), None)
            self.assertIsNotNone(found, f"$ {command}\nshows   {line!r}\nprints\n" + "\n".join(printed))
            position, anywhere = found + 1, False

    def run_and_follow(self, command, shown, folder):
        alone = command.removesuffix("; echo $?")
        arguments, left_out = self.program(alone)
        if left_out:
            self.skipTest(left_out)
        run = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=60, env=dict(os.environ, LC_ALL="C"))
        printed = [line for line in run.stdout.splitlines() if line.strip()]
        if alone == command:
            self.assertEqual(run.returncode, 0, run.stderr)
        else:
            printed.append(str(run.returncode))
        self.follow(command, shown, printed)


class Pages(Page):
    def test_numbers_that_differ_are_seen(self):
        shown = {"  rank          29 of 30 constraints": "  rank          30 of 30 constraints",
                 "  method        dop853, rtol 1e-08, atol 1e-08": "  method        dop853, rtol 1e-07, atol 1e-08",
                 "  end           t = 2 reached": "  end           t = 1.1 reached",
                 "  violation     position  at most 6.3e-10, at t = 1.89": "  violation     position  at most 9e-09, at t = 1.89",
                 "  error         about 7e-7 (estimated)": "  error         about 7e-6 (estimated)",
                 "  work          135 steps, 2396 evaluations of f": "  work          135 steps, 4396 evaluations of f",
                 "all 21 are right": "all 17 are right",
                 "dop853       1e-08    6.2e-09       29         4       394  0.000815":
                 "dop853       1e-08    6.2e-07       29         4       394  0.000815",
                 "rolls with 2.857143 m/s": "rolls with 2.9 m/s",
                 "  verdict       ok": "  verdict       doubtful"}
        for page, other in shown.items():
            self.assertTrue(alike(page, page), page)
            self.assertFalse(alike(page, other), other)

    def test_tests_and_stages_on_the_page_of_promises_exist(self):
        if "promises.rst" not in PAGES:
            self.skipTest("another page")
        page = (ROOT / "doc" / "promises.rst").read_text()
        tests = set(re.findall(r"``((?:unit|reference|fuzz|runner|doc)\.[\w.]+)``", page))
        listed = "".join(file.read_text() for file in EXAMPLES.parent.rglob("CTestTestfile.cmake"))
        self.assertGreater(len(tests), 10)
        self.assertEqual(tests - set(re.findall(r"^add_test\(\W*([\w.]+)", listed, re.M)), set())
        stages = set(re.findall(r"``scripts/test --([a-z0-9-]+)``", page))
        named = subprocess.run([ROOT / "scripts" / "test", "--help"], capture_output=True, text=True, check=True).stdout
        self.assertGreater(len(stages), 4)
        self.assertEqual(stages - set(re.findall(r"^  --(\S+)", named, re.M)), set())

    def test_drawings_are_those_that_the_target_makes(self):
        if "promises.rst" not in PAGES:
            self.skipTest("another page")
        spec = importlib.util.spec_from_file_location("guide_pictures", ROOT / "doc" / "guide_pictures.py")
        pictures = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(pictures)
        drawings = {**pictures.drawings(), "drift": pictures.drift(EXAMPLES / "drift")}
        for name, drawing in drawings.items():
            with self.subTest(drawing=name):
                shown = (ROOT / "doc" / "pictures" / f"{name}.svg").read_text()
                self.assertEqual(NUMBER.sub("#", shown), NUMBER.sub("#", drawing), "the target guide_pictures makes it anew")
                near = 3 if name == "drift" else 0.2 # pixels: roundoff may change the errors between two machines, but not the drawings
                for a, b in zip(*([float(x) for x in NUMBER.findall(text)] for text in (shown, drawing))):
                    self.assertLessEqual(abs(a - b), near, "the target guide_pictures makes it anew")

    def test_the_page_of_mechanisms_has_a_picture_of_each_one_of_the_catalogue(self):
        if "promises.rst" not in PAGES:
            self.skipTest("another page")
        page = (ROOT / "doc" / "models.rst").read_text()
        listed = subprocess.run([RUNNER, "list"], capture_output=True, text=True, check=True).stdout
        for name in (row.split()[0] for row in listed.splitlines()):
            with self.subTest(mechanism=name):
                self.assertIn(f".. figure:: pictures/{name}.svg", page)
                self.assertTrue((ROOT / "doc" / "pictures" / f"{name}.svg").exists())

    def test_lines_of_recipes_can_be_added_to_the_file(self):
        if "recipes.rst" not in PAGES:
            self.skipTest("another page")
        def sections(text):
            return dict(re.findall(r"^(\w+)(:.*\n(?:[ #].*\n)*)", text, re.M))
        file = sections((ROOT / "examples" / "mechanisms" / "crank_rocker.yaml").read_text())
        recipes = re.findall(r"\.\. code-block:: yaml\n\n((?:   .*\n|\n)+)", (ROOT / "doc" / "recipes.rst").read_text())
        self.assertGreater(len(recipes), 4)
        with tempfile.TemporaryDirectory() as folder:
            for lines in recipes:
                lines = sections(re.sub(r"^   ", "", lines, flags=re.M))
                with self.subTest(sections=list(lines)):
                    self.assertTrue(lines)
                    mechanism = pathlib.Path(folder) / "mechanism.yaml"
                    mechanism.write_text("".join(name + text for name, text in {**file, **lines}.items()))
                    run = subprocess.run([RUNNER, "run", mechanism], capture_output=True, text=True, timeout=60)
                    self.assertEqual(run.returncode, 0, run.stderr)
                    self.assertIn("verdict       ok", run.stdout)

    def test_a_file_adds_elements_to_a_robot(self):
        if "recipes.rst" not in PAGES:
            self.skipTest("another page")
        (lines,) = re.findall(r"\.\. code-block:: yaml\n\n((?:   .*\n|\n)+)", (ROOT / "doc" / "from_mujoco.rst").read_text())
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(ROOT / "examples" / "mechanisms" / "gripper.xml", folder)
            mechanism = pathlib.Path(folder) / "mechanism.yaml"
            mechanism.write_text(re.sub(r"^   ", "", lines, flags=re.M))
            run = subprocess.run([RUNNER, "run", mechanism], capture_output=True, text=True, timeout=60)
            if "libxml2" in run.stderr:
                self.skipTest("needs libxml2")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("verdict       ok\n", run.stdout)

    def test_commands_print_what_the_page_shows(self):
        for page in PAGES:
            commands = list(blocks((ROOT / "doc" / page).read_text()))
            self.assertTrue(commands, page)
            with tempfile.TemporaryDirectory() as folder:
                for file in (ROOT / "examples" / "mechanisms").iterdir():
                    if file.is_file():
                        shutil.copy(file, folder)
                for command, shown in commands:
                    with self.subTest(page=page, command=command):
                        self.run_and_follow(command, shown, folder)


if __name__ == "__main__":
    RUNNER, EXAMPLES = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1)).resolve()
    if len(sys.argv) > 1:
        PAGES, OPTIONAL = [sys.argv.pop(1)], set()
    unittest.main()
