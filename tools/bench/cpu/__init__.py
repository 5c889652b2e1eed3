"""The parts of `cpu.py`: the process that measures, and what is written of its figures."""
