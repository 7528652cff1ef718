"""Sentences of a record that cannot stand together, or not beside its numbers; and random small graphs to try it on.

A claim is a pattern of a sentence and what refutes it: a function of the record. `contradictions` reads the sentences as a
person does, from the record alone, and knows nothing of how they were made.
"""

import re

import numpy as np

from slimg import Graph

KINDS = ("homophily", "heterophily", "useless", "rare", "typed")


def sentences(record):
    """Every sentence of the page that judges something."""
    found = record["diagnosis"] or {"verdict": [], "advice": []}
    pinned = [f"{each['head']} {each['text']}" for each in record["findings"]]
    return [*pinned, *found["verdict"], *found["advice"], record["comparison"]["sentence"]]


def model_of(record, name):
    return next((each for each in record["comparison"]["models"] if each["name"] == name), None)


def ahead(record, name):
    """1 if SlimG is clearly ahead of a model, −1 if it is clearly behind, 0 if neither, None without the model."""
    found = model_of(record, name)
    if found is None:
        return None
    low, high = found["gain"]["interval"]
    return 1 if low > 0 else -1 if high < 0 else 0


def above(record, name="SlimG"):
    """Whether the interval of a model's score is above chance."""
    found = model_of(record, name)
    return found is not None and found["interval"][0] > record["held_out"]["baseline"]


def tiny(record, name):
    """Whether the difference is below half a point, which may be called little."""
    return abs(model_of(record, name)["gain"]["value"]) <= 0.005


CLAIMS = (
    ("Do not use predictions", lambda r: above(r) or ahead(r, "boosted trees") == -1),
    ("no better than chance", above),
    ("Neither the features nor the edges", lambda r: above(r) or above(r, "features alone") or above(r, "network alone")),
    ("Neither the features nor the edges", lambda r: ahead(r, "boosted trees") == -1),
    ("too little to rely on", above),
    (r"Use SlimG as it is", lambda r: not above(r) or ahead(r, "features alone") == -1 or ahead(r, "boosted trees") == -1),
    (r"The graph helps(?! little)", lambda r: ahead(r, "features alone") != 1 or not above(r)),
    (r"The graph helps little", lambda r: ahead(r, "features alone") != 1 or not tiny(r, "features alone")),
    (r"The graph makes no measurable difference", lambda r: ahead(r, "features alone") != 0),
    (r"The graph adds nothing", lambda r: ahead(r, "features alone") != -1),
    (r"Features help(?! little)", lambda r: ahead(r, "network alone") != 1 or not above(r)),
    (r"Features make no measurable difference", lambda r: ahead(r, "network alone") != 0),
    (r"(The features alone|alone they) do not predict", lambda r: above(r, "features alone")),
    (r"(The features alone|alone they) predict the classes", lambda r: not above(r, "features alone")),
    (r"The edges do not predict", lambda r: above(r, "network alone") and ahead(r, "features alone") == 1),
    (r"network alone does predict", lambda r: model_of(r, "network alone") and not above(r, "network alone")),
    (r"network alone does not predict", lambda r: above(r, "network alone")),
    (r"classifier on the features alone will do", lambda r: ahead(r, "features alone") == 1),
    (r"these repeat the graph", lambda r: ahead(r, "network alone") == 1),
    (r"linear model is neither ahead nor behind", lambda r: ahead(r, "boosted trees") != 0),
    (r"linear model is ahead", lambda r: ahead(r, "boosted trees") != 1),
    (r"linear model is behind", lambda r: ahead(r, "boosted trees") != -1),
    (r"Label more nodes", lambda r: r["read"]["labelled"] == r["read"]["nodes"]),
    (r"labels? looks? wrong", lambda r: not r["diagnosis"]["evidence"]["suspicious"]),
    (r"Boosted trees .* do better here", lambda r: ahead(r, "boosted trees") != -1),
    (r"only features can classify", lambda r: r["read"]["features"] == 0),
    (r"What counts: nothing", lambda r: any(part["norm"] for part in r["model"]["overview"]["components"])),
)
"""Pattern of a sentence, and what refutes it."""
PAIRS = (
    ("^Do not (use|rely)|Careful: Do not", "Use SlimG as it is|The graph helps|Features help|will do;"),
    ("More labels of (the same kind|the other classes) would change little", "Label more nodes: |label more nodes\\."),
    ("nodes have no features", "The features|Features (help|make)|only features can"),
    ("The edges do not predict", "^Homophily|^Weak homophily|^Heterophily|The graph helps(?! little)"),
    ("(The features alone|alone they) do not predict", "A classifier on the features alone"),
    ("The features (do not|hardly) predict", "Features help"),
    ("Whether more labels would help is not clear", "[Ll]abel more nodes(:|\\.|$)"),
    ("Neither the features nor the edges", "The (features|edges) predict|Homophily"),
    ("better than chance\\.", "The graph|Features (help|make)"),
)
"""Patterns of two sentences that no page may have together."""
POINT = r"([+−-]?[\d.]+)"
CHANCE = rf"\({POINT}% of the edges join nodes of one class, {POINT}% would by chance\)"
DIFFERENCE = rf"\({POINT}(?: points)?, 95% interval {POINT} to {POINT}\)"
NUMBERS = (
    (rf"omophily: neighbours tend to be of the same class {CHANCE}", lambda found, chance: found > chance),
    (rf"tend to be of different classes {CHANCE}", lambda found, chance: found < chance),
    (rf"(?:hardly|as often)[^(]*{CHANCE}", lambda found, chance: abs(found - chance) <= 11),
    (rf"(?:alone|alone they) predict the classes: {POINT}% right, {POINT}% by chance", lambda found, chance: found > chance),
    (rf"alone does predict the classes \({POINT}%, {POINT}% by chance", lambda found, chance: found > chance),
    (DIFFERENCE, lambda value, low, high: low <= value <= high),
    (rf"(?:helps?|is ahead)(?: little)?\b[^(]*{DIFFERENCE}", lambda value, low, high: value >= 0 and low >= 0),
    (rf"(?:adds? nothing|is behind|trees do better)[^(]*{DIFFERENCE}", lambda value, low, high: value <= 0 and high <= 0),
    (rf"(?:no measurable difference|neither ahead)[^(]*{DIFFERENCE}", lambda value, low, high: low <= 0 <= high),
    (rf": {POINT}% with (?:it|them), {POINT}% with [a-z ]* {DIFFERENCE}",
     lambda more, less, value, low, high: abs(more - less - value) <= 1.05),
    (rf"(?:Label more nodes|would help): the last doubling of the labels gave {POINT} points", lambda rise: rise > 0),
    (rf"would change little: the last doubling of the labels gave {POINT} points", lambda rise: rise < 2),
    (rf"labels: {POINT}% \({POINT}% to {POINT}%\)", lambda value, low, high: low <= value <= high),
)  # fmt: skip
"""Pattern of a sentence with its numbers, and what must hold between them; numbers are rounded as the page shows them."""
UNNUMBERED = "Use SlimG|Do not (use|rely)|will do|do(es)? better here|no features|may differ|unknown|so few|repeat the graph"
"""Advice, and what needs no number."""


def contradictions(record):
    """What cannot stand together, one line each; empty if nothing was found."""
    told, found = sentences(record), []
    for sentence in told:
        for pattern, refuted in CLAIMS:
            if re.search(pattern, sentence) and refuted(record):
                found.append(f"{sentence!r} is refuted by the scores")
        for pattern, holds in NUMBERS:
            for numbers in re.findall(pattern, sentence):
                given = [float(each.replace("−", "-")) for each in ([numbers] if isinstance(numbers, str) else numbers)]
                if not holds(*given):
                    found.append(f"{sentence!r} contradicts its own numbers")
        if sentence and not re.search(r"\d", sentence) and not re.search(UNNUMBERED, sentence):
            found.append(f"{sentence!r} carries no number")
    for one, other in PAIRS:
        found += [f"{a!r} beside {b!r}" for a in told if re.search(one, a) for b in told if a != b and re.search(other, b)]
    parts = record["model"]["overview"]["components"]
    zero = re.search(r"Exactly zero: (.*?)\.(?: |$)", record["findings"][1]["text"])
    removed = [part["short_title"] for part in parts if part["norm"] == 0 and "→" not in part["name"] and "←" not in part["name"]]
    if (zero is not None) != bool(removed) or (zero and zero[1].split(", ")[0] != removed[0]):
        found.append("components that are zero are not those that are named")
    shown = record["findings"][0]["text"] + record["findings"][0]["head"]
    values = {each["name"]: each["value"] for each in record["comparison"]["models"]}
    for name, text in re.findall(r"(features alone|network alone|boosted trees) ([\d.]+)%", shown):
        if abs(100 * values[name] - float(text)) > 0.051:
            found.append(f"the first finding has {text}% for {name}, the comparison {values[name]:.4f}")
    if abs(record["held_out"]["score"] - model_of(record, "SlimG")["value"]) > 1e-12:
        found.append("two scores of SlimG")
    return found


def random_graph(kind, seed):
    """A small graph of a kind, some of whose labels are known; sizes, noise and shares are drawn too."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    n, c = int(rng.integers(120, 400)), 2 if kind == "rare" else int(rng.integers(2, 5))
    codes = (rng.random(n) < 0.06).astype(int) if kind == "rare" else rng.integers(0, c, n)
    told = rng.permutation(codes) if kind == "useless" else codes
    strength = rng.choice([0.0, 0.3, 0.8, 1.5])
    features = rng.standard_normal((n, 6)) + strength * (kind != "useless") * np.eye(c, 6)[codes]
    tables = {}
    for name in ("follows", "pays", "knows")[: 3 if kind == "typed" else 1]:
        source, target = rng.integers(n, size=4 * n), rng.integers(n, size=4 * n)
        wanted = (codes[source] + (kind == "heterophily")) % c if name == "follows" else codes[source]
        share = {"useless": 0.0, "typed": 0.6 if name == "follows" else 0.0}.get(kind, rng.choice([0.1, 0.4, 0.7]))
        for k in np.flatnonzero(rng.random(4 * n) < share):
            target[k] = rng.choice(np.flatnonzero(codes == wanted[k]))
        tables[name] = np.column_stack([source, target])[source != target].tolist()
    labels = np.array([f"class {code}" for code in told], object)
    labels[rng.random(n) >= rng.choice([0.3, 0.6])] = None
    for code in range(c):  # at least three labels of each class
        labels[np.flatnonzero(told == code)[:3]] = f"class {code}"
    bare = rng.random() < 0.15
    edges = tables if kind == "typed" else tables["follows"]
    given = {"nodes": range(n), "features": None if bare else features, "label": labels}
    return Graph.from_edges(edges, **given, directed=kind == "typed" or None)
