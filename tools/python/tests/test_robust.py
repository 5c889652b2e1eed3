"""Inputs that are damaged at random are errors, never a crash or a panic."""

import random
import unittest

import numpy as np

import graphs
from rinductor import Module, RinductorError

TEXTS = [graphs.SOFTMAX, graphs.SYMBOLIC, graphs.MUTATING, graphs.GATHER, graphs.MATMUL, graphs.OPAQUE]


def damaged(rng, text):
    """A text with a piece taken out, doubled, moved or changed."""
    text = list(text)
    for _ in range(rng.randint(1, 3)):
        i, n = rng.randrange(len(text)), rng.randint(1, 12)
        match rng.randrange(8):
            case 0:
                del text[i : i + n]
            case 1:
                text[i:i] = text[i : i + n]
            case 2:
                j = rng.randrange(len(text))
                text[j:j] = text[i : i + n]
            case 3:
                text[i] = rng.choice("%@#{}<>()[]:,-0123456789\"xfs é\0")
            case _:
                # Sizes and names go wrong without breaking the syntax.
                digits = [k for k, c in enumerate(text) if c.isdigit()]
                text[rng.choice(digits)] = rng.choice("0123456789")
    return "".join(text)


class Damage(unittest.TestCase):
    def test_texts(self):
        rng = random.Random(1)
        read = 0
        for k in range(1500):
            text = damaged(rng, rng.choice(TEXTS))
            with self.subTest(seed=k, text=text):
                try:
                    m = Module.parse(text)
                    read += 1
                    m.run("cpu")
                    m.compile(extern=lambda *_: None)
                    m.emit("llvm-ir")
                except RinductorError as e:
                    self.assertTrue(e.diagnostics and str(e))
        self.assertGreater(read, 20)

    def test_edits(self):
        rng = random.Random(2)
        x, y = np.ones((4, 8), "f4"), np.ones((4, 8), "f4")
        values = ["array<i64: 0>", "1 : i64", "true", "\"a\"", "[1, 2]", "f32", "dense<1.0> : tensor<2xf32>", "@f", "tensor<4x8xf32>", "unit", "-1", "1.5"]
        names = ["dim", "keepdim", "value", "function_type", "sym_name", "callee", "axes", "map", "space", "outs", "properties", "operandSegmentSizes", "predicate", "combiner", "other"]
        worked = 0
        for k in range(600):
            m = Module.parse(rng.choice(TEXTS))
            m.run(rng.choice(["cse", "lower-aten-to-loops", "lower-aten-to-loops,loops-fuse", "cpu"]))
            edits = []
            for _ in range(rng.randint(1, 4)):
                ops = [op for op in m.walk() if op.is_alive]
                op = rng.choice(ops)
                all_values = [v for o in ops for v in o.results] + [v for o in ops for v in o.operands]
                what = rng.randrange(4)
                edits.append((what, op.name))
                try:
                    if what == 0:
                        op.set_attribute(rng.choice(names + list(op.attributes)), rng.choice(values + [None]))
                    elif what == 1 and op.operands and all_values:
                        op.set_operand(rng.randrange(len(op.operands)), rng.choice(all_values))
                    elif what == 2:
                        op.erase()
                    elif op.results and all_values:
                        op.results[0].replace_all_uses_with(rng.choice(all_values))
                except RinductorError:
                    pass
            with self.subTest(seed=k, edits=edits):
                str(m), m.print(generic=True), [str(op) for op in m.walk()]
                for use in (
                    m.verify,
                    lambda: m.interpret(*([x, y][: max(1, k % 3)])),
                    lambda: m.run("cse,dce"),
                    lambda: m.run("cpu"),
                    lambda: m.compile(extern=lambda *_: None),
                    lambda: m.emit("llvm-ir"),
                ):
                    try:
                        use()
                        worked += 1
                    except (RinductorError, TypeError, IndexError):
                        pass
        self.assertGreater(worked, 100)


if __name__ == "__main__":
    unittest.main()
