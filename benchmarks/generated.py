"""Graphs that are made here, of kinds that the graphs at hand are not: for choosing defaults where no published label is read.

    minesweeper   100 × 100 cells, 8 neighbours each, 20 % mines; features: how many neighbours are mines (0 … 6 and more, one
                  of them set), hidden in half of the cells, which an eighth feature says; label: mine or not
    sentence      a text drawn from a Markov chain over ten classes: each word is linked to the next one and to one a few places
                  on; features: 200 numbers of the word, which may belong to several classes; label: the class
    products      bought together: 6 neighbours mostly of a near class (five ratings), features: 100 weak numbers
    documents     long texts of 20 to 2,000 words out of 6,000, drawn from the topics of their author, edges between coauthors;
                  counts whose frequencies fall as 1/rank; label: the main topic
    cities        places in towns, linked to their six nearest; 0/1 features: two to six words of a name, of which a quarter are
                  those of the region; label: the region, the nearest of twelve points
    modules       the Python files of the interpreter's library and packages, linked by imports; features: counts of the words in
                  them; label: the package (real, but other on each machine)
"""

from __future__ import annotations

import re
import sys
import sysconfig
from collections import Counter
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from slimg import Graph


def minesweeper(side: int = 100, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    mines = rng.random((side, side)) < 0.2
    padded = np.pad(mines.astype(int), 1)
    steps = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
    counts = sum(padded[1 + a : side + 1 + a, 1 + b : side + 1 + b] for a, b in steps)
    shown = rng.random((side, side)) < 0.5
    features = np.zeros((side * side, 8), np.float32)
    features[np.arange(side * side), np.where(shown, np.minimum(counts, 6), 7).ravel()] = 1
    cell = np.arange(side * side).reshape(side, side)
    pairs = [(cell[:, :-1], cell[:, 1:]), (cell[:-1], cell[1:]), (cell[:-1, :-1], cell[1:, 1:]), (cell[:-1, 1:], cell[1:, :-1])]
    ends = np.hstack([np.stack([a.ravel(), b.ravel()]) for a, b in pairs])
    return _graph(ends, features, mines.ravel().astype(int))


def sentence(n: int = 8_000, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    classes, words, width = 10, 1_500, 200
    change = rng.dirichlet(np.full(classes, 0.3), classes)
    labels = np.zeros(n, int)
    for i in range(1, n):
        labels[i] = rng.choice(classes, p=change[labels[i - 1]])
    means = rng.standard_normal((classes, width))
    home = rng.integers(0, classes, words)
    vectors = 0.35 * means[home] + rng.standard_normal((words, width))
    chance = np.full((classes, words), 0.05) + (home == np.arange(classes)[:, None])
    chance /= 1 + np.arange(words) % 150
    chance /= chance.sum(axis=1, keepdims=True)
    drawn = np.array([rng.choice(words, p=chance[k]) for k in labels])
    far = np.arange(n - 6)
    ends = np.hstack([np.stack([np.arange(n - 1), np.arange(1, n)]), np.stack([far, far + rng.integers(2, 6, n - 6)])])
    return _graph(ends, vectors[drawn].astype(np.float32), labels)


def products(n: int = 8_000, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    labels = rng.choice(5, n, p=[0.1, 0.3, 0.3, 0.2, 0.1])
    places = rng.standard_normal((n, 6)) + 0.5 * labels[:, None] * rng.standard_normal(6)
    parts = np.array_split(np.arange(n), 20)
    near = np.vstack([np.argsort(np.square(places[part, None] - places[None]).sum(axis=2), axis=1)[:, 1:7] for part in parts])
    means = rng.standard_normal((5, 100))
    features = 0.2 * means[labels] + places @ rng.standard_normal((6, 100)) * 0.3 + rng.standard_normal((n, 100))
    return _graph(np.stack([np.repeat(np.arange(n), 6), near.ravel()]), features.astype(np.float32), labels)


def documents(n: int = 6_000, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    classes, words = 12, 6_000
    base = 1 / (20 + np.arange(words))
    topics = base * rng.gamma(0.3, size=(classes, words))
    topics = 0.15 * topics / topics.sum(axis=1, keepdims=True) + 0.85 * base / base.sum()
    labels = rng.choice(classes, n, p=rng.dirichlet(np.full(classes, 3.0)))
    mixtures = 0.7 * np.eye(classes)[labels] + 0.3 * rng.dirichlet(np.full(classes, 0.5), n)
    lengths = np.exp(rng.uniform(np.log(20), np.log(2_000), n)).astype(int)
    rows = [rng.multinomial(length, mixture @ topics) for length, mixture in zip(lengths, mixtures, strict=True)]
    features = sp.csr_matrix(np.array(rows, np.float32))
    order = np.argsort(labels, kind="stable")
    ends = rng.integers(0, n, (2, 12_000))
    starts, sizes = np.searchsorted(labels[order], np.arange(classes)), np.bincount(labels, minlength=classes)
    own = rng.random(12_000) < 0.75
    inside = order[starts[labels[ends[0]]] + rng.integers(0, 1 << 30, 12_000) % sizes[labels[ends[0]]]]
    return _graph(np.stack([ends[0], np.where(own, inside, ends[1])]), features, labels)


def cities(n: int = 8_000, seed: int = 0, classes: int = 12, told: float = 0.25) -> Graph:
    rng = np.random.default_rng(seed)
    towns, words = rng.random((n // 25, 2)), 2_000
    places = towns[rng.choice(len(towns), n, p=rng.dirichlet(np.full(len(towns), 0.5)))] + 0.01 * rng.standard_normal((n, 2))
    labels = cKDTree(rng.random((classes, 2))).query(places)[1]
    near = cKDTree(places).query(places, 7)[1][:, 1:]
    base = 1 / (10 + np.arange(words))
    own = base * rng.gamma(0.3, size=(classes, words))
    own = told * own / own.sum(axis=1, keepdims=True) + (1 - told) * base / base.sum()
    drawn = [rng.choice(words, size=rng.integers(2, 7), p=own[k], replace=False) for k in labels]
    rows = np.repeat(np.arange(n), [len(each) for each in drawn])
    features = sp.csr_matrix((np.ones(len(rows), np.float32), (rows, np.concatenate(drawn))), (n, words))
    return _graph(np.stack([np.repeat(np.arange(n), 6), near.ravel()]), features, labels)


def modules(most: int = 9_000, least: int = 100) -> Graph:
    roots = [Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))]
    files = {_dotted(path, root): path for root in roots for path in sorted(root.rglob("*.py")) if _counts(path, root)}
    sizes = Counter(name.split(".")[0] for name in files)
    kept = [name for name in files if sizes[name.split(".")[0]] >= least]
    kept = sorted(np.random.default_rng(0).permutation(kept)[:most].tolist())
    place, found, texts = {name: i for i, name in enumerate(kept)}, set[tuple[int, int]](), []
    for name in kept:
        text = files[name].read_text("utf-8", "replace")[:100_000]
        texts.append(Counter(re.findall(r"[a-z]{3,}", text.lower())))
        found |= {(place[name], place[each]) for each in _imports(text, name) if each in place and each != name}
    seen = Counter(word for text in texts for word in text)
    vocabulary = {word: j for j, word in enumerate(sorted(word for word, count in seen.items() if count >= 10))}
    entries = [(i, vocabulary[word], count) for i, text in enumerate(texts) for word, count in text.items() if word in vocabulary]
    rows, columns, counts = map(np.array, zip(*entries, strict=True))
    features = sp.csr_matrix((counts.astype(np.float32), (rows, columns)), (len(kept), len(vocabulary)))
    labels = np.unique([name.split(".")[0] for name in kept], return_inverse=True)[1]
    return _graph(np.array(sorted(found)).T, features, labels)


def _dotted(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def _counts(path: Path, root: Path) -> bool:
    parts = path.relative_to(root).parts
    return len(parts) > 1 and "site-packages" not in parts and "slimg" not in parts


def _imports(text: str, name: str) -> set[str]:
    found, parent = set(), name.rsplit(".", 1)[0]
    for module, names in re.findall(r"^\s*from\s+([\w.]+)\s+import\s+\(?([\w, ]+)", text, re.M):
        base = parent + "." + module.lstrip(".") if module.startswith(".") else module
        found |= {base.rstrip("."), *(f"{base.rstrip('.')}.{each.strip()}" for each in names.split(","))}
    return found | set(re.findall(r"^\s*import\s+([\w.]+)", text, re.M))


def _graph(ends: np.ndarray, features: object, labels: np.ndarray) -> Graph:
    edges = sp.coo_array((np.ones(ends.shape[1], np.float32), tuple(ends)), (len(labels),) * 2)
    return Graph.from_arrays(edges, features=features, labels=labels, duplicates="max")


GENERATED = {each.__name__: each for each in (minesweeper, sentence, products, documents, cities, modules)}


if __name__ == "__main__":
    for made in sys.argv[1:] or GENERATED:
        print(made, GENERATED[made]())
