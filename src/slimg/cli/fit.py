"""``slimg fit``: from files to predictions, a model and a page.

    slimg fit --edges follows.csv --nodes users.parquet --label team --id user

reads who follows whom and a table of users, some of whom have a team, and writes into the folder slimg-out:

    predictions.parquet   the table of users with prediction, probability, margin and one column per team
    model.slimg           the model, for slimg predict and slimg explain
    report.html           a page that opens offline: accuracy, the model, and explanations of users
    record.json           the data of the page, for slimg report

Guesses about the files are printed; the options below overrule them. The four files appear together when all are
complete; other files in the folder stay.

    slimg fit --edges follows.csv --edges pays.csv --directed pays --nodes users.csv --nodes items.csv --label team

reads two relations, of which one keeps its direction, between nodes of two types. One file can hold several relations:
--edges links.csv --relation kind.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slimg import __version__
from slimg.cli import Progress, add_command, echo, print_json, whole
from slimg.cli.inputs import (
    FORMATS,
    add_coverage_option,
    add_input_options,
    as_list,
    options_of,
    predictions_path,
    reading_record,
    rows_of_nodes,
    write_predictions,
)
from slimg.cli.results import MODEL, PAGE, RECORD, existing_results, result_folder
from slimg.errors import InputError, require, without_password
from slimg.graph.graph import Graph
from slimg.io import refuse_existing, write_text
from slimg.io.inputs import Inputs, Options, read_inputs
from slimg.system import as_bytes, available_memory, release_memory, resident, show_bytes

if TYPE_CHECKING:
    from slimg.classifier import SlimG

ENGINES = ("auto", "memory", "mapped", "dask")
SAMPLED = "Graph and features stay on disk: the diagnosis looks at a sample of the labels, and the page explains some nodes."
LARGE = 1 << 18
"""Nodes from which the node table is not held while the model is fitted."""
SMALL = 1 << 26
"""Bytes of files up to which "auto" takes memory without an estimate, unless a budget is given."""
STAGES = 7
"""Reading, components, learning, comparing, diagnosing, explaining, writing."""
SCORING = ("accuracy", "balanced_accuracy", "f1_macro", "average_precision", "roc_auc", "log_loss")
"""Names of `slimg.learn.objective.METRICS`, which would load scikit-learn."""
NAMES = {"name": 80, "full_name": 80, "display_name": 80, "title": 200, "headline": 200, "caption": 200, "words": 30}
"""Columns whose values are shown beside ids, the first that there is, and how many characters half of them may have."""
MEASURED_NODES = 3_000
"""Nodes up to which folding in is measured by default: it takes a second or two."""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The command's arguments."""
    parser = add_command(subparsers, "fit", __doc__, run)
    add_input_options(parser)
    output = parser.add_argument_group("output")
    output.add_argument("--out", metavar="DIR", type=Path, default=Path("slimg-out"), help="folder (default: slimg-out)")
    output.add_argument("--force", action="store_true", help="overwrite existing files")
    shown = output.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print the results as JSON")
    shown.add_argument("--verbose", action="store_true", help="print also how files were read, the diagnosis and what to do next")
    add_coverage_option(output)
    output.add_argument("--title", metavar="TEXT", help="title of the page")
    output.add_argument("--explain", metavar="NODE", nargs="+", action="extend",
                        help="ids of further nodes to explain on the page")  # fmt: skip
    parser.add_argument(
        "--measure-fold-in",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="hide a tenth of the nodes, fit the rest, fold the hidden nodes in and compare with this fit; takes about as"
        f" long as the components (default: for graphs of up to {MEASURED_NODES:,} nodes)",
    )
    add_scoring_option(parser, "what penalties are chosen by, and the result is judged by")
    parser.add_argument("--class-weight", choices=("balanced",), help="balanced: every class counts the same in the loss")
    parser.add_argument("--seed", type=whole(0, 2**32 - 1), default=0, help="random seed of the folds (default: 0)")
    add_engine_options(parser)
    return parser


def add_scoring_option(parser: argparse.ArgumentParser, what: str) -> None:
    """The option --scoring, which says ``what`` is done by it."""
    default = "accuracy, or average_precision if one of two classes has under 10 %% of the labels"
    parser.add_argument("--scoring", choices=SCORING, help=f"{what} (default: {default})")


def run(args: argparse.Namespace) -> int:
    """Read, fit, diagnose, explain, write."""
    progress, options = Progress(quiet=args.json), options_of(args)
    if args.out.suffix.lower() in (*FORMATS, ".xlsx"):
        raise InputError(f"--out {args.out} is to be a folder, for four files: leave out the ending {args.out.suffix}")
    if not options.nodes and not options.edges and options.db is None:
        raise InputError("name a file of edges with --edges, a file of nodes with --nodes, or both: see slimg fit --help")
    names = {"predictions": predictions_path(Path(), options).name, "model": MODEL, "page": PAGE, "record": RECORD}
    files = {name: args.out / file for name, file in names.items()}
    refuse_existing(existing_results(args.out), args.force)
    with (result_folder(args.out) as draft, progress.whole("fit", STAGES),
          opened(args, options, progress) as (inputs, engine, notes)):  # fmt: skip
        graph, inputs = inputs.graph, replace(inputs, notes=(*inputs.notes, *notes))
        in_memory = isinstance(engine, str)
        explain, measure = rows_of_nodes(graph, args.explain or ()), _measures_fold_in(args.measure_fold_in, graph, in_memory)
        from slimg.classifier import SlimG

        wanted: dict[str, Any] = {"scoring": args.scoring, "class_weight": args.class_weight, "random_state": args.seed}
        model = SlimG(**wanted, engine=engine, verbose=progress).fit(graph).set_params(verbose=False)
        if measure:
            with progress.stage("measuring"):
                model.measure_fold_in()
        model.data_["reading"] = reading_record(args, inputs)
        from slimg.report.record import fit_record

        told: dict[str, Any] = {"facts": _facts(args, inputs, files), "names": _names(inputs)}
        record = fit_record(model, graph, **told, explain=explain, progress=progress)
        model.components_.clear()  # scores and states are all that is needed from here on
        release_memory()
        with ThreadPoolExecutor(1, "saving") as executor, progress.stage("writing"):
            saved = executor.submit(model.save, draft / MODEL)  # checksums and the disk do not need the interpreter
            _write({name: draft / file for name, file in names.items()}, inputs, model, record, args.coverage)
            saved.result()
    record["seconds"] = progress.seconds
    if args.json:
        from slimg.report.record import results

        print_json(results(record))
    else:
        _print_summary(record, files, args.verbose)
    return 0


def _measures_fold_in(option: bool | None, graph: Graph, in_memory: bool) -> bool:
    """Whether folding in is measured: it hides nodes that have no label, and fits the rest in memory."""
    some = len(graph.labelled) < graph.n
    if option and not in_memory:
        raise InputError("--measure-fold-in fits in memory: leave it out, or use --engine memory")
    if option and not some:
        raise InputError("every node has a label, so none can be hidden and folded in: leave out --measure-fold-in")
    return in_memory and some and (graph.n <= MEASURED_NODES if option is None else option)


def _facts(args: argparse.Namespace, inputs: Inputs, files: dict[str, Path]) -> dict[str, Any]:
    given = {name: without_password(", ".join(as_list(getattr(args, name))))
             for name in ("edges", "nodes", "db", "labels", "feature_matrix") if getattr(args, name)}  # fmt: skip
    written = {name: path.name for name, path in files.items() if name != "page"}
    return {
        "title": args.title or f"Predicting {inputs.label}",
        "folder": str(args.out),
        "files": {**given, **written},
        "notes": list(inputs.notes),
        "command": shlex.join(["slimg", *(without_password(str(word)) for word in args.words)]),
    }


NAMED = 400_000
"""Rows of a table on disk whose names are read: a page has room for fewer."""


def _names(inputs: Inputs) -> list[Any] | None:
    """A column that people know the nodes by, beside the id."""
    own = {str(name).lower(): name for name in inputs.table.columns if name not in (inputs.id, inputs.label)}
    found = next((own[name] for name in NAMES if name in own), None)
    if found is None or (inputs.stored is None and len(inputs.table) != inputs.graph.n):
        return None
    column = inputs.table[found] if inputs.stored is None else inputs.stored.head([found], NAMED)[found]
    values = [value if isinstance(value, (str, int)) else "" for value in column.tolist()]
    telling = 2 * len(set(values)) > len(values) - values.count("")  # names that many share tell no node from another
    return values if telling and sorted(map(len, map(str, values)))[len(values) // 2] <= NAMES[str(found).lower()] else None


def _write(files: dict[str, Path], inputs: Inputs, model: SlimG, record: dict[str, Any], coverage: float | None) -> None:
    from slimg.inference.predictions import Chances
    from slimg.report.page import render

    chances = Chances(model._own_scores(), model.temperature_)
    sets = None if coverage is None else partial(model.prediction_sets, coverage=coverage)
    record["read"]["notes"] += write_predictions(inputs, model.classes_, chances, files["predictions"], sets)
    write_text(json.dumps(record, ensure_ascii=False, allow_nan=False), files["record"])
    write_text(render(record), files["page"])


def _print_summary(record: dict[str, Any], files: dict[str, Path], verbose: bool) -> None:
    """Five lines; the rest, which the page has too, if it is asked for."""
    from slimg.report.record import lines_of
    from slimg.report.scores import format_first

    echo(*lines_of(record, files["page"]))
    if not verbose:
        return
    told, found, agreed = record["held_out"]["ranking"], record["diagnosis"], record["model"]["fold_in_agreement"]
    echo("", *(f"  {note}" for note in record["read"]["notes"]), *(found["verdict"] if found else ()))
    echo(*(each for each in (record["comparison"]["sentence"], *record["comparison"]["notes"]) if each))
    if told:
        echo(format_first(told, record["classes"][told["code"]]))
    echo(*(found["advice"] if found else ()))
    if agreed is not None:
        echo(f"Hidden nodes that were folded in got the class of this fit in {agreed:.1%} of cases.")
    echo(f"Written: {', '.join(str(path) for path in files.values())}")


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

    auto     memory if the estimate of the files fits into the budget, else mapped
    mapped   .DIR.work beside the folder of results: work.json (files, options), nodes.parquet, graph/ and the work files of the
             engine; the same command continues there after a kill, another one begins anew; it is removed at the end

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
        needed = "--engine dask needs the address of a scheduler: give it with --scheduler, as tcp://HOST:8786"
        raise InputError(needed if args.scheduler is None else "--scheduler goes with --engine dask: give both, or neither")
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
    """The name of the engine, and a note if the estimate decided; an error if the estimate is more than memory has."""
    sources = [*options.edges, *options.nodes, *([] if options.matrix is None else [options.matrix])]
    stored = sum(path.stat().st_size for source in sources for path in source.files if path.is_file())
    if name == "dask" or (name != "mapped" and budget is None and stored < SMALL):
        return ("memory" if name == "auto" else name), []
    from slimg.cli.estimate import measured
    from slimg.components.estimate import estimate, require_memory
    from slimg.engine.rates import Rates
    from slimg.io.disk_tables import check_options

    refusal = ""
    try:
        check_options(options)
    except InputError as error:
        if name == "mapped":
            raise
        refusal = str(error).rpartition(": ")[0]
    try:
        sizes, files = measured(options)
    except InputError as error:
        if name == "mapped":
            raise
        return "memory", [f"Engine: memory, as others cannot be used or estimated here ({error})."] if name == "auto" else []
    found = estimate(sizes, memory=budget, rates=Rates(*6 * [1e-9]), files=files)
    if name == "memory" or (name == "auto" and (refusal or found.recommended == "memory")):
        needed = found.engines["memory"].memory - resident()
        advice = f"fewer columns ({refusal})" if refusal else "--engine mapped, which works in files, or fewer columns"
        require_memory(needed, f"reading and fitting {sizes.nodes:,} nodes with {sizes.features:,} features in memory", advice)
        why = f"as others cannot be used here ({refusal})" if refusal else f"as slimg estimate advises: {found.reason}"
        return "memory", [f"Engine: memory, {why}."] if name == "auto" else []
    least = found.engines["mapped"].memory
    if budget is not None and least > budget:
        given, asked = show_bytes(budget), show_bytes(1.02 * least)
        raise InputError(f"--memory {given} is too small for {sizes.nodes:,} nodes: give at least {asked}")
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
        write_text(wanted, work / "work.json")
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
