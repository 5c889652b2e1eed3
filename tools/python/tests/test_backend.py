"""`torch.compile(model, backend="rinductor")` against eager."""

import contextlib
import io
import os
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import torch
import torch._dynamo.testing
import torch.nn.functional as F

import rinductor


def compiled(function, **options):
    """`function` compiled, as users do."""
    return torch.compile(function, backend="rinductor", **options)


# A failure of the compiler must fail a test.
os.environ["RINDUCTOR_STRICT"] = "1"


class Backend(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch._dynamo.reset()

    def agree(self, function, *args, **options):
        """Runs both on copies of the arguments: results, strides and what became of the arguments are the same."""
        here = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
        there = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
        want, got = function(*here), compiled(function, **options)(*there)
        torch.testing.assert_close(got, want)
        for a, b in zip(torch.utils._pytree.tree_leaves(got), torch.utils._pytree.tree_leaves(want)):
            if isinstance(a, torch.Tensor):
                self.assertEqual(a.stride(), b.stride())
        torch.testing.assert_close(there, here)
        return got

    def test_is_listed(self):
        self.assertIn("rinductor", torch._dynamo.list_backends(None))

    def test_fuses(self):
        found = rinductor.explain(lambda x, y: torch.softmax(x * 0.5 + y, -1), torch.randn(4, 8), torch.randn(8))
        (graph,) = found.graphs
        self.assertEqual([n for _, n in graph.segments], [1])
        self.assertEqual(graph.calls, [])
        self.assertIn("1 kernels", str(found))

    def test_reasons_are_given(self):
        found = rinductor.explain(lambda x: (x @ x).relu(), torch.randn(4, 4))
        self.assertIn("aten.mm.default: a library's kernel", str(found))

    def test_dtypes(self):
        for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
            self.agree(lambda x: F.gelu(x) * 2 + x.sum(0), torch.randn(5, 7).to(dtype))
        for dtype in (torch.int64, torch.int32, torch.int16, torch.uint8):
            self.agree(lambda x: x * 3 // 2 + x.amax(0), torch.randint(0, 60, (5, 7)).to(dtype))
        self.agree(lambda x: x.logical_not() | x[0], torch.rand(3, 4) > 0.5)
        self.agree(lambda x: x * x + 1, torch.randn(3, dtype=torch.complex64))

    def test_odd_shapes(self):
        for shape in ((), (0,), (1,), (0, 3), (3, 0), (1, 1, 1), (17,), (2, 3, 5)):
            self.agree(lambda x: (x.exp() + 1, x.sum(), x.reshape(-1) * 2), torch.randn(shape))

    def test_strided_inputs(self):
        x = torch.randn(6, 8)
        for view in (x.t(), x[::2, 1:], x[:, :1].expand(6, 8), x.as_strided((3, 3), (1, 2), 5)):
            torch._dynamo.reset()
            torch.testing.assert_close(compiled(lambda t: t.sin() + t.sum(0))(view), view.sin() + view.sum(0))

    def test_unaligned_inputs(self):
        f = compiled(lambda x: x * 2)
        x = torch.arange(33.0)
        torch.testing.assert_close(f(x[:32]), x[:32] * 2)
        torch.testing.assert_close(f(x[1:]), x[1:] * 2)

    def test_inputs_are_written(self):
        def whole(x, y):
            x.add_(1)
            y[1:].mul_(x[1:])
            return x * y, x

        self.agree(whole, torch.randn(4), torch.randn(4))

        def shifted(x):
            x[1:] = x[:-1].clone()
            return x

        self.agree(shifted, torch.randn(6, 3))

    def test_results_that_are_inputs(self):
        x = torch.randn(3)
        self.assertIs(compiled(lambda t: (t, t + 1))(x)[0], x)

    def test_results_have_memory_of_their_own(self):
        for function in (lambda x: torch.stack([x]), lambda x: x.clone().view(1, -1), lambda x: torch.cat([x])):
            x = torch.randn(3)
            got = compiled(function)(x)
            got.zero_()
            self.assertTrue(x.abs().sum() > 0)

    def test_views_of_one_result_share_memory(self):
        a, b = compiled(lambda x: ((y := x + 1)[1:], y.view(2, 2)))(torch.zeros(4))
        b.fill_(7)
        self.assertEqual(a.tolist(), [7, 7, 7])

    def test_equal_gradients_have_memory_of_their_own(self):
        class Twice(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a = torch.nn.Parameter(torch.zeros(4))
                self.b = torch.nn.Parameter(torch.zeros(4))

            def forward(self, x):
                return (x + self.a + self.b).square()

        model = Twice()
        step = compiled(model)
        for _ in range(3):
            step(torch.ones(5, 4)).sum().backward()
        self.assertEqual(model.a.grad.tolist(), [30.0] * 4)
        self.assertEqual(model.b.grad.tolist(), [30.0] * 4)

    def test_training(self):
        def run(compile_it):
            torch.manual_seed(1)
            model = torch.nn.Sequential(
                torch.nn.Conv2d(3, 8, 3, padding=1, bias=False),
                torch.nn.BatchNorm2d(8),
                torch.nn.GELU(),
                torch.nn.Flatten(),
                torch.nn.Linear(8 * 36, 5),
            )
            step = compiled(model) if compile_it else model
            optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
            losses = []
            for _ in range(8):
                x, y = torch.randn(4, 3, 6, 6), torch.randint(0, 5, (4,))
                loss = F.cross_entropy(step(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            return losses, [b.clone() for b in model.buffers()]

        (want, buffers), (got, ours) = run(False), run(True)
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(ours, buffers)

    def test_dropout(self):
        x = torch.ones(64, 64, requires_grad=True)
        f = compiled(lambda t: F.dropout(t, 0.25, training=True))
        torch.manual_seed(3)
        a = f(x)
        torch.manual_seed(3)
        b = f(x)
        c = f(x)
        self.assertTrue(torch.equal(a, b))
        self.assertFalse(torch.equal(b, c))
        self.assertAlmostEqual((a == 0).float().mean().item(), 0.25, delta=0.03)
        a.sum().backward()
        self.assertTrue(torch.equal(x.grad, a.detach()))

    def test_fallback_random_draws_as_eager_does(self):
        f = lambda x: F.dropout(x, 0.5, training=True) + torch.rand(4)
        torch.manual_seed(5)
        want = f(torch.ones(4))
        torch.manual_seed(5)
        got = compiled(f, options={"rinductor.fallback_random": True})(torch.ones(4))
        torch.testing.assert_close(got, want)

    def test_uniform_numbers_of_short_types_are_less_than_one(self):
        for dtype, bits in ((torch.bfloat16, 8), (torch.float16, 11)):
            drawn = compiled(torch.rand_like)(torch.empty(50_000, dtype=dtype)).double()
            self.assertLess(drawn.max().item(), 1)
            self.assertLess(abs(drawn.mean().item() - 0.5 + 2.0 ** -(bits + 1)), 0.01)
            self.assertTrue((drawn * 2**bits % 1 == 0).all())

    def test_ragged_rows(self):
        f = compiled(lambda x: x.sin() * 2 + x.sum(-1, keepdim=True))
        for rows in ((2, 3), (4, 1), (1, 5, 2)):
            x = torch.nested.nested_tensor([torch.randn(n, 3) for n in rows], layout=torch.jagged)
            torch.testing.assert_close(f(x).values(), (x.sin() * 2 + x.sum(-1, keepdim=True)).values())

    def test_arguments_updated_in_place_keep_what_others_read(self):
        def swap(x, y):
            a, b = x + y, x - y
            x.copy_(a)
            y.copy_(b)

        def stencil(x, y):
            x[1:-1].copy_(x[2:] + x[:-2] + y[1:-1])
            y.sub_(x.mean())
            return x.roll(1, 0) * y

        def transposed(x, y):
            old = x * 2
            x.copy_(x.t() + y)
            y.copy_(torch.softmax(x, -1))
            return old

        for function, shape in ((swap, (67,)), (stencil, (67,)), (stencil, (40, 9)), (transposed, (33, 33))):
            with self.subTest(function.__name__):
                torch._dynamo.reset()
                self.agree(function, torch.randn(shape), torch.randn(shape))

    def test_one_compilation_serves_all_sizes(self):
        count = torch._dynamo.testing.CompileCounterWithBackend("rinductor")
        f = torch.compile(lambda x, w: torch.softmax(x @ w, -1).flatten() * x.shape[0], backend=count, dynamic=True)
        w = torch.randn(8, 5)
        for n in (2, 3, 7, 31):
            x = torch.randn(n, 8)
            torch.testing.assert_close(f(x, w), torch.softmax(x @ w, -1).flatten() * n)
        self.assertEqual(count.frame_count, 1)

    def test_sizes_that_depend_on_data(self):
        with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True, capture_scalar_outputs=True):
            self.agree(lambda x: x.nonzero() * 2 + 1, torch.tensor([[0, 3, 0], [4, 0, 1]]))
            self.agree(lambda x: x * x.sum().item(), torch.arange(4))

    def test_sizes_that_no_input_has_by_itself(self):
        from torch.fx.experimental.proxy_tensor import make_fx

        from rinductor.backend import Settings, compile_graph

        whole = make_fx(lambda x: x.repeat(2).sin(), tracing_mode="symbolic")(torch.randn(5))
        (sin,) = [n for n in whole.graph.nodes if "sin" in str(n.target)]
        graph = torch.fx.Graph()
        x = graph.placeholder("x")
        x.meta["val"] = sin.args[0].meta["val"]
        y = graph.call_function(sin.target, (x,))
        y.meta["val"] = sin.meta["val"]
        graph.output((y,))
        run = compile_graph(torch.fx.GraphModule(torch.nn.Module(), graph), [], kind="infer", settings=Settings(strict=True))
        for n in (10, 4):
            x = torch.randn(n)
            torch.testing.assert_close(run([x])[0], x.sin())

    def test_numbers_that_may_be_negative(self):
        def bounds(x, n):
            return (x * n + n).clamp(min=n // 2) - x[:, max(n % 3, 1) :].sum() * (n - 1)

        def counted(x, n):
            return torch.arange(n, n + 5) * 2 + x[0, 0]

        def rolled(x, n):
            return x.new_full((3,), n) + torch.roll(x, n, 0)[0, :3]

        for f in (bounds, counted, rolled):
            compiled = torch.compile(f, backend="rinductor", dynamic=True)
            for n in (5, -7, 3, -1, 0, -100, 2**40):
                x = torch.randn(6, 4)
                torch.testing.assert_close(compiled(x, n), f(x, n))
            self.assertIn("0 calls of torch", str(rinductor.explain(f, x, -5)))
        f = torch.compile(lambda x, n: F.pad(x, (n, n)) + n, backend="rinductor", dynamic=True)
        for n in (2, -1, 3):
            x = torch.randn(4, 6)
            torch.testing.assert_close(f(x, n), F.pad(x, (n, n)) + n)

    def test_control_flow(self):
        def choose(x):
            return torch.cond(x.sum() > 0, lambda t: t.sin() * 2, lambda t: t.cos() - 1, (x,))

        f = compiled(choose)
        for x in (torch.ones(3), -torch.ones(3)):
            torch.testing.assert_close(f(x), choose(x))

    def test_checkpoint(self):
        layer = torch.nn.Linear(4, 4)
        f = lambda x: torch.utils.checkpoint.checkpoint(lambda t: layer(t).relu().sin(), x, use_reentrant=False)
        x = torch.randn(2, 4, requires_grad=True)
        want = torch.autograd.grad(f(x).sum(), x)
        torch.testing.assert_close(torch.autograd.grad(compiled(f)(x).sum(), x), want)

    def test_ops_of_others(self):
        @torch.library.custom_op("rinductor_test::twice", mutates_args=())
        def twice(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        twice.register_fake(lambda x: torch.empty_like(x))
        self.agree(lambda x: twice(x + 1).relu() - 1, torch.randn(5))

    def test_index_out_of_range_says_where(self):
        f = compiled(lambda x, i: x[i] * 2)
        f(torch.randn(5), torch.tensor([4]))
        with self.assertRaisesRegex(IndexError, r"index 7 is out of range.*aten\.index\.Tensor \(.*test_backend\.py:\d+\)"):
            f(torch.randn(5), torch.tensor([7]))

    def test_unknown_options_are_refused(self):
        with self.assertRaisesRegex(Exception, "there is no option rinductor.speed"):
            compiled(lambda x: x + 1, options={"rinductor.speed": 11})(torch.ones(2))

    def test_options_that_can_only_be_mistakes_are_refused(self):
        with tempfile.NamedTemporaryFile() as taken:
            for name, value, said in (("pipeline", "cse,nope", "no pass 'nope'"), ("pipeline", 3, "not 3"), ("dump_dir", taken.name, "File exists")):
                with self.subTest(name), self.assertRaisesRegex(Exception, said):
                    compiled(lambda x: x + 1, options={f"rinductor.{name}": value, "rinductor.strict": False})(torch.ones(2))

    def test_stages_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            compiled(lambda x: x.sin() + 1, options={"rinductor.dump_dir": folder})(torch.ones(2))
            (graph,) = [p for p in Path(folder).iterdir() if p.is_dir()]
            self.assertIn("aten.sin", (graph / "graph.ir").read_text())
            self.assertIn("loops.pointwise", (graph / "segment-0.loops.ir").read_text())
            self.assertIn("kernels.func", (graph / "segment-0.kernels.ir").read_text())
            self.assertIn("segment_0(", (graph / "wrapper.py").read_text())
            self.assertIn("graph.ir", (Path(folder) / "index.html").read_text())

    def test_a_failure_of_the_compiler_leaves_the_graph_to_torch(self):
        from rinductor import partition

        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(partition, "plan", side_effect=RuntimeError("planned")):
            options = {"rinductor.dump_dir": folder, "rinductor.strict": False}
            x = torch.randn(3)
            with self.assertLogs("rinductor", "ERROR") as log:
                got = compiled(lambda t: t.sin() + 1, options=options)(x)
            torch.testing.assert_close(got, x.sin() + 1)
            (left,) = Path(folder).glob("*-failure")
            self.assertIn(str(left), log.output[0])
            self.assertIn("planned", (left / "error.txt").read_text())
            self.assertIn("aten.sin", (left / "graph.ir").read_text())
            torch._dynamo.reset()
            with self.assertRaisesRegex(Exception, "planned"):
                compiled(lambda t: t.sin() + 1, options=options | {"rinductor.strict": True})(x)

    def test_a_graph_without_a_text_is_left_to_torch_too(self):
        from rinductor import dump, partition

        failing = unittest.mock.patch.object(partition, "plan", side_effect=RuntimeError("planned"))
        wordless = unittest.mock.patch.object(dump, "text_of", side_effect=TypeError("wordless"))
        with tempfile.TemporaryDirectory() as folder, failing, wordless, self.assertLogs("rinductor", "ERROR") as log:
            # Not the folder of all stages, whose text is asked for earlier.
            with unittest.mock.patch.object(tempfile, "mkdtemp", return_value=folder):
                got = compiled(lambda t: t.cos() + 1, options={"rinductor.strict": False})(torch.zeros(3))
            torch.testing.assert_close(got, torch.full((3,), 2.0))
            self.assertIn("wordless", log.output[0])
            (left,) = Path(folder).glob("*-failure")
            self.assertIn("planned", (left / "error.txt").read_text())

    def test_remarks_are_shown(self):
        err = io.StringIO()
        with unittest.mock.patch.dict(os.environ, RINDUCTOR_REMARKS="all"), contextlib.redirect_stderr(err):
            compiled(lambda x: torch.softmax(x.sin(), -1))(torch.randn(3, 5))
        self.assertIn("rinductor: ", err.getvalue())

    def test_fusion_is_explained(self):
        def f(x):
            e = (x - x.amax(-1, keepdim=True)).exp()
            return e / e.sum(-1, keepdim=True)

        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "why.txt"
            compiled(f, options={"rinductor.explain_fusion": str(file)})(torch.randn(3, 5))
            why = file.read_text()
        self.assertRegex(why, r"test_backend\.py:\d+: loops-fuse: %exp: fused with the group of %amax: saves \d+ bytes")
        self.assertRegex(why, r"kernels-traffic: @forward must move 120 bytes, and moves 120, 1.00 times as many")
        with self.assertRaisesRegex(Exception, "explain_fusion"):
            compiled(f, options={"rinductor.explain_fusion": 3})(torch.randn(3, 5))

    def test_inference_mode(self):
        with torch.inference_mode():
            self.agree(lambda x: x.tanh() + 1, torch.randn(3))


class Export(unittest.TestCase):
    def test_the_text_reads_back(self):
        from rinductor import capture

        torch._dynamo.reset()
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16))
        for training, dynamic in ((False, None), (True, None), (False, True)):
            for kind, text in capture.capture(model, (torch.randn(4, 8),), training=training, dynamic=dynamic, name="mlp"):
                module = rinductor.Module.parse(text, f"mlp.{kind}.ir")
                again = rinductor.Module.parse(module.print(generic=True), "again.ir")
                self.assertEqual(str(again), str(module))
                module.run("cpu")

    def test_the_command(self):
        from rinductor import export

        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "its_model.py").write_text(
                "import torch\ndef make_net():\n    return torch.nn.Linear(3, 2), (torch.ones(4, 3),)\n"
            )
            out, old = Path(folder, "net.ir"), os.getcwd()
            os.chdir(folder)
            try:
                self.assertEqual(export.main(["its_model:make_net", "--out", str(out)]), 0)
                self.assertEqual(export.main(["its_model:make_net", "--out", str(out), "--training"]), 0)
                with self.assertRaisesRegex(SystemExit, "cannot write .*: No such file"):
                    export.main(["its_model:make_net", "--out", str(Path(folder, "nowhere", "net.ir"))])
            finally:
                os.chdir(old)
            self.assertIn('aten.model = "net"', out.read_text())
            self.assertEqual(sorted(p.name for p in Path(folder).glob("*.ir")), ["net.bw.ir", "net.fw.ir", "net.ir"])


if __name__ == "__main__":
    unittest.main()
