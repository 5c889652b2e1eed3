"""The examples of docs/python.md do what the page shows."""

import doctest
import pathlib
import re
import unittest

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "python.md"


class Page(unittest.TestCase):
    def test_examples_do_what_they_show(self):
        page = PAGE.read_text(encoding="utf-8")
        blocks = re.findall(r"^```pycon\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 3)
        test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, str(PAGE), 0)
        out = []
        runner = doctest.DocTestRunner(verbose=False)
        runner.run(test, out=out.append)
        self.assertEqual(runner.summarize(verbose=False).failed, 0, "".join(out))
        self.assertGreater(len(test.examples), 15)


if __name__ == "__main__":
    unittest.main()
