"""Capturing the graphs of a model as text: what `python -m rinductor.export` does.

A model is named `module:function`; the function takes nothing and gives the model and its example arguments, as `(model, (args…))` or
`(model, (args…), {kwargs…})`, or a model alone that has `example_inputs`.
"""

import argparse
import importlib
import os
import sys
from pathlib import Path

import torch
from functorch.compile import make_boxed_func

from . import backend as front
from .dump import write
from .export import graph_text


def capture(model, args=(), kwargs=None, *, training=False, dynamic=None, name="model"):
    """The graphs of one call of `model`, as pairs of a kind (`infer`, `fw` or `bw`) and text.

    In training the backward pass is run as well, from the sum of all floating outputs.
    """
    graphs = []

    def compiler(kind):
        def keep(gm, example_inputs):
            if kind == "infer":
                front.random(gm, settings)
            visible, static = visible_outputs(gm, kind), static_inputs(gm, kind)
            graphs.append((kind, graph_text(gm, model=name, kind=kind, static=static, user_visible=visible).text))
            return make_boxed_func(gm.forward)

        return keep

    settings = front.Settings()
    frame = front.aot(settings, compiler)
    torch._dynamo.reset()
    compiled = torch.compile(model, backend=frame, dynamic=dynamic)
    with torch.set_grad_enabled(training):
        result = compiled(*args, **(kwargs or {}))
        if training:
            leaves = [t for t in torch.utils._pytree.tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]
            if not leaves:
                raise ValueError("no result of the model depends on what is trained, so there is no backward graph")
            torch.autograd.backward([t.sum() for t in leaves])
    return graphs


def static_inputs(gm, kind):
    """The indices of the inputs whose address does not change."""
    context = torch._guards.TracingContext.try_get()
    if context is None or context.fw_metadata is None:
        return ()
    if kind != "bw":
        return tuple(context.fw_metadata.static_input_indices or ())
    # All that the forward graph saved; the tangents, which come last, are others each time.
    names = [n.name for n in gm.graph.find_nodes(op="placeholder")]
    return tuple(k for k, n in enumerate(names) if not n.startswith("tangents"))


def visible_outputs(gm, kind):
    """The indices of the outputs whose strides the user sees."""
    outputs = gm.graph.output_node().args[0]
    context = torch._guards.TracingContext.try_get()
    if kind == "fw" and context is not None and context.fw_metadata is not None:
        meta = context.fw_metadata
        first = meta.num_mutated_inp_runtime_indices
        return range(first, first + meta.num_outputs)
    return [k for k, o in enumerate(outputs) if o is not None]


def load(spec):
    """The model and its arguments that `module:function` gives."""
    module, mark, function = spec.partition(":")
    if not mark or not module or not function:
        raise SystemExit(f"rinductor.export: '{spec}' is not module:function")
    sys.path.insert(0, os.getcwd())
    try:
        made = getattr(importlib.import_module(module), function)()
    except (ImportError, AttributeError) as why:
        raise SystemExit(f"rinductor.export: cannot get {spec}: {why}") from None
    if isinstance(made, (tuple, list)):
        model, args, *rest = made
        return model, tuple(args), rest[0] if rest else {}
    inputs = getattr(made, "example_inputs", None)
    if inputs is None:
        raise SystemExit(f"rinductor.export: {spec} gives a model without arguments; let it give (model, (args…))")
    return made, tuple(inputs() if callable(inputs) else inputs), {}


def main(argv=None):
    """The command; gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m rinductor.export", description=__doc__.splitlines()[0])
    parser.add_argument("model", help="module:function that gives (model, (args…)[, {kwargs…}])")
    parser.add_argument("--out", default="-", help="the file to write; several graphs get their kind before the suffix")
    parser.add_argument("--training", action="store_true", help="the forward and the backward graph of a training step")
    parser.add_argument("--dynamic", action="store_true", help="sizes as symbols")
    parser.add_argument("--name", help="the model's name in the text (default: that of the function)")
    options = parser.parse_args(argv)
    model, args, kwargs = load(options.model)
    name = options.name or options.model.partition(":")[2].removeprefix("make_")
    if isinstance(model, torch.nn.Module):
        model.train(options.training)
    graphs = capture(model, args, kwargs, training=options.training, dynamic=options.dynamic or None, name=name)
    if not graphs:
        raise SystemExit("rinductor.export: the call made no graph")
    if options.out == "-":
        sys.stdout.write("\n// -----\n\n".join(text for _, text in graphs))
        return 0
    out = Path(options.out)
    for k, (kind, text) in enumerate(graphs):
        alone = len(graphs) == 1
        again = sum(g[0] == kind for g in graphs[:k])
        path = out if alone else out.with_suffix(f".{kind}{again or ''}{out.suffix}")
        try:
            write(path, text)
        except OSError as why:
            raise SystemExit(f"rinductor.export: cannot write {path}: {why.strerror}") from None
        print(path, file=sys.stderr)
    return 0
