"""Types of the native half of rinductor."""

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, Literal

import torch

__version__: str
FUSION_REMARKS: str

class RinductorError(Exception):
    """Something is wrong with an input: a text, a pipeline, a module, arguments of a call.

    `str()` gives what the programs print, with lines of the source and carets; `diagnostics` has the parts.
    """

    diagnostics: Sequence[Diagnostic]

class Diagnostic:
    """One message about an input: what is wrong, and where."""

    severity: Literal["error", "warning", "remark", "note"]
    message: str
    file: str | None
    line: int | None
    column: int | None
    notes: tuple[Diagnostic, ...]
    help: str | None

def list_passes() -> dict[str, str]:
    """The passes: name and what each does, in one sentence."""

def list_dialects() -> dict[str, str]:
    """The dialects: name and what each holds, in one sentence."""

def list_ops() -> dict[str, Literal["lowered", "decomposed", "extern", "opaque"]]:
    """The ops of the graph level, and what becomes of each."""

def product_refusal(batch: int, m: int, n: int, k: int, in_order: bool, turned: bool) -> str | None:
    """Why a product of matrices of these sizes is left to a library; None if a kernel is faster. `in_order`: the second factor is contiguous along its columns; `turned`: along what is summed."""

def typical_size() -> int:
    """The size that a symbol is taken to have where only an estimate is wanted."""

def op_treatment(name: str) -> Literal["lowered", "decomposed", "extern", "opaque"] | None:
    """What becomes of one op of the graph level; None if there is no such op."""

def tuned_pipeline(pipeline: str, file: str, schedules: str) -> str:
    """The text of a pipeline in which kernels that a file of schedules knows are computed as it says. `schedules` is what the file holds."""

def compile_text(text: str, name: str = "<string>", pipeline: str = "cpu", threads: int = 0) -> Executable:
    """Compiles the only public function of a text, or takes what the cache on disk has of it."""

def text_key(text: str, pipeline: str) -> str:
    """What the cache calls the executable that `compile_text` makes of a text."""

def kept_executables(keys: list[str]) -> list[Executable] | None:
    """The executables that the cache has under keys that `text_key` has given; None if it has not all of them."""

def kept(parts: list[bytes]) -> bytes | None:
    """The bytes that were kept for these parts of a key."""

def keep(parts: list[bytes], value: bytes) -> None:
    """Keeps bytes for these parts of a key."""

class Module:
    """A module of IR: functions at any level, as text, passes and interpreters see them."""

    @staticmethod
    def parse(
        text: str,
        name: str = "<string>",
        load_dialects: Iterable[str | PathLike[str]] | None = None,
        *,
        allow_unregistered: bool = False,
    ) -> Module:
        """Reads and verifies a text."""

    def print(self, generic: bool = False, locations: bool = False) -> str:
        """The text of the module."""

    def clone(self) -> Module:
        """A copy."""

    def verify(self) -> None:
        """Raises `RinductorError` with all that is wrong, if anything is."""

    def run(
        self,
        pipeline: str,
        verify_each: bool = True,
        on_pass: Callable[[str, str, str], Any] | None = None,
        on_remark: Callable[[Diagnostic], Any] | None = None,
    ) -> Module:
        """Runs passes, and returns the module. If a pass fails, the module is as it was."""

    def functions(self) -> list[str]:
        """The names of the functions."""

    def ops(self) -> list[Op]:
        """The operations at the top of the module, in order: functions and kernels."""

    def walk(self) -> list[Op]:
        """All operations, each before what is nested in it; the first is the module itself."""

    def interpret(self, *args: Any, function: str | None = None) -> tuple[Any, ...]:
        """Runs a function on the reference interpreter, at whatever level it is."""

    def emit(self, target: str, function: str | None = None) -> str | bytes:
        """Translates the kernels of the module to another language, or to machine code."""

    def compile(
        self,
        function: str | None = None,
        threads: int = 0,
        *,
        extern: Callable[[str, dict[str, Any], list[torch.Tensor | int | None], list[torch.Tensor | None]], Any]
        | None = None,
        host_ops: Iterable[str] | None = None,
    ) -> Executable:
        """Compiles a function whose module is at the kernel level to machine code."""

class Op:
    """An operation of a module. Once it is erased, using the handle raises `RinductorError`."""

    name: str
    is_alive: bool
    module: Module
    operands: list[Value]
    results: list[Value]
    attributes: dict[str, str]
    regions: list[list[Block]]
    parent: Op | None
    location: tuple[str, int, int] | None

    def get_attribute(self, name: str) -> str | None:
        """An attribute or property as text; None if it has none of this name."""

    def set_attribute(self, name: str, text: str | None) -> None:
        """Sets an attribute or property from its text; None removes it."""

    def set_operand(self, index: int, value: Value) -> None:
        """Sets an operand."""

    def replace_all_uses_with(self, *values: Value | Op) -> None:
        """Puts values in place of the results wherever they are used."""

    def erase(self) -> None:
        """Erases the operation with all that is nested in it. Its results must be unused."""

class Value:
    """A value of a module: a result of an operation or an argument of a block."""

    name: str | None
    type: str
    owner: Op | None
    index: int
    users: list[Op]

    def replace_all_uses_with(self, value: Value) -> None:
        """Puts another value in its place wherever it is used."""

class Block:
    """A block of a region: arguments, then operations."""

    arguments: list[Value]
    ops: list[Op]

class Tensor:
    """A tensor in memory, which `numpy.asarray`, `numpy.from_dlpack` and `torch.from_dlpack` take without a copy."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class Executable:
    """A function of a module, compiled to machine code. Several threads may call it at once."""

    name: str
    kernels: int
    parameters: list[tuple[str, bool, bool]]

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        """Calls it with arrays, and ints for symbols, which may be left out."""

    def call_torch(self, args: list[Any]) -> list[Any]:
        """Calls it with tensors of PyTorch and ints, one for each argument. `args` is emptied."""

    def set_threads(self, threads: int) -> None:
        """Sets how many threads kernels and extern ops may use; 0 for as many as there usually are."""

def use_host_threads() -> bool:
    """Runs kernels on the threads of the OpenMP runtime that this process has loaded, as torch's own loops are; false if there is none."""
