"""The README runs as it is printed: its file, its commands, and the output that it shows. Its lines in C are compiled by the
test client, those in Python run in python/tests/test_examples.py.

readme_test.py RUNNER EXAMPLES     EXAMPLES: folder of the compiled examples"""
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import pages_test

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
# commands that other tests run, or that build everything
ELSEWHERE = {"scripts/demo", "scripts/test", "scripts/package", "cmake", "python3", "env/bin/pip", "cc"}


def fenced(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


class Readme(pages_test.Page):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name)
        (self.file,) = fenced("yaml")
        (self.folder / "crank_rocker.yaml").write_text(self.file)

    def test_the_file_is_the_one_in_the_tree(self):
        self.assertEqual(self.file, (ROOT / "examples" / "mechanisms" / "crank_rocker.yaml").read_text())

    @unittest.skipUnless(shutil.which("gnuplot"), "figures need gnuplot")
    def test_the_console_shows_what_the_program_prints(self):
        (console,) = fenced("console")
        page = ".. code-block:: console\n\n" + re.sub("^", "   ", console, flags=re.M)
        commands = list(pages_test.blocks(page))
        self.assertEqual(len(commands), 1)
        for command, shown in commands:
            self.run_and_follow(command, shown, self.folder)
            for file in re.findall(r"--(?:picture|report) (\S+)", command):
                self.assertGreater((self.folder / file).stat().st_size, 1000)

    @unittest.skipUnless(shutil.which("gnuplot"), "figures need gnuplot")
    def test_commands_succeed(self):
        lines = [line for block in fenced("sh") for line in block.splitlines()]
        lines += re.findall(r"\| `(cpodes run [^`]*)`(?= \|)", README)
        lines = [line for line in lines if "robot.urdf" not in line]
        self.assertGreaterEqual(len(lines), 8)
        for line in lines:
            with self.subTest(command=line):
                name, *arguments = shlex.split(line, comments=True)
                self.assertEqual(name, "cpodes")
                run = subprocess.run([pages_test.RUNNER, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=60)
                self.assertEqual(run.returncode, 0, run.stderr)

    def test_other_commands_are_those_that_are_run_elsewhere(self):
        indented = re.findall(r"^    (?=\S)(.+)", re.sub(r"```.*?```", "", README, flags=re.S), re.M)
        commands = [line for line in indented if not re.search(r"= (f|0)\b", line)] # formulas
        self.assertGreater(len(commands), 5)
        for line in commands:
            for part in line.partition("  #")[0].split("&&"):
                self.assertIn(part.split()[0], ELSEWHERE)
                if part.startswith("scripts/"):
                    self.assertTrue((ROOT / part.split()[0]).exists(), part)

    def test_its_table_of_what_to_take_opens_the_guide(self):
        table = README[README.index("| you have |"):README.index("The method is DOP853")]
        rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("|")][2:]
        guide = (ROOT / "doc" / "index.rst").read_text()
        guide = re.findall(r"   \* - (.*)", guide[:guide.index("The method is DOP853")])[1:]
        self.assertEqual([row.partition(":")[0].strip() for row in rows], [row.partition(":")[0].strip() for row in guide])

    def test_the_methods_that_it_recommends_win_the_race(self):
        race = (ROOT / "doc" / "race_cpu.csv").read_text()
        winners = [only or best for only, best in re.findall(r"only (\w+)|\((\w+)", race)]
        won = f"{len([name for name in winners if name in ('dop853', 'radau')])} of the {len(winners)} cells"
        for text in README, (ROOT / "doc" / "which_method.rst").read_text():
            self.assertIn(won, " ".join(text.split()))

    def test_files_that_it_names_exist(self):
        named = re.findall(r"\]\(([^)]+\.svg)\)", README)
        named += re.findall(r"`((?:doc|examples|simbody|test|include|python|bench|scripts)/[\w./]*)`", README)
        self.assertGreater(len(named), 15)
        for file in named:
            with self.subTest(file=file):
                self.assertTrue((ROOT / file).exists())

    def test_chapters_that_it_names_exist(self):
        titles = {page.read_text().partition("\n")[0] for page in (ROOT / "doc").glob("*.rst")}
        chapters = re.findall(r'(?:chapter|guide,|tutorial)\s+"([^"]+)"', README)
        self.assertGreater(len(chapters), 5)
        for chapter in chapters:
            self.assertIn(chapter, titles)


if __name__ == "__main__":
    pages_test.RUNNER, pages_test.EXAMPLES = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
    unittest.main()
