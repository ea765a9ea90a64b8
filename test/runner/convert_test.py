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

    def assert_same_motion(self, own, other, relative=False):
        first = own[0], other[0]
        compared = 0
        for mine, theirs in zip(own, other, strict=True):
            for key, value in mine.items():
                if key not in theirs or not key.rstrip("'").endswith((".angle", ".displacement")):
                    continue
                value, expected = float(value), float(theirs[key])
                if relative: # from the start
                    value, expected = value - float(first[0][key]), expected - float(first[1][key])
                self.assertAlmostEqual(value, expected, delta=1e-7 * (1 + abs(expected)), msg=key)
                compared += 1
        self.assertGreater(compared, 100)

    JOINT = ("--coordinates", "joint", "--rtol", "1e-10")

    def test_sdf_moves_as_the_file(self):
        to = self.folder / "to.sdf"
        for name in ("parallelogram.sdf", "arm.urdf", "spatial_four_bar.yaml"):
            with self.subTest(name):
                self.assert_done(cpodes("convert", FILES / name, to))
                self.assertNotIn("<!--", to.read_text())
                self.assert_same_motion(self.rows(to, *self.JOINT), self.rows(FILES / name, *self.JOINT), relative=True)

    CHAIN = """gravity: [0, 0, -9.81]
bodies:
  - {name: cart, mass: 2, inertia: [0.2, 0.2, 0.3, 0.01, -0.02, 0.03]}
  - {name: rod, mass: 1, inertia: [0.1, 0.1, 0.02], centre: [0.1, 0, -0.3]}
  - {name: tip, mass: 0.5, inertia: [0.01, 0.02, 0.02]}
joints:
  - {name: rail, kind: cylindrical, b: cart, in: bodies, axis: [1, 0.5, 0], at_b: [0.1, 0, 0.2], axis_b: [1, 0.5, 0]}
  - {name: pin, kind: revolute, a: rod, b: cart, in: bodies, at: [0, 0, 0.3], axis: [0, 1, 0], at_b: [0.3, 0, 0], axis_b: [0, 1, 0.2]}
  - {name: slide, kind: prismatic, a: rod, b: tip, in: bodies, axis: [0, 0, 1], axis_b: [1, 0, 0]}
springs: [{name: damper, of: pin, damping: 0.3}]
run: {coordinates: joint}
"""

    def test_urdf_moves_as_the_file(self):
        chain = self.folder / "chain.yaml"
        chain.write_text(self.CHAIN)
        to = self.folder / "to.urdf"
        loop = self.folder / "loop.yaml" # whose gravity is that of URDF
        loop.write_text((FILES / "spatial_four_bar.yaml").read_text().replace("[0, -9.81, 0]", "[0, 0, -9.81]"))
        for file in (FILES / "arm.urdf", loop, chain):
            with self.subTest(file.name):
                self.assert_done(cpodes("convert", file, to))
                starts = [line.split()[2].rstrip(",") for line in to.read_text().splitlines() if line.startswith("  the start: ")]
                arguments = [word for start in starts for word in ("--start", start)]
                own, other = self.rows(to, *arguments, *self.JOINT), self.rows(file, *self.JOINT)
                names = {"rail_2.angle": "rail.1.angle"}
                own = [{names.get(k.rstrip("'"), k.rstrip("'")) + "'" * k.endswith("'"): v for k, v in row.items()} for row in own]
                self.assert_same_motion(own, other)

    def test_what_urdf_and_sdf_cannot_say_is_told(self):
        for end, lines in (("urdf", ("the start: A=1,", "gravity: 0 -9.81", "a loop, by pairs of links: D", 'link name="closing_D_1"')),
                           ("sdf", ())):
            to = self.folder / f"to.{end}"
            self.assert_done(cpodes("convert", FILES / "spatial_four_bar.yaml", to))
            for line in lines:
                self.assertIn(line, to.read_text())
            self.assert_refused(cpodes("convert", FILES / "wiper.yaml", to), f"{end.upper()} has no mechanisms in the plane")
            self.assert_done(cpodes("convert", FILES / "axle.yaml", to))
            for line in ("left out: left_spring", "left_tie_rod"):
                self.assertIn(line, to.read_text().split("-->")[0])

    def test_names_of_nested_models_are_plain_in_sdf(self):
        file, to = self.folder / "nested.sdf", self.folder / "to.sdf"
        file.write_text("<sdf version='1.9'><model name='m'><link name='a'/><model name='n'><link name='b'/></model>"
                        "<joint name='j' type='revolute'><parent>a</parent><child>n::b</child><axis><xyz>0 1 0</xyz></axis></joint></model></sdf>")
        self.assert_done(cpodes("convert", file, to))
        self.assertIn('link name="n_:b"', to.read_text())
        self.assertNotIn("::", to.read_text())
        self.assert_done(cpodes("describe", to))

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
        self.assert_refused(cpodes("convert", bad, self.folder / "to"), "the suffix decides what is written", ".sdf")
        self.assert_refused(cpodes("convert", bad, "/dev/full"), "there is none")
        self.assert_refused(cpodes("convert", bad, to, to), "there is one name too many")
        self.assert_refused(cpodes("convert", FILES / "arm.urdf", self.folder / "no" / "to.yaml"), "no/to.yaml")


if __name__ == "__main__":
    unittest.main()
