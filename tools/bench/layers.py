"""Makes a model's graph deeper: layers.py GRAPH.ir LAYERS > deeper.ir

The graph (in generic form, an op a line) has at least two layers of the same ops, one after the other. The last of them is repeated: each copy reads what the
layer before it gives and has parameters of its own, and what follows the layers reads the last copy.
"""

import re
import sys

OP = re.compile(r'^\s*(?:(?P<results>%[\w$.-]+(?::\d+)?) = )?"(?P<name>[^"]+)"\((?P<operands>[^)]*)\)(?P<rest>.*)$')
ARGUMENT = re.compile(r"%[\w$.-]+: ")


class Op:
    """A line of the graph."""

    def __init__(self, line):
        match = OP.match(line)
        self.name, self.rest = match["name"], match["rest"]
        self.result, _, self.count = (match["results"] or "").partition(":")
        self.operands = [o for o in match["operands"].split(", ") if o]

    def kind(self):
        """What must be the same in each layer: the op with its properties and types."""
        return (self.name, self.rest)

    def text(self):
        """The line again."""
        count = f":{self.count}" if self.count else ""
        results = f"{self.result}{count} = " if self.result else ""
        return f'    {results}"{self.name}"({", ".join(self.operands)}){self.rest}\n'


def renamed(operand, names):
    """An operand whose value has another name; `#1` stays."""
    value, mark, number = operand.partition("#")
    return names.get(value, value) + mark + number


def split_arguments(text):
    """The arguments of the function, each with its type and attributes."""
    starts = [m.start() for m in ARGUMENT.finditer(text)]
    # An argument ends where the next begins; types have no `%`.
    return [text[a:b].rstrip(", ") for a, b in zip(starts, [*starts[1:], len(text)])]


def find_layers(ops):
    """Where the last two equal stretches of ops begin, and how long they are: the longest such."""
    kinds = [op.kind() for op in ops]
    best = (0, 0)
    for length in range(len(ops) // 2, 4, -1):
        run = 0
        for k in range(len(ops) - length - 1, -1, -1):
            run = run + 1 if kinds[k] == kinds[k + length] else 0
            if run >= length:
                return k, length
    return best


def deeper(text, layers):
    """The text of a graph with so many layers."""
    lines = text.splitlines(keepends=True)
    at = next(k for k, line in enumerate(lines) if "func.func @" in line)
    end = next(k for k in range(at + 1, len(lines)) if lines[k].strip().startswith(("return", '"func.return"')))
    ops = [Op(line) for line in lines[at + 1 : end]]
    start, length = find_layers(ops)
    if length == 0:
        sys.exit("no two layers of the same ops are found")
    first, second = ops[start : start + length], ops[start + length : start + 2 * length]
    there = sum(1 for k in range(start % length, len(ops) - length + 1, length)
                if [o.kind() for o in ops[k : k + length]] == [o.kind() for o in second])
    open_paren = lines[at].index("(")
    close = lines[at].index(") -> ")
    arguments = split_arguments(lines[at][open_paren + 1 : close])
    declared = {a.split(":", 1)[0]: a.split(":", 1)[1] for a in arguments}
    # What the second layer reads of the first, and which parameters it alone reads.
    follows = {a.result: b.result for a, b in zip(first, second) if a.result}
    inside = {op.result for op in second if op.result}
    read = lambda some: {o.partition("#")[0] for op in some for o in op.operands}
    outside = [op for op in ops if op not in second]
    own = [v for v in declared if v in read(second) and v not in read(outside)]
    added, last = [], {v: v for v in inside}
    for copy in range(layers - there):
        names = {v: f"{v}_l{copy}" for v in [*inside, *own]}
        arguments += [f"{names[v]}:{declared[v]}" for v in own]
        # The first copy follows the second layer, each other one the copy before it.
        before = {a: last[b] for a, b in follows.items()}
        for op in second:
            new = Op(op.text())
            new.result = names.get(op.result, "")
            new.operands = [renamed(o, {**before, **names}) for o in op.operands]
            added.append(new)
        last = {v: names[v] for v in inside}
    tail = ops[start + 2 * length :]
    for op in tail:
        op.operands = [renamed(o, last) for o in op.operands]
    result = re.sub(r"%[\w$.-]+", lambda m: last.get(m[0], m[0]), lines[end])
    head = lines[at][: open_paren + 1] + ", ".join(arguments) + lines[at][close:]
    body = [op.text() for op in [*ops[: start + 2 * length], *added, *tail]]
    return "".join([*lines[:at], head, *body, result, *lines[end + 1 :]])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.write(deeper(file.read(), int(sys.argv[2])))
