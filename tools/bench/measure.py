"""CPU time and peak memory of a command, and tables of them."""

import os
import subprocess
import sys
import tempfile


class Run:
    """What one run of a command took."""

    def __init__(self, cpu, memory):
        self.cpu = cpu
        """User and system time, in seconds."""
        self.memory = memory
        """Most memory held at once, in MiB."""


def run(command, output=None):
    """Runs a command to its end; its output goes to a file, or nowhere. A failure ends the program."""
    # The memory of a process that was forked is at first that of its parent, so a small one is between.
    with open(output, "wb") if output else tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            err.seek(0)
            sys.exit(f"{' '.join(command)}\nfailed with {process.returncode}:\n{err.read().decode(errors='replace')}")
    return Run(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def program(name):
    """A program of this project: that of target/release beside this folder, else the one in PATH."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    built = os.path.join(root, "target", "release", name)
    return built if os.access(built, os.X_OK) else name


def median(values):
    """The value in the middle."""
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def table(head, rows):
    """Prints columns under a head."""
    cells = [[str(c) for c in row] for row in [head, *rows]]
    widths = [max(len(row[k]) for row in cells) for k in range(len(head))]
    for row in cells:
        print("  ".join(c.ljust(w) if k == 0 else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths))))
