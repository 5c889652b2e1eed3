"""Kernels in Triton, without a GPU: under Triton's interpreter against eager PyTorch, and compiled for a GPU that need not be there."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import torch

import graphs
from rinductor import Module, RinductorError

RANDOM = """
func.func @forward(%s: tensor<i64>) -> tensor<5x70xf32> {
  %r = "prims.inductor_random"(%s) <{size = array<i64: 5, 70>, mode = "rand"}> : (tensor<i64>) -> tensor<5x70xf32>
  return %r : tensor<5x70xf32>
}
"""

HERE = os.path.dirname(os.path.abspath(__file__))


def cases(mode):
    """What is wrong with each of the cases, by name."""
    command = [sys.executable, os.path.join(HERE, "triton_cases.py"), mode]
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE)
    if done.returncode:
        raise AssertionError(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


class Triton(unittest.TestCase):
    def hold(self, mode):
        found = cases(mode)
        self.assertGreater(len(found), 50)
        for name, wrong in found:
            with self.subTest(case=name):
                self.assertIsNone(wrong, wrong)

    def test_the_interpreter_agrees_with_eager(self):
        self.hold("interpret")

    def test_kernels_compile_for_a_gpu(self):
        self.hold("compile")

    def test_random_numbers_are_those_of_the_cpu(self):
        text = Module.parse(RANDOM).run("gpu").emit("triton")
        with tempfile.TemporaryDirectory() as directory:
            path, out = os.path.join(directory, "drawn.py"), os.path.join(directory, "out.pt")
            with open(path, "w") as file:
                file.write(text)
            environment = {**os.environ, "TRITON_INTERPRET": "1"}
            subprocess.run([sys.executable, path, "--device", "cpu", "--save", out], env=environment, check=True)
            found, seed = torch.load(out)
        (wanted,) = Module.parse(RANDOM).interpret(seed)
        self.assertTrue(torch.equal(found, torch.as_tensor(wanted)))

    def test_the_program_checks_itself(self):
        text = Module.parse(graphs.SYMBOLIC).run("gpu").emit("triton")
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "symbolic.py")
            with open(path, "w") as file:
                file.write(text)
            environment = {**os.environ, "TRITON_INTERPRET": "1"}
            command = [sys.executable, path, "--device", "cpu", "--check", "--bench", "--size", "s0=3"]
            done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        self.assertIn("check: 5 values agree", done.stdout)
        self.assertIn("us a call", done.stdout)

    def test_a_module_is_emitted(self):
        text = Module.parse(graphs.SOFTMAX).run("gpu").emit("triton")
        compile(text, "softmax.py", "exec")
        self.assertIn("@triton.jit\ndef ", text)
        self.assertIn("def call(args):", text)

    def test_what_is_not_at_the_kernel_level_is_refused(self):
        with self.assertRaises(RinductorError):
            Module.parse(graphs.SOFTMAX).emit("triton")


if __name__ == "__main__":
    unittest.main()
