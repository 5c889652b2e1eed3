"""Writes eager.json: calls of extern ops on generated inputs, and what eager PyTorch on CPU computes from them.

    python eager.py > eager.json

Inputs come from the generator that src/runtime/seed.rs describes (seed 7), outputs are summarized as in
src/runtime/compare.rs, in the call's type and in float64.
"""

import json
import math

import numpy as np
import torch

torch.set_num_threads(1)
SEED = 7
A = torch.ops.aten


def uniform(state, n):
    with np.errstate(over="ignore"):
        z = np.uint64(state) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53


def state(stream):
    return (SEED * 1000003 + stream * 0x100000001) % 2**64


class Input:
    """A generated tensor: its description, and itself in any float type."""

    def __init__(self, sizes, dtype="float32", kind=None, order=None):
        self.sizes, self.dtype, self.kind = list(sizes), dtype, kind or dict(kind="uniform", lo=-1.0, hi=1.0)
        order = order or list(range(len(sizes)))
        self.strides, step = [0] * len(sizes), 1
        for d in reversed(order):
            self.strides[d] = step
            step *= max(sizes[d], 1)

    def make(self, stream, wide=False):
        n = math.prod(self.sizes)
        u, k = uniform(state(stream), n), self.kind
        if k["kind"] == "uniform":
            x = k["lo"] + (k["hi"] - k["lo"]) * u
        elif k["kind"] == "int_uniform":
            x = k["lo"] + np.floor(u * (k["hi"] - k["lo"] + 1))
        else:
            x = u < k["p"]
        dtype = getattr(torch, self.dtype)
        t = torch.from_numpy(np.asarray(x)).reshape(self.sizes).to(dtype)
        if wide and dtype.is_floating_point:
            t = t.double()
        out = torch.empty_strided(self.sizes, self.strides, dtype=t.dtype)
        return out.copy_(t)

    def describe(self, stream):
        return dict(self.kind, stream=stream, dtype=self.dtype, sizes=self.sizes, strides=self.strides)


class Literal:
    """A vector of these 64-bit integers."""

    def __init__(self, values):
        self.values = values

    def make(self, stream, wide=False):
        return torch.tensor(self.values)

    def describe(self, stream):
        return {"ints": self.values}


def number(x):
    return x if math.isfinite(x) else {"float": str(x)}


def summary(t):
    x = t.detach().double().reshape(-1).numpy()
    finite = np.isfinite(x)
    w = 2 * uniform(12345, x.size) - 1
    y = x[finite]
    return dict(
        sum=float(y.sum()),
        abs_sum=float(np.abs(y).sum()),
        dot=float((y * w[finite]).sum()),
        first8=[number(float(v)) for v in x[:8]],
    ), dict(max_abs=float(np.abs(y).max(initial=0.0)), nonfinite=int((~finite).sum()))


def output(t, wide):
    if t is None:
        return {"scalar": None}
    numbers, extra = summary(t)
    result = dict(
        dtype=str(t.dtype).removeprefix("torch."), shape=list(t.shape), stride=list(t.stride()), **numbers, **extra
    )
    if wide is not None and wide.shape == t.shape:
        result["f64"] = summary(wide)[0]
        d = (t.double() - wide.double()).abs()
        result["max_abs_diff_f32_f64"] = float(d[d.isfinite()].max()) if d.isfinite().any() else 0.0
    return result


CASES = []


def case(op, inputs, attrs=None, call=None, both=True):
    """One call. `call(tensors, attrs)` computes it; by default the op with tensors, then attributes by name."""
    attrs = attrs or {}
    name, _, overload = op.partition(".")[2].partition(".")
    packet = getattr(A, name)
    fn = getattr(packet, overload or "default")

    def run(wide):
        tensors = [i.make(s + 1, wide) if isinstance(i, (Input, Literal)) else i for s, i in enumerate(inputs)]
        r = call(fn, tensors, attrs) if call else fn(*tensors, **attrs)
        return list(r) if isinstance(r, (tuple, list)) else [r]

    results = run(False)
    wide = run(True) if both else [None] * len(results)
    described = [i.describe(s + 1) if isinstance(i, (Input, Literal)) else i for s, i in enumerate(inputs)]
    CASES.append(dict(op=op, attrs=attrs, inputs=described, outputs=[output(*o) for o in zip(results, wide)]))


I = Input
INT = dict(kind="int_uniform", lo=-9, hi=9)

for dtype in ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int8", "uint8"]:
    kind = None if dtype.startswith(("f", "b")) else INT
    t = lambda *s, **k: I(s, dtype, kind, **k)
    case("aten.mm", [t(17, 33), t(33, 21)])
    case("aten.bmm", [t(3, 5, 7, order=[0, 2, 1]), t(3, 7, 4)])
    case("aten.addmm", [t(21), t(17, 33), t(33, 21, order=[1, 0])], dict(beta=2, alpha=3))
    case("aten.baddbmm", [t(3, 1, 4), t(3, 5, 7), t(3, 7, 4)], dict(beta=1, alpha=1))
    case("aten.mv", [t(19, 40), t(40)])
    case("aten.dot", [t(100), t(100)])
case("aten.mm", [I([1, 300]), I([300, 200], order=[1, 0])])
case("aten.mm", [I([2, 300]), I([300, 200])])
case("aten.mm", [I([200, 300]), I([300, 3])])
case("aten.mm", [I([130, 140], order=[1, 0]), I([140, 150])])
case("aten.mm", [I([4, 0]), I([0, 3])])
case("aten.addmm", [I([4, 3]), I([4, 5]), I([5, 3])], dict(beta=0.0, alpha=0.5))


def conv(x, w, bias, stride, padding, dilation=None, transposed=False, output_padding=None, groups=1):
    n = len(stride)
    attrs = dict(
        stride=stride,
        padding=padding,
        dilation=dilation or [1] * n,
        transposed=transposed,
        output_padding=output_padding or [0] * n,
        groups=groups,
    )
    case("aten.convolution", [x, w, bias], attrs, lambda f, t, a: f(*t, *a.values()))
    y = CASES[-1]["outputs"][0]["shape"]
    back = dict(attrs, output_mask=[True, True, bias is not None])

    def backward(f, t, a):
        sizes = [y[1]] if bias else None
        return f(*t, sizes, a["stride"], a["padding"], a["dilation"], a["transposed"], a["output_padding"], a["groups"], a["output_mask"])

    case("aten.convolution_backward", [I(y, x.dtype), x, w], back, backward)


for dtype in ["float32", "float64", "bfloat16"]:
    t = lambda *s, **k: I(s, dtype, **k)
    conv(t(2, 3, 9, 11), t(4, 3, 3, 3), t(4), [1, 1], [1, 1])
    conv(t(2, 6, 9, 8), t(4, 3, 3, 2), None, [2, 1], [0, 1], [1, 2], groups=2)
    conv(t(2, 4, 5, 6), t(4, 3, 3, 2), t(6), [2, 3], [1, 0], [1, 2], True, [1, 1], 2)
    conv(t(2, 6, 10, 10), t(6, 1, 3, 3), t(6), [2, 2], [1, 1], groups=6)
    conv(t(2, 5, 7, 7), t(8, 5, 1, 1), None, [1, 1], [0, 0])
    conv(t(2, 3, 20), t(5, 3, 4), t(5), [2], [3])
    conv(t(1, 2, 5, 6, 7), t(3, 2, 2, 3, 2), None, [1, 2, 1], [1, 1, 0])
conv(I([2, 3, 9, 11], order=[0, 2, 3, 1]), I([4, 3, 3, 3]), I([4]), [1, 1], [1, 1])
conv(I([1, 16, 40, 40]), I([24, 16, 5, 5]), I([24]), [1, 1], [2, 2])
conv(I([1, 8, 30, 31]), I([8, 2, 3, 3]), None, [2, 2], [3, 3], [2, 2], groups=4)
conv(I([3, 4, 8]), I([4, 2, 3]), None, [2], [1], None, True, [1], 1)


def attention(q, k, mask=None, **attrs):
    v = I(k.sizes, k.dtype, order=[0, 2, 1, 3])
    case("aten._scaled_dot_product_flash_attention_for_cpu", [q, k, v, mask], attrs,
         lambda f, t, a: f(*t[:3], attn_mask=t[3], **a))

    def backward(f, t, a):
        grad, q, k, v, mask = t
        out, lse = A._scaled_dot_product_flash_attention_for_cpu(q, k, v, attn_mask=mask, **a)
        return f(grad, q, k, v, out, lse, 0.0, a.get("is_causal", False), attn_mask=mask, scale=a.get("scale"))

    # The test computes `out` and `logsumexp` with the forward op, as this does.
    grad = I(q.sizes, q.dtype, order=[0, 2, 1, 3])
    case("aten._scaled_dot_product_flash_attention_for_cpu_backward", [grad, q, k, v, mask], attrs, backward)


for dtype in ["float32", "float64", "bfloat16"]:
    t = lambda *s, **k: I(s, dtype, **k)
    attention(t(2, 3, 70, 16, order=[0, 2, 1, 3]), t(2, 3, 90, 16))
    attention(t(1, 2, 33, 8), t(1, 2, 33, 8), is_causal=True, scale=0.3)
    attention(t(2, 2, 5, 8), t(2, 2, 7, 8), t(2, 1, 5, 7), scale=0.125)
# Beyond 32 bits: a mask of minus infinities, which leaves nothing to see.
BLIND = dict(kind="uniform", lo=-1e39, hi=-1e39)
attention(I([2, 2, 5, 8], order=[2, 0, 1, 3]), I([2, 2, 7, 8]), I([5, 7], "float32", BLIND))

for mode in [0, 1, 2]:
    for dtype in ["float32", "float64"]:
        for attrs in [{}, dict(padding_idx=4)]:
            table, picks = I([6, 5], dtype), I([9], "int64", dict(kind="int_uniform", lo=0, hi=5))
            starts = Literal([0, 3, 3, 5])
            case("aten._embedding_bag", [table, picks, starts], dict(mode=mode, **attrs))
            case("aten._embedding_bag_backward", [I([4, 5], dtype), picks, starts, table], dict(mode=mode, **attrs),
                 lambda f, t, a: f(t[0], t[1], t[2], *A._embedding_bag(t[3], t[1], t[2], **a)[1:], 6, False, a["mode"],
                                   False, None, a.get("padding_idx", -1)))
case("aten._embedding_bag", [I([6, 5]), I([9], "int64", dict(kind="int_uniform", lo=0, hi=5)),
     Literal([0, 2]), I([9])], dict(mode=0),
     lambda f, t, a: f(t[0], t[1], t[2], per_sample_weights=t[3], **a))

case("aten.mkldnn_rnn_layer",
     [I([5, 3, 6]), I([16, 6]), I([16, 4]), I([16]), I([16]), I([1, 3, 4]), I([1, 3, 4])],
     dict(reverse=False, batch_sizes=[], mode=2, hidden_size=4, num_layers=1, has_biases=True, bidirectional=False,
          batch_first=False, train=False), lambda f, t, a: f(*t, *a.values())[:3], both=False)
case("aten.mkldnn_rnn_layer",
     [I([5, 3, 6]), I([16, 6]), I([16, 4]), I([16]), I([16]), I([1, 3, 4]), I([1, 3, 4])],
     dict(reverse=True, batch_sizes=[], mode=2, hidden_size=4, num_layers=1, has_biases=True, bidirectional=False,
          batch_first=False, train=False), lambda f, t, a: f(*t, *a.values())[:3], both=False)

for dtype, kind in [("float32", None), ("int64", INT), ("bfloat16", None), ("uint8", dict(INT, lo=0))]:
    for dim in [0, 1, -1]:
        for descending in [False, True]:
            case("aten.sort.stable", [I([4, 9, 5], dtype, kind)], dict(stable=True, dim=dim, descending=descending), both=False)
for dim, largest in [(-1, True), (0, False), (1, True)]:
    case("aten.topk", [I([6, 7, 8])], dict(k=3, dim=dim, largest=largest), both=False)
case("aten.sort", [I([3, 4], order=[1, 0])], dict(dim=0, descending=True), both=False)

print("[")
print(",\n".join(json.dumps(c) for c in CASES))
print("]")
