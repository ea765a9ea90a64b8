"""`cpodes check` finds no fault in the models of the catalogue, nor in a robot with many contacts."""

import os
import pathlib
import unittest

from runner import DONE, MODELS, RunnerTest, cpodes

FILES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "mechanisms"


class CheckAll(RunnerTest):
    def test_every_model_of_the_catalogue_is_right(self):
        for model in MODELS:
            with self.subTest(model):
                check = cpodes("check", model)
                self.assertEqual(check.returncode, DONE, check.stdout)
                self.assertRegex(check.stdout, r"all \d+ are right")
                self.assertEqual(check.stderr, "")

    @unittest.skipUnless(os.environ.get("CPODES_XML"), "no libxml2")
    def test_a_robot_is_right(self):
        process = cpodes("check", FILES / "gripper.xml")
        self.assertEqual(process.returncode, DONE, process.stdout + process.stderr)


if __name__ == "__main__":
    unittest.main()
