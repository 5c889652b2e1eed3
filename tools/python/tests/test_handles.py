"""Handles of operations, values and blocks."""

import unittest

import numpy as np

import graphs
from rinductor import Module, RinductorError


def named(m, name):
    return next(op for op in m.walk() if op.name == name)


class Reading(unittest.TestCase):
    def test_the_walk_is_in_the_order_of_the_text(self):
        m = Module.parse(graphs.SOFTMAX, "softmax.ir")
        names = [op.name for op in m.walk()]
        self.assertEqual(names[:3], ["builtin.module", "func.func", "aten.amax"])
        self.assertEqual(names[-1], "func.return")
        self.assertEqual([op.name for op in m.ops()], ["func.func"])

    def test_an_op_says_what_it_is(self):
        m = Module.parse(graphs.SOFTMAX, "softmax.ir")
        op = named(m, "aten.sub.Tensor")
        self.assertEqual([(v.name, v.type) for v in op.operands], [("x", "tensor<4x8xf32>"), ("max", "tensor<4x1xf32>")])
        self.assertEqual([(v.name, v.type) for v in op.results], [("sub", "tensor<4x8xf32>")])
        self.assertEqual(named(m, "aten.amax").attributes, {"dim": "array<i64: -1>", "keepdim": "true"})
        self.assertEqual(op.location, ("softmax.ir", 4, 3))
        self.assertEqual(op.operands[1].owner, named(m, "aten.amax"))
        self.assertIsNone(op.operands[0].owner)
        self.assertEqual([u.name for u in op.results[0].users], ["aten.exp"])
        self.assertEqual(op.parent.name, "func.func")
        self.assertIsNone(m.walk()[0].parent)
        self.assertIs(op.module, m)
        self.assertTrue(str(op).startswith('%sub = "aten.sub.Tensor"(%x, %max)'), str(op))
        self.assertEqual(len({op, named(m, "aten.sub.Tensor"), op.parent}), 2)

    def test_regions_have_blocks_and_blocks_have_ops(self):
        m = Module.parse(graphs.SOFTMAX)
        ((block,),) = m.ops()[0].regions
        self.assertEqual([a.name for a in block.arguments], ["x"])
        self.assertEqual([op.name for op in block.ops][0], "aten.amax")


class Changing(unittest.TestCase):
    def test_an_attribute_is_set_from_text(self):
        m = Module.parse(graphs.SOFTMAX)
        op = named(m, "aten.amax")
        op.set_attribute("mine", "[1 : i64, \"a\"]")
        self.assertEqual(op.get_attribute("mine"), '[1 : i64, "a"]')
        op.set_attribute("mine", None)
        self.assertIsNone(op.get_attribute("mine"))
        op.set_attribute("dim", "array<i64: 7>")
        with self.assertRaisesRegex(RinductorError, "aten.amax"):
            m.verify()
        with self.assertRaisesRegex(RinductorError, "aten.amax"):
            m.run("cpu")
        with self.assertRaisesRegex(RinductorError, "aten.amax"):
            m.interpret(np.ones((4, 8), "f4"))
        op.set_attribute("dim", "array<i64: -1>")
        m.verify()
        for text in ("", "array<", "1 2", "@", "dense<", "\"", "#nope", "{" * 300):
            with self.subTest(text=text), self.assertRaises(RinductorError):
                op.set_attribute("dim", text)
        m.verify()

    def test_uses_move_and_what_is_unused_is_erased(self):
        m = Module.parse(graphs.SOFTMAX)
        sub, exp = named(m, "aten.sub.Tensor"), named(m, "aten.exp")
        with self.assertRaisesRegex(RinductorError, "is used by"):
            sub.erase()
        exp.set_operand(0, sub.operands[0])
        sub.erase()
        self.assertFalse(sub.is_alive)
        m.verify()
        x = np.random.default_rng(0).random((4, 8), "f4")
        want = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
        np.testing.assert_allclose(m.run("cpu").compile()(x)[0], want, rtol=1e-5)

    def test_the_results_of_an_op_are_replaced(self):
        m = Module.parse(graphs.SOFTMAX)
        sub, exp = named(m, "aten.sub.Tensor"), named(m, "aten.exp")
        exp.replace_all_uses_with(sub)
        exp.erase()
        div = named(m, "aten.div.Tensor")
        self.assertEqual(div.operands[0], sub.results[0])
        div.results[0].replace_all_uses_with(div.operands[0])
        div.erase()
        m.verify()
        with self.assertRaisesRegex(RinductorError, "2 values"):
            sub.replace_all_uses_with(sub, sub)

    def test_a_handle_of_what_was_erased_raises(self):
        m = Module.parse(graphs.SOFTMAX)
        ops = m.walk()
        values = [v for op in ops for v in op.results]
        block = ops[1].regions[0][0]
        m.run("cpu")
        erased = [op for op in ops if not op.is_alive]
        self.assertTrue(erased)
        for op in erased:
            self.assertIn("erased", repr(op))
            for use in (
                lambda: op.name,
                lambda: op.operands,
                lambda: str(op),
                lambda: op.erase(),
                lambda: op.set_attribute("a", "1"),
                lambda: op.regions,
                lambda: op.location,
            ):
                with self.assertRaisesRegex(RinductorError, "erased"):
                    use()
        for v in values:
            self.assertIn("Value", repr(v))
        m.ops()[-1].erase()
        with self.assertRaisesRegex(RinductorError, "erased"):
            block.ops
        with self.assertRaisesRegex(RinductorError, "cannot be erased"):
            m.walk()[0].erase()

    def test_an_edit_that_breaks_the_order_is_found(self):
        m = Module.parse(graphs.SOFTMAX)
        named(m, "aten.amax").set_operand(0, named(m, "aten.div.Tensor").results[0])
        with self.assertRaisesRegex(RinductorError, "dominate"):
            m.verify()
        self.assertIn("aten.amax", str(m))
        with self.assertRaises(RinductorError):
            m.run("cpu")
        with self.assertRaises(IndexError):
            named(m, "aten.amax").set_operand(1, named(m, "aten.exp").results[0])
        other = Module.parse(graphs.SOFTMAX)
        with self.assertRaisesRegex(RinductorError, "another module"):
            named(m, "aten.amax").set_operand(0, named(other, "aten.exp").results[0])


if __name__ == "__main__":
    unittest.main()
