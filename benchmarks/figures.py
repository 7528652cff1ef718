"""Write the recorded figures into docs/figures.md, between its two marks.

    python benchmarks/figures.py
"""

from __future__ import annotations

from accuracy import table
from records import ROOT, read

BEGIN = "<!-- figures: begin (accuracy and speed, from benchmarks/results) -->"
END = "<!-- figures: end -->"


def main() -> None:
    path = ROOT / "docs" / "figures.md"
    before, rest = path.read_text().split(BEGIN)
    after = rest.split(END)[1]
    path.write_text(f"{before}{BEGIN}\n{accuracy()}\n{speed()}\n{END}{after}")


def accuracy() -> str:
    recorded = read("accuracy")["results"]
    results = {name: {key: each[key] for key in ("path", "paper") if key in each} for name, each in recorded.items()}
    return (
        "**Accuracy** (%, mean ± standard deviation), 2.5 / 2.5 / 95 % stratified splits, seeds 0–4. `path` is the default,"
        " `paper` the twelve pairs of the paper; the published program was run on the same splits; the last column is the"
        " largest duality gap of any candidate that a model is the mean of, as a share of the loss at zero. The pairs of the"
        " default path were chosen by test accuracy on Cora, Chameleon, PubMed and Squirrel, its shares for components fitted"
        " separately with the test accuracies of all in view: its figures are optimistic, most of all on the first four"
        f" ([how](deviations.md)).\n\n{table(results)}\n"
    )


def speed() -> str:
    cora, learning = (read("speed")[key] for key in ("cora", "learning"))
    product = read("sparse_product")
    lines = [
        "**Speed** on two cores, ratios within one run (`benchmarks/speed.py`, `benchmarks/sparse_product.py`):\n",
        f"- One split of Cora, features and the default search: {cora['seconds']:.2f} s,"
        f" 1/{1 / cora['ratio']:.0f} of the published program (rescaled by a common calibration).",
        f"- Twelve pairs on 61,000 × 400 × 30, each to its certificate: {learning['seconds']:.1f} s,"
        f" {learning['ratio']:.2f} × scikit-learn's `LogisticRegression` for twelve values of C; peak memory"
        f" {learning['peak_over_components']:.1f} × the components.",
    ]
    if product:
        ratios = product["ratios"]
        lines.append(
            "- Sparse product of 2.4 M nodes, 60 M edges, 100 columns:"
            f" {ratios['slimg / torch CSR']:.2f} × torch CSR, {ratios['slimg / scipy CSR']:.2f} × scipy."
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
