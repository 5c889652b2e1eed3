//! What a module launches its kernels with: the functions above the kernels, and the decorator of each.

use super::kernel::Written;

/// What stands above all kernels.
pub(super) fn preamble(device: &str, launches: bool) -> String {
    let mut text = format!("{HEAD}\nDEVICE = \"{device}\"\n{PLACES}");
    if launches {
        text += LAUNCHED;
    }
    text
}

/// The line above `@triton.jit`.
pub(super) fn decorator(kernel: &Written) -> String {
    let mut options = Vec::new();
    if kernel.warps != 4 {
        options.push(format!("num_warps={}", kernel.warps));
    }
    if kernel.checks {
        options.push("debug=True".into());
        options.push("sanitize_overflow=False".into());
    }
    format!("@launched({})\n", options.join(", "))
}

const HEAD: &str = r#"
assert_size_stride = torch._C._dynamo.guards.assert_size_stride
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

class Launched:
    """A kernel and how it is launched. What Triton has compiled for a device and for some sizes is launched again without Triton's look at
    each argument; memory that is not aligned takes Triton's way always."""

    def __init__(self, function, options):
        self.function, self.options, self.compiled = function, options, {}

    def __call__(self, grid, index, stream, tensors, *numbers):
        pointers = [tensor.data_ptr() for tensor in tensors]
        bits = 0
        for pointer in pointers:
            bits |= pointer
        known = self.compiled.get((index, *numbers))
        if known is None or bits & 15:
            self.compile((index, *numbers), len(pointers), bits & 15, self.function[(grid,)](*tensors, *numbers, **self.options))
        else:
            launch, before, after = known
            launch(grid, 1, 1, stream, *before, *pointers, *numbers, *after)

    def compile(self, key, pointers, unaligned, kernel):
        """Keeps what Triton has compiled, where its launcher is the one that is known here and needs no memory of its own."""
        launcher = getattr(kernel, "run", None)
        if unaligned or launcher is None or not triton.__version__.startswith("3.6."):
            return
        if launcher.global_scratch_size or launcher.profile_scratch_size:
            return
        if len(self.compiled) > 1000:
            self.compiled.clear()
        cluster = launcher.launch_cooperative_grid, launcher.launch_pdl
        before = kernel.function, *cluster, None, None, kernel.packed_metadata, None, None, None
        tiles = (None,) * (len(self.function.params) - pointers - len(key) + 1)
        self.compiled[key] = launcher.launch, before, tiles


def launched(**options):
    """Launches a kernel with options of Triton."""
    return lambda function: Launched(function, options)
"#;
