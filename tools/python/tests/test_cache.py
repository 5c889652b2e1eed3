"""What one process has compiled, the next takes from the folder of the cache, and nothing that is wrong there does harm."""

import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import graphs
from rinductor import Module, RinductorError, compile_text

PLAIN = f"""
import numpy as np
from rinductor import compile_text
f = compile_text({graphs.SOFTMAX!r}, "a.ir")
(y,) = f(np.arange(32, dtype=np.float32).reshape(4, 8))
print(f.name, f.parameters, y.tobytes().hex())
"""

BACKEND = """
import torch
import rinductor
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.LayerNorm(8))
x = torch.randn(4, 8, requires_grad=True)
y = torch.compile(model, backend="rinductor")(x)
y.square().sum().backward()
torch.testing.assert_close(y, model(x))
print(y.detach().numpy().tobytes().hex(), x.grad.numpy().tobytes().hex())
"""

#: Models whose graphs have constants, symbols, control flow, functions of Python, and errors that speak of a line.
GRAPHS = """
import sys
import torch
from rinductor import _core, backend

if len(sys.argv) > 1:
    def refuse(*_):
        raise AssertionError("this was compiled before")
    _core.compile_text = refuse
    backend.Compiler = refuse

table = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))

def constants(x):
    return x + torch.tensor([1.5, 2.5, float("inf")]) * torch.full((), 2.0)

def branches(x):
    return torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() - 1, (x,))

def sizes(x):
    return (x @ x.t()).softmax(-1) * x.shape[0] + x.numel() // 2

def rows(x, k):
    return table[k].exp() + x

def spectrum(x):
    return torch.fft.fft(x).abs() * 2

def drop(x):
    return torch.nn.functional.dropout(x, 0.5) + torch.rand(3)

def run(f, *args, **options):
    torch.manual_seed(0)
    print(f.__name__, torch.compile(f, backend="rinductor", fullgraph=True, **options)(*args).tolist())

x = torch.linspace(-1, 2, 12).reshape(4, 3)
for f in (constants, branches, spectrum, drop):
    run(f, x)
run(sizes, x, dynamic=True)
run(rows, torch.ones(2, 4), torch.tensor([0, 2]))
try:
    run(rows, torch.ones(2, 4), torch.tensor([0, 7]))
except IndexError as error:
    print(error)
"""


class Cache(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "cache"

    def start(self, script, *arguments, **variables):
        """A process whose cache is the folder."""
        env = os.environ | {"RINDUCTOR_CACHE_DIR": str(self.folder), "RINDUCTOR_CACHE": "1"} | variables
        return subprocess.Popen(
            [sys.executable, "-c", script, *arguments], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def end(self, process):
        """What a process has printed, and what it has warned of."""
        out, err = process.communicate()
        self.assertEqual(process.returncode, 0, err)
        return out, err

    def run_script(self, script, *arguments, **variables):
        return self.end(self.start(script, *arguments, **variables))

    def entries(self):
        """The entries, with what tells a new file from an old one."""
        return {p.name: (p.stat().st_ino, p.stat().st_mtime_ns) for p in self.folder.iterdir()}

    def test_a_second_process_takes_what_the_first_has_kept(self):
        for script, least in ((PLAIN, 1), (BACKEND, 2)):
            before = self.entries() if self.folder.exists() else {}
            first = self.run_script(script)
            kept = self.entries()
            self.assertGreaterEqual(len(kept), len(before) + least)
            self.assertEqual(self.run_script(script), first)
            self.assertEqual(self.entries(), kept)

    def test_graphs_are_neither_planned_nor_compiled_again(self):
        first, said = self.run_script(GRAPHS)
        self.assertEqual(said, "")
        self.assertIn("index 7 is out of", first)
        self.assertIn("in aten.index.Tensor (", first)
        kept = self.entries()
        self.assertEqual(self.run_script(GRAPHS, "again"), (first, ""))
        self.assertEqual(self.entries(), kept)
        # Without what the graphs need, they are compiled as before.
        graphs = [p for p in self.folder.iterdir() if b'{"source"' in p.read_bytes()]
        self.assertGreater(len(graphs), 5)
        self.assertGreater(len(kept), len(graphs))
        for entry in self.folder.iterdir():
            if entry not in graphs:
                entry.unlink()
        self.assertEqual(self.run_script(GRAPHS), (first, ""))
        self.assertEqual(self.entries().keys(), kept.keys())

    def test_a_graph_that_means_nothing_is_compiled_again(self):
        from rinductor import kept

        for bytes in (b"", b"[]", b"{}", b'{"source": "", "calls": [["a", "b"]], "objects": {}}',
                      b'{"source": "", "calls": [], "objects": {"f": ["function", "os", "none_such"]}}',
                      b'{"source": "", "calls": [], "objects": {"f": ["mystery"]}}'):  # fmt: skip
            with (
                unittest.mock.patch.object(kept._core, "kept", return_value=bytes),
                self.assertLogs("rinductor", "WARNING") as said,
            ):
                self.assertIsNone(kept.find([], None, {}, None))
            self.assertIn("is not used", said.output[0])

    def test_a_bad_entry_is_replaced_with_a_warning(self):
        first, said = self.run_script(PLAIN)
        self.assertEqual(said, "")
        (entry,) = self.folder.iterdir()
        good = entry.read_bytes()
        flipped = bytearray(good)
        flipped[len(good) // 2] ^= 1
        for bad in (good[: len(good) // 2], bytes(flipped), b"", b"#!/bin/sh\n", good + b"\0"):
            entry.write_bytes(bad)
            again, said = self.run_script(PLAIN)
            self.assertEqual(again, first)
            self.assertIn("is not used", said)
            self.assertIn(entry.name, said)
            self.assertEqual(entry.read_bytes()[:64], good[:64])
            self.assertEqual(self.run_script(PLAIN), (first, ""))

    def test_processes_that_compile_together(self):
        outputs = [self.end(p) for p in [self.start(PLAIN) for _ in range(4)]]
        self.assertEqual(len(set(outputs)), 1, outputs)
        self.assertEqual(len(self.entries()), 1)

    def test_without_a_cache(self):
        out, said = self.run_script(PLAIN, RINDUCTOR_CACHE="0")
        self.assertEqual(said, "")
        self.assertFalse(self.folder.exists())
        # A file where the folder should be.
        self.folder.write_bytes(b"")
        again, said = self.run_script(PLAIN)
        self.assertEqual(again, out)
        self.assertEqual(said.count("the cache keeps nothing"), 1)
        again, said = self.run_script(PLAIN, RINDUCTOR_CACHE_LIMIT="lots")
        self.assertEqual(again, out)
        self.assertIn("RINDUCTOR_CACHE_LIMIT", said)

    def test_a_limit(self):
        texts = [graphs.binary("aten.add.Tensor", "f32", (4, n)) for n in range(1, 30)]
        script = f"from rinductor import compile_text\nfor text in {texts!r}: compile_text(text)"
        self.run_script(script, RINDUCTOR_CACHE_LIMIT="30K")
        sizes = [p.stat().st_size for p in self.folder.iterdir()]
        self.assertGreater(len(sizes), 1)
        self.assertLessEqual(sum(sizes), 30 << 10)

    def test_errors_are_those_of_a_module(self):
        wrong = graphs.SOFTMAX.replace("array<i64: -1>", "array<i64: 5>")
        for text, pipeline in ((wrong, "cpu"), (graphs.SOFTMAX, "none-such"), ("%", "cpu")):
            with self.assertRaises(RinductorError) as whole:
                compile_text(text, "a.ir", pipeline)
            with self.assertRaises(RinductorError) as parts:
                Module.parse(text, "a.ir").run(pipeline)
            self.assertEqual(str(whole.exception), str(parts.exception))
            places = [[(d.severity, d.message, d.file, d.line, d.column) for d in e.exception.diagnostics] for e in (whole, parts)]
            self.assertEqual(*places)


if __name__ == "__main__":
    unittest.main()
