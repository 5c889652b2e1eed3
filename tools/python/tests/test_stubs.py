"""The stubs say what the native half has, and all of it is documented."""

import ast
import pathlib
import unittest

import rinductor
from rinductor import _core

STUBS = pathlib.Path(__file__).resolve().parents[1] / "python" / "rinductor" / "_core.pyi"


def names(body):
    """What a body of a stub declares: names, with the node of each."""
    found = {}
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = node
    return found


def public(thing):
    """The names of a module or class itself, but for those that all have."""
    usual = {"__call__", "__dlpack__", "__dlpack_device__"}
    return {n for n in vars(thing) if not n.startswith("_") or n in usual}


class Stubs(unittest.TestCase):
    def test_they_name_what_is_there(self):
        stubs = names(ast.parse(STUBS.read_text(encoding="utf-8")).body)
        self.assertEqual(set(stubs), public(_core) | {"__version__"})
        for name, node in stubs.items():
            if isinstance(node, ast.ClassDef) and name != "RinductorError":
                with self.subTest(name=name):
                    self.assertEqual(set(names(node.body)), public(getattr(_core, name)))

    def test_everything_is_documented(self):
        for name in public(_core):
            thing = getattr(_core, name)
            self.assertTrue(thing.__doc__, name)
            if isinstance(thing, type) and not issubclass(thing, Exception):
                for member in public(thing):
                    self.assertTrue(getattr(thing, member).__doc__, f"{name}.{member}")

    def test_what_is_exported_is_there(self):
        for name in rinductor.__all__:
            self.assertTrue(hasattr(rinductor, name), name)
        # What the backend keeps in the cache, and how it divides graphs, is no business of who scripts.
        own = {"FUSION_REMARKS", "keep", "kept", "kept_executables", "product_refusal", "text_key", "tuned_pipeline", "typical_size", "use_host_threads"}
        self.assertTrue(own <= public(_core))
        for name in public(_core) - own:
            self.assertIs(getattr(rinductor, name), getattr(_core, name))


if __name__ == "__main__":
    unittest.main()
