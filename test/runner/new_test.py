"""`cpodes new`: by the commands that it prints, the project builds, and its model passes the check."""

import math
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from runner import OUTPUT, RunnerTest, cpodes

STRICT = "-Wall -Wextra -Wpedantic -Wshadow -Werror"
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "CMAKE_GENERATOR"}


class NewTest(RunnerTest):
    def new(self, *arguments, **environment):
        return cpodes("new", *arguments, cwd=self.folder, env=ENVIRONMENT | environment)

    def follow(self, new, **environment):
        """Runs the commands that were printed, as one script"""
        self.assert_done(new)
        script = new.stdout.split("\n\n", 1)[1]
        return subprocess.run(
            ["sh", "-e"],
            input=script,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=ENVIRONMENT | {"CFLAGS": STRICT} | environment,
        )

    def test_the_commands_that_it_prints_build_check_and_run_the_model(self):
        followed = self.follow(self.new("swing"))
        self.assertEqual(followed.returncode, 0, followed.stdout + followed.stderr)
        self.assertIn("Double pendulum of two rods (swing)", followed.stdout)
        self.assertRegex(followed.stdout, r"all \d+ are right")
        self.assertTrue((self.folder / "swing" / "swing.html").exists())

    def test_a_folder_with_blanks_and_a_name_that_is_a_word_of_the_language_are_no_trouble(self):
        followed = self.follow(self.new("double", "--directory", "Anne's first $wing"))
        self.assertEqual(followed.returncode, 0, followed.stdout + followed.stderr)

    def test_a_folder_like_an_option_is_no_trouble(self):
        for folder in "-x", "-", "--help":
            script = self.new("swing", f"--directory={folder}").stdout.split("\n\n", 1)[1]
            entered = subprocess.run(
                ["sh", "-ec", script.splitlines()[0] + "\nls"], capture_output=True, text=True, cwd=self.folder
            )
            self.assertIn("swing.c", entered.stdout, entered.stderr)

    def test_a_folder_with_a_line_break_is_one_word(self):
        new = self.new("swing", "-d", "one\ntwo")
        self.assert_done(new)
        self.assertEqual(new.stdout.count("'one\ntwo'"), 2, new.stdout)

    def test_a_folder_without_a_name_is_refused(self):
        self.assert_refused(self.new("swing", "-d", ""), "--directory", '""')

    def programs(self, *hidden):
        """A folder with all programs of PATH except some"""
        folder = self.folder / "programs"
        folder.mkdir()
        for place in os.get_exec_path():
            for program in pathlib.Path(place).glob("*"):
                if program.name not in hidden and not (folder / program.name).is_symlink():
                    (folder / program.name).symlink_to(program)
        return folder

    @unittest.skipUnless(shutil.which("ninja"), "needs ninja")
    def test_without_make_the_commands_use_ninja(self):
        path = str(self.programs("make", "gmake", "smake"))
        new = self.new("swing", PATH=path)
        self.assertIn("-G Ninja", new.stdout)
        self.assertIn("-G Ninja", (self.folder / "swing" / "README.md").read_text())
        followed = self.follow(new, PATH=path)
        self.assertEqual(followed.returncode, 0, followed.stdout + followed.stderr)

    def test_with_make_or_without_ninja_no_generator_is_named(self):
        for number, programs in enumerate((["make", "ninja"], ["gmake", "ninja"], [])):
            folder = self.folder / f"programs{number}"
            folder.mkdir()
            for program in programs:
                (folder / program).symlink_to(shutil.which("true"))
            self.assertNotIn("-G", self.new(f"swing{number}", PATH=f"none:{folder}").stdout)

    def test_the_name_is_everywhere(self):
        self.assert_done(self.new("swing"))
        names = sorted(path.name for path in (self.folder / "swing").iterdir())
        self.assertEqual(names, ["CMakeLists.txt", "README.md", "swing.c"])
        for name in names:
            text = (self.folder / "swing" / name).read_text()
            self.assertIn("swing", text)
            self.assertNotRegex(text, "my_model|@[A-Z]+@")

    def test_a_name_that_is_no_name_is_refused(self):
        for name in "2swings", "Swing", "my-swing", "../swing", "", "x" * 41:
            self.assert_refused(self.new(name), f'"{name}"', "a-z, 0-9 and _")
        self.assertEqual(list(self.folder.iterdir()), [])
        self.assert_refused(self.new(), "name")
        self.assert_refused(self.new("swing", "swong"), "swong")

    @unittest.skipUnless(os.environ.get("CPODES_YAML"), "no libyaml")
    def test_a_mechanism_file_runs_as_its_comments_say(self):
        self.assert_done(self.new("my own.yaml"))
        text = (self.folder / "my own.yaml").read_text()
        self.assertNotIn("wiper.yaml", text)
        run = cpodes("run", "my own.yaml", "--param", "crank=35mm", "--param", "drag=0", cwd=self.folder)
        self.assert_done(run)
        # the arm turns by 2 asin(crank/lever) or so; without drag the motor runs at 70 rpm, where its torque is 0
        low, high = map(float, re.search(r"arm_axis: from (\S+) \(t = \S+\) to (\S+) \(t", run.stdout).groups())
        self.assertAlmostEqual(high - low, 2 * math.asin(35 / 80), delta=0.05)
        rate = float(re.search(r"crank.phi'\s+(\S+) rad/s", run.stdout).group(1))
        self.assertAlmostEqual(rate, 70 * math.pi / 30, delta=0.3)
        self.assert_refused(self.new("my own.yaml"), "my own.yaml: File exists", status=OUTPUT)
        self.assertEqual((self.folder / "my own.yaml").read_text(), text)
        self.assert_refused(self.new("other.yaml", "-d", "folder"), "--directory is for a project")

    def test_an_existing_folder_is_left_alone(self):
        (self.folder / "swing").mkdir()
        self.assert_refused(self.new("swing"), "swing: File exists", status=OUTPUT)
        self.assertEqual(list((self.folder / "swing").iterdir()), [])

    def test_a_folder_that_cannot_be_made_is_named(self):
        self.assert_refused(self.new("swing", "-d", "none/swing"), "none/swing", "No such file", status=OUTPUT)


if __name__ == "__main__":
    unittest.main()
