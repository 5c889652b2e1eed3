"""Compares the results of two runs of the golden tests (`lit -o FILE`, `rinductor-lit -o FILE`), test by test.

    python3 same_verdicts.py ONE.json TWO.json

The exit status is 0 if both ran the same tests with the same verdicts and no test failed, else 1.
"""

import collections
import json
import sys

FAILURES = {"FAIL", "TIMEOUT", "UNRESOLVED", "XPASS"}


def verdicts(path):
    with open(path) as file:
        tests = json.load(file)["tests"]
    return {test["name"]: test["code"] for test in tests}


def main(paths):
    one, two = map(verdicts, paths)
    problems = []
    for name in sorted({**one, **two}):
        codes = one.get(name, "not run"), two.get(name, "not run")
        if codes[0] != codes[1]:
            problems.append(f"{name}: {codes[0]} in {paths[0]}, {codes[1]} in {paths[1]}")
        elif codes[0] in FAILURES:
            problems.append(f"{name}: {codes[0]} in both")
    if not one or not two:
        problems.append("no tests were run")
    for problem in problems:
        print(problem)
    counts = ", ".join(f"{count} {code}" for code, count in sorted(collections.Counter(one.values()).items()))
    print(f"{len(one)} tests in the one run, {len(two)} in the other ({counts}): {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:3]))
