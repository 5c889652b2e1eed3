"""Products of matrices as kernels: against float64 and eager, forward and backward, for sizes that fill blocks and sizes that do not."""

import unittest

import torch
import torch.nn.functional as F

import rinductor
from rinductor import _core

WIDE = _core.product_refusal(1, 64, 64, 64, True, False) is None


def compiled(f, products="always", **kwargs):
    torch.compiler.reset()
    return torch.compile(f, backend="rinductor", options={"rinductor.products": products, "rinductor.strict": True}, **kwargs)


class Products(unittest.TestCase):
    def agree(self, f, *args, **kwargs):
        """Compares with float64; the error may be a few times eager's."""
        exact = f(*(a.double() for a in args))
        eager, ours = f(*args), compiled(f, **kwargs)(*args)
        self.assertEqual(ours.stride(), eager.stride())
        bound = 4 * (eager.double() - exact).abs().max() + 1e-6 * exact.abs().max()
        self.assertLessEqual((ours.double() - exact).abs().max().item(), bound.item())

    def test_sizes(self):
        torch.manual_seed(0)
        for m, n, k in [(1, 1, 1), (3, 5, 2), (8, 32, 4), (9, 33, 5), (17, 16, 1), (64, 64, 64), (65, 70, 130), (200, 96, 33), (7, 129, 300), (2, 70, 130)]:
            with self.subTest(m=m, n=n, k=k):
                a, b = torch.randn(m, k), torch.randn(k, n)
                self.agree(torch.mm, a, b)
                self.agree(torch.mm, torch.randn(k, m).t(), b)
                self.agree(torch.mm, a, torch.randn(n, k).t())
                self.agree(lambda s, a, b: torch.addmm(s, a, b, beta=0.5, alpha=2), torch.randn(n), a, b)
                self.agree(torch.mm, torch.randn(k, 2 * m).t()[::2], torch.randn(k, 3 * n)[:, ::3])

    def test_nothing(self):
        for m, n, k in [(0, 4, 3), (4, 0, 3), (4, 3, 0), (0, 0, 0)]:
            a, b = torch.randn(m, k), torch.randn(k, n)
            self.assertTrue(torch.equal(compiled(lambda a, b: a @ b + 1)(a, b), a @ b + 1))

    def test_batches(self):
        torch.manual_seed(1)
        q, k = torch.randn(3, 4, 37, 8), torch.randn(3, 4, 41, 8)
        self.agree(lambda q, k: torch.softmax(q @ k.transpose(-1, -2) * 0.3, -1), q, k)
        self.agree(lambda s, a, b: torch.baddbmm(s, a, b, beta=0.5, alpha=2), torch.randn(3, 1, 40), torch.randn(3, 33, 5), torch.randn(3, 5, 40))

    def test_what_comes_before_and_after(self):
        torch.manual_seed(2)
        x, w, b, r = torch.randn(4, 13, 20), torch.randn(50, 20), torch.randn(50), torch.randn(4, 13, 50)
        self.agree(lambda x, w, b, r: F.gelu(F.linear(torch.tanh(x), w, b)) + r, x, w, b, r)
        self.agree(lambda x, w, b, r: F.layer_norm(F.linear(x, w, b) + r, (50,)), x, w, b, r)
        self.agree(lambda x, w, b, r: F.linear(x, w, b).transpose(1, 2) + r.transpose(1, 2).contiguous(), x, w, b, r)
        self.agree(lambda x, w: F.silu(F.linear(x, w)) * F.linear(x, w * 2), x, w)

    def test_special_numbers(self):
        a, b = torch.randn(40, 20), torch.randn(20, 40)
        a[3, 4], a[5, 6], b[7, 8], b[9, 39] = float("inf"), float("nan"), -float("inf"), 0.0
        torch.testing.assert_close(compiled(torch.mm)(a, b), a @ b, equal_nan=True)

    def test_training(self):
        torch.manual_seed(3)
        model = torch.nn.Sequential(torch.nn.Linear(24, 70), torch.nn.GELU(), torch.nn.Linear(70, 24))
        x = torch.randn(5, 40, 24, requires_grad=True)
        wanted = torch.autograd.grad(model(x).square().sum(), [x, *model.parameters()])
        found = torch.autograd.grad(compiled(model)(x).square().sum(), [x, *model.parameters()])
        for ours, eager in zip(found, wanted):
            torch.testing.assert_close(ours, eager, rtol=1e-4, atol=1e-4)

    def test_sizes_that_change(self):
        torch.manual_seed(4)
        w, b = torch.randn(40, 24), torch.randn(40)
        f = compiled(lambda x: F.relu(F.linear(x, w, b)), dynamic=True)
        for rows in (2, 5, 16, 63, 64, 200):
            x = torch.randn(3, rows, 24)
            torch.testing.assert_close(f(x), F.relu(F.linear(x, w, b)), rtol=1e-5, atol=1e-5)

    def test_who_computes_it(self):
        a, b = torch.randn(64, 64), torch.randn(64, 64)
        torch.compiler.reset()
        text = str(rinductor.explain(torch.mm, a, b))
        self.assertEqual("a library's kernel" in text, not WIDE, text)
        with self.assertRaisesRegex(Exception, "rinductor.products is measured, always or never"):
            compiled(torch.mm, products="sometimes")(a, b)
        torch.testing.assert_close(compiled(torch.mm, products="never")(a, b), a @ b)


if __name__ == "__main__":
    unittest.main()
