"""Commands and their options."""

import unittest

from runner import OUTPUT, RunnerTest, cpodes


class CommandTest(RunnerTest):
    def test_help_names_every_command(self):
        help_text = cpodes("--help")
        self.assert_done(help_text)
        for command in "list describe run compare check new".split():
            self.assertIn(command, help_text.stdout)

    def test_an_unknown_command_is_answered_by_the_nearest(self):
        self.assert_refused(cpodes("rnu"), '"rnu"', '"run"')

    def test_without_a_command_one_line_says_what_to_do(self):
        self.assert_refused(cpodes(), "--help")

    def test_a_suggestion_is_near_to_what_was_meant(self):
        for arguments, word, near in (
            (["{}"], "compar", '"compare"'),
            (["describe", "{}"], "pendlum", '"pendulum"'),
            (["run", "{}"], "axl", '"axle"'),
            (["run", "pendulum", "--{}", "1"], "metod", "--method?"),
            (["run", "pendulum", "--method", "{}"], "adms", '"adams"'),
            (["run", "pendulum", "--linsol", "{}"], "schurr", '"schur"'),
            (["run", "slider_crank", "--param", "{}=1"], "m3", '"m2"'),
        ):
            with self.subTest(arguments):
                self.assert_refused(cpodes(*(a.format(word) for a in arguments)), word, "did you mean", near)
                far = cpodes(*(a.format("zzzwwwqqq") for a in arguments))
                self.assert_refused(far, "zzzwwwqqq", "names them")
                self.assertNotIn("did you mean", far.stderr)
        self.assertIn("`cpodes list`", cpodes("run", "no_such_model").stderr)

    def test_names_with_line_breaks_are_one_line(self):
        self.assert_refused(cpodes("run", "pen\ndulum"), "pen?dulum")
        self.assert_refused(cpodes("run", "pendulum", "-p", "L\nx=3"), "L?x")
        self.assert_refused(cpodes("run", "pendulum", "--csv", "no\x1b[1m/such"), "no?[1m/such", status=OUTPUT)
        self.assert_refused(cpodes("a" * 20000), "aaa")


if __name__ == "__main__":
    unittest.main()
