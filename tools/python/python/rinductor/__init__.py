"""rinductor: a tensor compiler that you can read.

>>> import rinductor
>>> module = rinductor.Module.parse(open("softmax.ir").read(), "softmax.ir")
>>> print(module.run("cpu"))
>>> softmax = module.compile()
>>> (y,) = softmax(x)

`Module` is IR, at any level: text, passes, interpretation, translation, compilation. `Executable` is a compiled function. With PyTorch,
`torch.compile(model, backend="rinductor")` compiles a model; `rinductor.backend` is that backend. PyTorch is not imported before it is needed.
"""

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
    list_dialects,
    list_ops,
    list_passes,
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
    "list_dialects",
    "list_ops",
    "list_passes",
]


def __getattr__(name):
    if name != "backend":
        raise AttributeError(f"module 'rinductor' has no attribute '{name}'")
    # The import puts the submodule in place of the function of the same name.
    from .backend import backend

    globals()["backend"] = backend
    return backend
