"""What weights of words and features around a node add, by nested validation: no label outside of the labelled set is read.

Rows to learn from, to choose on and to compare on are those of `selection.py`. The default search is run on the columns of

    rows that sum to one    the default list with normalize="row", for counts that the default weights
    default                 the default list
    ten powers              the same with `Diffusion()` in the place of `PageRank()`
    far                     the default list and `screening.FAR`
    by labels               the same where `screen_reach` takes it for the labels that are learned from

Gains are paired: of "default" over "rows that sum to one" (weights) and over "ten powers" (PageRank), of "far" and
"by labels" over "default".

    python benchmarks/columns.py [--graphs cora,cities] [--shares 2.5,8] [--draws 6]
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
from generated import GENERATED
from records import read, write
from selection import SMALL, rows_of
from validation import Variant, load, score

from slimg.components import Diffusion, PageRank, compute_components, default_components
from slimg.components.component import FEW_FEATURES
from slimg.components.features import FeatureComponent
from slimg.components.screening import FAR, screen_reach
from slimg.engine.memory import MemoryEngine

POWERS = Diffusion()
GAINS = {
    "weights": ("default", "rows that sum to one"),
    "PageRank": ("default", "ten powers"),
    "far": ("far", "default"),
    "by labels": ("by labels", "default"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graphs", type=lambda text: text.split(","), default=[*SMALL, "computers", "wordnet", *GENERATED])
    parser.add_argument("--shares", type=lambda text: [float(each) for each in text.split(",")], default=[2.5, 8.0])
    parser.add_argument("--draws", type=int, default=6)
    options = parser.parse_args()
    results = read("columns").get("results", {})
    for name in options.graphs:
        for share in options.shares:
            results.setdefault(f"{share:g} %", {})[name] = found = scores(name, share, options.draws)
            print(f"{name:<12}{share:g} %  {told(found)}", flush=True)
            write("columns", {"protocol": __doc__.split("\n\n")[1], "results": results})


def scores(name: str, share: float, draws: int) -> dict[str, list[float]]:
    """Percent of each variant in each draw, and what features far around explain of what those near leave, in percent."""
    graph, found = GENERATED[name]() if name in GENERATED else load(name), dict[str, list[float]]()
    rows = [rows_of(graph, name, share, seed) for seed in range(draws)]
    components = default_components(len(rows[0][0]), graph.n, graph.d)
    longer = [replace(each, soft=graph.d < FEW_FEATURES) for each in (POWERS, FAR)]
    parts = compute_components(graph, components=[*components, *longer])
    default = {each.name: parts.blocks[each.name] for each in components if each.name in parts.blocks}
    near = {each: block for each, block in default.items() if each != PageRank().name}
    variants = {"default": default, "ten powers": near | {POWERS.name: parts.blocks[POWERS.name]}}
    variants["far"] = default | {FAR.name: parts.blocks[FAR.name]}
    if any(each.startswith("Features are counts") for each in parts.notes):
        plain = [replace(each, normalize="row") for each in components if isinstance(each, FeatureComponent)]
        variants["rows that sum to one"] = default | compute_components(graph, components=plain).blocks
    for train, *others in rows:
        present, codes = np.unique(graph.codes[train], return_inverse=True)
        taken, _ = screen_reach(graph, MemoryEngine(), train, codes, len(present))
        found.setdefault("taken", []).append(float(bool(taken)))
        for variant, blocks in variants.items():
            percent = 100 * score(graph, blocks, Variant(tuple(blocks)), train, *others)
            found.setdefault(variant, []).append(round(percent, 3))
        found.setdefault("by labels", []).append(found["far" if taken else "default"][-1])
    return found


def told(found: dict[str, list[float]]) -> str:
    gains = {each: np.subtract(found[a], found[b]) for each, (a, b) in GAINS.items() if b in found}
    errors = {each: gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.nan for each, gain in gains.items()}
    shown = "  ".join(f"{each} {gain.mean():+.2f} ± {errors[each]:.2f}" for each, gain in gains.items())
    return f"default {np.mean(found['default']):.2f}  {shown}  taken {np.mean(found['taken']):.0%}"


if __name__ == "__main__":
    main()
