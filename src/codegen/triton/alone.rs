//! What makes an emitted module a program: random arguments, `--check` against Triton's interpreter, `--bench`.

/// The line that parts `call` from what follows, and what that needs.
pub(super) const IMPORTS: &str = r#"

# What follows makes the module a program: python FILE --check --bench.

import argparse
import os
import subprocess
import sys
import tempfile
import time
"#;

/// libdevice for Triton's interpreter, which has none.
pub(super) const INTERPRETED_LIBDEVICE: &str = r#"

class InterpretedLibdevice:
    """Triton's interpreter has no libdevice: torch computes its functions there."""

    NAMES = {"rint": "round", "cyl_bessel_i0": "i0", "cyl_bessel_i1": "special.i1", "normcdfinv": "special.ndtri",
             "erfcx": "special.erfcx", "j0": "special.bessel_j0", "j1": "special.bessel_j1",
             "y0": "special.bessel_y0", "y1": "special.bessel_y1"}

    def __getattr__(self, name):
        import numpy
        from triton.runtime.interpreter import TensorHandle

        special = {
            "round": lambda x: torch.trunc(x.double() + torch.copysign(torch.tensor(0.5), x.double())).to(x.dtype),
            "cbrt": lambda x: torch.copysign(x.abs().double().pow(1 / 3), x.double()).to(x.dtype),
            "ilogb": lambda x: torch.frexp(x).exponent - 1,
            "signbit": lambda x: torch.signbit(x).int(),
        }
        function = special.get(name)
        if function is None:
            function = torch
            for part in self.NAMES.get(name, name).split("."):
                function = getattr(function, part)

        def apply(*args):
            arrays = numpy.broadcast_arrays(*[a.handle.data for a in args])
            result = function(*[torch.from_numpy(numpy.array(a)) for a in arrays]).numpy()
            first = args[0] if len(args) == 1 else max(args, key=lambda a: a.handle.data.size)
            scalar = tl.int32 if result.dtype == numpy.int32 else args[0].dtype
            kind = tl.block_type(scalar, list(first.shape)) if first.type.is_block() else scalar
            return tl.tensor(TensorHandle(result.reshape(first.handle.data.shape), scalar), kind)

        return apply

"#;

/// What the interpreter needs.
pub(super) const INTERPRETED: &str = r#"

def prepare_interpreter():
    """Triton's interpreter makes Python numbers of arrays of one element, which newer versions of NumPy refuse."""
    from triton.runtime import interpreter

    def patch(tensor, *args, before=interpreter._patch_lang_tensor):
        before(tensor, *args)
        tensor.__index__ = lambda self: self.handle.data.item()

    interpreter._patch_lang_tensor = patch


if os.environ.get("TRITON_INTERPRET") == "1":
    prepare_interpreter()
"#;

/// The functions below `call`.
pub(super) const PROGRAM: &str = r#"

def example(sizes, strides, dtype, device):
    """A tensor of random numbers that lies as said; integers are 0 or 1, so that they can be indices."""
    length = 1 + sum((n - 1) * s for n, s in zip(sizes, strides)) if all(sizes) else 0
    if dtype.is_floating_point:
        flat = torch.randn(length).to(dtype)
    else:
        flat = torch.randint(0, 2, (length,)).to(dtype)
    return flat.to(device).as_strided(sizes, strides)


def bytes_of(tensors):
    return sum(t.numel() * t.element_size() for t in tensors if isinstance(t, torch.Tensor))


def outcome(device, sizes):
    """The results of a call with random arguments, and the arguments after it, on the CPU."""
    arguments = inputs(device, **sizes)
    results = call(list(arguments))
    return [t.cpu() if isinstance(t, torch.Tensor) else t for t in [*results, *arguments]]


def compare(device, sizes):
    """Compares a run with one in Triton's interpreter, in a process of its own."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "expected.pt")
        options = [f"--size={name}={value}" for name, value in sizes.items()]
        environment = {**os.environ, "TRITON_INTERPRET": "1"}
        command = [sys.executable, __file__, "--device", "cpu", "--save", path, *options]
        subprocess.run(command, env=environment, check=True)
        expected = torch.load(path)
    found = outcome(device, sizes)
    for k, (a, b) in enumerate(zip(found, expected)):
        if isinstance(a, torch.Tensor):
            torch.testing.assert_close(a, b, equal_nan=True, msg=lambda text: f"value {k}: {text}")
        else:
            assert a == b, f"value {k}: {a} is not {b}"
    print(f"check: {len(found)} values agree with the interpreter")


def bench(device, sizes, times=100):
    """Measures a call: the median over many, by the events of CUDA."""
    arguments = inputs(device, **sizes)
    for _ in range(10):
        results = call(list(arguments))
    if torch.device(device).type == "cuda":
        events = [[torch.cuda.Event(enable_timing=True) for _ in range(times)] for _ in range(2)]
        for start, end in zip(*events):
            start.record()
            call(list(arguments))
            end.record()
        torch.cuda.synchronize()
        measured = sorted(start.elapsed_time(end) for start, end in zip(*events))
    else:
        measured = []
        for _ in range(times):
            start = time.perf_counter()
            call(list(arguments))
            measured.append((time.perf_counter() - start) * 1e3)
        measured.sort()
    median = measured[times // 2]
    moved = bytes_of(arguments) + bytes_of(results)
    print(f"bench: {median * 1e3:.1f} us a call, {moved / median / 1e6:.1f} GB/s for arguments and results")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with Triton's interpreter")
    parser.add_argument("--bench", action="store_true", help="measure a call")
    parser.add_argument("--device", default=DEVICE, help="where to run")
    parser.add_argument("--size", action="append", default=[], metavar="NAME=N", help="the value of a symbolic size")
    parser.add_argument("--save", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = {name: int(value) for name, value in (text.split("=") for text in options.size)}
    if options.save:
        torch.save(outcome(options.device, sizes), options.save)
    if options.check:
        compare(options.device, sizes)
    if options.bench:
        bench(options.device, sizes)


if __name__ == "__main__":
    main()
"#;
