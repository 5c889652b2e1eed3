"""rinductor: a tensor compiler that you can read.

>>> import rinductor
>>> module = rinductor.Module.parse(open("softmax.ir").read(), "softmax.ir")
>>> print(module.run("cpu"))
>>> softmax = module.compile()
>>> (y,) = softmax(x)

`Module` is IR, at any level: text, passes, interpretation, translation, compilation. `Executable` is a compiled function. With PyTorch,
`torch.compile(model, backend="rinductor")` compiles a model, and `explain(model, *args)` says what becomes of its ops. PyTorch is not imported before
it is needed.
"""

import importlib

from ._core import (
    Block,
    Diagnostic,
    Executable,
    Module,
    Op,
    RinductorError,
    Tensor,
    Value,
    __version__,
    compile_text,
    list_dialects,
    list_ops,
    list_passes,
    op_treatment,
)

__all__ = [
    "Block",
    "Diagnostic",
    "Executable",
    "Module",
    "Op",
    "RinductorError",
    "Tensor",
    "Value",
    "__version__",
    "backend",
    "compile_text",
    "explain",
    "list_dialects",
    "list_ops",
    "list_passes",
    "op_treatment",
]


def __getattr__(name):
    # What needs PyTorch is imported when it is asked for.
    if name == "backend":
        return importlib.import_module(".backend", __name__)
    if name == "explain":
        return importlib.import_module(".explaining", __name__).explain
    raise AttributeError(f"module 'rinductor' has no attribute '{name}'")
