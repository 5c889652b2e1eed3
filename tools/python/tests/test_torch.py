"""Compiled functions called with tensors of PyTorch."""

import gc
import unittest
import weakref

import torch

import graphs
from rinductor import Module, RinductorError


def compiled(text, **options):
    return Module.parse(text).run("cpu").compile(**options)


class Calls(unittest.TestCase):
    def test_the_list_is_emptied_and_results_are_tensors(self):
        f = compiled(graphs.binary("aten.add.Tensor", "f32"))
        x, y = torch.randn(4, 8), torch.randn(4, 8)
        args = [x, y]
        (z,) = f.call_torch(args)
        self.assertEqual(args, [])
        self.assertIs(type(z), torch.Tensor)
        self.assertTrue(torch.equal(z, x + y))
        self.assertEqual((z.stride(), z.storage_offset(), z.requires_grad), ((8, 1), 0, False))
        z.add_(1)
        (w,) = f(x, y)
        self.assertTrue(torch.equal(w, x + y))

    def test_a_call_that_is_wrong_leaves_the_list(self):
        f = compiled(graphs.binary("aten.add.Tensor", "f32"))
        x = torch.randn(4, 8)
        for args, kind, what in (
            ([x], RinductorError, "1 arguments"),
            ([x, 3], TypeError, "%y of @forward: expected a torch.Tensor, got int"),
            ([x, x.to_sparse()], TypeError, "sparse"),
            ([x, torch.empty(4, 8, device="meta")], TypeError, "meta"),
            ([x, torch.randn(4, 8, dtype=torch.complex64).conj().imag], TypeError, "%y of @forward: .*resolve_neg"),
            ([x, torch.quantize_per_tensor(x, 1.0, 0, torch.qint8)], TypeError, "%y"),
        ):
            with self.subTest(what=what):
                n = len(args)
                with self.assertRaisesRegex(kind, what):
                    f.call_torch(args)
                self.assertEqual(len(args), n)
        with self.assertRaisesRegex(RinductorError, r"%y is f64 of sizes \[4, 8\]"):
            f.call_torch([x, x.double()])

    def test_parameters_and_what_needs_a_gradient(self):
        f = compiled(graphs.binary("aten.add.Tensor", "f32"))
        x, y = torch.nn.Parameter(torch.randn(4, 8)), torch.randn(4, 8, requires_grad=True)
        (z,) = f.call_torch([x, y])
        self.assertTrue(torch.equal(z, (x + y).detach()))
        self.assertFalse(z.requires_grad)

    def test_element_types(self):
        for name, dtype in (("f32", torch.float32), ("f64", torch.float64), ("f16", torch.float16), ("bf16", torch.bfloat16), ("i64", torch.int64), ("i32", torch.int32), ("i16", torch.int16), ("i8", torch.int8), ("ui8", torch.uint8)):
            with self.subTest(dtype=name):
                x = torch.arange(32).reshape(4, 8).to(dtype)
                (z,) = compiled(graphs.binary("aten.add.Tensor", name)).call_torch([x, x])
                self.assertEqual(z.dtype, dtype)
                self.assertTrue(torch.equal(z, x + x))
        x = torch.arange(32).reshape(4, 8) % 3 == 0
        (z,) = compiled(graphs.binary("aten.logical_or", "i1")).call_torch([x, ~x])
        self.assertEqual((z.dtype, z.all().item()), (torch.bool, True))

    def test_sizes_of_none_and_of_no_dimensions(self):
        x = torch.tensor(3.0)
        (z,) = compiled(graphs.binary("aten.add.Tensor", "f32", ())).call_torch([x, x])
        self.assertEqual((z.shape, z.item()), (torch.Size([]), 6))
        x = torch.empty(0, 8)
        (z,) = compiled(graphs.binary("aten.add.Tensor", "f32", (0, 8))).call_torch([x, x])
        self.assertEqual((z.shape, z.stride()), (torch.Size([0, 8]), (8, 1)))

    def test_views_of_anything_are_inputs(self):
        f = compiled(graphs.binary("aten.sub.Tensor", "f32"))
        base = torch.randn(8, 16)
        for x in (base[:4, :8], base[::2, ::2], base[4:, 8:], base.t()[:4, :8], torch.randn(1).expand(4, 8)):
            self.assertTrue(torch.equal(f.call_torch([x, base[:4, :8]])[0], x - base[:4, :8]))

    def test_symbols(self):
        f = compiled(graphs.SYMBOLIC)
        x, y = torch.randn(5, 4), torch.randn(4)
        z, n = f.call_torch([5, x, y])
        self.assertTrue(torch.equal(z, x + y))
        self.assertEqual(n, 5)


class Aliases(unittest.TestCase):
    def test_a_returned_input_is_that_tensor(self):
        f = compiled(graphs.MUTATING)
        x = torch.ones(4, 8)
        (y,) = f.call_torch([x])
        self.assertIs(y, x)
        self.assertTrue(torch.equal(x, torch.full((4, 8), 2.0)))

    def test_a_view_of_an_input_shares_its_storage(self):
        text = """
        func.func @forward(%x: tensor<4x8xf32>) -> tensor<2x8xf32, #aten.layout<offset = 16>> {
          %y = "aten.slice.Tensor"(%x) <{dim = 0 : i64, start = 2 : i64, end = 4 : i64, step = 1 : i64}> : (tensor<4x8xf32>) -> tensor<2x8xf32, #aten.layout<offset = 16>>
          return %y : tensor<2x8xf32, #aten.layout<offset = 16>>
        }
        """
        f = compiled(text)
        base = torch.randn(6, 8)
        x = base[1:5]
        (y,) = f.call_torch([x])
        self.assertTrue(torch.equal(y, x[2:4]))
        if y.untyped_storage().data_ptr() == base.untyped_storage().data_ptr():
            self.assertEqual(y.storage_offset(), 8 + 16)

    def test_results_that_share_memory_share_a_storage(self):
        text = """
        func.func @forward(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8x4xf32, strided<[1, 8]>>, tensor<4x8xf32>) {
          %y = "aten.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
          %z = "aten.permute"(%y) <{dims = array<i64: 1, 0>}> : (tensor<4x8xf32>) -> tensor<8x4xf32, strided<[1, 8]>>
          return %y, %z, %y : tensor<4x8xf32>, tensor<8x4xf32, strided<[1, 8]>>, tensor<4x8xf32>
        }
        """
        x = torch.randn(4, 8)
        y, z, again = compiled(text).call_torch([x])
        torch.testing.assert_close(y, x.exp())
        torch.testing.assert_close(z, x.exp().t())
        torch.testing.assert_close(again, x.exp())
        self.assertEqual(y.untyped_storage().data_ptr(), again.untyped_storage().data_ptr())
        self.assertEqual(z.stride(), (1, 8))

    def test_a_returned_constant_is_a_new_tensor(self):
        text = """
        func.func @forward(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
          %c = "aten.constant"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
          %y = "aten.add.Tensor"(%x, %c) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
          return %c, %y : tensor<2xf32>, tensor<2xf32>
        }
        """
        f = compiled(text)
        c, _ = f.call_torch([torch.zeros(2)])
        c.add_(100)
        c, y = f.call_torch([torch.zeros(2)])
        self.assertEqual((c.tolist(), y.tolist()), ([1, 2], [1, 2]))

    def test_nothing_is_kept_after_a_call(self):
        f = compiled(graphs.binary("aten.add.Tensor", "f32"))
        x = torch.randn(4, 8)
        gone = weakref.ref(x)
        args = [x, torch.randn(4, 8)]
        del x
        results = f.call_torch(args)
        gc.collect()
        self.assertIsNone(gone())
        self.assertEqual(len(results), 1)


class HostOps(unittest.TestCase):
    def test_an_op_that_the_runtime_has_not(self):
        calls = []

        def extern(name, attrs, inputs, outputs):
            calls.append((name, dict(attrs), [tuple(t.shape) for t in inputs], [tuple(t.shape) for t in outputs]))
            outputs[0].copy_(torch.linalg.matrix_exp(inputs[0]))

        f = compiled(graphs.OPAQUE, extern=extern)
        x = torch.randn(4, 4)
        (y,) = f.call_torch([x])
        torch.testing.assert_close(y, torch.linalg.matrix_exp(x).relu())
        self.assertEqual([c[0] for c in calls], ["aten.linalg_matrix_exp"])
        self.assertEqual(calls[0][2:], ([(4, 4)], [(4, 4)]))

    def test_an_op_that_the_host_does_better(self):
        calls = []

        def extern(name, attrs, inputs, outputs):
            calls.append(name)
            torch.mm(*inputs, out=outputs[0])

        x, w = torch.randn(5, 8), torch.randn(8, 3)
        for host_ops, n in (([], 0), (["aten.mm"], 1)):
            (y,) = compiled(graphs.MATMUL, extern=extern, host_ops=host_ops).call_torch([x, w])
            torch.testing.assert_close(y, (x @ w).relu())
            self.assertEqual(len(calls), n)

    def test_attributes_arrive_with_symbolic_integers_filled_in(self):
        text = """
        func.func @forward(%x: tensor<?x4xf32, #aten.layout<sizes = [s0, 4]>>) -> (tensor<?xf32, #aten.layout<sizes = [s0]>>, tensor<?xi64, #aten.layout<sizes = [s0]>>) {
          %n = "aten.sym_size.int"(%x) <{dim = 0 : i64}> : (tensor<?x4xf32, #aten.layout<sizes = [s0, 4]>>) -> index
          %y = "aten.rand.generator"(%n) <{size = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (index) -> tensor<?xf32, #aten.layout<sizes = [s0]>>
          %i = "aten.multinomial"(%y, %n) <{replacement = true, operandSegmentSizes = array<i32: 1, 1>}> : (tensor<?xf32, #aten.layout<sizes = [s0]>>, index) -> tensor<?xi64, #aten.layout<sizes = [s0]>>
          return %y, %i : tensor<?xf32, #aten.layout<sizes = [s0]>>, tensor<?xi64, #aten.layout<sizes = [s0]>>
        }
        """
        seen = []

        def extern(name, attrs, inputs, outputs):
            seen.append((name, attrs.get("size"), attrs.get("num_samples"), [getattr(i, "dtype", i) for i in inputs]))
            outputs[0].fill_(3)

        f = compiled(text, extern=extern, host_ops=["aten.multinomial"])
        y, i = f.call_torch([torch.zeros(7, 4)])
        drawn = ("aten.multinomial", None, None, [torch.float32, 7])
        self.assertEqual(seen, [("aten.rand.generator", [7], None, []), drawn])
        self.assertEqual((y.tolist(), i.tolist()), ([3.0] * 7, [3] * 7))

    def test_a_callable_that_holds_its_function_is_collected(self):
        class Holder:
            def __call__(self, *_):
                pass

        holder = Holder()
        holder.function = compiled(graphs.OPAQUE, extern=holder)
        gone = weakref.ref(holder)
        del holder
        gc.collect()
        self.assertIsNone(gone())

    def test_what_the_callable_raises_comes_out(self):
        class Mine(Exception):
            pass

        def extern(*_):
            raise Mine("here")

        f = compiled(graphs.OPAQUE, extern=extern)
        with self.assertRaisesRegex(Mine, "here"):
            f.call_torch([torch.randn(4, 4)])
        with self.assertRaises(TypeError):
            compiled(graphs.OPAQUE, extern=3)
        with self.assertRaises(TypeError):
            compiled(graphs.MATMUL, host_ops=["aten.mm"])


if __name__ == "__main__":
    unittest.main()
