"""User models in shared objects: those that do not fit are refused in one line."""

import json
import os
import pathlib
import tempfile
import unittest

from runner import CRASHED, RunnerTest, cpodes, finish, start
from user_model import compile_model, source

# parts of the model, and the message
REFUSED = {
    "another version of the interface": ({"abi": "CP_PLUGIN_ABI + 1"}, ["interface", "recompile"]),
    "another sunrealtype": ({"real": "4"}, ["sunrealtype is 4", "8", "recompile"]),
    "another sunindextype": ({"index": "2"}, ["sunindextype is 2", "recompile"]),
    "another SUNDIALS": ({"sundials": "3"}, ["SUNDIALS is 3", "recompile"]),
    "no symbol": ({"symbol": "cpodes_pluginn"}, ["no symbol cpodes_plugin", "CP_PLUGIN_MODULE"]),
    "no table": ({"type": "NULL"}, ["names no model"]),
    "no name": ({"name": "NULL"}, ['the name ""']),
    "a bad name": ({"name": '"Rod 1"'}, ['"Rod 1"', "a-z, 0-9 and _"]),
    "no title": ({"title": '""'}, ["no title"]),
    "a title with control characters": ({"title": r'"a\x1b[31mb"'}, ["no title"]),
    "a coordinate with control characters": ({"coordinates": r'{"x", "m", "x\302\205"}, {"y", "m", "y"}'}, ["coordinate 0"]),
    "no end": ({"t_end": "0"}, ["t_end must be > 0, and is 0"]),
    "an end that is no number": ({"t_end": "NAN"}, ["t_end", "nan"]),
    "no create": ({"members": ".create = NULL"}, ["no function create"]),
    "a method that is not there": ({"members": '.method = "bdff"'}, ['method "bdff"']),
    "a method without control of its steps": (
        {"members": '.method = "ARKODE_KNOTH_WOLKE_3_3"'},
        ['method "ARKODE_KNOTH_WOLKE_3_3"'],
    ),
    "a whole parameter that is none": ({"members": '.whole = "L"', "parameters": '{"L", "m", "l", 1.5, 0, 2}, {"g", "", "g", 1, 0, 2}'},
        ["the default 1.5 of parameter L is no whole number"]),
    "a whole parameter that is not there": ({"members": '.whole = "L n"'}, ['whole names no parameter: "n"']),
    "less than no parameters": ({"nparameters": "-1"}, ["-1 parameters"]),
    "a parameter without a name": ({"parameters": '{NULL, "", "", 1, 0, 2}, {"g", "", "g", 1, 0, 2}'}, ["parameter 0"]),
    "a parameter that no command line can set": (
        {"parameters": '{"L=", "", "", 1, 0, 2}, {"g", "", "g", 1, 0, 2}'},
        ["parameter 0"],
    ),
    "a parameter without a meaning": ({"parameters": '{"L", "m", "", 1, 0, 2}, {"g", "", "g", 1, 0, 2}'}, ["parameter 0"]),
    "two parameters of one name": (
        {"parameters": '{"g", "", "g", 1, 0, 2}, {"g", "", "g", 1, 0, 2}'},
        ["two parameters g"],
    ),
    "a default out of its range": (
        {"parameters": '{"L", "m", "length", 3, 0, 2}, {"g", "", "g", 1, 0, 2}'},
        ["the default 3 of parameter L is not from 0 to 2"],
    ),
    "a default that is no number": (
        {"parameters": '{"L", "m", "length", NAN, 0, 2}, {"g", "", "g", 1, 0, 2}'},
        ["the default nan of parameter L"],
    ),
    "a quantity without a value": ({"quantities": '{.name = "energy", .unit = "J"}'}, ["quantity 0"]),
    "a coordinate without a name": ({"coordinates": '{"", "m", "x"}, {"y", "m", "y"}'}, ["coordinate 0"]),
    "two coordinates of one name": ({"coordinates": '{"x", "m", "x"}, {"x", "m", "y"}'}, ["two coordinates x"]),
    "names of no coordinates": ({"ncoordinates": "0"}, ["0 coordinates"]),
}


# A damper of the rod's mass, and one that is a bumper with a spring: d is its constant, 0 while it does not act.
DAMPER = {
    "f": "const sunrealtype d = @D@; f[0] = -d * u[0]; f[1] = -((G *)data)->g - d * u[1]; return 0;",
    "jac": "const sunrealtype d = @D@; for (int i = 0; i < 2; i++) { SM_ELEMENT_D(K, i, i) = -2 * l[0];"
    " SM_ELEMENT_D(C, i, i) = -d; } return 0;",
}
BUMPER = {
    "f": "const sunrealtype d = q[0] < 0.3 ? 1e4 : 0; f[0] = -d * (q[0] - 0.3 + u[0]); f[1] = -((G *)data)->g; return 0;",
    "jac": "const sunrealtype d = q[0] < 0.3 ? 1e4 : 0; for (int i = 0; i < 2; i++) SM_ELEMENT_D(K, i, i) = -2 * l[0];"
    " SM_ELEMENT_D(K, 0, 0) -= d; SM_ELEMENT_D(C, 0, 0) = -d; return 0;",
}


def damper(d):
    return {name: text.replace("@D@", d) for name, text in DAMPER.items()}


# a mechanism, its end, and whether each method that takes over is for stiff motions
STIFF_ON_THE_WAY = {
    "a damper that closes": (damper("t > 20 ? 1e5 : 0"), 60, [True]),
    "a damper that opens": (damper("t < 20 ? 1e5 : 0"), 60, [False]),
    "a bumper on which it comes to rest": (BUMPER, 20, [True]),
}


class ModuleTest(RunnerTest):
    @classmethod
    def setUpClass(cls):
        """A task of ten seconds begins here; the last test asks for its result"""
        folder = tempfile.TemporaryDirectory(prefix="cpodes-")
        cls.addClassCleanup(folder.cleanup)
        cls.sleeper = compile_model(pathlib.Path(folder.name), load="sleep(1000);")
        cls.loading = start("describe", cls.sleeper)

    def test_stiffness_that_arises_or_ends_on_the_way_changes_the_method(self):
        """DOP853 would take 600,000 steps after the damper closes, where its stability asks for h < 6e-5"""
        for kind, (parts, t_end, stiff) in STIFF_ON_THE_WAY.items():
            with self.subTest(kind):
                model = compile_model(self.folder, file=kind.replace(" ", "_"), **parts)
                runs, ends = {}, {}
                for method, rtol in (("auto", 1e-8), ("radau", 1e-10)):
                    out, table = self.folder / f"{method}.json", self.folder / f"{method}.csv"
                    arguments = ["--method", method, "--t-end", t_end, "--rtol", rtol, "--atol", rtol, "--json", out, "--csv", table]
                    self.assert_done(cpodes("run", model, *arguments, "--outputs", 1, "--quiet"))
                    runs[method] = json.loads(out.read_text())
                    ends[method] = [float(number) for number in table.read_text().splitlines()[-1].split(",")[:5]]
                changes = runs["auto"]["methods"]
                self.assertEqual([change["stiff"] for change in changes], stiff)
                self.assertEqual([change["method"] for change in changes], ["radau" if s else "dop853" for s in stiff])
                self.assertEqual(runs["radau"]["methods"], [])
                self.assertEqual((runs["auto"]["events"], runs["auto"]["events_seen"]), ([], 0))
                self.assertLess(runs["auto"]["counts"]["steps"], 3000)
                for ours, other in zip(ends["auto"], ends["radau"]):
                    self.assertAlmostEqual(ours, other, delta=1e-4)

    def test_a_model_of_the_users_is_described_like_those_of_the_catalogue(self):
        described = cpodes("describe", compile_model(self.folder), "--param", "g=5")
        self.assert_done(described)
        for text in "Rod pendulum (rod)", "length", "upwards", "energy: conserved":
            self.assertIn(text, described.stdout)
        self.assertRegex(described.stdout, r"g +5 +0 +100 +m/s\^2 +gravity")

    def test_a_model_is_found_in_the_current_folder_without_a_slash(self):
        compile_model(self.folder)
        self.assert_done(cpodes("describe", "rod.so", cwd=self.folder))
        self.assert_refused(cpodes("describe", "rod.so"), "rod.so", "No such file")

    def test_what_does_not_fit_is_refused_in_one_line(self):
        for case, (parts, words) in REFUSED.items():
            with self.subTest(case):
                path = compile_model(self.folder, **parts)
                self.assert_refused(cpodes("describe", path), str(path), *words)

    def test_the_method_that_a_model_suggests_is_taken(self):
        for suggested, meant in ("adams", "adams"), ("ARKODE_ZONNEVELD_5_3_4", "ARKODE_ZONNEVELD_5_3_4"), ("auto", "dop853"):
            model = compile_model(self.folder, suggested, members=f'.method = "{suggested}"')
            self.assertIn(f"auto is {meant}:", cpodes("describe", model).stdout)
            summary = self.folder / "run.json"
            self.assert_done(cpodes("run", model, "--quiet", "--json", summary))
            self.assertEqual(json.loads(summary.read_text())["settings"]["method"], meant)

    def test_a_file_that_is_no_shared_object_is_refused_in_one_line(self):
        text = self.folder / "text.so"
        text.write_text("no machine code")
        (self.folder / "empty.so").touch()
        for name in "text.so", "empty.so":
            self.assert_refused(cpodes("describe", self.folder / name), name, "not a shared object")
        self.assert_refused(cpodes("describe", self.folder / "none.so"), "none.so", "No such file")
        self.assert_refused(cpodes("describe", f"{self.folder}/"), str(self.folder))

    def test_an_undefined_symbol_is_named(self):
        text = source(f="f[1] = somewhere_else();").replace("typedef struct", "double somewhere_else(void);\ntypedef struct")
        path = compile_model(self.folder, text=text)
        self.assert_refused(cpodes("describe", path), "somewhere_else")

    def test_an_object_that_crashes_when_it_is_loaded_is_one_line(self):
        path = compile_model(self.folder, load="raise(SIGKILL);")
        self.assert_refused(cpodes("run", path), str(path), "crashes when it is loaded", "Killed", status=CRASHED)
        for status in (0, 3):
            path = compile_model(self.folder, f"other{status}", load=f"exit({status});")
            for command in ("run", "check", "describe", "compare"):
                self.assert_refused(cpodes(command, path), f"loaded, with exit status {status}", status=CRASHED)

    def test_other_files_are_no_shared_objects(self):
        for name in ("robot.obj", "notes", "robot.usd"):
            path = self.folder / name
            path.write_text("<sdf/>")
            self.assert_refused(cpodes("run", path), name, "not a shared object", ".urdf", "SDF")
        self.assert_refused(cpodes("run", "robot.obj", cwd=self.folder), "robot.obj", "not a shared object")

    def test_what_is_never_loaded_is_one_line(self):
        self.assert_refused(finish(self.loading), str(self.sleeper), "not loaded within 10 s", status=CRASHED)

    def test_a_pipe_is_no_shared_object(self):
        path = self.folder / "pipe.so"
        os.mkfifo(path)
        self.assert_refused(cpodes("describe", path), str(path), "not a file")

    def test_more_names_of_coordinates_than_coordinates_are_refused(self):
        path = compile_model(self.folder, coordinates='{"x", "", "x"}, {"y", "", "y"}, {"z", "", "z"}', ncoordinates="3")
        check = cpodes("check", path)
        self.assertIn("3 coordinates have names, but there are 2", check.stdout)

    def test_a_model_that_crashes_is_one_line(self):
        path = compile_model(self.folder, create="abort();")
        self.assertIn("create", cpodes("describe", path).stderr.splitlines()[-1])
        self.assertEqual(cpodes("describe", path).returncode, CRASHED)


if __name__ == "__main__":
    unittest.main()
