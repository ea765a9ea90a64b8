"""Figures and pictures: --plot and --picture of `cpodes run`."""

import json
import os
import pathlib
import re
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

from runner import OUTPUT, SHOWN, RunnerTest, cpodes
from user_model import compile_model

SVG = "{http://www.w3.org/2000/svg}"


def texts_of(path):
    """All text in an SVG file"""
    root = ElementTree.parse(path).getroot()
    assert root.tag == SVG + "svg"
    return ["".join(text.itertext()).strip() for text in root.iter(SVG + "text")]


def curves_of(path):
    """Numbers of points of the curves of an SVG file"""
    paths = ElementTree.parse(path).getroot().iter(SVG + "path")
    return [len(re.findall(r"[MLl ]-?[0-9]", path.get("d"))) for path in paths]


class FigureTest(RunnerTest):
    def figure(self, *arguments, option="--plot", file="figure.svg"):
        path = self.folder / file
        self.assert_done(cpodes("run", *arguments, option, path, "--quiet"))
        return path

    def fake_gnuplot(self, commands):
        """An environment where gnuplot is a script that reports its version and otherwise does this"""
        program = self.folder / "bin" / "gnuplot"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exit 0\n{commands}\n')
        program.chmod(0o755)
        return os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}"}


class EveryModel(FigureTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="cpodes-")
        cls.addClassCleanup(folder.cleanup)
        cls.all = pathlib.Path(folder.name)
        for model in SHOWN:
            file = str(cls.all / model)
            leaves = "--plot", f"{file}.plot.svg", "--picture", f"{file}.picture.svg", "--json", f"{file}.json"
            run = cpodes("run", model, *leaves, "--quiet")
            assert run.returncode == 0, run.stderr

    def test_ticks_that_differ_have_labels_that_differ(self):
        # the governor dissipates a hundred-thousandth of its energy; the slider-crank's steps are all between 0.1 and 1
        labels = [text for text in texts_of(self.all / "flyball_governor.plot.svg") if text.startswith("238.88")]
        self.assertGreater(len(labels), 3)
        self.assertEqual(len(labels), len(set(labels)))
        self.assertLessEqual({"2e-1", "5e-1", "1e0"}, set(texts_of(self.all / "slider_crank.plot.svg")))

    def test_every_model_has_the_panels_of_what_it_is(self):
        for model in SHOWN:
            with self.subTest(model):
                run = json.loads((self.all / f"{model}.json").read_text())
                texts = texts_of(self.all / f"{model}.plot.svg")
                conserved = {quantity["name"]: quantity["conserved"] for quantity in run["quantities"]}
                panels = {
                    "coordinate": True,
                    "velocity": True,
                    "|drift| / scale": any(conserved.values()),
                    "violation": bool(run["violations"]),
                    "multiplier": True,
                    "step size": True,
                    "order": run["settings"]["method"] in ("bdf", "adams", "radau"),
                }
                for panel, there in panels.items():
                    found = any(text == panel or text.startswith(panel + " [") for text in texts)
                    self.assertEqual(found, there, panel)
                for name in [*conserved, *run["violations"]]:
                    self.assertIn(name, texts)
                self.assertTrue(any(run["model"]["title"] in text for text in texts))

    def test_every_model_is_drawn_with_its_title_and_its_times(self):
        for model in SHOWN:
            with self.subTest(model):
                path = self.all / f"{model}.picture.svg"
                texts = texts_of(path)
                self.assertTrue(any(text.startswith("8 moments, t = 0 ...") for text in texts), texts)
                self.assertGreaterEqual(len(curves_of(path)), 8)


class Plot(FigureTest):
    def test_an_axis_has_one_unit(self):
        texts = texts_of(self.figure("slider_crank"))
        for unit in "rad", "m":
            self.assertIn(f"coordinate [{unit}]", texts)
            self.assertIn(f"velocity [{unit}/s]", texts)
        self.assertFalse([text for text in texts if text == "coordinate"])

    def test_events_are_marked_in_each_panel(self):
        def lines(model):
            paths = ElementTree.parse(self.figure(model, file=model + ".svg")).getroot().iter(SVG + "path")
            marks = [path.get("d") for path in paths if path.get("stroke") == "rgb(128, 128, 128)"]
            return [len(re.findall("M", mark)) for mark in marks]

        events = json.loads(cpodes("run", "newton_cradle", "--json", "-").stdout)["events_seen"]
        self.assertGreater(events, 0)
        self.assertEqual(lines("slider_crank"), [])
        self.assertEqual(lines("newton_cradle"), 7 * [events])  # seven panels

    def test_long_runs_have_figures_no_larger_than_short_ones(self):
        short, long = (
            self.figure("pendulum", "--outputs", outputs, file=f"{outputs}.svg").stat().st_size for outputs in (1900, 100000)
        )
        self.assertLess(long, 1.5 * short)

    def test_png_and_pdf_are_complete(self):
        png = self.figure("slider_crank", file="figure.png").read_bytes()
        self.assertEqual(png[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(png[-8:-4], b"IEND")
        pdf = self.figure("slider_crank", file="figure.pdf").read_bytes()
        self.assertTrue(pdf.startswith(b"%PDF-"))
        self.assertTrue(pdf.rstrip().endswith(b"%%EOF"))

    def test_names_may_have_any_characters(self):
        title, *names = "'Rod' & <rod>_{1} \"2\"", "it's_{a}^2", "<x>&`y`$z", 'a "b" `c` $d', "\u03c6 \u2192 @e"
        title_, a, b, c, d = (json.dumps(name, ensure_ascii=False) for name in (title, *names))
        model = compile_model(
            self.folder,
            title=title_,
            coordinates=f'{{{a}, "m", "x"}}, {{{b}, "m^2_3", "y"}}',
            quantities=f"{{.name = {c}, .unit = \"J'\", .value = energy, .conserved = 1, .scale = 10}},"
            f'{{.name = {d}, .unit = "J", .value = energy}}',
        )
        texts = texts_of(self.figure(model))
        for name in (title, *names):
            self.assertTrue(any(text.startswith(name) for text in texts), (name, texts))

    def test_a_name_that_is_not_text_leaves_the_figure_whole(self):
        model = compile_model(self.folder, coordinates=r'{"a\xff\xfe" "b", "m", "x"}, {"y\xc3", "m", "y"}')
        texts = texts_of(self.figure(model))
        for name in "a??b", "y?":
            self.assertIn(name, texts)

    def test_the_plot_of_a_run_that_failed_shows_what_there_is(self):
        model = compile_model(self.folder, f="f[1] = t < 1 ? -((G *)data)->g : NAN; return 0;")
        path = self.folder / "figure.svg"
        self.assertNotEqual(cpodes("run", model, "--plot", path).returncode, 0)
        self.assertIn("violation", texts_of(path))


class Picture(FigureTest):
    def test_mechanisms_in_space_have_three_axes_those_in_a_plane_two(self):
        space = texts_of(self.figure("spatial_chain", option="--picture"))
        plane = texts_of(self.figure("chain", option="--picture"))
        for axis in "xyz":
            self.assertIn(axis, space)
        self.assertTrue(any(re.match(r"x\b", text) for text in plane))
        self.assertFalse(any(re.match(r"z\b", text) for text in plane))

    def test_guides_are_dashed_once_and_links_are_not(self):
        def dashed(model):
            paths = ElementTree.parse(self.figure(model, option="--picture", file=f"{model}.svg")).getroot().iter(SVG + "path")
            dashes = [path.get("stroke") for path in paths if path.get("stroke-dasharray")]
            return [stroke for stroke in dashes if stroke.replace(" ", "") == "rgb(64,64,64)"]

        self.assertEqual(len(dashed("slider_crank")), 1)
        self.assertEqual(len(dashed("andrews")), 0)

    def test_both_axes_have_one_scale(self):
        # a rod of length 1 that swings through half a turn: twice as wide as high
        path = self.figure(compile_model(self.folder), "--t-end", 3, "--outputs", 400, option="--picture")
        longest = max(ElementTree.parse(path).getroot().iter(SVG + "path"), key=lambda p: len(p.get("d")))
        points = [tuple(map(float, point)) for point in re.findall(r"(-?[\d.]+),(-?[\d.]+)", longest.get("d"))]
        width, height = (max(axis) - min(axis) for axis in zip(*points))
        self.assertAlmostEqual(width / height, 2, delta=0.02)

    def test_large_drawings_are_drawn_no_finer_than_can_be_seen(self):
        path = self.figure("bending_chain", "--param", "n=2000", "--t-end", 1e-4, option="--picture")
        self.assertLess(path.stat().st_size, 1000000)

    def test_a_model_without_a_drawing_has_no_picture(self):
        model = compile_model(self.folder, members="0")
        table = self.folder / "run.csv"
        refused = cpodes("run", model, "--picture", self.folder / "a.svg", "--csv", table)
        self.assert_refused(refused, "--picture", "rod", "no drawing")
        self.assertFalse(table.exists())  # before the run


class BadInput(FigureTest):
    def test_another_suffix_is_refused_before_the_run(self):
        for option in "--plot --picture".split():
            for name in "figure.gif figure svg figure.SVG.txt".split():
                path = self.folder / name
                self.assert_refused(cpodes("run", "slider_crank", option, path), option, ".svg, .png or .pdf", name)
                self.assertFalse(path.exists())

    def test_a_folder_that_is_not_there_is_refused_before_the_run(self):
        for option in "--plot --picture".split():
            refused = cpodes("run", "slider_crank", option, self.folder / "no" / "figure.svg")
            self.assert_refused(refused, option, "No such file", status=OUTPUT)

    def test_without_gnuplot_one_line_says_what_to_install(self):
        for option in "--plot --picture".split():
            refused = cpodes("run", "slider_crank", option, self.folder / "a.svg", env=os.environ | {"PATH": str(self.folder)})
            self.assert_refused(refused, option, "gnuplot", "install")

    def test_a_gnuplot_that_fails_is_quoted_and_leaves_the_old_file(self):
        path = self.folder / "figure.svg"
        path.write_text("old")
        environment = self.fake_gnuplot("echo half; echo 'line 7: it is broken' >&2; exit 1")
        failed = cpodes("run", "slider_crank", "--plot", path, "--quiet", env=environment)
        self.assert_refused(failed, "gnuplot", "it is broken", str(path), status=OUTPUT)
        self.assertEqual(path.read_text(), "old")
        self.assertEqual([file.name for file in self.folder.iterdir() if file.name != "bin"], ["figure.svg"])

    def test_a_gnuplot_that_crashes_is_told(self):
        failed = cpodes(
            "run", "slider_crank", "--plot", self.folder / "a.svg", "--quiet", env=self.fake_gnuplot("kill -9 $$")
        )
        self.assert_refused(failed, "gnuplot failed", status=OUTPUT)

    def test_a_full_disk_is_told(self):
        path = self.folder / "full.svg"
        path.symlink_to("/dev/full")
        for option in "--plot --picture".split():
            failed = cpodes("run", "slider_crank", option, path, "--quiet")
            self.assert_refused(failed, "full.svg", "No space left", status=OUTPUT)

    def test_a_file_of_settings_changes_no_figure(self):
        (self.folder / ".gnuplot").write_text("set terminal dumb\nset title 'mine'\nexit\n")
        path = self.folder / "figure.svg"
        environment = os.environ | {"HOME": str(self.folder)}
        self.assert_done(cpodes("run", "slider_crank", "--plot", path, "--quiet", env=environment))
        self.assertNotIn("mine", texts_of(path))


if __name__ == "__main__":
    unittest.main()
