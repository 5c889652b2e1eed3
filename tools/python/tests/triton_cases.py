"""Functions that are run as Triton kernels, and two ways to do it without a GPU.

`python triton_cases.py interpret` runs each under Triton's interpreter against eager PyTorch, `python triton_cases.py compile` compiles each
kernel for a GPU of compute capability 9.0. Both write a line of JSON a case: its name, and what is wrong with it or null.
"""

import importlib.util
import json
import os
import sys
import tempfile
import traceback

if __name__ == "__main__" and sys.argv[1] == "interpret":
    os.environ["TRITON_INTERPRET"] = "1"

import torch
import torch.nn.functional as F

CASES = {}


def case(*inputs, dynamic=False, other=None, name=None, tolerance=None, compile_only=False, training=False):
    """Registers a function with its arguments, and with others (of other sizes) for a second call."""

    def register(fn):
        CASES[name or fn.__name__] = (fn, inputs, other, dynamic, tolerance, compile_only, training)
        return fn

    return register


@case(*[lambda: torch.randn(16, 32)] * 3, *[lambda: torch.randn(64, 32)] * 3, name="sets_of_tensors")
def sets(*tensors):
    return [t * 0.9 + 1 for t in tensors]


@case(lambda: torch.randn(4, 8), lambda: torch.randn(8), other=[lambda: torch.randn(3, 10000), lambda: torch.randn(10000)], dynamic=True)
def softmax_of_products(x, w):
    return torch.softmax(x * w, -1).sum(0)


@case(lambda: torch.randn(3, 9001), lambda: torch.randint(9001, (3,)), name="cross_entropy_long")
def cross_entropy_of_long_rows(x, t):
    x = torch.cat([x[:1], x[1:2] - 1e4, torch.full_like(x[:1], -200.0)])
    return F.cross_entropy(x, t), torch.logsumexp(torch.where(x > 2, float("-inf"), x), -1)


@case(lambda: torch.randn(2, 9001).masked_fill(torch.arange(9001) < 9000, float("-inf")), name="online_infinities")
def online_infinities(x):
    y = torch.cat([x, torch.full_like(x[:1], float("-inf")), x[:1].nan_to_num(float("nan"), neginf=0.0, posinf=1.0), -x[:1]])
    return torch.softmax(y, -1)


@case(lambda: (torch.randn(4, 3000) * 3).to(torch.bfloat16), tolerance=2e-2)
def gelu_bf16(x):
    return F.gelu(torch.cat([x, x * 100]))


def r(*sizes, dtype=torch.float32):
    return lambda: torch.randn(sizes).to(dtype)


def ints(high, *sizes, dtype=torch.int64, low=0):
    return lambda: torch.randint(low, high, sizes, dtype=dtype)


@case(r(37, 129), r(129))
def gelu_bias(x, b):
    return F.gelu(x + b)


@case(r(33, 1000), name="softmax_odd")
@case(r(7, 5), name="softmax_short")
@case(r(4, 9000), name="softmax_long")
def softmax(x):
    return torch.softmax(x, -1)


@case(r(5, 77, dtype=torch.bfloat16), r(77, dtype=torch.bfloat16), r(77, dtype=torch.bfloat16), tolerance=2e-2)
def layer_norm_bf16(x, w, b):
    return F.gelu(F.layer_norm(x, (77,), w, b))


@case(r(5, 77), r(77), r(77))
def layer_norm(x, w, b):
    return torch.relu(F.layer_norm(x, (77,), w, b)) + x


@case(r(3, 9000), r(9000), r(9000))
def layer_norm_long(x, w, b):
    return F.layer_norm(x, (9000,), w, b)


@case(r(2, 6, 5, 7), r(6), r(6))
def batch_norm_statistics(x, w, b):
    v, m = torch.var_mean(x, (0, 2, 3), keepdim=True, correction=0)
    return (x - m) * torch.rsqrt(v + 1e-5) * w[:, None, None] + b[:, None, None], m


@case(r(9, 50), ints(50, 9))
def cross_entropy(x, t):
    return F.cross_entropy(x, t)


@case(r(45, 70))
def transpose(x):
    return x.t().contiguous() + 1


@case(r(6, 7, 20))
def permute(x):
    return x.permute(2, 0, 1).contiguous() * 2


@case(r(3, 5), r(3, 9))
def cat(x, y):
    return torch.cat([x, y * 2, x + 1], 1)


@case(r(20, 33), ints(20, 4, 5))
def embedding(w, i):
    return F.embedding(i, w) * 2


@case(r(6, 9), ints(9, 6, 4))
def gather(x, i):
    return torch.gather(x, 1, i)


@case(r(20, 8), ints(20, 50), r(50, 8))
def index_add(x, i, v):
    return x.index_add(0, i, v)


@case(r(20, 8), ints(20, 50), r(50, 8))
def index_put(x, i, v):
    return torch.ops.aten.index_put(x, [i], v, True)


@case(r(9, 8), ints(8, 9, 1))
def scatter_value(x, i):
    return x.scatter(1, i, 3.0)


@case(ints(50, 20, 8, dtype=torch.int64), ints(20, 50), ints(9, 50, 8, dtype=torch.int64))
def index_add_int(x, i, v):
    return x.index_add(0, i, v)


@case(r(11, 300))
def argmax(x):
    return x.argmax(1), x.argmin(0), torch.argmax(x)


@case(r(3, 5000))
def argmax_long(x):
    return x.argmax(1)


@case(lambda: torch.tensor([[1.0, float("nan"), 3.0], [float("inf"), -1.0, float("-inf")], [0.0, -0.0, 2.0]]))
def special_values(x):
    return torch.relu(x), x.amax(1), x.amin(0), x.argmax(1), torch.maximum(x, x.t()), torch.clamp(x, -1, 1), torch.sign(x), x.sum()


@case(r(7, 300), name="cumsum")
@case(r(2, 5000), name="cumsum_long", tolerance=2e-4)
def cumsum(x):
    return x.cumsum(1)


@case(r(40, 33))
def cumsum_outer(x):
    return x.cumsum(0), x.cumprod(0)


@case(r(3, 200))
def cummax(x):
    v, i = x.cummax(1)
    return v, i


@case(r(5, 6))
def logcumsumexp(x):
    return torch.logcumsumexp(x, 1)


@case(*[r(10, 7) for _ in range(4)], r(33), r(33), r(33), r(33))
def adam(p, g, m, v, p2, g2, m2, v2):
    out = []
    for p, g, m, v in ((p, g, m, v.abs()), (p2, g2, m2, v2.abs())):
        m.lerp_(g, 0.1)
        v = v * 0.999 + g * g * 0.001
        out += [p - 1e-3 * m / (v.sqrt() + 1e-8), m, v]
    return out


@case(r(6, 100), dynamic=True, other=(r(9, 33),))
def dynamic_softmax(x):
    return torch.softmax(x * 2, -1)


@case(r(6, 100), r(100), dynamic=True, other=(r(13, 257), r(257)))
def dynamic_pointwise(x, y):
    return torch.sin(x) * y + x.shape[0], x.sum(0), x.reshape(-1)


@case(r(6, 10), dynamic=True, other=(r(0, 10),), name="dynamic_to_empty")
def dynamic_empty(x):
    return x * 2, x.sum(0)


@case(r(0, 5))
def empty(x):
    return x + 1, x.sum(), x.sum(0), x.prod()


@case(r())
def zero_dim(x):
    return x.exp(), x.sum(), x[None] + 1


@case(ints(100, 37, low=-100), ints(9, 37, low=-9))
def integers(x, y):
    y = torch.where(y == 0, 1, y)
    return x // y, x % y, torch.div(x, y, rounding_mode="trunc"), torch.fmod(x, y), x << (y & 7), x >> (y & 7), ~x, x.abs(), x * x * x


@case(ints(120, 37, low=-120, dtype=torch.int8), ints(120, 37, low=-120, dtype=torch.int8))
def small_integers(x, y):
    return x + y, x * y, x.sum(), (x > y).sum(), x.to(torch.uint8), torch.maximum(x, y), x.to(torch.float32) / 3


@case(ints(250, 37, dtype=torch.uint8), ints(250, 37, low=1, dtype=torch.uint8))
def unsigned(x, y):
    return x + y, x // y, x % y, x > y, x.amax(), -x


@case(ints(2, 40, dtype=torch.bool), ints(2, 40, dtype=torch.bool))
def booleans(x, y):
    return x & y, x | y, x ^ y, ~x, x.any(), x.all(), x.sum(), torch.where(x, y, ~y), x < y


@case(r(64), r(64))
def mathematics(x, y):
    a = x.abs() + 0.1
    return [x.exp(), x.expm1(), a.log(), a.log1p(), a.log2(), x.sin(), x.cos(), x.tan(), x.tanh(), x.sinh(), x.cosh(), x.atan(),
            torch.atan2(x, y), a.rsqrt(), a.sqrt(), a.pow(y), x.erf(), x.erfc(), x.floor(), x.ceil(), x.round(), x.trunc(), x.frac(),
            torch.remainder(x, y), torch.fmod(x, y), torch.floor_divide(x, y), torch.hypot(x, y), torch.copysign(x, y), x.sigmoid(),
            F.silu(x), F.softplus(x), x.reciprocal(), torch.nextafter(x, y), torch.logaddexp(x, y)]


@case(r(64), tolerance=2e-5)
def special_functions(x):
    a = x.abs() + 0.1
    return [torch.lgamma(a), torch.digamma(x), torch.erfinv(x.tanh()), torch.special.i0(x), torch.special.i1(x), torch.special.i0e(x), torch.special.i1e(x),
            torch.special.bessel_j0(x), torch.special.bessel_y1(a), torch.special.ndtri(x.sigmoid()), torch.special.erfcx(x),
            torch.special.log_ndtr(x), torch.special.spherical_bessel_j0(x)]


@case(r(41, dtype=torch.float64), r(41, dtype=torch.float64))
def doubles(x, y):
    return x / y, x.exp(), x.sum(), torch.maximum(x, y), torch.floor_divide(x, y), x.abs().sqrt().rsqrt(), torch.softmax(x, 0), x * 0.1


@case(r(50, dtype=torch.float16), r(50, dtype=torch.float16))
def halves(x, y):
    return x + y, x * y, (x.float() * y).half(), x.sum(), torch.softmax(x, 0), x.to(torch.bfloat16), x.amax()


@case(r(30, 20), r(20, 10), r(10))
def linear_relu(x, w, b):
    return torch.relu(x @ w + b)


@case(r(2, 3, 8, 8), r(4, 3, 3, 3))
def convolution(x, w):
    return torch.relu(F.conv2d(x, w, padding=1, stride=2))


@case(r(2, 3, 8, 8))
def pooling(x):
    return F.max_pool2d(x, 2), F.avg_pool2d(x, 3, 2), F.interpolate(x, scale_factor=2)


@case(r(12, 10))
def views(x):
    return x[2:, ::2], x[1:5].t(), x.reshape(4, 30) + 1, x[:, None].expand(12, 3, 10) * 2, x.flip(0), F.pad(x, (1, 2), value=3.0)


@case(r(5, 6))
def mutation(x):
    x.mul_(2)
    return x.sum()


@case(r(9, 12))
def sort(x):
    return x.sort(1)[0], x.topk(3)[0]


@case(r(40, 40), training=True)
def training_softmax(x):
    return torch.log_softmax(x, 1).pow(2).mean()


@case(r(300, 17), r(17), training=True)
def training_bias(x, b):
    return F.gelu(x + b).sum(1)


@case(r(20, 16), ints(20, 30), training=True)
def training_embedding(w, i):
    return F.embedding(i, w).tanh()


@case(r(4, 600, 24))
def sums(x):
    return x.sum((0, 1)), x.mean(1), x.var(2), x.std(), x.norm(), x.logsumexp(2), x.prod(2)


@case(r(2048, 100), tolerance=1e-4)
def column_sum(x):
    return x.sum(0)


@case(r(8, 200), training=True, compile_only=True)
def dropout(x):
    return F.dropout(x, 0.3, True)


@case(ints(90, 5, 7))
def one_hot(i):
    return F.one_hot(i, 90), torch.arange(9, device=i.device) * 2, torch.tril(torch.ones(4, 4, dtype=torch.bool, device=i.device))


@case(r(3, 4, 5), r(4, 1), r(5), dynamic=True, other=(r(2, 6, 7), r(6, 1), r(7)))
def broadcasts(x, y, z):
    return x * y + z, (x + y).sum(1), (y * z).contiguous()


def load(text):
    """An emitted module."""
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(text)
    spec = importlib.util.spec_from_file_location("emitted_" + os.path.basename(file.name)[:-3], file.name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled_by(emitted, kinds=("infer", "fw", "bw")):
    """A backend of torch.compile whose graphs become Triton modules; `emitted(module)` gives what runs one."""
    from rinductor import Module, backend
    from rinductor.export import graph_text

    settings = backend.Settings()

    def compiler(kind):
        def compile(gm, example_inputs):
            text = graph_text(gm, kind=kind).text
            module = Module.parse(text)
            source = module.run("gpu").emit("triton")
            call = emitted(load(source), source)
            call._boxed_call = True
            return call

        return compile

    return backend.aot(settings, compiler)


def compare(found, wanted, tolerance):
    tree = torch.utils._pytree.tree_leaves
    for k, (a, b) in enumerate(zip(tree(found), tree(wanted), strict=True)):
        if isinstance(b, torch.Tensor):
            options = {} if tolerance is None or not b.is_floating_point() else {"rtol": tolerance, "atol": tolerance}
            torch.testing.assert_close(a, b, equal_nan=True, msg=lambda text: f"result {k}: {text}", **options)
            if a.numel():
                assert a.stride() == b.stride(), f"result {k}: strides {a.stride()}, eager has {b.stride()}"
        else:
            assert a == b, f"result {k}: {a} is not {b}"


def interpret(fn, inputs, other, dynamic, tolerance, compile_only, training):
    if compile_only:
        return
    torch._dynamo.reset()
    run = torch.compile(fn, backend=compiled_by(lambda module, source: lambda args: module.call(args)), dynamic=dynamic)
    for arguments in filter(None, (inputs, other)):
        arguments = [make() for make in arguments]
        mine, theirs = ([a.clone() for a in arguments] for _ in range(2))
        if training:
            for a in (*mine, *theirs):
                if a.is_floating_point():
                    a.requires_grad_(True)
            found, wanted = run(*mine), fn(*theirs)
            found.sum().backward()
            wanted.sum().backward()
            compare([a.grad for a in mine if a.grad is not None], [a.grad for a in theirs if a.grad is not None], tolerance or 1e-5)
        else:
            with torch.no_grad():
                found, wanted = run(*mine), fn(*theirs)
        compare(found, wanted, tolerance)
        compare([a.detach() for a in mine], [a.detach() for a in theirs], tolerance)


def compile_kernels(fn, inputs, other, dynamic, tolerance, compile_only, training):
    """Compiles each launched kernel, for the types that it is launched with."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.runtime.jit import JITFunction

    words = {torch.float32: "*fp32", torch.float64: "*fp64", torch.float16: "*fp16", torch.bfloat16: "*bf16", torch.int64: "*i64",
             torch.int32: "*i32", torch.int16: "*i16", torch.int8: "*i8", torch.uint8: "*u8", torch.bool: "*i1",
             torch.float8_e4m3fn: "*fp8e4nv", torch.float8_e5m2: "*fp8e5"}

    def launch(kernel, *args, grid, warmup, **options):
        names = kernel.arg_names
        values = dict(zip(names, args))
        values.update({k: v for k, v in options.items() if k in names})
        signature, constants = {}, {}
        for p in kernel.params:
            v = values.get(p.name, p.default)
            if p.is_constexpr:
                signature[p.name] = "constexpr"
                constants[p.name] = v
            elif isinstance(v, tuple):
                signature[p.name] = tuple(words[t.dtype] for t in v)
            elif isinstance(v, torch.Tensor):
                signature[p.name] = words[v.dtype]
            else:
                signature[p.name] = "i32"
        rest = {k: v for k, v in options.items() if k not in names}
        made = triton.compile(ASTSource(kernel, signature, constants), target=GPUTarget("cuda", 90, 32), options=rest)
        assert ".visible .entry" in made.asm["ptx"]

    before, JITFunction.run = JITFunction.run, launch
    try:
        torch._dynamo.reset()
        run = torch.compile(fn, backend=compiled_by(lambda module, source: lambda args: module.call(args)), dynamic=dynamic)
        arguments = [make() for make in inputs]
        if training:
            for a in arguments:
                if a.is_floating_point():
                    a.requires_grad_(True)
            run(*arguments).sum().backward()
        else:
            with torch.no_grad():
                run(*arguments)
    finally:
        JITFunction.run = before


def main():
    mode, names = sys.argv[1], sys.argv[2:]
    do = {"interpret": interpret, "compile": compile_kernels}[mode]
    for name, of in CASES.items():
        if names and name not in names:
            continue
        torch.manual_seed(0)
        try:
            do(*of)
            wrong = None
        except Exception:
            wrong = traceback.format_exc()
        print(json.dumps([name, wrong]), flush=True)


if __name__ == "__main__":
    main()
