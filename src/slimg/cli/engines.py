"""Where ``slimg fit`` computes: in memory, in files within a budget, or on a Dask cluster.

    auto     memory if the estimate of the files fits into the budget, else mapped
    mapped   .DIR.work beside the folder of results: work.json (files, options), nodes.parquet, graph/ and the work files of the
             engine; the same command continues there after a kill, another one begins anew; it is removed at the end
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from slimg import __version__
from slimg.cli import Progress
from slimg.errors import InputError, require
from slimg.io.inputs import Inputs, Options, read_inputs
from slimg.system import as_bytes, atomic_write, available_memory, release_memory, show_bytes

ENGINES = ("auto", "memory", "mapped", "dask")
SAMPLED = "Graph and features stay on disk: the diagnosis looks at a sample of the labels, and the page explains some nodes."
LARGE = 1 << 18
"""Nodes from which the node table is not held while the model is fitted."""
SMALL = 1 << 26
"""Bytes of files up to which "auto" takes memory without an estimate, unless a budget is given."""


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--engine``, ``--memory``, ``--scheduler`` and ``--shared-folder``."""
    group = parser.add_argument_group("engine")
    group.add_argument("--engine", choices=ENGINES, default="auto",
                       help="memory; mapped: files, for graphs larger than memory; dask: a cluster (default: auto, by the"
                       " estimate)")  # fmt: skip
    group.add_argument("--memory", metavar="SIZE", help="memory to use at most, as 4GB (default: most of what is free)")
    group.add_argument("--scheduler", metavar="ADDRESS", help="scheduler of a Dask cluster, as tcp://HOST:8786")
    group.add_argument("--shared-folder", metavar="DIR", type=Path,
                       help="with --scheduler: a folder that this machine and all workers see, for work files (default: the"
                       " folder for temporary files, which is enough on one machine)")  # fmt: skip


@contextmanager
def opened(args: argparse.Namespace, options: Options, progress: Progress) -> Iterator[tuple[Inputs, Any, list[str]]]:
    """Read the files for the engine of a command.

    Parameters
    ----------
    args : Namespace
        With the options of `add_engine_options`, and ``out``, beside which work files are.
    options : Options
        The files.
    progress : Progress
        A stage "reading" is reported to it.

    Yields
    ------
    inputs : Inputs
    engine : str, Engine or Dask client
        As `SlimG` takes it.
    notes : list of str
        What was decided.
    """
    budget = None if args.memory is None else as_bytes(args.memory, "--memory")
    if (args.scheduler is not None) != (args.engine == "dask"):
        missing = args.scheduler is None
        raise InputError(
            "--engine dask needs the address of a scheduler: give it with --scheduler, as tcp://HOST:8786" if missing else
            "--scheduler goes with --engine dask: give both, or neither"
        )  # fmt: skip
    if args.shared_folder is not None and (args.scheduler is None or not args.shared_folder.is_dir()):
        needed = "--scheduler" if args.scheduler is None else "a folder that exists on this machine and on all workers"
        raise InputError(f"--shared-folder {args.shared_folder} needs {needed}")
    with options.local() as local, _read(args, local, budget, progress) as found:
        yield found


@contextmanager
def _read(
    args: argparse.Namespace, options: Options, budget: int | None, progress: Progress
) -> Iterator[tuple[Inputs, Any, list[str]]]:
    """Choose the engine, and read files of this computer for it."""
    name, notes = _chosen(args.engine, options, budget)
    if name == "mapped":
        with _mapped(args, options, budget or int(0.8 * (available_memory() or 1 << 32)), progress) as (inputs, engine):
            yield inputs, engine, [*notes, SAMPLED]
        return
    with _cluster(args.scheduler, args.shared_folder) if name == "dask" else nullcontext("memory") as place:
        with progress.stage("reading"):
            inputs = _without_table(read_inputs(options), options)
            release_memory()
        yield inputs, place, notes


@contextmanager
def _cluster(address: str, folder: Path | None) -> Iterator[Any]:
    """The engine of a Dask cluster."""
    client = require("distributed", "dask", "--engine dask").Client
    from slimg.engine.dask import DaskEngine

    try:
        connected = client(address, timeout=20)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(f"there is no Dask scheduler at {address} ({str(error)[:100]}): check --scheduler") from None
    with connected, DaskEngine(connected, folder) as engine:
        yield engine


def _without_table(inputs: Inputs, options: Options) -> Inputs:
    """Inputs whose large node table is read again when predictions are written beside it, and not held meanwhile."""
    if not inputs.as_read or inputs.graph.n < LARGE:
        return inputs
    from slimg.io.disk_tables import FileTable

    return replace(inputs, table=inputs.table.iloc[:0].copy(), stored=FileTable.open(options.nodes[0]))


def _chosen(name: str, options: Options, budget: int | None) -> tuple[str, list[str]]:
    """The name of the engine, and a note if the estimate decided."""
    stored = sum(path.stat().st_size for source in (*options.edges, *options.nodes) for path in source.files if path.is_file())
    if name in ("memory", "dask") or (name == "auto" and budget is None and stored < SMALL):
        return ("memory" if name == "auto" else name), []
    from slimg.io.disk_tables import check_options

    if name == "mapped":
        check_options(options)
    from slimg.cli.estimate import measured
    from slimg.components.estimate import estimate
    from slimg.engine.rates import Rates

    try:
        sizes, files = measured(options)
        found = estimate(sizes, memory=budget, rates=Rates(*6 * [1e-9]), files=files)
        if name == "auto" and found.recommended == "memory":
            return "memory", [f"Engine: memory, as slimg estimate advises: {found.reason}."]
        check_options(options)
    except InputError as error:
        if name == "mapped":
            raise
        return "memory", [f"Engine: memory, as others cannot be used or estimated here ({error})."]
    least = found.engines["mapped"].memory
    if budget is not None and least > budget:
        given, needed = show_bytes(budget), show_bytes(1.02 * least)
        raise InputError(f"--memory {given} is too small for {sizes.nodes:,} nodes: give at least {needed}")
    return "mapped", [f"Engine: mapped, as slimg estimate advises: {found.reason}."] if name == "auto" else []


@contextmanager
def _mapped(args: argparse.Namespace, options: Options, budget: int, progress: Progress) -> Iterator[tuple[Inputs, Any]]:
    """A graph on disk and the engine of files, in a work folder that outlives a kill."""
    from slimg.engine.mapped import MappedEngine
    from slimg.io.disk_tables import read_to_disk

    target = Path(os.path.realpath(args.out))
    work = target.parent / f".{target.name}.work"
    wanted = json.dumps({"files": [_state(source) for source in (*options.edges, *options.nodes)],
                         "options": repr(options), "seed": args.seed, "slimg": __version__})  # fmt: skip
    if not (work / "work.json").exists() or (work / "work.json").read_text(encoding="utf-8") != wanted:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        with atomic_write(work / "work.json") as file:
            file.write(wanted)
    try:
        with progress.stage("reading"):
            inputs = read_to_disk(options, work, budget, progress)
    except InputError:  # the files have to change first
        shutil.rmtree(work, ignore_errors=True)
        raise
    with MappedEngine(budget, work) as engine:
        yield inputs, engine
    shutil.rmtree(work, ignore_errors=True)


def _state(source: Any) -> list[Any]:
    """Names, sizes and times of the files of a source."""
    return [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in source.files if path.exists()]
