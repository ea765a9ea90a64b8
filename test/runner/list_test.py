"""`cpodes list` and `cpodes describe`: models and methods."""

import subprocess
import unittest
from pathlib import Path

from runner import MODELS, PROGRAM, RunnerTest, cpodes

FILES = Path(__file__).resolve().parents[2] / "examples" / "mechanisms"


class ListTest(RunnerTest):
    def test_every_model_is_listed_with_its_title(self):
        listed = cpodes("list")
        self.assert_done(listed)
        self.assertEqual([line.split()[0] for line in listed.stdout.splitlines()], MODELS)
        self.assertTrue(all(len(line.split()) > 1 for line in listed.stdout.splitlines()))
        self.assertEqual(cpodes("list", "--names").stdout.split(), MODELS)

    def test_files_that_come_with_the_program_are_listed_and_run(self):
        listed = cpodes("list", "--files")
        self.assert_done(listed)
        self.assertTrue(all(len(line.split()) > 1 for line in listed.stdout.splitlines()))
        names = cpodes("list", "--files", "--names").stdout.split()
        self.assertEqual(names, sorted(file.stem for file in FILES.glob("*.yaml")))
        for name in names:
            if name not in MODELS: # which has the name
                self.assertIn(f"{name}.yaml", cpodes("describe", name).stdout)

    def test_every_method_that_is_listed_runs(self):
        methods = cpodes("list", "--methods", "--names").stdout.split()
        self.assertIn("dop853", methods)
        for method in methods:
            self.assert_done(cpodes("run", "pendulum", "--t-end", 1, "--method", method, "--quiet"))

    def test_a_model_is_not_what_list_takes(self):
        self.assert_refused(cpodes("list", "pendulum"), "pendulum", "describe")

    def test_only_one_list_is_asked_for(self):
        self.assert_refused(cpodes("list", "--linsols", "--methods"), "--linsols", "--methods", "one of them")

    def test_a_full_disk_is_no_success(self):
        with open("/dev/full", "w") as full:
            for command in ["list"], ["describe", "pendulum"], ["describe", "pendulum", "--parameters"]:
                self.assertEqual(self.status_into(full, *command), 3, command)

    def status_into(self, file, *arguments):
        return subprocess.run([PROGRAM, *arguments], stdout=file, stderr=subprocess.DEVNULL).returncode


class DescribeTest(RunnerTest):
    def test_every_model_is_described(self):
        for model in MODELS:
            described = cpodes("describe", model)
            self.assert_done(described)
            self.assertEqual(described.stderr, "")
            for fact in "source", "form ", "parameters", "what the motion keeps", "auto is":
                self.assertIn(fact, described.stdout)

    def test_parameters_are_shown_with_the_values_that_are_given(self):
        described = cpodes("describe", "pendulum", "--param", "L=2.5").stdout
        self.assertRegex(described, r"L +2.5 +0.001 +1000 +m +length of the rod")

    def test_sizes_follow_the_parameters(self):
        described = cpodes("describe", "chain", "-p", "n=60").stdout
        self.assertIn("120 coordinates, 120 velocities; sparse matrices", described)
        self.assertIn("60 of positions", described)

    def test_names_of_parameters_stand_alone_for_scripts(self):
        self.assertEqual(cpodes("describe", "pendulum", "--parameters").stdout.split(), ["L", "g"])

    def test_an_unknown_model_is_answered_by_the_nearest(self):
        self.assert_refused(cpodes("describe", "andrew"), '"andrew"', '"andrews"')


if __name__ == "__main__":
    unittest.main()
