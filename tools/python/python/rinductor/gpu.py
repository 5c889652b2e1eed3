"""Segments for a GPU: modules of Triton kernels, which `src/codegen/triton` writes. Equal ones are one module of Python in a process."""

import concurrent.futures
import functools
import hashlib
import linecache
import os
import sys
import types

import torch

from . import _core

#: What comes before the key of a module, so that it is no key of machine code.
PREFIX = "triton-"


class Program:
    """A module of kernels, ready to be called."""

    def __init__(self, key, source):
        self.key, self.source = key, source
        name = f"rinductor_{key.replace('-', '_')}"
        filename = f"<{name}>"
        # Triton reads the source of a kernel again, by its file's name.
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        module = types.ModuleType(name)
        module.__file__ = filename
        sys.modules[name] = module
        exec(compile(source, filename, "exec"), module.__dict__)
        self.kernels = source.count("\n@launched")
        if self.kernels and module.CUDA:
            with torch.cuda.device(module.DEVICE):
                module.prepare(threads())
        #: Takes a list of arguments, which it empties, and checks how they lie.
        self.call = module.call
        #: The same without the check.
        self.run = module.run


@functools.cache
def threads():
    """The threads in which Triton compiles kernels side by side: LLVM and the assembler let others run meanwhile."""
    return concurrent.futures.ThreadPoolExecutor(min(16, os.cpu_count() or 1), thread_name_prefix="rinductor-triton")


def key_of(text, pipeline):
    """The key of what is made of a function's text. Who keeps it adds which compiler it is."""
    return PREFIX + hashlib.blake2b(f"{pipeline}\n{text}".encode(), digest_size=16).hexdigest()


def is_key(key):
    """Whether a key is one of a module of kernels."""
    return key.startswith(PREFIX)


def parts_of(key):
    """Under what the cache on disk has the source."""
    return [b"triton", key.encode()]


def compiled(key, text, pipeline):
    """The program of a function's text; the cache on disk has the source, and Triton's has the machine code."""
    source = _core.kept(parts_of(key))
    if source is None:
        source = _core.Module.parse(text, "graph.ir").run(pipeline, verify_each=False).emit("triton-kernels").encode()
        _core.keep(parts_of(key), source)
    return Program(key, source.decode())


def kept(key):
    """The program of a key, if the cache on disk has it."""
    source = _core.kept(parts_of(key))
    return None if source is None else Program(key, source.decode())
