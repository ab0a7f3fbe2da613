"""Run cases of the fuzz: `python -m tests.fuzz SEED ...`, or all of them without a seed."""

import sys
from time import perf_counter

from tests.fuzz.cases import CASES, NAMES, run_case


def main() -> None:
    seeds = [int(word) for word in sys.argv[1:]] or sorted(
        range(CASES), key=lambda seed: seed % len(NAMES)
    )
    wrong = 0
    for seed in seeds:
        began = perf_counter()
        outcome = run_case(seed)
        wrong += outcome.is_wrong
        mark = "WRONG " if outcome.is_wrong else ""
        print(f"{mark}{outcome}\n  {perf_counter() - began:.1f} s", flush=True)
    print(f"{wrong} of {len(seeds)} are called calibrated and are not.")


if __name__ == "__main__":
    main()
