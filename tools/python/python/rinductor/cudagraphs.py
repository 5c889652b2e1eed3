"""`mode="reduce-overhead"`: functions of graphs that are all on one GPU are recorded by torch's trees of CUDA graphs, and replayed."""

import logging
from dataclasses import dataclass

import torch

log = logging.getLogger("rinductor")


@dataclass
class Recording:
    """What the graphs of one model have in common."""

    #: How many inputs Dynamo's graph has: what stands before them is static.
    inputs: int
    #: The GPU of the forward graph, if that is recorded.
    device: int | None = None


def recorded(run, gm, example_inputs, kind, recording):
    """A function that records `run` at its second call and replays it from then on; or `run` itself, where that cannot be."""
    from torch._dynamo.backends.cudagraphs import find_input_mutations, get_stack_traces
    from torch._inductor.cudagraph_trees import cudagraphify_impl
    from torch._inductor.cudagraph_utils import get_placeholder_info

    static = static_inputs(gm, example_inputs, kind, recording)
    mutated = find_input_mutations(gm.graph)
    why = refusal(gm, mutated - set(static))
    if kind == "bw" and recording.device is None:
        why = why or "the forward graph is not recorded"
    if why:
        log.info("no CUDA graph of a graph (%s): %s", kind, why)
        return in_backward(run, recording) if kind == "bw" and recording.device is not None else run
    device = next(v.device for n in gm.graph.nodes if isinstance(v := n.meta.get("val"), torch.Tensor))
    if kind != "bw":
        recording.device = device.index
    out = cudagraphify_impl(
        run,
        example_inputs,
        static,
        device_index=device.index,
        is_backward=kind == "bw",
        is_inference=kind == "infer",
        stack_traces=get_stack_traces(gm),
        placeholders=get_placeholder_info(gm.graph),
        mutated_input_idxs=sorted(mutated),
    )
    out._boxed_call = True
    return out


def static_inputs(gm, example_inputs, kind, recording):
    """Which inputs keep their address."""
    from torch._inductor.utils import count_tangents, num_fw_fixed_arguments

    if kind == "bw":
        return list(range(count_tangents(gm)))
    context = torch._guards.TracingContext.try_get()
    if context and context.fw_metadata:
        return list(context.fw_metadata.static_input_indices)
    return list(range(num_fw_fixed_arguments(recording.inputs, len(example_inputs))))


def refusal(gm, mutated):
    """Why a graph cannot be recorded, if so."""
    from torch._dynamo.backends.cudagraphs import get_device_node_mapping
    from torch._inductor.cudagraph_utils import check_multiple_devices_or_any_cpu_nodes
    from torch._inductor.utils import get_first_incompatible_cudagraph_node

    if mutated:
        return "it writes inputs whose address changes"
    if why := check_multiple_devices_or_any_cpu_nodes(get_device_node_mapping(gm)):
        return why
    if node := get_first_incompatible_cudagraph_node(gm):
        return f"the op {node.name}"
    return None


def in_backward(run, recording):
    """A backward function that is not recorded, behind a forward one that is: torch's trees must hear of it."""
    from torch._inductor.cudagraph_trees import get_manager

    def call(args):
        manager = get_manager(recording.device, create_if_none_exists=False)
        if manager is not None:
            manager.set_to_running_backward()
        return run(args)

    call._boxed_call = True
    return call
