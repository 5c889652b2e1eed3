"""The backend of `torch.compile`: graphs of aten ops become kernels, and calls of torch where no kernel is had.

torch's own front half (Dynamo, AOTAutograd, Inductor's decomposition table and partitioner) makes the graphs.
"""

import functools
import logging
import operator
import os
import threading
import traceback
from dataclasses import dataclass, field

import torch

from . import _core, cudagraphs, dump, gpu, kept, layouts, partition, products, remarks, wrapper
from .export import function_text
from .partition import Segment
from .spelling import NotSpelled

log = logging.getLogger("rinductor")

#: What `options=` may hold, with what it means.
OPTIONS = {
    "rinductor.cpu": "what makes machine code of kernels for the CPU: llvm, or cpp for the C++ compiler that is found (default: llvm)",
    "rinductor.dump_dir": "a folder for every stage of every graph",
    "rinductor.explain_fusion": "True, or a file: why each pair of ops was fused or not, and the bytes that are moved",
    "rinductor.pipeline": "the passes that a graph goes through (default: cpu or gpu, by where its tensors are)",
    "rinductor.schedules": "a file of rinductor-tune: kernels for the CPU that it knows are computed as it says",
    "rinductor.fallback_random": "random numbers as eager draws them, one after the other",
    "rinductor.products": "which products of matrices are kernels: measured (those that are faster so), always, never",
    "rinductor.strict": "an error where a graph cannot be compiled, instead of a warning and torch in its place",
}

#: How many bits a uniform number of eager's has.
UNIFORM_BITS = {torch.bfloat16: 8, torch.float16: 11}


@dataclass
class Settings:
    """How graphs are compiled."""

    #: None for that of the device.
    pipeline: str | None = None
    #: What makes machine code for the CPU; None for LLVM.
    cpu: str | None = None
    #: A file of schedules, and from when `check` has read it the passes for the CPU with it.
    schedules: str | None = None
    tuned: str | None = None
    dump_dir: str | None = None
    #: Whether to say why ops are fused, or the file that gets it.
    explain_fusion: bool | str = False
    fallback_random: bool = False
    strict: bool = False
    products: str = "measured"
    #: What the recorded graphs of one model have in common; None if graphs are not to be recorded.
    recording: cudagraphs.Recording | None = None
    #: Gets a `Report` for each graph.
    observers: list = field(default_factory=list)

    def passes(self, device):
        """The passes for a device."""
        if self.tuned and device == "cpu":
            return self.tuned
        return self.pipeline or ("cpu-products" if device == "cpu" else "gpu")

    @staticmethod
    def of(options):
        """From the options of `torch.compile`. Those of other backends are none of ours."""
        settings = Settings(
            dump_dir=os.environ.get("RINDUCTOR_DUMP") or None,
            strict=os.environ.get("RINDUCTOR_STRICT", "0") not in ("", "0"),
        )
        for key, value in (options or {}).items():
            if not key.startswith("rinductor."):
                continue
            if key not in OPTIONS:
                raise ValueError(f"there is no option {key}; the options are {', '.join(OPTIONS)}")
            setattr(settings, key.removeprefix("rinductor."), value)
        settings.check()
        settings.observers = list(_observers)
        return settings

    def check(self):
        """Raises an error where a value can only be a mistake: a graph that is left to torch for it would hide it."""
        if self.pipeline is not None:
            if not isinstance(self.pipeline, str):
                raise ValueError(f"rinductor.pipeline is the text of a pipeline or a name of one, not {self.pipeline!r}")
            try:
                _core.Module.parse("module {}", "module").run(self.pipeline)
            except _core.RinductorError as error:
                raise ValueError(f"rinductor.pipeline is no pipeline: {error}") from None
        if self.cpu is not None:
            try:
                _core.text_key("", "", self.cpu)
            except (TypeError, _core.RinductorError) as error:
                raise ValueError(f"rinductor.cpu is llvm or cpp, not {self.cpu!r}: {error}") from None
        if not isinstance(self.explain_fusion, (bool, str)):
            raise ValueError(f"rinductor.explain_fusion is True or the name of a file, not {self.explain_fusion!r}")
        if self.products not in ("measured", "always", "never"):
            raise ValueError(f"rinductor.products is measured, always or never, not {self.products!r}")
        if self.schedules is not None:
            path = os.path.abspath(os.fspath(self.schedules))
            try:
                with open(path, encoding="utf-8") as file:
                    self.tuned = _core.tuned_pipeline(self.passes("cpu"), path, file.read())
            except (OSError, UnicodeDecodeError, _core.RinductorError) as error:
                raise ValueError(f"rinductor.schedules is no file of schedules: {error}") from None
        if self.dump_dir is not None:
            os.makedirs(self.dump_dir, exist_ok=True)


@dataclass
class Report:
    """What became of one graph."""

    kind: str
    #: For each segment, its nodes and how many kernels they became.
    segments: list = field(default_factory=list)
    #: For each call of torch, its node and why it is one.
    calls: list = field(default_factory=list)


#: Who wants a `Report` for each graph that is compiled meanwhile.
_observers = []
_lock = threading.Lock()
_counter = iter(range(10**9))


def backend(gm, example_inputs, *, mode=None, options=None, **_):
    """Compiles what Dynamo has captured; `torch.compile(model, backend="rinductor")` calls it."""
    settings = Settings.of(options)
    if mode in ("reduce-overhead", "max-autotune"):
        settings.recording = cudagraphs.Recording(len(example_inputs))

    def compiler(kind):
        return lambda graph, inputs: compile_graph(graph, inputs, kind=kind, settings=settings)

    return aot(settings, compiler)(gm, example_inputs)


def aot(settings, compiler):
    """A backend that gives each aten graph to the compiler for its kind, `infer`, `fw` or `bw`."""
    from functorch.compile import min_cut_rematerialization_partition
    from torch._dynamo.backends.common import aot_autograd
    from torch._inductor import config

    def part(joint, joint_inputs, **kwargs):
        random(joint, settings)
        for_matrix_units(joint, layouts_too=False)
        return min_cut_rematerialization_partition(joint, joint_inputs, compiler="inductor", **kwargs)

    def front(gm, example_inputs, **_):
        # It changes what it is made with, so each graph has its own.
        autograd = aot_autograd(
            fw_compiler=compiler("fw"),
            bw_compiler=compiler("bw"),
            inference_compiler=compiler("infer"),
            decompositions=decompositions,
            partition_fn=part,
            keep_inference_input_mutations=True,
        )
        with config.patch(fallback_random=settings.fallback_random or config.fallback_random):
            return autograd(gm, example_inputs)

    return front


def for_matrix_units(gm, layouts_too=True):
    """Gives products and convolutions on a GPU the sizes and layouts that its matrix units want."""
    products.pad(gm)
    layouts.split_biases(gm)
    if layouts_too:
        layouts.channels_last(gm)


def decompositions():
    """Inductor's table, but for what it takes apart in a way that people see: other strides, roundings between the parts, indices that wrap."""
    import torch._inductor.lowering  # the table's functions use it without importing it
    from torch._inductor.decomposition import select_decomp_table

    aten = torch.ops.aten
    table = dict(select_decomp_table())
    for op in (aten.max_unpool2d, aten.max_unpool3d, aten.addcdiv, aten.take, aten.index_select, aten.index_fill):
        for overload in op.overloads():
            table.pop(getattr(op, overload), None)
    for op in (aten.bernoulli.default, aten.bernoulli.p):
        if op in table:
            table[op] = of_probabilities(table[op])
    return table


def of_probabilities(draw):
    """A decomposition of `bernoulli` that looks at the probabilities, as eager does: numbers at once, tensors when the graph runs."""

    @functools.wraps(draw)
    def checked(self, *args, **kwargs):
        p = args[0] if args else kwargs.get("p", self)
        if isinstance(p, torch.Tensor):
            torch.ops.aten._assert_async.msg(((p >= 0) & (p <= 1)).all(), "bernoulli: p is not in [0, 1]")
        elif not 0 <= p <= 1:
            raise RuntimeError(f"bernoulli: p = {p} is not in [0, 1]")
        return draw(self, *args, **kwargs)

    return checked


def random(gm, settings):
    """Random numbers from one seed for each op, so that they can be drawn where they are used."""
    import torch._inductor.config as inductor_config

    if settings.fallback_random or inductor_config.fallback_random:
        return
    if not any(isinstance(n.target, torch._ops.OpOverload) and partition.draws(n.target) for n in gm.graph.nodes):
        return  # searching for patterns takes a while
    from torch._inductor.fx_passes.replace_random import replace_random_passes
    from torch._inductor.virtualized import V

    mode = torch._guards.detect_fake_mode([n.meta.get("val") for n in gm.graph.find_nodes(op="placeholder")])
    if mode is None:
        return
    with V.set_fake_mode(mode):
        replace_random_passes(gm)
    with mode:
        shorten_uniform(gm)
    gm.recompile()


def shorten_uniform(gm):
    """Gives uniform numbers of a short float type the bits that eager's have: what is less than 1 in f32 may round to 1."""
    aten, prims = torch.ops.aten, torch.ops.prims
    for made in gm.graph.find_nodes(op="call_function", target=prims.convert_element_type.default):
        drawn, dtype = made.args
        if drawn.target is not prims.inductor_random.default or drawn.args[2] != "rand" or dtype not in UNIFORM_BITS:
            continue
        value = drawn
        with gm.graph.inserting_before(made):
            for op, *args in ((aten.mul.Tensor, 2.0 ** UNIFORM_BITS[dtype]), (aten.floor.default,), (aten.mul.Tensor, 2.0 ** -UNIFORM_BITS[dtype])):
                held = value.meta["val"]
                value = gm.graph.call_function(op, (value, *args))
                value.meta["val"] = op(held, *args)
        made.replace_input_with(drawn, value)


def compile_graph(gm, example_inputs, *, kind, settings):
    """Compiles a graph of aten ops into a boxed callable."""
    from functorch.compile import make_boxed_func

    number = next(_counter)
    if kind == "infer":
        random(gm, settings)
    try:
        run, report, executables = known_or_compiled(gm, kind, number, settings)
    except torch._dynamo.exc.RestartAnalysis:
        raise
    except Exception as error:
        dump.failure(gm, kind, number, settings, traceback.format_exc())
        if settings.strict:
            raise
        gm.recompile()
        run, executables = make_boxed_func(gm.forward), []
        report = Report(kind, calls=[(n, f"an error of the compiler: {error}") for n in gm.graph.nodes if n.op == "call_function"])
    for observer in settings.observers:
        observer(report)

    threads = None
    executables = [e for e in executables if not isinstance(e, gpu.Program)]
    if not executables:
        run._boxed_call = True
        return cudagraphs.recorded(run, gm, example_inputs, kind, settings.recording) if settings.recording else run

    def call(args):
        nonlocal threads
        if threads != (now := torch.get_num_threads()):
            threads = now
            # torch's own loops run on these threads: a second team would take their cores.
            _core.use_host_threads()
            for executable in executables:
                executable.set_threads(now)
        return run(args)

    # In the function's own dictionary: what wraps it copies that alone.
    call._boxed_call = True
    return call


def known_or_compiled(gm, kind, number, settings):
    """The function of a graph, what became of it (of a graph that was kept nobody asks), and its compiled parts."""
    name = f"<rinductor {kind} {number}>"
    # Who looks at stages wants to see them made.
    looked_at = settings.dump_dir or settings.observers or remarks.wanted(settings)
    parts = None if looked_at else kept.key(gm, kind, f"{settings.tuned or settings.pipeline} {settings.products} {settings.cpu}", index_line)
    if parts:
        with _lock:
            found = kept.find(parts, gm, _executables, placed, settings.cpu)
        if found:
            text, scope, executables = found
            return wrapper.function(text, scope, name), None, executables
    compiler = Compiler(gm, kind, number, settings)
    source, report = compiler.compile()
    if parts and not compiler.failed:
        kept.keep(parts, source, compiler.calls)
    return wrapper.function(source.text(), dict(source.globals), name), report, compiler.executables


class Compiler:
    """One graph on its way."""

    def __init__(self, gm, kind, number, settings):
        self.gm, self.kind, self.number, self.settings = gm, kind, number, settings
        self.refused = {}
        #: Whether the compiler itself went wrong: who asks for errors then is to get them, whatever was compiled before.
        self.failed = False
        self.executables = []
        #: Of each segment what the source calls it, the key of its executable, what its errors say of where it is, and whether its arguments are known.
        self.calls = []
        #: The symbols that have a value when the graph runs.
        self.known = set()

    def compile(self):
        """The source of the function, and what became of the graph."""
        stage = dump.Stage(self.settings.dump_dir, f"{self.number:03}-{self.kind}")
        stage.graph(self.gm)
        if self.kind == "infer":
            for_matrix_units(self.gm)
        partition.sink_copies(self.gm)
        if self.kind == "infer":
            shared = partition.share_views(self.gm)
            self.refused |= dict.fromkeys(shared, "a view that shares memory with another result")
        drop_dead(self.gm)
        self.known = partition.known_symbols(self.gm)
        while True:
            plan = partition.plan(self.gm, self.refused, self.settings.products)
            before = len(self.refused)
            calls, self.executables = {}, []
            for step in plan.steps:
                if isinstance(step, Segment):
                    calls[step] = self.segment(step, stage)
            if len(self.refused) == before:
                break
        writer = wrapper.Wrapper(self.gm, plan, calls)
        source = writer.write()
        self.calls = [(name, s.key, s.where, s.checked) for s, name in writer.segments.items()]
        stage.wrapper(source.text())
        report = Report(self.kind)
        report.segments = [(s.nodes, s.kernels) for s in plan.steps if isinstance(s, Segment)]
        report.calls = [(n, plan.reasons.get(n, "")) for n in plan.steps if not isinstance(n, Segment)]
        return source, report

    def segment(self, segment, stage):
        """Compiles one segment; what is found to be impossible is added to `refused`, and None given."""
        symbols, env = {}, None
        for node in (*segment.nodes, *segment.inputs):
            for size in partition.sizes_of(node):
                env = size.node.shape_env
                symbols |= dict.fromkeys(size.node.expr.free_symbols)
        own = {n.meta["val"].node.expr for n in segment.inputs if isinstance(n.meta.get("val"), torch.SymInt)}
        segment.symbols = sorted((s for s in symbols if s not in own), key=str)
        unknown = [str(s) for s in segment.symbols if s not in self.known]
        if unknown:
            self.refuse_all(segment, f"no input has the size {' or '.join(unknown)} by itself")
            return None
        try:
            spelled = functools.partial(
                function_text,
                segment.nodes,
                segment.inputs,
                segment.outputs,
                device=segment.device,
                symbols=[(s, env) for s in segment.symbols],
                moved=segment.moved,
            )
            text = spelled(anonymous=True)
        except NotSpelled as why:
            self.refuse_all(segment, str(why))
            return None
        passes, on_gpu = self.settings.passes(segment.device), segment.device != "cpu"
        stage.segment(segment.name, text.text, passes, on_gpu)
        if pattern := remarks.wanted(self.settings):
            remarks.show(spelled(), passes, pattern, line_of, self.settings.explain_fusion)
        try:
            segment.key, executable = compiled(text.text, passes, on_gpu, self.settings.cpu)
        except _core.RinductorError as error:
            self.blame(segment, text, error)
            return None
        except BaseException as error:
            # A panic of the compiler is no Exception of Python.
            if type(error).__name__ != "PanicException" or self.settings.strict:
                raise
            self.failed = True
            self.refuse_all(segment, f"an error of the compiler: {error}")
            return None
        segment.kernels = executable.kernels
        segment.where = "; ".join(dict.fromkeys(filter(None, map(index_line, segment.nodes))))
        self.executables.append(executable)
        # Dynamo's guards have looked at the inputs of the first graphs of a model; what torch or autograd makes is looked at.
        segment.checked = self.kind == "infer" and all(n.op == "placeholder" for n in segment.inputs)
        return placed(executable, segment.where, segment.checked)

    def blame(self, segment, text, error):
        """Finds the node that an error speaks of."""
        for diagnostic in error.diagnostics:
            node = text.lines.get(diagnostic.line)
            while node is not None and node.target is operator.getitem:
                node = node.args[0]
            if node is not None and node not in self.refused:
                log.info("torch is called for %s: %s", node.name, diagnostic.message)
                self.refused[node] = diagnostic.message
                return
        self.refuse_all(segment, str(error))

    def refuse_all(self, segment, why):
        """Leaves a segment to torch."""
        log.warning("torch is called for the %d ops of segment %d: %s", len(segment.nodes), segment.level, why)
        self.refused |= dict.fromkeys(segment.nodes, why)


def placed(executable, where, checked):
    """The call of a segment; if ops in it read by index, an index out of range says which they are and where the model has them.

    `checked` is whether it is known that its arguments lie as the graph says; machine code looks at them anyway.
    """
    if isinstance(executable, gpu.Program):
        # A GPU says it itself, later.
        return executable.run if checked else executable.call
    if not where:
        return executable.call_torch

    def located(args):
        try:
            return executable.call_torch(args)
        except IndexError as error:
            raise IndexError(f"{error}, in {where}") from None

    return located


def index_line(node):
    """Of an op that reads by index: which it is, and where the model has it."""
    return f"{node.target} ({line_of(node)})" if node.op == "call_function" and reads_by_index(node.target) else ""


@functools.cache
def reads_by_index(target):
    """Whether an op may find an index out of range."""
    return any(word in str(target) for word in ("index", "gather", "scatter", "embedding", "take"))


def line_of(node):
    """Where the model computes a node."""
    trace = (node.meta.get("stack_trace") or "").strip().splitlines()
    places = [line.strip() for line in trace if line.strip().startswith("File ")]
    return places[-1].removeprefix("File ").split(", in ")[0].replace('"', "").replace(", line ", ":") if places else node.name


def drop_dead(gm):
    """Erases what nobody reads. As `eliminate_dead_code` of the graph, which also checks the whole graph first."""
    for node in reversed(gm.graph.nodes):
        if not node.users and not keeps(node):
            gm.graph.erase_node(node)


def keeps(node):
    """Whether a node must stay though nobody reads it."""
    return node.op in ("placeholder", "output") or partition.is_ordered(node) or node.is_impure()


#: What was compiled or found, by its key.
_executables = {}


def compiled(text, pipeline, on_gpu=False, cpu=None):
    """The key and the executable of a function, or its program for a GPU; the same text is compiled once in a process, and once on a machine as long as the cache keeps it."""
    key = gpu.key_of(text, pipeline) if on_gpu else _core.text_key(text, pipeline, cpu)
    with _lock:
        found = _executables.get(key)
    if found is None:
        found = gpu.compiled(key, text, pipeline) if on_gpu else _core.compile_text(text, "graph.ir", pipeline, backend=cpu)
        with _lock:
            _executables[key] = found
    return key, found


def reset():
    """Forgets what was compiled; `torch.compiler.reset` calls it."""
    with _lock:
        _executables.clear()


backend.reset = reset
