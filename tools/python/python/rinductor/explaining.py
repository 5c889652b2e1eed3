"""What becomes of a model's ops: which are fused into kernels, for which torch is called, and why."""

from dataclasses import dataclass, field

import torch

from . import backend as front


@dataclass
class Explanation:
    """The graphs of one call; `str` shows them as a table."""

    graphs: list = field(default_factory=list)

    def __str__(self):
        out = []
        for k, graph in enumerate(self.graphs):
            ops = sum(len(nodes) for nodes, _ in graph.segments)
            kernels = [n for _, n in graph.segments]
            count = f"{sum(kernels)} kernels" if all(n is not None for n in kernels) else f"{len(kernels)} segments"
            out.append(f"graph {k} ({graph.kind}): {ops} ops in {count}, {len(graph.calls)} calls of torch")
            for nodes, n in graph.segments:
                names = ", ".join(node.name for node in nodes[:6]) + (", …" if len(nodes) > 6 else "")
                out.append(f"  compiled  {len(nodes):4} ops" + (f" in {n} kernels" if n is not None else "") + f": {names}")
            reasons = {}
            for node, why in graph.calls:
                reasons.setdefault((str(node.target), why), []).append(node.name)
            for (target, why), names in sorted(reasons.items()):
                out.append(f"  torch     {len(names):4} {target}: {why}")
        return "\n".join(out)


def explain(model, *args, **kwargs):
    """Compiles and runs `model(*args, **kwargs)` once, and says what became of its ops; the backward pass too, if there is one."""
    found = Explanation()
    torch._dynamo.reset()
    observer = found.graphs.append
    front._observers.append(observer)
    try:
        result = torch.compile(model, backend=front.backend)(*args, **kwargs)
        leaves = [t for t in torch.utils._pytree.tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]
        if leaves:
            torch.autograd.grad([t.sum() for t in leaves], gradients_of(model, args), allow_unused=True)
    finally:
        front._observers.remove(observer)
        torch._dynamo.reset()
    return found


def gradients_of(model, args):
    """What a backward pass is asked for: parameters and inputs that want a gradient."""
    wanted = [p for p in model.parameters() if p.requires_grad] if isinstance(model, torch.nn.Module) else []
    wanted += [t for t in torch.utils._pytree.tree_leaves(args) if isinstance(t, torch.Tensor) and t.requires_grad]
    return wanted
