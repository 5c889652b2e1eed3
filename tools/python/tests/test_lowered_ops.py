"""Ops called by their names, against eager: each becomes kernels, and none a call of torch. And what TorchInductor lowers, held against our list."""

import contextlib
import os
import unittest
import unittest.mock
from pathlib import Path

import torch
from torch.utils._pytree import tree_leaves, tree_map

from rinductor import _core, backend, partition
from rinductor.export import op_name

# A failure of the compiler must fail a test.
os.environ["RINDUCTOR_STRICT"] = "1"

aten, prims = torch.ops.aten, torch.ops.prims
FLOATS = (torch.float32, torch.float64, torch.bfloat16)
#: What is called of torch though all of an op is compiled.
HARMLESS = {"a view alone", "a constant of the graph", "a view that shares memory with another result"}


def randn(*sizes, dtype=torch.float32):
    return (torch.randn(sizes) * 3).to(dtype)


class Ops(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch._dynamo.reset()

    @contextlib.contextmanager
    def compiled_alone(self):
        """No call of torch stands in a graph that is compiled here, not even of what is slow: formulas are to be right all the same."""
        reports = []
        observer = reports.append
        backend._observers.append(observer)
        try:
            with unittest.mock.patch.dict(partition.SLOW, clear=True), unittest.mock.patch.dict(partition.UNLIKE, clear=True):
                yield
        finally:
            backend._observers.remove(observer)
        calls = [(str(n.target), why) for r in reports for n, why in r.calls if why not in HARMLESS]
        self.assertEqual(calls, [])
        self.assertTrue(reports)

    def agree(self, function, *args, **options):
        """The results are those of eager: values, dtypes, strides. Small floats, which eager rounds after every step, are computed there in float32."""
        torch._dynamo.reset()
        small = any(t.dtype == torch.bfloat16 for t in tree_leaves(args) if isinstance(t, torch.Tensor))
        wide = lambda t: t.float() if isinstance(t, torch.Tensor) and t.dtype == torch.bfloat16 else t
        want = function(*(tree_map(wide, args) if small else args))
        with self.compiled_alone():
            got = torch.compile(function, backend="rinductor", fullgraph=True, **options)(*args)
        want, got = tree_leaves(want), tree_leaves(got)
        self.assertEqual(len(got), len(want))
        for a, b in zip(got, want):
            torch.testing.assert_close(a, b.to(a.dtype) if small else b, equal_nan=True)
            if b.numel():
                self.assertEqual(a.stride(), b.stride())

    def test_borders_backward(self):
        for dtype in FLOATS:
            for n in (1, 2, 3):
                x, pad = randn(2, 3, *(5, 4, 6)[:n], dtype=dtype), (1, 2, 3, 0, 2, 1)[: 2 * n]
                g = torch.randn_like(getattr(aten, f"reflection_pad{n}d")(x, pad))
                reflected, replicated = (getattr(aten, f"{kind}_pad{n}d_backward") for kind in ("reflection", "replication"))
                self.agree(lambda g, x: (replicated(g, x, pad), replicated(g[0], x[0], pad)), g, x)
                # TorchInductor's table makes other ops of it, which add up what comes in the dtype itself, as eager does.
                if dtype != torch.bfloat16:
                    self.agree(lambda g, x: (reflected(g, x, pad), reflected(g[0], x[0], pad)), g, x)

    def test_resampling(self):
        sizes, names = (5, 4, 6), {1: "linear1d", 2: "bilinear2d", 3: "trilinear3d"}
        for dtype in FLOATS:
            for n in (1, 2, 3):
                into = [2, 3, *sizes[:n]]
                nearest, linear = (getattr(aten, f"upsample_{name}_backward") for name in (f"nearest{n}d", names[n]))
                for out, scale in (((10, 8, 12), 2.0), ((7, 9, 5), None), ((12, 10, 15), 2.5), ((15, 12, 18), None)):
                    out, scales = list(out[:n]), [scale] * n
                    g = randn(2, 3, *out, dtype=dtype)
                    self.agree(
                        lambda g: (nearest(g, out, into, *scales), linear(g, out, into, False, *scales), linear(g, out, into, True, *scales)), g
                    )
            for out, corners in (([7, 9], False), ([3, 2], True)):
                x, g = randn(2, 3, 5, 4, dtype=dtype), randn(2, 3, *out, dtype=dtype)
                self.agree(
                    lambda x, g: (aten.upsample_bicubic2d(x, out, corners), aten.upsample_bicubic2d_backward(g, out, [2, 3, 5, 4], corners)), x, g
                )

    def test_windows(self):
        for dtype in FLOATS:
            x = randn(2, 3, 7, 5, 6, dtype=dtype)
            if dtype != torch.bfloat16:
                for args in (([2, 2, 2], [2, 2, 2], [0, 0, 0], False, True, None), ([3, 2, 3], [2, 1, 2], [1, 1, 1], True, False, None)):
                    g = torch.randn_like(aten.avg_pool3d(x, *args))
                    self.agree(lambda g, x: aten.avg_pool3d_backward(g, x, *args), g, x)
                samples = torch.rand(2, 3, 3).to(dtype)
                self.agree(
                    lambda x, s: (aten.fractional_max_pool3d(x, [2, 3, 2], [4, 2, 1], s), aten.fractional_max_pool2d(x[..., 0], [2, 3], [4, 3], s[..., :2])),
                    x,
                    samples,
                )
            for out in ([2, 3, 2], [1, 1, 1], [9, 4, 3]):
                g = randn(2, 3, *out, dtype=dtype)
                _, at = aten.adaptive_max_pool3d(x.float(), out)
                self.agree(
                    lambda g, x, at: (
                        aten._adaptive_avg_pool3d_backward(g, x), aten.adaptive_max_pool3d_backward(g, x, at), aten.adaptive_max_pool3d(x, out)
                    ),
                    g, x, at,
                )  # fmt: skip
            y, at = torch.nn.functional.max_pool2d(x[..., 0].float(), 2, return_indices=True)
            self.agree(lambda y, at: aten.max_unpool2d(y, at, [7, 5]), y.to(dtype), at)

    def test_masks_of_many_values_under_symbols(self):
        put = lambda x, m, v, a: aten.index_put(x, [m], v, a)  # noqa: E731
        for dynamic in (False, True):
            torch._dynamo.reset()
            compiled = torch.compile(put, backend="rinductor", dynamic=dynamic)
            for n, accumulate in ((5, False), (7, True)):
                x, mask = randn(n, 5), torch.arange(n) % 3 != 1
                for v in (randn(int(mask.sum()), 5), randn(5), torch.tensor(2.0)):
                    torch.testing.assert_close(compiled(x, mask, v, accumulate), put(x, mask, v, accumulate))

    def test_unpooling_gives_the_strides_of_eager(self):
        x = randn(2, 3, 8, 6).to(memory_format=torch.channels_last)
        y, at = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
        unpool = lambda y, at: aten.max_unpool2d(y, at, [8, 6])  # noqa: E731
        got, want = torch.compile(unpool, backend="rinductor")(y, at), unpool(y, at)
        self.assertEqual((got.stride(), got.tolist()), (want.stride(), want.tolist()))

    def test_running_extrema(self):
        for dtype in (*FLOATS, torch.int64, torch.uint8, torch.bool):
            for sizes, d in (((3, 7), 1), ((3, 7), 0), ((), 0), ((0, 4), 1)):
                x = randn(*sizes).to(dtype)
                if dtype.is_floating_point and x.numel() > 6:
                    x.view(-1)[:4] = torch.tensor([-torch.inf, -torch.inf, torch.inf, torch.nan])
                self.agree(lambda x: (torch.cummax(x, d), torch.cummin(x, d)), x)
                if dtype.is_floating_point:
                    self.agree(lambda x: torch.logcumsumexp(x, d), x)

    def test_searches(self):
        for dtype in (torch.float32, torch.float64, torch.int64, torch.uint8):
            row, rows, x = randn(9).to(dtype).sort()[0], randn(3, 9).to(dtype).sort()[0], randn(3, 5).to(dtype)
            mixed = randn(3, 9).to(dtype)
            for right in (False, True):
                self.agree(
                    lambda row, rows, x, mixed, order: (
                        torch.searchsorted(row, x, right=right), torch.searchsorted(rows, x, right=right, out_int32=True),
                        torch.searchsorted(mixed, x, right=right, sorter=order), torch.bucketize(x, row, right=right), torch.searchsorted(row[:0], x),
                    ),
                    row, rows, x, mixed, mixed.argsort(),
                )  # fmt: skip
            self.agree(lambda row, x: torch.searchsorted(row, x), row, x, dynamic=True)
        row, x = torch.tensor([1.0, 2.0, torch.inf, torch.nan]), torch.tensor([torch.nan, torch.inf, 1.0, -torch.inf])
        self.agree(lambda row, x: torch.searchsorted(row, x), row, x)
        self.agree(lambda x: torch.histc(x, 10, -1, 1), torch.cat([torch.randn(100), torch.tensor([1.0, -1.0, torch.nan])]))

    def test_places(self):
        for dtype in (*FLOATS, torch.int64):
            x, index, src = randn(3, 6, dtype=dtype), torch.randint(0, 6, (3, 4)), randn(3, 4, dtype=dtype)
            mask, value = torch.rand(3, 6) > 0.5, randn(1, dtype=dtype)[0]
            for how in ("sum", "prod", "mean", "amax", "amin"):
                if dtype == torch.bfloat16 and how in ("prod", "mean", "sum"):
                    continue  # every update is rounded, in eager too
                self.agree(lambda x, i, s: [x.scatter_reduce(1, i, s, how, include_self=own) for own in (True, False)], x, index, src)
                if how != "sum":
                    self.agree(lambda x, i, s: [torch.index_reduce(x, 1, i, s, how, include_self=own) for own in (True, False)], x, index[0], src)
            self.agree(
                lambda x, m, s, v, i: (
                    aten.index_put(x, [m], v), aten.index_put(x, [m[:, 0]], v), torch.masked_scatter(x, m, s), torch.index_fill(x, 1, i, v)
                ),
                x, mask, randn(30, dtype=dtype), value, torch.tensor([1, -1]),
            )  # fmt: skip
            self.agree(
                lambda x, m, i, j: (aten._unsafe_masked_index(x, m, [i, j], 2), aten._unsafe_masked_index_put_accumulate(x, m, [i, j], x[:, :2])),
                x, torch.rand(3, 2) > 0.5, torch.tensor([[0], [2], [-1]]), torch.tensor([[0, 3]]).expand(3, 2).contiguous(),
            )  # fmt: skip
            self.agree(lambda v, o: aten._jagged_to_padded_dense_forward(v, [o], [3], 7.0), randn(5, 3, dtype=dtype), torch.tensor([0, 2, 2, 5]))

    def test_lists(self):
        one = ("abs", "neg", "reciprocal", "rsqrt", "sign", "sqrt", "exp", "log")
        two = ("add", "sub", "mul", "div", "maximum", "minimum", "clamp_min", "clamp_max")
        xs = [randn(3, 4).abs() + 0.1, randn(5).abs() + 0.1, randn().abs() + 0.1]
        for dtype in (torch.float32, torch.bfloat16):
            a, b = [x.to(dtype) for x in xs], [x.to(dtype).flip(-1) if x.dim() else x.to(dtype) for x in xs]
            of = lambda name, *args: getattr(torch, f"_foreach_{name}")(*args)
            self.agree(lambda a: [of(name, a) for name in one], a)
            self.agree(lambda a, b: [of(name, a, b) for name in two] + [of(name, a, 2.5) for name in two], a, b)
            self.agree(lambda a, b: (of("pow", a, b), of("pow", a, 2), of("pow", 2.0, a), of("mul", a, b[2]), of("addcmul", a, b, b, 0.5)), a, b)

    def test_others(self):
        for dtype in (torch.float32, torch.bfloat16):
            x = randn(6, 5, dtype=dtype)
            self.agree(
                lambda x: (
                    aten.as_strided_copy(x, [2, 3], [3, 2], 1), aten.new_empty_strided(x, [2, 3], [1, 2]).fill_(2), prims.var(x, [0], 1.0), prims.frexp(x),
                    prims.prepare_softmax_online(x, 1), prims.copy_strided(x, [1, 6]), prims.inductor_cvt_e8m0_rceil(x.abs()),
                ),
                x,
            )  # fmt: skip
        self.agree(lambda x, y: prims.div(x, y), torch.tensor([-7, 7]), torch.tensor([2, -2]))
        self.agree(lambda x: x.repeat(2, 3), randn(0, 3))

    def test_an_index_into_one_place_is_looked_at(self):
        row, bad = torch.randn(1, 4), torch.tensor([3])
        for function in (
            lambda x, i: x[i], lambda x, i: torch.index_select(x, 0, i), lambda x, i: x.gather(0, i[None]), lambda x, i: aten.embedding(x, i),
            lambda x, i: x.index_put((i,), x), lambda x, i: x.scatter_add(0, i[None], x), lambda x, i: x[:, :1].take(i + 4),
        ):  # fmt: skip
            torch._dynamo.reset()
            with self.assertRaisesRegex(IndexError, "out of range for size 1|out of range"):
                torch.compile(function, backend="rinductor")(row, bad)
        self.agree(lambda x, i: x[i], row, torch.tensor([0, -1]))

    def test_probabilities_are_looked_at(self):
        f = torch.compile(torch.bernoulli, backend="rinductor")
        for p in (1.5, -0.5, torch.nan):
            with self.assertRaisesRegex(RuntimeError, "bernoulli: p is not in"):
                f(torch.tensor([0.5, p]))
            torch._dynamo.reset()
            with self.assertRaises(RuntimeError):
                torch.compile(lambda x: torch.bernoulli(x, p), backend="rinductor")(torch.ones(3))
        self.assertEqual(f(torch.tensor([0.0, 1.0])).tolist(), [0, 1])


#: What TorchInductor lowers and we do not, with the reason.
EXCEPTIONS = {
    "products of matrices and convolutions are a library's": """
        aten.mm aten.bmm aten.addmm aten.baddbmm aten.baddbmm.dtype aten.convolution aten._convolution aten._int_mm aten._grouped_mm
        aten._scaled_grouped_mm aten._scaled_mm aten._sparse_semi_structured_mm aten._weight_int4pack_mm_for_cpu aten._weight_int8pack_mm
        aten.mkldnn_rnn_layer""",
    "its numbers come from torch's generator": "aten.rand.generator aten.randn.generator prims.inductor_seed prims.inductor_seeds",
    "it computes no tensor: a check, a token, or a number of the host": """
        aten._assert_async.msg aten._functional_assert_async.msg aten._assert_tensor_metadata aten._local_scalar_dense prims._make_token
        prims._sink_tokens""",
    "of TorchScript: no graph of torch.compile has it": """
        aten._unsafe_index.Tensor_hacked_twin aten._unsafe_index_put.hacked_twin aten.index.Tensor_hacked_twin aten.index_put.hacked_twin
        aten.copy.Dict_Tensor aten.eq.Tensor_list aten.ne.Tensor_list aten.index.list_Tensor""",
    "torch.compile takes no tensors with names": """
        aten.diagonal.Dimname aten.empty.names aten.rand.generator_with_names aten.rand.names aten.randn.generator_with_names aten.randn.names
        aten.select.Dimname aten.squeeze.dimname aten.sum.dim_DimnameList aten.unbind.Dimname""",
    "torch has no such op, though a table of TorchInductor names it": "aten._foobar aten.split aten.split.sizes",
    "its result has a mark that it is negated, which no memory shows": "aten._neg_view",
    "how many rows there are depends on data; eager has it for graphics processors": "aten._padded_dense_to_jagged_forward",
    "no reduction is by exclusive or; only checksums ask for it": "prims.xor_sum",
}  # fmt: skip


class List(unittest.TestCase):
    def test_what_is_slow_has_a_definition(self):
        self.assertEqual([n for n in (*partition.SLOW, *partition.UNLIKE) if _core.op_treatment(n) not in ("lowered", "decomposed")], [])

    def test_what_inductor_lowers_is_lowered(self):
        exceptions = {name: reason for reason, names in EXCEPTIONS.items() for name in names.split()}
        decomposed = {op_name(op) for op in backend.decompositions() if isinstance(op, torch._ops.OpOverload)}
        text = (Path(__file__).parent / "inductor_lowered.txt").read_text()
        names = [line for line in text.splitlines() if not line.startswith("#")]
        self.assertGreater(len(names), 400)

        def is_ours(name):
            how = _core.op_treatment(name)
            return how in ("lowered", "decomposed") or (how != "extern" and name in decomposed)

        self.assertEqual([n for n in names if not is_ours(n) and n not in exceptions], [], "neither lowered nor excused")
        self.assertEqual([n for n in exceptions if n not in names or is_ours(n)], [], "excused without need")


if __name__ == "__main__":
    unittest.main()
