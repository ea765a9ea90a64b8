"""`cpodes convert`: what it writes moves as the file from which it is."""

import csv
import os
import pathlib
import unittest

from runner import RunnerTest, cpodes

FILES = pathlib.Path(__file__).parents[2] / "examples" / "mechanisms"


@unittest.skipUnless("CPODES_XML" in os.environ and "CPODES_YAML" in os.environ, "libxml2 and libyaml")
class ConvertTest(RunnerTest):
    def rows(self, file, *arguments):
        out = self.folder / "out.csv"
        self.assert_done(cpodes("run", file, "-t", "1", "--no-estimate", "--csv", out, *arguments))
        with open(out) as lines:
            return list(csv.DictReader(line for line in lines if not line.startswith("#")))

    def test_the_motion_is_the_same_to_the_last_digit(self):
        for name in ("gripper.xml", "parallelogram.sdf"):
            with self.subTest(name):
                to = self.folder / "to.yaml"
                self.assert_done(cpodes("convert", FILES / name, to))
                self.assertEqual(self.rows(to), self.rows(FILES / name))

    def test_mjcf_moves_as_the_file(self):
        to = self.folder / "to.xml"
        for name in ("gripper.xml", "parallelogram.sdf", "arm.urdf", "spatial_four_bar.yaml"):
            with self.subTest(name):
                file = FILES / name
                joint = ("--coordinates", "joint", "--rtol", "1e-10")
                self.assert_done(cpodes("convert", file, to))
                self.assertNotIn("<!--", to.read_text())
                for own, other in zip(self.rows(to, "--start", "start", *joint), self.rows(file, *joint), strict=True):
                    for key, value in own.items():
                        if key in other and key.rstrip("'").endswith((".angle", ".displacement")): # Loops have other rows.
                            self.assertAlmostEqual(float(value), float(other[key]), delta=1e-7 * (1 + abs(float(value))))

    def test_what_mjcf_cannot_say_is_told(self):
        to = self.folder / "to.xml"
        self.assert_done(cpodes("convert", FILES / "axle.yaml", to))
        self.assertIn("left out: left_spring", to.read_text())
        self.assertIn("a joint of a kind that MJCF does not have: left_tie_rod", to.read_text())
        self.assert_refused(cpodes("convert", FILES / "wiper.yaml", to), "MJCF has no mechanisms in the plane")

    def test_start_values_are_those_of_the_file(self):
        to = self.folder / "to.yaml"
        start = ("--start", "turn=0.5", "--start", "turn'=-2")
        self.assert_done(cpodes("convert", FILES / "arm.urdf", to, *start))
        for own, other in zip(self.rows(to), self.rows(FILES / "arm.urdf", *start), strict=True):
            for name, value in own.items(): # Limits and frictions are in another order, which rounds differently.
                self.assertAlmostEqual(float(value), float(other[name]), delta=1e-9 * (1 + abs(float(value))))

    def test_what_is_wrong_is_named(self):
        to = self.folder / "to.yaml"
        bad = self.folder / "bad.urdf"
        bad.write_text('<robot name="r">\n<link name="a"/>\n<joint name="j" type="fixed"/></robot>')
        self.assert_refused(cpodes("convert", bad, to), "bad.urdf:3:1: joint j: parent and child must be given")
        self.assertFalse(to.exists())
        self.assert_refused(cpodes("convert", bad), "two files are wanted")
        self.assert_refused(cpodes("convert", bad, "to.txt"), "to.txt", ".yaml")
        self.assert_refused(cpodes("convert", bad, to, to), "there is one name too many")
        self.assert_refused(cpodes("convert", FILES / "arm.urdf", self.folder / "no" / "to.yaml"), "no/to.yaml")


if __name__ == "__main__":
    unittest.main()
