"""The invariants of tests/test_invariants.py on many graphs each.

    python benchmarks/invariants.py [--examples 1000] [--only threads …]

Records for each invariant the graphs tried, the seconds, and the first counterexample, if one was found.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings

import records


def main() -> int:
    """Run and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--only", nargs="+")
    args = parser.parse_args()
    os.environ["SLIMG_EXAMPLES"] = str(args.examples)
    sys.path.insert(0, str(records.ROOT / "tests"))
    import test_invariants as tests

    warnings.simplefilter("ignore")
    found = records.read("invariants").get("invariants", {})
    for name in [name.removeprefix("test_") for name in vars(tests) if name.startswith("test_")]:
        if args.only and name not in args.only:
            continue
        begun, wrong = time.perf_counter(), None
        try:
            getattr(tests, f"test_{name}")()
        except Exception as error:
            wrong = f"{type(error).__name__}: {str(error)[:500]}"
        found[name] = {"graphs": args.examples, "seconds": round(time.perf_counter() - begun, 1), "counterexample": wrong}
        print(name, found[name], flush=True)
        records.write("invariants", {"protocol": __doc__, "invariants": found})
    return int(any(each["counterexample"] for each in found.values()))


if __name__ == "__main__":
    sys.exit(main())
