"""Do two sentences of a page ever contradict each other, or the scores beside them?

Forty random small graphs of each kind (homophily, heterophily, useless labels, a rare class, typed and directed), of random
size, noise and share of labels, are fitted with the defaults, and the checks of `tests/report/contradictions.py` are made on
each record: claims that the scores refute, sentences without a number or that their own numbers contradict, and pairs of
sentences that no page may have together.

    python benchmarks/contradictions.py [--each 40]
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

from records import ROOT, write

from slimg import SlimG
from slimg.report.record import fit_record

sys.path.insert(0, str(ROOT / "tests" / "report"))
from contradictions import CLAIMS, KINDS, NUMBERS, PAIRS, contradictions, random_graph, sentences


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--each", type=int, default=40)
    each = parser.parse_args().each
    told: dict[str, collections.Counter[str]] = {kind: collections.Counter() for kind in KINDS}
    found, seen, fits = [], 0, 0
    cases = [(kind, seed) for seed in range(each) for kind in KINDS]
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        for (kind, seed), (trust, sentences_seen, lines) in zip(cases, pool.map(_case, cases), strict=True):
            told[kind][trust] += 1
            found += [f"{kind} {seed}: {line}" for line in lines]
            seen, fits = seen + sentences_seen, fits + 1
            print(*(f"{kind} {seed}: {line}" for line in lines), sep="\n", end="\n" if lines else "", flush=True)
            if fits % len(KINDS) == 0:  # what is there so far, should the run be stopped
                write("contradictions", {
                    "protocol": __doc__.split("\n\n")[1], "fits": fits, "sentences": seen, "claims": len(CLAIMS),
                    "pairs": len(PAIRS), "numbers": len(NUMBERS),
                    "trust": {name: dict(counts) for name, counts in told.items()}, "found": found,
                })  # fmt: skip
    print(f"{len(found)} contradictions in {fits} fits, {seen} sentences")


def _case(case: tuple[str, int]) -> tuple[str, int, list[str]]:
    kind, seed = case
    graph = random_graph(kind, seed)
    record = fit_record(SlimG(random_state=seed).fit(graph), graph)
    trust = (record["diagnosis"] or {"trust": "none"})["trust"]
    return trust, len(sentences(record)), contradictions(record)


if __name__ == "__main__":
    main()
