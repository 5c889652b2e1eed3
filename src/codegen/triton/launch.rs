//! What a module launches its kernels with: the functions above the kernels, and the decorator of each.

use super::external::dtype_name;
use super::kernel::Written;

/// What stands above all kernels.
pub(super) fn preamble(device: &str, launches: bool, together: bool) -> String {
    let mut text = format!("{HEAD}\nDEVICE = \"{device}\"\n{PLACES}");
    if launches {
        text += LAUNCHED;
    }
    if together {
        text += TOGETHER;
    }
    text
}

/// The line above `@triton.jit`.
pub(super) fn decorator(kernel: &Written) -> String {
    let dtypes = kernel.tensors.iter().map(|&d| dtype_name(d)).collect();
    format!("@launched({})\n", options(kernel, dtypes))
}

/// The same of a kernel for several sets of buffers.
pub(super) fn decorator_together(kernel: &Written) -> String {
    format!("@launched_together({})\n", options(kernel, Vec::new()))
}

/// The options of a launch behind `options`.
fn options(kernel: &Written, mut options: Vec<String>) -> String {
    if kernel.warps != 4 {
        options.push(format!("num_warps={}", kernel.warps));
    }
    if kernel.checks {
        options.push("debug=True".into());
        options.push("sanitize_overflow=False".into());
    }
    options.join(", ")
}

const HEAD: &str = r#"
assert_size_stride = torch._C._dynamo.guards.assert_size_stride
reinterpret = torch._C._dynamo.guards._reinterpret_tensor
CUDA = os.environ.get("TRITON_INTERPRET") != "1" and torch.cuda.is_available()
current_device = torch._C._cuda_getDevice if CUDA else lambda: -1
current_stream = torch._C._cuda_getCurrentRawStream if CUDA else lambda index: None
"#;

const PLACES: &str = r#"

def empty_strided(index):
    """What allocates on a device."""
    return torch._C._dynamo.guards._empty_strided_cuda if index >= 0 else torch._C._dynamo.guards._empty_strided_cpu


def index_of(device):
    """The number of a device; -1 for the CPU, where Triton's interpreter runs."""
    if not CUDA:
        return -1
    index = torch.device(device).index
    return torch.cuda.current_device() if index is None else index


def elsewhere(index, args):
    """Runs the function on a device that is not the current one."""
    with torch.cuda.device(index):
        return run(args)
"#;

const LAUNCHED: &str = r#"

# The launcher of torch, which takes tensors as they are; it and Triton's compiled kernels are known in these versions.
static_launcher = getattr(torch._C, "_StaticCudaLauncher", None) if triton.__version__.startswith("3.6.") else None
launch = getattr(static_launcher, "_launch_kernel", None)
MOST_ARGUMENTS = 110
#: In place of the number of a device: memory that is not aligned to 16 bytes.
UNALIGNED = -2


class Launched:
    """A kernel and how it is launched. What Triton has compiled for a device and for some sizes is launched again without Triton's look at
    each argument; memory that is not aligned takes Triton's way always."""

    def __init__(self, function, dtypes, options):
        self.function, self.dtypes, self.compiled = function, dtypes, {}
        # A sum with a product is rounded twice, as it is where two ops of eager's make it.
        self.options = {"enable_fp_fusion": False, **options}

    def __call__(self, grid, index, stream, tensors, *numbers):
        known = self.compiled.get((index, *numbers)) or self.compile(index, tensors, numbers)
        if known is None:
            self.function[(grid,)](*tensors, *numbers, **self.options)
            return
        handle, warps, shared, types, kept = known
        if kept is not None:
            numbers = [numbers[k] for k in kept]
        launch(handle, grid, 1, 1, warps, shared, types, (*tensors, *numbers, None, None), stream)

    def compile(self, index, tensors, numbers):
        """What torch's launcher needs of what Triton has compiled; None where Triton is to launch it."""
        if index < 0 or launch is None or len(tensors) + len(numbers) > MOST_ARGUMENTS:
            return None
        kernel = self.function.warmup(*tensors, *numbers, grid=(1,), **self.options)
        metadata = kernel.metadata
        if metadata.global_scratch_size or metadata.profile_scratch_size or metadata.num_ctas != 1:
            return None
        signature = [kernel.src.signature[name] for name in self.function.arg_names]
        types = {"i1": "i", "i32": "i", "i64": "l"}
        signature = [t if (k,) not in kernel.src.constants else "constexpr" for k, t in enumerate(signature)]
        given = signature[: len(tensors) + len(numbers)]
        if not all(t[0] == "*" or t in types or t == "constexpr" for t in given) or "constexpr" in given[: len(tensors)]:
            return None
        kept = tuple(k for k, t in enumerate(given[len(tensors) :]) if t != "constexpr")
        kept = None if len(kept) == len(numbers) else kept
        text = "".join("O" if t[0] == "*" else types[t] for t in given if t != "constexpr") + "OO"
        _, handle, *_ = triton.runtime.driver.active.utils.load_binary(kernel.name, kernel.kernel, metadata.shared, index)
        if len(self.compiled) > 1000:
            self.compiled.clear()
        known = self.compiled[(index, *numbers)] = handle, metadata.num_warps, metadata.shared, text, kept
        return known

    def prepare(self):
        """Has Triton compile the kernel before it is called, where that is known from its types alone."""
        if len(self.dtypes) == sum(not p.is_constexpr for p in self.function.params):
            self.function.warmup(*self.dtypes, grid=(1,), **self.options)


def launched(*dtypes, **options):
    """Launches a kernel whose tensors have these types with options of Triton."""
    return lambda function: Launched(function, dtypes, options)


def prepare(executor):
    """Compiles all kernels side by side, for the current device."""
    kernels = [k for k in globals().values() if isinstance(k, Launched)]
    if CUDA and kernels:
        with triton.AsyncCompileMode(executor, ignore_errors=True):
            for kernel in kernels:
                kernel.prepare()
"#;

const TOGETHER: &str = r#"

class Together(Launched):
    """A kernel for several sets of tensors in one launch: each of its arguments is a tuple."""

    def __call__(self, grid, index, stream, groups, **tiles):
        programs = grid // len(groups[0])
        key = index, grid, programs, *tiles.values()
        known = self.compiled.get(key) or self.compile_groups(key, groups, tiles)
        if known is None:
            self.function[(grid,)](*groups, PROGRAMS=programs, ALIGNED=16 if index >= 0 else 1, **tiles, **self.options)
            return
        handle, warps, shared, types = known
        launch(handle, grid, 1, 1, warps, shared, types, (*(t for group in groups for t in group), None, None), stream)

    def compile_groups(self, key, groups, tiles):
        """What torch's launcher needs of what Triton has compiled; None where Triton is to launch it."""
        index, _, programs, *_ = key
        count = len(groups) * len(groups[0])
        if index < 0 or launch is None or count > MOST_ARGUMENTS:
            return None
        kernel = self.function.warmup(*groups, PROGRAMS=programs, ALIGNED=16, grid=(1,), **tiles, **self.options)
        metadata = kernel.metadata
        if metadata.global_scratch_size or metadata.profile_scratch_size:
            return None
        _, handle, *_ = triton.runtime.driver.active.utils.load_binary(kernel.name, kernel.kernel, metadata.shared, index)
        known = self.compiled[key] = handle, metadata.num_warps, metadata.shared, "O" * (count + 2)
        return known

    def prepare(self):
        """How many tensors there will be is not known."""


def launched_together(**options):
    """Launches a kernel for several sets of tensors with options of Triton."""
    return lambda function: Together(function, (), options)
"#;
