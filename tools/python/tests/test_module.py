"""Modules: text, passes, translations, interpretation, and what is said of wrong inputs."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import graphs
import rinductor
from rinductor import Module, RinductorError


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Remarks(unittest.TestCase):
    def test_passes_say_why(self):
        said = []
        Module.parse(graphs.SOFTMAX).run("cpu", on_remark=said.append)
        self.assertTrue(said)
        self.assertEqual({r.severity for r in said}, {"remark"})
        self.assertTrue(any("exp" in r.message for r in said), [r.message for r in said])

    def test_what_the_hook_raises_comes_out(self):
        def raises(_):
            raise KeyError("mine")

        with self.assertRaises(KeyError):
            Module.parse(graphs.SOFTMAX).run("cpu", on_remark=raises)


class Text(unittest.TestCase):
    def test_what_is_printed_is_read_back(self):
        m = Module.parse(graphs.SOFTMAX)
        self.assertEqual(str(Module.parse(str(m))), str(m))
        self.assertEqual(str(Module.parse(m.print(generic=True))), str(m))
        self.assertIn('"builtin.module"', m.print(generic=True))
        self.assertIn("loc(", m.print(locations=True))
        self.assertEqual(m.functions(), ["forward"])

    def test_a_copy_is_another_module(self):
        m = Module.parse(graphs.SOFTMAX)
        before = str(m)
        c = m.clone()
        c.run("lower-aten-to-loops")
        self.assertEqual(str(m), before)
        self.assertNotEqual(str(c), before)

    def test_errors_have_places(self):
        wrong = graphs.SOFTMAX.replace("dim = array<i64: -1>, keepdim = true}> : (tensor<4x8xf32>) -> tensor<4x1xf32>", "dim = array<i64: 5>}> : (tensor<4x8xf32>) -> tensor<4x1xf32>", 1)
        with self.assertRaises(RinductorError) as caught:
            Module.parse(wrong, "wrong.ir")
        e = caught.exception
        d = e.diagnostics[0]
        self.assertEqual((d.severity, d.file, d.line, d.column), ("error", "wrong.ir", 3, 3))
        self.assertIn("aten.amax", d.message)
        self.assertTrue(str(e).startswith("wrong.ir:3:3: error: 'aten.amax'"), str(e))
        self.assertIn("│", str(e))
        self.assertNotIn("\x1b", str(e))

    def test_no_text_is_a_crash(self):
        for text in ["", "foo", "{", "%0 = ", "module {", '"a.b"() : () -> ()', "\0", "é" * 100, graphs.SOFTMAX[:-5]]:
            with self.subTest(text=text[:20]):
                try:
                    str(Module.parse(text))
                except RinductorError as e:
                    self.assertTrue(e.diagnostics)

    def test_unknown_dialects_are_read_where_allowed(self):
        text = '"mine.op"() : () -> ()'
        with self.assertRaisesRegex(RinductorError, "mine"):
            Module.parse(text)
        self.assertIn('"mine.op"()', str(Module.parse(text, allow_unregistered=True)))

    def test_dialects_are_loaded_from_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.dialect")
            with open(path, "w") as f:
                f.write('/// Mine.\ndialect mine;\n/// The square.\nop mine.square(Tensor self) -> Tensor {\n  traits pure, elementwise;\n  type like(self);\n  scalar (x) => x * x;\n}\n')
            text = "func.func @forward(%x: tensor<3xf32>) -> tensor<3xf32> {\n  %y = \"mine.square\"(%x) : (tensor<3xf32>) -> tensor<3xf32>\n  return %y : tensor<3xf32>\n}\n"
            m = Module.parse(text, load_dialects=[path])
            x = np.array([1, 2, 3], "f4")
            np.testing.assert_array_equal(m.interpret(x)[0], x * x)
            np.testing.assert_array_equal(m.run("cpu").compile()(x)[0], x * x)
            with open(path, "w") as f:
                f.write("op mine.square(")
            with self.assertRaisesRegex(RinductorError, "mine.dialect:1:"):
                Module.parse(text, load_dialects=[path])
            with self.assertRaisesRegex(RinductorError, "cannot read"):
                Module.parse(text, load_dialects=[path + ".none"])


class Passes(unittest.TestCase):
    def test_a_pipeline_returns_the_module(self):
        m = Module.parse(graphs.SOFTMAX)
        self.assertIs(m.run("lower-aten-to-loops,loops-inline"), m)
        self.assertIn("loops.pointwise", str(m))
        m.verify()

    def test_the_hook_sees_each_pass(self):
        m = Module.parse(graphs.SOFTMAX)
        seen = []
        first = str(m)
        m.run("cse,builtin.module(func.func(cse,dce)),cpu", on_pass=lambda *a: seen.append(a))
        self.assertEqual(seen[0][:2], ("cse", first))
        self.assertEqual([s[0] for s in seen[1:3]], ["builtin.module(func.func(cse))", "builtin.module(func.func(dce))"])
        for (_, _, after), (_, before, _) in zip(seen, seen[1:]):
            self.assertEqual(after, before)
        self.assertEqual(seen[-1][2], str(m))
        self.assertEqual(str(Module.parse(graphs.SOFTMAX).run("cpu")), str(m))

    def test_what_the_hook_raises_comes_out(self):
        m = Module.parse(graphs.SOFTMAX)
        before = str(m)

        def hook(name, before, after):
            raise KeyError(name)

        with self.assertRaisesRegex(KeyError, "cse"):
            m.run("cse", on_pass=hook)
        self.assertEqual(str(m), before)

    def test_the_module_is_not_to_be_used_in_the_hook(self):
        m = Module.parse(graphs.SOFTMAX)
        for use in (lambda *a: str(m), lambda *a: m.run("dce"), lambda *a: m.walk()):
            with self.assertRaisesRegex(RinductorError, "while run"):
                m.run("cse", on_pass=use)
        m.run("cse")

    def test_a_failure_leaves_the_module_as_it_was(self):
        m = Module.parse(graphs.SOFTMAX)
        before = str(m)
        for pipeline in ("cse,nope", "cse{x=1}", "cpu,aten-canonicalize", "test-failure{mode=panic}", "(", "func.func(", "test-failure"):
            with self.subTest(pipeline=pipeline):
                try:
                    m.run(pipeline)
                except RinductorError as e:
                    self.assertEqual(str(m), before)
                    self.assertTrue(e.diagnostics)
        with self.assertRaisesRegex(RinductorError, "there is no pass 'nope'"):
            m.run("nope")


class Translations(unittest.TestCase):
    def test_each_target_has_its_type(self):
        m = Module.parse(graphs.SOFTMAX).run("cpu")
        self.assertIn("define void @max", m.emit("llvm-ir"))
        self.assertIn("define void @max", m.emit("llvm-ir-optimized"))
        self.assertIn(".text", m.emit("asm"))
        self.assertEqual(m.emit("object")[:4], b"\x7fELF")
        with self.assertRaisesRegex(RinductorError, "no target 'c'; there are: asm, llvm-ir"):
            m.emit("c")

    def test_one_function_has_its_kernels_alone(self):
        two = graphs.SOFTMAX + graphs.binary("aten.add.Tensor", "f32").replace("@forward", "@other")
        m = Module.parse(two).run("cpu")
        self.assertEqual(m.functions(), ["forward", "other"])
        other = m.emit("llvm-ir", function="other")
        self.assertIn("define void", other)
        self.assertNotIn("@max", other)
        self.assertIn("@max", m.emit("llvm-ir"))
        with self.assertRaisesRegex(RinductorError, "there are: forward, other"):
            m.emit("llvm-ir", function="third")
        with self.assertRaisesRegex(RinductorError, "several functions"):
            m.compile()
        x = np.ones((4, 8), "f4")
        np.testing.assert_array_equal(m.compile(function="other")(x, x)[0], x + x)


class Interpretation(unittest.TestCase):
    def test_every_level_computes_the_same(self):
        x = np.random.default_rng(0).random((4, 8), "f4")
        m = Module.parse(graphs.SOFTMAX)
        levels = []
        m.run("cpu", on_pass=lambda name, before, after: levels.append(after))
        for text in levels:
            (y,) = Module.parse(text).interpret(x)
            np.testing.assert_allclose(y, softmax(x), rtol=1e-5)

    def test_arguments_are_changed_where_the_function_says_so(self):
        m = Module.parse(graphs.MUTATING)
        x = np.ones((4, 8), "f4")
        m.interpret(x)
        np.testing.assert_array_equal(x, np.full((4, 8), 2, "f4"))
        x.flags.writeable = False
        with self.assertRaisesRegex(RinductorError, "read-only"):
            m.interpret(x)
        self.assertEqual(x[0, 0], 2)
        Module.parse(graphs.SOFTMAX).interpret(x)

    def test_symbols_are_given_or_bound(self):
        m = Module.parse(graphs.SYMBOLIC)
        x, y = np.ones((3, 4), "f4"), np.arange(4, dtype="f4")
        for args in ((x, y), (3, x, y)):
            z, n = m.interpret(*args)
            np.testing.assert_array_equal(z, x + y)
            self.assertEqual(n, 3)
        for args in ((x,), (x, y, 1, 1), (4, x, y), ("a", x, y), (3, 4, 5)):
            with self.subTest(args=len(args)), self.assertRaises((RinductorError, TypeError)):
                m.interpret(*args)


class Catalog(unittest.TestCase):
    def test_passes_and_dialects_are_described(self):
        self.assertIn("lower-aten-to-loops", rinductor.list_passes())
        self.assertTrue(all(len(s) > 10 for s in rinductor.list_passes().values()))
        self.assertIn("aten", rinductor.list_dialects())
        self.assertRegex(rinductor.__version__, r"^\d+\.\d+\.\d+$")

    def test_ops_have_the_fate_that_the_passes_give_them(self):
        ops = rinductor.list_ops()
        for name, fate in {
            "aten.add.Tensor": "lowered",
            "aten.mm": "extern",
            "aten.rsub.Tensor": "decomposed",
            "aten.linalg_matrix_exp": "opaque",
        }.items():
            self.assertEqual(ops[name], fate, name)
        self.assertGreater(sum(f == "lowered" for f in ops.values()), 400)
        self.assertFalse([n for n in ops if n.startswith(("loops.", "kernels.", "arith."))])

    def test_an_op_alone_has_the_fate_that_the_list_says(self):
        ops = rinductor.list_ops()
        # Another process, which has not read all rules.
        script = "import json, rinductor; print(json.dumps({n: rinductor.op_treatment(n) for n in json.loads(input())}))"
        names = [*ops, "aten.none_such", "kernels.load"]
        done = subprocess.run([sys.executable, "-c", script], input=json.dumps(names), capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(done.stdout), ops | {"aten.none_such": None, "kernels.load": None})


class Threads(unittest.TestCase):
    def test_a_module_may_be_used_by_several_threads(self):
        m = Module.parse(graphs.SOFTMAX)
        wrong = []

        def work():
            for _ in range(20):
                try:
                    m.clone().run("cpu")
                    str(m)
                except RinductorError as e:
                    wrong.append(str(e))

        threads = [threading.Thread(target=work) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
