"""Files that a run reads and writes: complete or old, never the model's, each of them once, in every locale."""

import csv
import json
import os
import resource
import signal
import subprocess
import time
import unittest
import xml.dom.minidom

from runner import DONE, INTERRUPTED, PROGRAM, SANITIZED, USAGE, RunnerTest, cpodes, finish, start
from user_model import compile_model, source

BODY = "{name: %s, mass: 1, inertia: [0.1, 0.1, 0.1], at: [0.5, 0, 0]}"
SHORT = ["--t-end", 0.1, "--quiet", "--no-estimate"]
ENDLESS = ["pendulum", "--t-end", "1e7", "--outputs", "100000000", "--quiet", "--no-estimate"]


def mechanism(name):
    """A mechanism all of whose names and whose title contain this one"""
    quoted = [json.dumps(name + end) for end in ("", "J", "S", "H", "C")]
    return f"""run: {{title: {quoted[0]}, t_end: 0.1}}
gravity: [0, 0, -9.81]
bodies:
  - {BODY % quoted[0]}
joints:
  - {{name: {quoted[1]}, kind: revolute, b: {quoted[0]}, axis: [0, 1, 0]}}
springs:
  - {{name: {quoted[2]}, b: {quoted[0]}, at: [0, 0, 1], at_b: [0.5, 0, 0], stiffness: 2}}
shapes:
  - {{name: {quoted[3]}, kind: box, body: {quoted[0]}, at: [0.5, 0, 0], size: [0.1, 0.1, 0.1]}}
contacts:
  - {{name: {quoted[4]}, b: {quoted[0]}, at: [0, 0, -5], at_b: [0.5, 0, 0], radius: 0.05}}
"""


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


class FilesTest(RunnerTest):
    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path


class Outputs(FilesTest):
    def wait_for_rows(self):
        while not any(file.stat().st_size > 100000 for file in self.folder.glob("a.csv.*")):
            time.sleep(0.02)

    def test_a_table_is_old_until_it_is_complete(self):
        table = self.write("a.csv", "old")
        process = start("run", *ENDLESS, "--csv", table)
        self.wait_for_rows()
        self.assertEqual(table.read_text(), "old")
        process.kill()
        finish(process)
        self.assertEqual(table.read_text(), "old")

    def test_an_interrupted_run_leaves_a_table_up_to_its_last_output(self):
        table = self.write("a.csv", "old")
        process = start("run", *ENDLESS, "--csv", table)
        self.wait_for_rows()
        process.send_signal(signal.SIGINT)
        self.assertEqual(finish(process).returncode, INTERRUPTED)
        rows = rows_of(table)
        self.assertGreater(len(rows), 100)
        self.assertEqual({len(row) for row in rows}, {len(rows[0])})
        self.assertEqual(os.listdir(self.folder), ["a.csv"])

    def test_of_two_runs_one_table_remains(self):
        table = self.folder / "a.csv"
        runs = [start("run", model, "--quiet", "--no-estimate", "--outputs", 5000, "--csv", table) for model in ("pendulum", "andrews")]
        for run in runs:
            self.assert_done(finish(run))
        rows = rows_of(table)
        self.assertEqual({len(row) for row in rows}, {len(rows[0])})
        self.assertEqual(len(rows), 5002)

    def test_one_file_is_not_two_outputs_whatever_its_names(self):
        (self.folder / "sub").mkdir()
        (self.folder / "link").symlink_to("nothing_yet")
        (self.folder / "folder").symlink_to("sub")
        self.write("sub/hard", "old")
        os.link(self.folder / "sub/hard", self.folder / "hard")
        os.mkfifo(self.folder / "pipe")
        for one, other in (
            ("a", "./a"), ("a", "sub/../a"), ("link", "nothing_yet"), ("link", "./link"), ("sub/a", "folder/a"),
            ("hard", "sub/hard"), ("pipe", "./pipe"), ("a", str(self.folder / "a")),
        ):
            for command in ("run", "compare"):
                with self.subTest(command, one=one, other=other):
                    process = cpodes(command, "pendulum", "--csv", one, "--json", other, cwd=self.folder)
                    self.assert_refused(process, other, "two outputs")
        self.assert_done(cpodes("run", "pendulum", *SHORT, "--csv", "/dev/null", "--json", "/dev/null"))

    def test_stdout_is_not_another_output_as_well(self):
        path = self.folder / "a"
        with open(path, "w") as out:
            process = subprocess.run([PROGRAM, "run", "pendulum", "--csv", path], stdout=out, stderr=subprocess.PIPE, text=True)
        self.assertEqual(process.returncode, USAGE)
        self.assertIn("stdout", process.stderr)

    def test_a_link_to_no_file_yet_stays_a_link(self):
        for option in ("--csv", "--json"):
            link, target = self.folder / f"link{option}", self.folder / f"target{option}"
            link.symlink_to(target.name)
            self.assert_done(cpodes("run", "pendulum", *SHORT, option, link))
            self.assertTrue(link.is_symlink())
            self.assertTrue(target.is_file())

    def test_a_pipe_and_a_device_are_written_to(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        process = start("run", "pendulum", *SHORT, "--csv", pipe)
        rows = rows_of(pipe)
        self.assert_done(finish(process))
        self.assertEqual(len(rows), 202)
        self.assert_done(cpodes("run", "pendulum", *SHORT, "--csv", "/dev/null"))

    def test_a_model_is_no_output(self):
        include = self.write("part.txt", "<mujoco><worldbody><body name='b'><joint/><geom type='mesh' mesh='m'/></body></worldbody></mujoco>")
        mesh = self.write("mesh.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
        robot = self.write("robot.xml", "<mujoco><asset><mesh name='m' file='mesh.obj'/></asset><include file='part.txt'/></mujoco>")
        file = self.write("a.yaml", "robot: robot.xml\n")
        module = compile_model(self.folder)
        for n, (model, inputs) in enumerate({file: (file, robot, include, mesh), robot: (robot, include, mesh), module: (module,)}.items()):
            for k, path in enumerate(inputs):
                link = self.folder / f"link{n}{k}"
                link.symlink_to(path)
                before = path.read_bytes()
                for command in ("run", "compare"):
                    with self.subTest(command, model=model.name, path=path.name):
                        process = cpodes(command, model, "--csv", link)
                        self.assertEqual(process.returncode, USAGE, process.stderr)
                        self.assertIn("cannot be an output as well", process.stderr)
                        self.assertEqual(path.read_bytes(), before)

    def test_models_read_no_files_far_from_them(self):
        body = "<worldbody><body name='b'><joint/><geom size='.1'/></body></worldbody></mujoco>"
        (self.folder / "models" / "arm").mkdir(parents=True)
        (self.folder / "parts").mkdir()
        part = self.write("parts/part.xml", "<mujoco><option gravity='0 0 -1'/></mujoco>")
        (self.folder / "models" / "arm" / "link.xml").symlink_to("/etc/passwd")
        (self.folder / "models" / "arm" / "near.xml").symlink_to(part)
        up = "../" * len(self.folder.resolve().parts) + "../.."
        for path, is_read in (("../../parts/part.xml", True), (part, True), ("near.xml", True), ("link.xml", False), ("/etc/passwd", False),
                              (up + "/etc/passwd", False)):
            robot = self.write("models/arm/robot.xml", f"<mujoco><include file='{path}'/>{body}")
            mesh = self.write("models/arm/mesh.xml", f"<mujoco><asset><mesh name='m' file='{path}'/></asset>" + body.replace("size='.1'", "type='mesh' mesh='m'"))
            process = cpodes("describe", robot)
            with self.subTest(path):
                if is_read:
                    self.assert_done(process)
                else:
                    self.assert_refused(process, "it is far from the folder of this file")
                    self.assert_refused(cpodes("describe", mesh), "it is far from the folder of this file")
        self.write("models/arm/robot.xml", f"<mujoco><include file='{part}'/>{body}")
        home = dict(os.environ, HOME=str(self.folder))
        self.assert_refused(cpodes("describe", robot, env=home), "it is far from the folder of this file")
        self.assert_done(cpodes("run", robot, *SHORT, "--param", f"files=/nowhere:{part.parent}", env=home))

    def test_a_signal_that_is_ignored_at_the_start_remains_so(self):
        for number in (signal.SIGHUP, signal.SIGINT):
            process = subprocess.Popen(
                [PROGRAM, "run", "pendulum", "--quiet", "--no-estimate", "--t-end", "3e4", "--outputs", "20"],
                preexec_fn=lambda number=number: signal.signal(number, signal.SIG_IGN), stderr=subprocess.PIPE,
            )
            time.sleep(0.3)
            process.send_signal(number)
            self.assertEqual(process.wait(60), DONE)
            process.stderr.close()


class Names(FilesTest):
    def test_special_characters_are_escaped(self):
        figures = cpodes("run", "pendulum", *SHORT, "--plot", self.folder / "try.svg").returncode == DONE
        for number, name in enumerate(("50%", "]]><script>alert(2)</script><![CDATA[", "a'b%n&amp;<ä\u2028")):
            with self.subTest(name):
                file = self.write(f"{number}.yaml", mechanism(name))
                paths = {kind: self.folder / f"{number}.{kind}" for kind in ("csv", "json", "html", "svg")}
                arguments = ["--csv", paths["csv"], "--json", paths["json"], "--report", paths["html"]]
                drawing = self.folder / f"{number}b.svg"
                if figures:
                    arguments += ["--plot", paths["svg"], "--picture", drawing]
                self.assert_done(cpodes("run", file, "--no-estimate", *arguments))
                self.assertIn(f"{name}.x", rows_of(paths["csv"])[0])
                self.assertEqual(json.loads(paths["json"].read_text())["model"]["title"], name)
                self.assertNotIn("<script>alert", paths["html"].read_text())
                for path in (paths["svg"], drawing) if figures else ():
                    xml.dom.minidom.parse(str(path))
                if figures:
                    texts = xml.dom.minidom.parse(str(paths["svg"])).getElementsByTagName("text")
                    shown = ["".join(child.data for child in text.childNodes if hasattr(child, "data")) for text in texts]
                    self.assertTrue(any(name in text for text in shown), shown)

    def test_control_characters_are_refused(self):
        for name in ("a\x01", "a\rb", "a\nb", "a\x7f", "a\x1b[31m", "a\x85b"):
            file = self.write("a.yaml", mechanism(name))
            process = cpodes("run", file)
            self.assert_refused(process, "a.yaml:1:14", "control characters")
            self.assertTrue(process.stderr.rstrip("\n").isprintable())
            process = cpodes("run", self.write("b.yaml", f"bodies: [{BODY % json.dumps(name)}]"))
            self.assert_refused(process, "b.yaml:1:17", "control characters")

    def test_names_of_files_do_not_reach_the_terminal_raw(self):
        file = self.write("a\x1b[31m\x85.yaml", f"bodies: [{BODY % 'b'}]")
        process = cpodes("run", file, "--no-estimate", "--csv", self.folder / "b\x1b[1m.csv")
        self.assert_done(process)
        for c in process.stdout:
            self.assertTrue(c.isprintable() or c == "\n", process.stdout)


class Inputs(FilesTest):
    def test_names_of_formats_may_be_in_upper_case(self):
        for name, text in {
            "A.YAML": f"bodies: [{BODY % 'b'}]",
            "A.URDF": "<robot name='r'><link name='l'/><link name='b'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/>"
            "</inertial></link><joint name='j' type='continuous'><parent link='l'/><child link='b'/></joint></robot>",
            "A.SDF": "<sdf version='1.9'><model name='m'><link name='b'/></model></sdf>",
            "A.World": "<sdf version='1.4'><world name='w'><model name='m'><link name='b'/></model></world></sdf>",
        }.items():
            with self.subTest(name):
                self.assert_done(cpodes("run", self.write(name, text), *SHORT))

    def test_pipes_and_devices_are_refused_at_once(self):
        pipe = self.folder / "pipe.yaml"
        os.mkfifo(pipe)
        (self.folder / "zero.yaml").symlink_to("/dev/zero")
        for name in ("pipe.yaml", "zero.yaml"):
            self.assert_refused(cpodes("run", self.folder / name), name, "not a regular file")
            file = self.write("a.yaml", f"robot: {name}")
            self.assert_refused(cpodes("run", file), "a.yaml:1:8", name, "not a regular file")

    def test_a_mesh_may_be_tiny(self):
        small = "4e-41"
        self.write("mesh.obj", f"v 0 0 0\nv {small} 0 0\nv 0 {small} 0\nv 0 0 {small}\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
        file = self.write("a.xml", "<mujoco><asset><mesh name='m' file='mesh.obj'/></asset><worldbody><body name='b'><joint/>"
                          "<geom type='mesh' mesh='m'/></body></worldbody></mujoco>")
        process = cpodes("describe", file)
        self.assert_done(process)
        self.assertRegex(process.stdout, r"b\.J_xy +\d\.\d+e-20")


def chain(bodies):
    """n bodies on hinges in a row"""
    lines = [f"run: {{t_end: 1e-3}}\nbodies:\n"]
    lines += [f"- {{name: b{i}, mass: 1, inertia: [1, 1, 1], at: [{i}.5, 0, 0]}}\n" for i in range(bodies)]
    lines += ["joints:\n"]
    lines += [f"- {{name: j{i}, kind: revolute, a: {f'b{i - 1}' if i else 'ground'}, b: b{i}, at: [{i}, 0, 0], axis: [0, 1, 0]}}\n" for i in range(bodies)]
    return "".join(lines)


@unittest.skipIf(SANITIZED, "sanitizers need memory of their own")
class Memory(FilesTest):
    def memory_of(self, *arguments):
        """The largest size of the process and its children [kB]"""
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, DONE)
        return usage.ru_maxrss

    def test_memory_is_proportional_to_the_number_of_bodies(self):
        """48 kB for each body with DOP853 and two outputs, and 5 kB to read and describe it; dense matrices would take 290 kB at 1,000 bodies"""
        few, many = 500, 1000
        for arguments, most in ((["run", "--method", "dop853", "--no-estimate", "--outputs", "2"], 60), (["describe", "--parameters"], 20)):
            sizes = [self.memory_of(*arguments, self.write(f"{n}.yaml", chain(n))) for n in (few, many)]
            self.assertLess((sizes[1] - sizes[0]) / (many - few), most)

    def test_half_a_megabyte_of_stack_is_enough(self):
        files, depth = 5, 99
        for i in range(files):
            begin = "<body><joint/><inertial pos='0 0 1' mass='1' diaginertia='1 1 1'/><frame>"
            include = f"<include file='{i + 1}.xml'/>" if i < files - 1 else ""
            world = ["<worldbody>", "</worldbody>"] if i == 0 else ["", ""]
            self.write(f"{i}.xml", f"<mujoco>{world[0]}{begin * depth}{include}{'</frame></body>' * depth}{world[1]}</mujoco>")
        stack = 512 * 1024
        limited = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_STACK, (stack, stack))}
        self.assert_done(cpodes("describe", "--parameters", self.folder / "0.xml", **limited))
        for method in ("bdf", "radau", "dop853"):
            self.assert_done(cpodes("run", "andrews", "--quiet", "--method", method, **limited))


@unittest.skipUnless(os.environ.get("CPODES_LOCALES"), "no localedef")
class Locale(FilesTest):
    def setUp(self):
        super().setUp()
        self.environment = {**os.environ, "LOCPATH": os.environ["CPODES_LOCALES"], "LC_ALL": "de_DE.UTF-8"}

    def test_a_model_that_sets_the_locale_changes_no_number(self):
        load = 'if (!setlocale(LC_ALL, "de_DE.UTF-8")) abort(); uselocale(LC_GLOBAL_LOCALE);'
        text = "#define _GNU_SOURCE\n#include <locale.h>\n" + source(load=load)
        plain, other = compile_model(self.folder, "plain"), compile_model(self.folder, "other", text=text)
        tables = []
        for model in (plain, other):
            paths = {kind: self.folder / f"{model.stem}.{kind}" for kind in ("csv", "json")}
            self.assert_done(cpodes("run", model, "--param", "L=1.5", "--rtol", "1e-5", "--outputs", 5, "--csv", paths["csv"],
                                    "--json", paths["json"], env=self.environment))
            tables.append(paths["csv"].read_text())
            json.loads(paths["json"].read_text())
        self.assertEqual(*tables)

    def test_the_environment_changes_no_number(self):
        table = self.folder / "a.csv"
        self.assert_done(cpodes("run", "pendulum", *SHORT, "--rtol", "1.5e-6", "--csv", table, env=self.environment))
        self.assertAlmostEqual(float(rows_of(table)[-1][0]), 0.1)


if __name__ == "__main__":
    unittest.main()
