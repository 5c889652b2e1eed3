"""The examples of docs/python.md and docs/torch.md do what the pages show."""

import doctest
import pathlib
import re
import unittest

DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs"


class Pages(unittest.TestCase):
    def run_page(self, name, least):
        path = DOCS / name
        blocks = re.findall(r"^```pycon\n(.*?)^```$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, name, str(path), 0)
        out = []
        runner = doctest.DocTestRunner(verbose=False)
        runner.run(test, out=out.append)
        self.assertEqual(runner.summarize(verbose=False).failed, 0, "".join(out))
        self.assertGreaterEqual(len(test.examples), least)

    def test_the_package(self):
        self.run_page("python.md", 16)

    def test_under_torch(self):
        self.run_page("torch.md", 8)


if __name__ == "__main__":
    unittest.main()
