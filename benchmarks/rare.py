"""Does the diagnosis say the truth of a table in which one account in fifty is fraudulent?

Twenty seeds of 2,000 accounts and their payments, half of them labelled (`tests/payments.py`): informative, where frauds
have higher amounts and pay one another, and useless, the same table with its labels permuted. The verdict is right if it
names the case (semantic-homophily, random-uniform) and advises against predictions for the useless table alone. All labels
of the informative table are right, so none of its frauds may be called suspicious.

    python benchmarks/rare.py [--seeds 20]
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from records import ROOT, write

from slimg import diagnose

sys.path.insert(0, str(ROOT / "tests"))
from payments import payments


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=20)
    seeds = parser.parse_args().seeds
    found = {name: _case(name == "informative", seeds) for name in ("informative", "useless")}
    write("rare", {"protocol": __doc__.split("\n\n")[1], **found})
    for name, each in found.items():
        print(f"{name:<12} {each['right']} of {seeds} right, {each['suspicious']} frauds called suspicious", each["others"])


def _case(informative: bool, seeds: int) -> dict[str, Any]:
    expected, said, doubts, scores = "semantic-homophily" if informative else "random-uniform", [], 0, []
    for seed in range(seeds):
        found = diagnose(payments(seed, informative))
        useless = any("Do not use predictions" in line for line in found.advice)
        said.append(found.scenario if useless != informative else f"{found.scenario}, wrong advice")
        doubts += sum(each.label == "fraud" for each in found.evidence.suspicious)
        scores.append(found.evidence.all.value)
    wrong = [each for each in said if each != expected]
    return {"right": seeds - len(wrong), "of": seeds, "others": wrong, "suspicious": doubts,
            "average_precision": round(float(np.mean(scores)), 3)}  # fmt: skip


if __name__ == "__main__":
    main()
