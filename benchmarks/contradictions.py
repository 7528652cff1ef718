"""Do two sentences of a page ever contradict each other, or the scores beside them?

Forty random small graphs of each kind (homophily, heterophily, useless labels, a rare class, typed and directed), of random
size, noise and share of labels, are fitted with the defaults, and the checks of `tests/report/contradictions.py` are made on
each record: claims that the scores refute, sentences without a number, and pairs of sentences that no page may have together.

    python benchmarks/contradictions.py [--each 40]
"""

from __future__ import annotations

import argparse
import collections
import sys

from records import ROOT, write

from slimg import SlimG
from slimg.report.record import fit_record

sys.path.insert(0, str(ROOT / "tests" / "report"))
from contradictions import CLAIMS, KINDS, PAIRS, contradictions, random_graph, sentences


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--each", type=int, default=40)
    each = parser.parse_args().each
    told: dict[str, collections.Counter[str]] = {kind: collections.Counter() for kind in KINDS}
    found, seen = [], 0
    for kind in KINDS:
        for seed in range(each):
            graph = random_graph(kind, seed)
            record = fit_record(SlimG(random_state=seed).fit(graph), graph)
            told[kind][(record["diagnosis"] or {"trust": "none"})["trust"]] += 1
            found += [f"{kind} {seed}: {line}" for line in contradictions(record)]
            seen += len(sentences(record))
        print(kind, dict(told[kind]), flush=True)
    checks = {"claims": len(CLAIMS), "pairs": len(PAIRS)}
    write("contradictions", {"protocol": __doc__.split("\n\n")[1], "fits": each * len(KINDS), "sentences": seen, **checks,
                             "trust": {kind: dict(counts) for kind, counts in told.items()}, "found": found})  # fmt: skip
    print(f"{len(found)} contradictions in {each * len(KINDS)} fits, {seen} sentences", *found, sep="\n")


if __name__ == "__main__":
    main()
