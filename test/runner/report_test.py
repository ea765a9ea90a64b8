"""The report in a browser: every model's page, its animation, and its accessibility."""

import functools
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from browser import Browser, Keys
from runner import CRASHED, FAILED, INTERRUPTED, OUTPUT, PROGRAM, SHOWN, RunnerTest, cpodes
from user_model import compile_model

IN_SPACE = ("knife_edge", "spatial_chain", "spatial_bending_chain", "bricard", "heavy_top", "flyball_governor")

# text that would break a page, its script, its JSON, a gnuplot script, or a template if it were inserted as it is
HOSTILE = """</script></title></p><script>window.broken = 1</script><img src=x onerror="window.broken = 2">
 '"&amp;<!--\\ `touch broken` $HOME {{script}} %s %n é""".replace("\n", "")

# all properties of a page that can be read at once
STRUCTURE = r"""
const all = (selector) => [...document.querySelectorAll(selector)];
const byId = (id) => document.getElementById(id);
const ids = all("[id]").map((e) => e.id);
const named = (e) => (e.getAttribute("aria-label") || (e.getAttribute("aria-labelledby") || "").split(" ")
  .map((id) => (byId(id) || {}).textContent || "").join("")).trim();
const references = ["for", "aria-labelledby", "aria-describedby", "aria-controls"].flatMap((name) =>
  all("[" + name + "]").flatMap((e) => e.getAttribute(name).split(" ")))
  .concat(all("a[href^='#']").map((e) => e.getAttribute("href").slice(1)),
          all("[*|href^='#']").map((e) => (e.getAttribute("href") || e.getAttribute("xlink:href")).slice(1)));
return {
  language: document.documentElement.lang,
  title: document.title,
  text: document.body.innerText,
  repeated: ids.filter((id, i) => ids.indexOf(id) !== i),
  dangling: references.filter((id) => !byId(id)),
  headings: all("h1, h2, h3, h4, h5, h6").filter((e) => e.checkVisibility()).map((e) => Number(e.tagName[1])),
  mains: all("main").length,
  nameless: all("svg").filter((e) => e.getAttribute("aria-hidden") !== "true" &&
    !(e.getAttribute("role") === "img" && named(e))).map((e) => e.outerHTML.slice(0, 200)),
  silent: all("button, select, input").filter((e) => !e.textContent.trim() && !named(e) && !(e.labels || []).length)
    .map((e) => e.outerHTML),
  headless: all("th:not([scope])").length + all("table:not(:has(caption))").length,
  flat: all("figure svg").filter((e) => e.getBoundingClientRect().height < 50).map((e) => e.closest("figure").id),
  elsewhere: all("[src], link[href]").map((e) => e.getAttribute("src") || e.getAttribute("href"))
    .filter((address) => !address.startsWith("data:")),
};
"""

# the contrast (WCAG 2) of every text with its background: the worst ones
CONTRAST = r"""
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
const rgb = (colour, under) => {
  canvas.fillStyle = under;
  canvas.fillRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const linear = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : Math.pow((c / 255 + 0.055) / 1.055, 2.4));
const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
const behind = (e) => {
  for (; e; e = e.parentElement) {
    const colour = getComputedStyle(e).backgroundColor;
    if (!/, 0\)$/.test(colour)) return colour;
  }
  return "rgb(255, 255, 255)";
};
const texts = [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() &&
  !["SCRIPT", "STYLE", "CANVAS"].includes(e.tagName) &&
  [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()));
return texts.map((e) => {
  const style = getComputedStyle(e), under = behind(e);
  const colour = e instanceof SVGElement ? style.fill : style.color;
  const [a, b] = [luminance(rgb(colour, under)), luminance(rgb(under, "#fff"))];
  return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), a, b, e.tagName + " " + e.textContent.slice(0, 40)];
});
"""


browser, folder = None, None  # for all tests


def setUpModule():
    global browser, folder
    browser = Browser()
    unittest.addModuleCleanup(browser.close)
    temporary = tempfile.TemporaryDirectory(prefix="cpodes-reports-")
    unittest.addModuleCleanup(temporary.cleanup)
    folder = pathlib.Path(temporary.name)


def write(path, *arguments, **options):
    process = cpodes("run", *arguments, "--quiet", "--report", path, **options)
    if process.returncode:
        raise AssertionError(process.stderr)
    return path


@functools.cache
def report_of(model):
    return write(folder / f"{model}.html", model)


class Report(RunnerTest):
    def setUp(self):
        super().setUp()
        browser.media()
        browser.size()

    def open(self, path, **media):
        browser.media(**media)
        browser.open(path)

    def still(self, model):
        """The report, with an animation that does not start by itself"""
        self.open(report_of(model), motion="reduce")


class EveryModel(Report):
    """One visit of each page for all that can be seen of it, since to open it takes longest"""

    def test_a_report_opens_without_a_complaint_asks_for_nothing_and_moves(self):
        for model in SHOWN:
            with self.subTest(model):
                self.open(report_of(model))
                first = browser.picture()
                self.assertTrue(browser.until(lambda: browser.picture() != first))
                self.assertEqual(browser.complaints(), [])
                others = [url for url in browser.requests() if not url.startswith(("file:", "data:"))]
                self.assertEqual(others, [])

    def test_a_page_is_well_made_for_screens_phones_and_paper(self):
        for model in SHOWN:
            browser.size()
            self.still(model)
            for look in self.structure, self.turning, self.contrast, self.paper, self.phone:
                with self.subTest(model, look=look.__name__):
                    look(model)

    def structure(self, model):
        page = browser.run(STRUCTURE)
        self.assertEqual(page["language"], "en")
        self.assertTrue(page["title"].endswith("– cpodes"), page["title"])
        self.assertEqual(page["mains"], 1)
        for fault in "repeated dangling nameless silent flat elsewhere".split():
            self.assertEqual(page[fault], [], fault)
        self.assertEqual(page["headless"], 0)
        self.assertEqual(page["headings"][0], 1)
        for above, below in zip(page["headings"], page["headings"][1:]):
            self.assertLessEqual(below, above + 1, page["headings"])
        self.assertIn("Reached its end", page["text"])
        self.assertNotIn("{{", page["text"])

    def turning(self, model):
        self.assertEqual(browser.is_shown("#turn"), model in IN_SPACE)

    def contrast(self, model):
        for scheme in "light", "dark":
            browser.media(scheme=scheme, motion="reduce")
            texts = browser.run(CONTRAST)
            self.assertGreater(len(texts), 50)
            for contrast, text, paper, what in texts:
                self.assertGreaterEqual(contrast, 4.5, (scheme, what))
                self.assertEqual(text > paper, scheme == "dark", what)

    def paper(self, model):
        """In print even a dark page has light paper and no controls."""
        browser.media(media="print", scheme="dark", motion="reduce")
        paper = browser.run("return getComputedStyle(document.body).backgroundColor")
        self.assertEqual(paper, "rgb(255, 255, 255)")
        for selector in "#controls", "#play", "#turn", ".skip", "nav":
            self.assertFalse(browser.is_shown(selector), selector)
        self.assertNotEqual(browser.is_shown("#figure-motion"), browser.is_shown("#canvas"))

    def phone(self, model):
        browser.media(motion="reduce")
        browser.size(360, 740)
        self.assertLessEqual(browser.run("return document.documentElement.scrollWidth"), 360)


class Figures(Report):
    READOUT = "return document.querySelector('#figure-coordinates .readout').textContent"

    def test_a_cursor_follows_the_animation_and_tells_values(self):
        self.still("slider_crank")
        result = self.folder / "run.json"
        self.assert_done(cpodes("run", "slider_crank", "-q", "--json", result))
        end = json.loads(result.read_text())["end"]["y"]
        self.assertIn("t = 0 s: q 1.5708 rad, p -0.5236 rad", browser.run(self.READOUT))
        places = []
        for key in Keys.END, Keys.PAGE_DOWN * 5:
            browser.press("#canvas", key)
            self.assertTrue(browser.until(lambda: browser.run(self.READOUT) not in places))
            places.append(browser.run(self.READOUT))
        self.assertEqual(places[0], f"t = 10 s: q {end[0]:.5g} rad, p {end[2]:.5g} rad")
        self.assertTrue(places[1].startswith("t = 5"), places[1])

    def test_the_pointer_moves_all_cursors_and_the_animation(self):
        self.still("slider_crank")
        first = browser.picture()
        browser.run(
            "const svg = document.querySelector('#figure-velocities svg'), area = svg.getBoundingClientRect();"
            "const data = JSON.parse(document.querySelector('#figure-velocities script').textContent);"
            "const x = (data.box[0] + 0.3 * (data.box[1] - data.box[0])) * area.width / svg.viewBox.baseVal.width;"
            "svg.dispatchEvent(new PointerEvent('pointermove', {clientX: area.left + x, clientY: area.top + 50}))"
        )
        self.assertTrue(browser.until(lambda: browser.time() == 300))
        self.assertNotEqual(browser.picture(), first)
        cursors = browser.run("return [...document.querySelectorAll('.cursor')].map((line) => line.getAttribute('x1'))")
        self.assertGreater(len(cursors), 4)
        self.assertTrue(browser.run(self.READOUT).startswith("t = 3 s"), browser.run(self.READOUT))

    def test_dots_are_on_the_curves(self):
        """The dot at the largest value of a curve is at the height of the curve that gnuplot has drawn."""
        self.still("slider_crank")
        apart = browser.run(
            "const figure = document.querySelector('#figure-coordinates2');"
            "const data = JSON.parse(figure.querySelector('script').textContent), values = data.curves[0].values;"
            "const row = values.indexOf(Math.max(...values));"
            "document.dispatchEvent(new CustomEvent('seek', {detail: data.t[row]}));"
            "const curve = [...figure.querySelectorAll('path')].sort((a, b) => b.getTotalLength() - a.getTotalLength())[0];"
            "const ys = curve.getAttribute('d').split('M').pop().match(/[-0-9.]+,[-0-9.]+/g).map((p) => Number(p.split(',')[1]));"
            "return [Number(figure.querySelector('.dot').getAttribute('cy')), Math.min(...ys)]"
        )
        self.assertLess(abs(apart[0] - apart[1]), 0.5, apart)

    def test_figures_can_be_magnified(self):
        self.still("slider_crank")
        width = "return document.querySelector('#figure-coordinates svg').clientWidth"
        before = browser.run(width)
        browser.find("#figure-coordinates [aria-label='Zoom in']").click()
        self.assertAlmostEqual(browser.run(width), 2 * before, delta=2)
        self.assertLessEqual(browser.run("return document.documentElement.scrollWidth"), 1200)
        browser.find("#figure-coordinates [aria-label='Zoom out']").click()
        self.assertEqual(browser.run(width), before)

    def test_tables_are_in_sight_on_a_phone(self):
        browser.size(360, 740)
        for model in "slider_crank", "andrews", "flyball_governor":
            self.still(model)
            hidden = browser.run(
                "return [...document.querySelectorAll('#facts .scroll')].filter((box) => box.scrollWidth > box.clientWidth)"
                ".map((box) => box.querySelector('table').id)"
            )
            self.assertEqual(hidden, [], model)

    def test_letters_of_figures_can_be_read_on_a_phone(self):
        browser.size(360, 740)
        self.still("andrews")
        least = browser.run(
            "return Math.min(...[...document.querySelectorAll('figure svg')].map((svg) => "
            "16 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width))"
        )
        self.assertGreaterEqual(least, 11)


class Animation(Report):
    def test_it_waits_for_those_who_do_not_like_motion(self):
        self.still("slider_crank")
        first = browser.picture()
        time.sleep(0.5)
        self.assertEqual(browser.picture(), first)
        browser.find("#play").click()
        self.assertTrue(browser.until(lambda: browser.picture() != first))

    def test_it_pauses_when_motion_is_no_longer_wanted(self):
        self.open(report_of("slider_crank"))
        self.assertTrue(browser.until(lambda: browser.time() > 0))
        browser.media(motion="reduce")
        self.assertTrue(browser.until(lambda: browser.find("#play").text == "Play"))
        self.assertLess(browser.time(), 1000)  # where it would stop by itself

    def test_the_button_plays_pauses_and_says_which(self):
        self.still("slider_crank")
        button = browser.find("#play")
        self.assertEqual(button.text, "Play")
        button.click()
        self.assertEqual(button.text, "Pause")
        self.assertTrue(browser.until(lambda: browser.time() > 0))
        button.click()
        self.assertEqual(button.text, "Play")
        self.assertIn("Paused at", browser.run("return document.getElementById('status').textContent"))
        paused = browser.picture()
        time.sleep(0.3)
        self.assertEqual(browser.picture(), paused)

    def test_it_stops_at_the_end_and_starts_anew_from_there(self):
        self.still("slider_crank")
        browser.press("#canvas", Keys.END, Keys.PAGE_DOWN)
        self.assertEqual(browser.time(), 900)
        browser.run("const s = document.getElementById('speed'); s.value = s.options[s.options.length - 1].value")
        browser.press("#canvas", Keys.SPACE)
        self.assertTrue(browser.until(lambda: browser.find("#play").text == "Play"))
        self.assertEqual(browser.time(), 1000)
        browser.press("#canvas", Keys.SPACE)
        self.assertTrue(browser.until(lambda: 0 < browser.time() < 1000))

    def test_keys_move_in_time(self):
        self.still("slider_crank")
        for keys, expected in (
            (Keys.END, 1000),
            (Keys.ARROW_LEFT, 990),
            (Keys.HOME, 0),
            (Keys.ARROW_RIGHT * 3, 30),
            (Keys.PAGE_UP, 130),
        ):
            browser.press("#canvas", keys)
            self.assertEqual(browser.time(), expected)

    def test_the_slider_moves_the_mechanism_and_tells_the_time(self):
        self.still("slider_crank")
        first = browser.picture()
        browser.press("#time", Keys.END, Keys.ARROW_LEFT)
        self.assertNotEqual(browser.picture(), first)
        self.assertEqual(browser.find("#time").get_attribute("aria-valuetext"), "9.99 s of 10.00 s")
        browser.press("#time", Keys.HOME)
        self.assertEqual(browser.picture(), first)

    def test_a_screen_reader_is_not_told_of_every_frame(self):
        self.still("slider_crank")
        browser.run(
            "window.told = 0; const count = (changes) => { window.told += changes.length; };"
            "new MutationObserver(count).observe(document.getElementById('time'), "
            "{attributes: true, attributeFilter: ['aria-valuetext']});"
            "new MutationObserver(count).observe(document.getElementById('status'), {childList: true});"
        )
        browser.press("#canvas", Keys.SPACE)
        self.assertTrue(browser.until(lambda: browser.time() > 150))  # of 10 s
        self.assertLessEqual(browser.run("return window.told"), 4)

    def test_arrows_buttons_and_pointer_turn_a_mechanism_in_space(self):
        self.still("spatial_chain")
        pictures = [browser.picture()]
        browser.press("#canvas", Keys.ARROW_RIGHT)
        pictures.append(browser.picture())
        browser.find("[data-turn=up]").click()
        pictures.append(browser.picture())
        browser.run(
            "const c = document.getElementById('canvas');"
            "const send = (type, x) => c.dispatchEvent(new PointerEvent(type, {clientX: x, clientY: 300}));"
            "c.setPointerCapture = () => {};"
            "send('pointerdown', 300); send('pointermove', 360); send('pointerup', 360);"
        )
        pictures.append(browser.picture())
        self.assertEqual(len(set(pictures)), 4)
        browser.find("[data-turn=reset]").click()
        self.assertEqual(browser.picture(), pictures[0])
        self.assertEqual(browser.time(), 0)

    def test_forces_of_contacts_are_drawn_while_they_act(self):
        """The ball flies at first and rests at the end; the scale of forces is always visible."""
        self.still("bouncing_ball")
        green = (
            "const style = getComputedStyle(document.documentElement).getPropertyValue('--force').trim();"
            "const wanted = [1, 3, 5].map((i) => parseInt(style.slice(i, i + 2), 16));"
            "const c = document.getElementById('canvas'), p = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
            "let count = 0;"
            "for (let i = 0; i < p.length; i += 4) count += wanted.every((x, k) => Math.abs(p[i + k] - x) < 3);"
            "return count"
        )
        browser.picture()
        flying = browser.run(green)
        browser.press("#canvas", Keys.END)
        browser.picture()
        self.assertGreater(flying, 30)
        self.assertGreater(browser.run(green), flying + 50)
        self.assertIn("force on the body", browser.run("return document.getElementById('legend').innerText"))

    def test_zooming_magnifies_and_moves_and_goes_back(self):
        for model in "slider_crank", "heavy_top":
            self.still(model)
            pictures = [browser.picture()]
            for act in (
                lambda: browser.find("[data-zoom=in]").click(),
                lambda: browser.press("#canvas", "+"),
                lambda: browser.press("#canvas", Keys.SHIFT + Keys.ARROW_LEFT),
            ):
                act()
                pictures.append(browser.picture())
            self.assertEqual(len(set(pictures)), 4, model)
            self.assertEqual(browser.time(), 0)
            browser.find("[data-zoom=reset]").click()
            self.assertEqual(browser.picture(), pictures[0])

    def test_its_colours_follow_the_scheme(self):
        self.still("slider_crank")
        light = browser.picture()
        browser.media(scheme="dark", motion="reduce")
        self.assertTrue(browser.until(lambda: browser.picture() != light))

    def test_thousands_of_points_move_at_all_times(self):
        path = write(self.folder / "long.html", "chain", "--param", "n=1000", "--param", "g=100")
        self.assertLess(path.stat().st_size, 3e6)
        self.open(path, motion="reduce")
        first = browser.picture()
        browser.press("#canvas", Keys.SPACE)
        self.assertTrue(browser.until(lambda: browser.picture() != first))
        self.assertEqual(browser.complaints(), [])


class Contents(Report):
    def text_of(self, selector):
        return browser.find(selector).get_attribute("textContent")

    def rows_of(self, selector):
        return browser.run(
            "const rows = document.querySelectorAll(arguments[0] + ' tbody tr');"
            "return [...rows].map((row) => [...row.cells].map((cell) => cell.textContent))",
            selector,
        )

    @unittest.skipUnless(shutil.which("gnuplot"), "needs gnuplot")
    def test_it_has_the_figures_of_the_run(self):
        self.still("slider_crank")
        ids = browser.run("return [...document.querySelectorAll('figure')].map((f) => f.id)")
        for figure in "motion coordinates velocities quantities violations multipliers steps".split():
            self.assertIn(f"figure-{figure}", ids)
        self.assertFalse(browser.is_shown("#no-figures"))

    def test_without_gnuplot_it_says_that_figures_are_missing(self):
        path = write(self.folder / "bare.html", "pendulum", env={**os.environ, "PATH": str(self.folder)})
        self.open(path)
        self.assertIn("gnuplot", self.text_of("#no-figures"))
        self.assertTrue(browser.is_shown("#canvas"))
        browser.media(media="print")
        self.assertTrue(browser.is_shown("#canvas"))  # nothing else shows the motion

    def test_an_interrupted_run_says_so_and_shows_what_there_is(self):
        path = self.folder / "interrupted.html"
        arguments = "run pendulum --t-end 1e7 --outputs 100000000 --quiet --csv rows.csv --report".split()
        process = subprocess.Popen([PROGRAM, *arguments, path.name], cwd=self.folder, stderr=subprocess.DEVNULL)
        self.assertTrue(browser.until(lambda: any(file.stat().st_size > 100000 for file in self.folder.glob("rows.csv.*"))))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(30), INTERRUPTED)
        self.open(path)
        self.assertIn("Interrupted at t = ", self.text_of("#verdict"))
        self.assertEqual(browser.find("#verdict").get_attribute("class"), "bad")
        self.assertTrue(browser.is_shown("#canvas"))
        self.assertEqual(browser.complaints(), [])

    def write_failed(self, status, **parts):
        """The report of a user model's run that does not reach its end"""
        path = self.folder / "failed.html"
        model = compile_model(self.folder, **parts)
        process = cpodes("run", model, "--method", "dop853", "--quiet", "--report", path)
        self.assertEqual(process.returncode, status, process.stderr)
        self.open(path)
        self.assertEqual(browser.find("#verdict").get_attribute("class"), "bad")
        self.assertEqual(browser.complaints(), [])
        return process.stderr

    def test_a_run_that_fails_says_when_and_why(self):
        complaint = self.write_failed(FAILED, f="f[1] = t > 1 ? NAN : -9.81; return 0;")
        self.assertRegex(self.text_of("#verdict-heading"), r"^Failed at t = 0\.9|^Failed at t = 1 ")
        reason = self.text_of("#verdict p")
        self.assertIn("nan", reason)
        self.assertIn(reason, complaint)
        self.assertTrue(browser.is_shown("#canvas"))

    def test_a_model_that_crashes_leaves_a_report_up_to_then(self):
        self.write_failed(CRASHED, f="if (t > 1) abort(); f[1] = -9.81; return 0;")
        self.assertIn("Crashed at t = ", self.text_of("#verdict-heading"))
        self.assertTrue(browser.is_shown("#canvas"))

    def test_a_run_that_fails_at_once_has_a_report_without_motion(self):
        self.write_failed(FAILED, f="f[1] = NAN; return 0;")
        self.assertIn("Failed at t = 0 s", self.text_of("#verdict-heading"))
        self.assertIn("--report", self.text_of("#command"))

    def test_a_model_without_a_drawing_has_all_the_rest(self):
        model = compile_model(self.folder, members="", create="model->drawing.npoints = model->drawing.nsegments = 0;")
        self.open(write(self.folder / "blind.html", model))
        self.assertFalse(browser.is_shown("#motion"))
        page = browser.run(STRUCTURE)
        self.assertEqual(page["dangling"], [])
        self.assertEqual(browser.complaints(), [])

    def test_points_that_are_nowhere_do_not_stop_the_animation(self):
        points = "xyz[3] = t > 1 && t < 2 ? NAN : y[0]; xyz[4] = t > 3 ? INFINITY : y[1];"
        model = compile_model(self.folder, points=points)
        self.open(write(self.folder / "gone.html", model))
        first = browser.picture()
        self.assertTrue(browser.until(lambda: browser.picture() != first))
        self.assertEqual(browser.complaints(), [])

    def test_texts_of_a_model_cannot_break_the_page(self):
        text, unit = json.dumps(HOSTILE, ensure_ascii=False), json.dumps("<img src=x>'&amp;\"")
        model = compile_model(
            self.folder,
            title=text,
            parameters=f'{{"L", {unit}, {text}, 1, 0.1, 10}}, {{"g", "m/s^2", "gravity", 9.81, 0, 100}}',
            coordinates=f'{{"x", {unit}, {text}}}, {{"y", "m", {text}}}',
            quantities=f"{{.name = {text}, .unit = {unit}, .value = energy, .conserved = 1, .scale = 10}}",
            members=f".points = points, .source = {text}",
        )
        self.open(write(self.folder / "hostile.html", model, cwd=self.folder))
        self.assertEqual(self.text_of("h1"), HOSTILE)
        self.assertIn(HOSTILE, self.text_of("#parameters"))
        self.assertIn(HOSTILE, self.text_of("#source"))
        self.assertIsNone(browser.run("return window.broken"))
        self.assertEqual(browser.run("return document.images.length"), 0)
        self.assertEqual(browser.complaints(), [])
        self.assertFalse((self.folder / "broken").exists())
        self.assertTrue(browser.is_shown("#canvas"))

    def test_a_violation_that_tolerances_do_not_explain_is_called_out(self):
        # the energy of the undamped pendulum drifts where the error test hardly notices the motion
        path = write(self.folder / "coarse.html", "pendulum", "--method", "bdf", "--rtol", 0.01)
        self.open(path)
        self.assertEqual(browser.find("#verdict").get_attribute("class"), "bad")
        self.assertIn("with wrong results", self.text_of("#verdict"))
        self.assertIn("energy", self.text_of("#verdict"))

    def test_the_command_can_be_pasted_into_a_shell(self):
        names = ["plain.csv", "two words.csv", "it's.csv", 'a"b$HOME`x`.csv', "<img src=x onerror=alert(1)>&amp;.csv"]
        for name in names:
            path = self.folder / "page.html"
            arguments = ["pendulum", "--quiet", "--csv", name, "--report", path.name]
            self.assert_done(cpodes("run", *arguments, cwd=self.folder))
            self.open(path)
            command = shlex.split(self.text_of("#command"))
            self.assertEqual(command[:2], ["cpodes", "run"])
            self.assertEqual(sorted(command[2:]), sorted(arguments))  # options may have come before the model
            self.assertEqual(browser.run("return document.images.length"), 0)
            self.assertEqual(browser.complaints(), [])

    def test_parameters_are_there_with_their_units(self):
        path = write(self.folder / "heavy.html", "slider_crank", "--param", "m2=2.5")
        self.open(path)
        self.assertIn(["m2", "2.5", "kg", "mass of the rod"], self.rows_of("#parameters"))

    def test_events_are_listed_in_the_order_of_time(self):
        self.still("newton_cradle")
        times = [float(row[1]) for row in self.rows_of("#event-list")]
        self.assertGreater(len(times), 3)
        self.assertEqual(times, sorted(times))
        self.still("pendulum")
        self.assertFalse(browser.is_shown("#events"))

    def test_a_file_that_cannot_be_made_is_refused_before_the_run(self):
        self.assert_refused(cpodes("run", "pendulum", "--report", self.folder / "none" / "x.html"), "--report", status=OUTPUT)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # prints why tests are skipped
