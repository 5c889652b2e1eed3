"""Compiled functions called with arrays of NumPy and of other libraries."""

import os
import sys
import threading
import time
import unittest

import numpy as np

import graphs
from rinductor import Module, RinductorError, Tensor, compile_text


def compiled(text, **options):
    return Module.parse(text).run("cpu").compile(**options)


class Other:
    """An array of another library: DLPack alone, as it was before version 1 where `old` says so."""

    def __init__(self, array, old=False):
        self.array = array
        if old:
            self.__class__ = OldOther

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OldOther(Other):
    def __dlpack__(self):
        return self.array.__dlpack__()


class Calls(unittest.TestCase):
    def test_an_argument_that_is_written_may_share_memory_with_another(self):
        text = """func.func @f(%p: tensor<99xf32>, %q: tensor<99xf32>) {
          %s = "aten.add.Tensor"(%p, %q) : (tensor<99xf32>, tensor<99xf32>) -> tensor<99xf32>
          %c = "aten.copy_"(%p, %s) : (tensor<99xf32>, tensor<99xf32>) -> tensor<99xf32>
          return
        }"""
        x = np.arange(100, dtype=np.float32)
        want = x[1:] + x[:-1]
        compile_text(text)(x[1:], x[:-1])
        np.testing.assert_array_equal(x[1:], want)

    def test_numpy_in_numpy_out(self):
        f = compiled(graphs.binary("aten.add.Tensor", "f32"))
        self.assertEqual((f.name, f.kernels), ("forward", 1))
        self.assertEqual((f.name, f.parameters), ("forward", [("x", True, False), ("y", True, False)]))
        x, y = np.random.default_rng(0).random((2, 4, 8), "f4")
        (z,) = f(x, y)
        self.assertIs(type(z), np.ndarray)
        np.testing.assert_array_equal(z, x + y)
        # The result has memory of its own, which stays when the function and other results are gone.
        (w,) = f(z, z)
        del f
        np.testing.assert_array_equal(z, x + y)
        np.testing.assert_array_equal(w, z + z)
        w += 1

    def test_element_types(self):
        for dtype, numpy in (("f32", "f4"), ("f64", "f8"), ("f16", "f2"), ("i64", "i8"), ("i32", "i4"), ("i16", "i2"), ("i8", "i1"), ("ui8", "u1")):
            with self.subTest(dtype=dtype):
                x = np.arange(32).reshape(4, 8).astype(numpy)
                (z,) = compiled(graphs.binary("aten.add.Tensor", dtype))(x, x)
                self.assertEqual(z.dtype, x.dtype)
                np.testing.assert_array_equal(z, x + x)
        x = np.arange(32).reshape(4, 8) % 3 == 0
        (z,) = compiled(graphs.binary("aten.logical_or", "i1"))(x, ~x)
        self.assertEqual((z.dtype, z.all()), (np.dtype(bool), True))

    def test_other_libraries_by_dlpack(self):
        f = compiled(graphs.binary("aten.add.Tensor", "f32"))
        x = np.ones((4, 8), "f4")
        for old in (False, True):
            (z,) = f(Other(x, old), Other(x, old))
            self.assertIs(type(z), Tensor)
            self.assertEqual((z.shape, z.strides, z.dtype), ((4, 8), (8, 1), "f32"))
            self.assertEqual(z.__dlpack_device__(), (1, 0))
            for array in (np.asarray(z), np.from_dlpack(z)):
                np.testing.assert_array_equal(array, x + x)
            (w,) = f(z, z)
            np.testing.assert_array_equal(np.asarray(w), 4 * x)
            copy = np.from_dlpack(z, copy=True) if np.lib.NumpyVersion(np.__version__) >= "2.1.0" else np.array(z)
            copy += 1
            np.testing.assert_array_equal(np.asarray(z), x + x)
        with self.assertRaises(BufferError):
            z.__dlpack__(dl_device=(2, 0))

    def test_an_unused_capsule_gives_its_memory_back(self):
        (z,) = compiled(graphs.binary("aten.add.Tensor", "f32"))(*[Other(np.ones((4, 8), "f4"))] * 2)
        for _ in range(1000):
            z.__dlpack__()
            z.__dlpack__(max_version=(1, 0))

    def test_symbols_are_given_or_bound(self):
        f = compiled(graphs.SYMBOLIC)
        for n in (3, 2, 17):
            x, y = np.ones((n, 4), "f4"), np.arange(4, dtype="f4")
            for args in ((x, y), (n, x, y), (np.int64(n), x, y)):
                z, size = f(*args)
                np.testing.assert_array_equal(z, x + y)
                self.assertEqual(size, n)

    def test_an_input_that_is_written_is_the_array_itself(self):
        f = compiled(graphs.MUTATING)
        self.assertEqual(f.parameters, [("x", True, True)])
        x = np.ones((4, 8), "f4")
        (y,) = f(x)
        self.assertIs(y, x)
        np.testing.assert_array_equal(x, np.full((4, 8), 2, "f4"))
        strided = np.ones((8, 4), "f4").T
        f(strided)
        np.testing.assert_array_equal(strided, np.full((4, 8), 2, "f4"))
        x.flags.writeable = False
        with self.assertRaisesRegex(TypeError, "%x of @forward: .*read-only"):
            f(x)
        with self.assertRaisesRegex(TypeError, "read-only"):
            f(Other(x))

    def test_strides_are_taken_as_they_are(self):
        f = compiled(graphs.binary("aten.sub.Tensor", "f32"))
        base = np.random.default_rng(0).random((8, 16), "f4")
        for x in (base[:4, :8], base[::2, ::2], base[4:, 8:], base.T[:4, ::1]):
            with self.subTest(strides=x.strides):
                np.testing.assert_array_equal(f(x[:, :8], base[:4, :8])[0], x[:, :8] - base[:4, :8])
        read_only = np.broadcast_to(np.float32(3), (4, 8))
        np.testing.assert_array_equal(f(read_only, read_only)[0], np.zeros((4, 8), "f4"))

    def test_wrong_arguments_are_errors(self):
        f = compiled(graphs.binary("aten.add.Tensor", "f32"))
        x = np.ones((4, 8), "f4")
        odd = np.zeros(4 * 8 * 4 + 1, "u1")[1:].view("f4").reshape(4, 8)
        for args, kind, what in (
            ((x,), RinductorError, "takes 2 tensors; 1 arguments were given"),
            ((x, x, x), RinductorError, "takes 2 tensors; 3"),
            ((x, 3), TypeError, "%y of @forward: expected an array, got int"),
            ((x, None), TypeError, "NoneType"),
            ((x, x.astype("f8")), RinductorError, "%y is f64 of sizes"),
            ((x, x[:2]), RinductorError, r"%y is f32 of sizes \[2, 8\]"),
            ((x, x[::-1]), TypeError, "strides"),
            ((x, x.astype("U3")), TypeError, "no element type"),
            ((x, odd), TypeError, "aligned"),
        ):
            with self.subTest(what=what), self.assertRaisesRegex(kind, what):
                f(*args)
        with self.assertRaisesRegex(RinductorError, "run passes first"):
            Module.parse(graphs.SOFTMAX).compile()
        with self.assertRaisesRegex(RinductorError, "linalg_matrix_exp"):
            compiled(graphs.OPAQUE)

    def test_an_index_out_of_range_is_an_index_error(self):
        f = compiled(graphs.GATHER)
        x = np.random.default_rng(0).random((5, 3), "f4")
        np.testing.assert_array_equal(f(x, np.array([4, 0]))[0], x[[4, 0]])
        with self.assertRaisesRegex(IndexError, "7 is out of range for size 5"):
            f(x, np.array([4, 7]))
        np.testing.assert_array_equal(f(x, np.array([4, 0]))[0], x[[4, 0]])

    def test_matrix_products_of_any_number_of_threads(self):
        f = compiled(graphs.MATMUL, threads=1)
        x, w = np.random.default_rng(0).random((300, 8), "f4"), np.ones((8, 3), "f4")
        for threads in (1, 2, 3, 0):
            f.set_threads(threads)
            np.testing.assert_allclose(f(x, w)[0], x @ w, rtol=1e-5)


class Concurrency(unittest.TestCase):
    def test_several_threads_may_call(self):
        f = compiled(graphs.MATMUL)
        wrong = []

        def work(seed):
            rng = np.random.default_rng(seed)
            for _ in range(100):
                x, w = rng.random((rng.integers(2, 200), 8), "f4"), rng.random((8, 3), "f4")
                if not np.allclose(f(x, w)[0], x @ w, rtol=1e-4):
                    wrong.append(x.shape)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(wrong, [])

    @unittest.skipUnless(hasattr(os, "fork"), "this system does not fork")
    def test_a_forked_process_may_call(self):
        # Large enough to be split over threads, so that the pools of this process are made before.
        big = graphs.binary("aten.add.Tensor", "f32", (512, 1024))
        f = compiled(big)
        product = compiled(graphs.MATMUL)
        x, w = np.ones((512, 1024), "f4"), np.ones((8, 3), "f4")
        f(x, x), product(x[:, :8], w)
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                right = [(f(x, x)[0] == 2).all(), (product(x[:, :8], w)[0] == 8).all()]
                for threads in (1, 3):
                    f.set_threads(threads)
                    product.set_threads(threads)
                    right += [(f(x, x)[0] == 2).all(), (product(x[:, :8], w)[0] == 8).all()]
                right.append((compiled(big)(x, x)[0] == 2).all())
                code = 0 if all(right) else 2
            finally:
                os._exit(code)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                break
            time.sleep(0.01)
        else:
            os.kill(child, 9)
            os.waitpid(child, 0)
            self.fail("the forked process hangs")
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        f(x, x)


if __name__ == "__main__":
    unittest.main()
