"""`torch.compile(model, backend="rinductor")` for tensors on a GPU: what is planned and written, which needs none, and what comes out, which does."""

import os
import subprocess
import sys
import unittest

import torch
import torch.nn.functional as F
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import rinductor
from rinductor import backend, partition
from triton_cases import CASES, compare

os.environ["RINDUCTOR_STRICT"] = "1"
GPU = torch.cuda.is_available()
needs_gpu = unittest.skipUnless(GPU, "PyTorch finds no GPU here")


def has_llvm():
    """Whether the package makes machine code: it may be built without LLVM."""
    try:
        rinductor.Module.parse("func.func @forward(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}").run("cpu").compile()
    except rinductor.RinductorError:
        return False
    return True


needs_llvm = unittest.skipUnless(has_llvm(), "the package was built without LLVM")


def planned(function, *shapes):
    """The compiler of a graph whose inputs, (shape, device), are fake."""
    with FakeTensorMode():
        inputs = [torch.empty(shape, device=device) for shape, device in shapes]
        gm = make_fx(function, decomposition_table=backend.decompositions(), tracing_mode="fake")(*inputs)
    found = backend.Compiler(gm, "infer", 0, backend.Settings(strict=True))
    found.source, found.report = found.compile()
    return found


class Planning(unittest.TestCase):
    def test_a_graph_becomes_a_module_of_triton(self):
        found = planned(lambda x, w: F.gelu(F.layer_norm(x, (64,), w)), ((32, 64), "cuda:0"), ((64,), "cuda:0"))
        (program,) = found.executables
        self.assertEqual(program.kernels, 1)
        self.assertIn('DEVICE = "cuda:0"', program.source)
        self.assertIn("assert_size_stride(v_0, (32, 64), (64, 1))", program.source)
        self.assertEqual(found.report.calls, [])

    def test_libraries_compute_products(self):
        found = planned(lambda x: torch.mm(x.sin(), x.cos()).relu(), ((32, 32), "cuda:0"))
        (program,) = found.executables
        self.assertEqual(found.report.calls, [])
        self.assertIn("torch.mm(", program.source)
        self.assertEqual(program.kernels, 2)

    def test_a_library_alone_is_called_by_torch(self):
        found = planned(lambda x: torch.mm(x, x.t()), ((32, 16), "cuda:0"))
        self.assertEqual([why for _, why in found.report.calls], ["a view alone", "a library's kernel"])
        self.assertEqual(found.executables, [])

    def test_libraries_are_given_views(self):
        found = planned(lambda x: torch.mm(y := x.sin(), y.t()), ((32, 16), "cuda:0"))
        (program,) = found.executables
        self.assertEqual(program.source.count("tl.store"), 1)
        self.assertIn("reinterpret(", program.source)

    def test_odd_products_get_zeros(self):
        half = lambda x, w: F.relu(x.half() @ w.half().t())
        found = planned(half, ((4096, 768), "cuda:0"), ((50257, 768), "cuda:0"))
        self.assertIn("(50264, 768)", found.executables[0].source.replace("(768, 50264), (1, 768)", "(50264, 768)"))
        found = planned(half, ((16, 32), "cuda:0"), ((33, 32), "cuda:0"))
        self.assertNotIn("40", found.executables[0].source.split("def check")[1])

    def test_channels_come_last_in_convolutions(self):
        f = lambda x, w, b: F.relu(F.conv2d(F.relu(F.conv2d(x, w, b)), w))
        found = planned(f, ((2, 8, 16, 16), "cuda:0"), ((8, 8, 3, 3), "cuda:0"), ((8,), "cuda:0"))
        (program,) = found.executables
        self.assertEqual(program.source.count("torch.convolution("), 2)
        self.assertIn("empty((2, 8, 14, 14), (1568, 1, 112, 8)", program.source)
        self.assertIn("empty((2, 8, 12, 12), (1152, 144, 12, 1)", program.source)

    def test_tensors_of_an_optimizer_share_a_launch(self):
        found = planned(lambda *p: [x * 0.9 + 1 for x in p], *[((64, 32), "cuda:0")] * 5)
        (program,) = found.executables
        self.assertEqual(program.kernels, 1)
        self.assertIn("_each(", program.source)

    @needs_llvm
    def test_numbers_on_the_cpu_are_moved(self):
        found = planned(lambda x, s: x * s.sin(), ((32, 64), "cuda:0"), ((), "cpu"))
        first, second = found.executables
        self.assertNotIsInstance(first, rinductor.gpu.Program)
        self.assertIsInstance(second, rinductor.gpu.Program)
        self.assertIn("segment_0_1([x_1, sin.to(device)])", found.source.text())

    @needs_llvm
    def test_tensors_of_several_devices_are_left_to_torch(self):
        found = planned(lambda x: (x.cpu().sin(), x.sin()), ((32,), "cuda:0"))
        self.assertEqual([s.device for s in found_segments(found)], ["cuda:0", "cpu"])

    def test_random_numbers_come_from_seeds(self):
        with FakeTensorMode():
            gm = make_fx(lambda x: F.dropout(x, 0.5, True), decomposition_table=backend.decompositions(), tracing_mode="fake")(torch.empty(8, 8, device="cuda:0"))
        backend.random(gm, backend.Settings())
        found = backend.Compiler(gm, "infer", 0, backend.Settings(strict=True))
        source, _ = found.compile()
        self.assertIn("inductor_seeds", source.text())
        self.assertIn("3528531795", found.executables[-1].source, "a multiplier of Philox")

    def test_equal_segments_are_one_program(self):
        sorted_ = lambda x: torch.sort(x)[0]
        found = planned(lambda x: sorted_(sorted_(x.sin() + 1).sin() + 1), ((32, 32), "cuda:0"))
        first, second = found.executables
        self.assertIs(first, second)


def found_segments(compiler):
    plan = partition.plan(compiler.gm, compiler.refused)
    return [s for s in plan.steps if isinstance(s, partition.Segment)]


def compiled(function, **options):
    return torch.compile(function, backend="rinductor", **options)


@needs_gpu
class Cases(unittest.TestCase):
    """The functions of `triton_cases`, against eager."""


def add(name, case):
    function, inputs, other, dynamic, tolerance, _, training = case

    def test(self):
        torch.manual_seed(0)
        torch._dynamo.reset()
        run = compiled(function, dynamic=dynamic)
        for makers in filter(None, (inputs, other)):
            arguments = [make().cuda() for make in makers]
            mine, theirs = ([a.clone() for a in arguments] for _ in range(2))
            if training:
                for a in (*mine, *theirs):
                    if a.is_floating_point():
                        a.requires_grad_(True)
                found, wanted = run(*mine), function(*theirs)
                if name == "dropout":
                    self.assertEqual(found.shape, wanted.shape)
                    continue
                found.sum().backward()
                wanted.sum().backward()
                compare([a.grad for a in mine if a.grad is not None], [a.grad for a in theirs if a.grad is not None], tolerance or 1e-4)
            else:
                with torch.no_grad():
                    found, wanted = run(*mine), function(*theirs)
            compare(found, wanted, tolerance or 1e-4)
            compare([a.detach() for a in mine], [a.detach() for a in theirs], tolerance or 1e-4)

    setattr(Cases, f"test_{name}", test)


for name, case in CASES.items():
    add(name, case)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = torch.nn.Conv2d(3, 16, 3, padding=1, bias=False), torch.nn.BatchNorm2d(16)
        self.conv2, self.bn2 = torch.nn.Conv2d(16, 16, 3, padding=1, bias=False), torch.nn.BatchNorm2d(16)
        self.head = torch.nn.Linear(16, 10)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)) + y)
        return self.head(y.mean((2, 3)))


class Block(torch.nn.Module):
    """A layer of a transformer, with an embedding and a loss."""

    def __init__(self, width=64, heads=4, words=100):
        super().__init__()
        self.heads = heads
        self.words, self.places = torch.nn.Embedding(words, width), torch.nn.Embedding(32, width)
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        x = x + self.down(F.gelu(self.up(self.norm2(x))))
        logits = x @ self.words.weight.t()
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


@needs_gpu
class OnGpu(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch._dynamo.reset()

    def train(self, make, x, steps=3, tolerance=1e-3, **options):
        """Steps of SGD with a compiled model and with eager's."""
        torch.manual_seed(0)
        mine = make().cuda()
        theirs = make().cuda()
        theirs.load_state_dict(mine.state_dict())
        losses = []
        for model, run in ((mine, compiled(mine, **options)), (theirs, theirs)):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            values = []
            for _ in range(steps):
                loss = run(x)
                loss = loss if loss.dim() == 0 else loss.square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                values.append(loss.detach().clone())
            losses.append(torch.stack(values))
        torch.testing.assert_close(*losses, rtol=tolerance, atol=tolerance)
        for (name, a), b in zip(mine.state_dict().items(), theirs.state_dict().values()):
            torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance, msg=lambda text: f"{name}: {text}")

    def test_training_of_a_convolutional_network(self):
        self.train(Net, torch.randn(4, 3, 16, 16, device="cuda"))

    def test_training_of_a_transformer(self):
        self.train(Block, torch.randint(100, (4, 32), device="cuda"))

    def test_training_with_recorded_graphs(self):
        self.train(Block, torch.randint(100, (4, 32), device="cuda"), steps=6, mode="reduce-overhead")

    def test_recorded_inference(self):
        f = lambda x, w: torch.relu(x @ w).softmax(-1) * 2
        run = compiled(f, mode="reduce-overhead")
        w = torch.randn(64, 64, device="cuda")
        for _ in range(5):
            x = torch.randn(8, 64, device="cuda")
            with torch.no_grad():
                torch.testing.assert_close(run(x, w).clone(), f(x, w))

    def test_autocast(self):
        net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.LayerNorm(64), torch.nn.GELU(), torch.nn.Linear(64, 8)).cuda()
        x = torch.randn(16, 32, device="cuda")
        run = compiled(net)
        for dtype in (torch.float16, torch.bfloat16):
            with torch.autocast("cuda", dtype):
                found, wanted = run(x), net(x)
            self.assertEqual(found.dtype, dtype)
            torch.testing.assert_close(found, wanted, rtol=3e-2, atol=3e-2)
            found.float().sum().backward()

    def test_mutation(self):
        def f(x, y):
            x.add_(y)
            y[1:].mul_(2)
            return x.sum(), y.view(-1)[3:]

        a, b = torch.randn(4, 5, device="cuda"), torch.randn(4, 5, device="cuda")
        c, d = a.clone(), b.clone()
        compare(compiled(f)(a, b), f(c, d), 1e-5)
        compare([a, b], [c, d], 1e-5)

    def test_random_numbers_repeat(self):
        run = compiled(lambda x: F.dropout(x, 0.25, True) + torch.rand_like(x))
        x = torch.ones(100, 100, device="cuda")
        torch.manual_seed(1)
        first, second = run(x), run(x)
        torch.manual_seed(1)
        again = run(x)
        self.assertTrue(torch.equal(first, again))
        self.assertFalse(torch.equal(first, second))
        self.assertAlmostEqual((first >= 4 / 3).float().mean().item(), 0.75, delta=0.02)

    def test_fallback_random_is_eager(self):
        f = lambda x: torch.rand_like(x) * x
        run = compiled(f, options={"rinductor.fallback_random": True})
        x = torch.ones(100, device="cuda")
        torch.manual_seed(1)
        found = run(x)
        torch.manual_seed(1)
        torch.testing.assert_close(found, f(x))

    def test_numbers_on_the_cpu(self):
        f = lambda x, s, t: (x * s + t.sin(), s + 1)
        x, s, t = torch.randn(8, device="cuda"), torch.tensor(2.5), torch.tensor(3.0, dtype=torch.float64)
        compare(compiled(f)(x, s, t), f(x, s, t), 1e-5)

    def test_both_devices(self):
        f = lambda x, y: (x.sin() + 1, (y.cos() * 2).cuda() + x, x.cpu() + y)
        x, y = torch.randn(8, device="cuda"), torch.randn(8)
        compare(compiled(f)(x, y), f(x, y), 1e-5)

    def test_memory_that_is_not_aligned(self):
        f = lambda x: x.sin() * 2
        run = compiled(f)
        whole = torch.randn(4097, device="cuda")
        for part in (whole[:4096], whole[1:], whole[:4096]):
            torch.testing.assert_close(run(part), f(part))

    def test_sizes_that_change(self):
        f = lambda x, w: torch.softmax(x * w, -1).sum(0)
        run = compiled(f, dynamic=True)
        for rows, columns in ((4, 8), (16, 16), (1000, 130), (3, 10000), (5, 1)):
            x, w = torch.randn(rows, columns, device="cuda"), torch.randn(columns, device="cuda")
            torch.testing.assert_close(run(x, w), f(x, w), rtol=1e-4, atol=1e-5)

    def test_empty_tensors(self):
        f = lambda x: (x * 2, x.sum(0), x.sum())
        compare(compiled(f)(torch.ones(0, 3, device="cuda")), f(torch.ones(0, 3, device="cuda")), 1e-5)

    def test_layouts(self):
        f = lambda x: (x * 2, x.permute(3, 0, 1, 2) + 1, x.transpose(0, 1))
        x = torch.randn(2, 3, 4, 5, device="cuda").to(memory_format=torch.channels_last)
        compare(compiled(f)(x), f(x), 1e-5)

    def test_streams(self):
        f = lambda x: (x + 1).sin() * x
        run = compiled(f)
        x = torch.randn(1 << 22, device="cuda")
        run(x)
        torch.cuda.synchronize()
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            torch.cuda._sleep(20_000_000)
            y = x * 3
            found = run(y)
        side.synchronize()
        torch.testing.assert_close(found, f(x * 3))

    def test_capture(self):
        f = lambda x: torch.softmax(x, -1) * 2
        run = compiled(f)
        x = torch.randn(64, 128, device="cuda")
        with torch.no_grad():
            run(x)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = run(x)
        x.copy_(torch.randn(64, 128))
        graph.replay()
        torch.testing.assert_close(y, f(x))

    def test_an_index_out_of_range_is_an_error(self):
        code = (
            "import torch\nf = torch.compile(lambda x, i: x[i] * 2, backend='rinductor')\n"
            "print(f(torch.ones(4, device='cuda'), torch.tensor([1, 9], device='cuda')).cpu())"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("index out of range", done.stderr)

    def test_is_kept_on_disk(self):
        import tempfile

        code = (
            "import torch, rinductor\nfrom rinductor import backend\n"
            "if {late}: backend.Compiler.compile = None\n"
            "f = torch.compile(lambda x: torch.softmax(x, -1) * 2, backend='rinductor')\n"
            "x = torch.randn(9, 33, device='cuda')\ntorch.testing.assert_close(f(x), torch.softmax(x, -1) * 2)\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "RINDUCTOR_CACHE": "1", "RINDUCTOR_CACHE_DIR": folder}
            for late in (False, True):
                subprocess.run([sys.executable, "-c", code.format(late=late)], env=environment, check=True)


if __name__ == "__main__":
    unittest.main()
