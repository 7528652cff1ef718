"""Tables as people have them: each is read as was meant, or one message says what is wrong and what to do."""

import decimal
import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slimg
from slimg.cli import main
from slimg.errors import InputError
from slimg.io import Source
from slimg.io.disk_tables import read_to_disk
from slimg.io.inputs import Options

N = 80
TEAMS = np.where(np.arange(N) % 2, "red", "blue")
NODES = pd.DataFrame({"id": np.arange(N), "age": np.round(30 + 0.7 * np.arange(N), 1), "team": TEAMS})
EDGES = pd.DataFrame({"source": np.arange(N), "target": (np.arange(N) + 2) % N})
WORDS = EDGES.map("u{}".format), NODES.assign(id=NODES["id"].map("u{}".format))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work").mkdir()
    EDGES.to_csv("edges.csv", index=False)
    NODES.to_csv("nodes.csv", index=False)
    return tmp_path


def notes_of(graph, *words):
    return [note for note in graph.notes if all(word in note for word in words)]


def test_an_edge_file_without_names_of_columns_keeps_its_first_edge(folder):
    edges, nodes = WORDS
    edges.to_csv("edges.csv", index=False, header=False)
    nodes.to_csv("nodes.csv", index=False)
    graph = slimg.read("edges.csv", "nodes.csv", label="team")
    assert graph.edges == N and notes_of(graph, "edges.csv", "first line")
    assert slimg.read("edges.csv").edges == N, "the ids of the first line are in other lines"
    options = Options(Source.parse("edges.csv"), Source.parse("nodes.csv"), label="team")
    assert read_to_disk(options, folder / "work", 1 << 28).graph.edges == N
    pd.concat([pd.DataFrame([["u0", "u999"]], columns=edges.columns), edges]).to_csv("edges.csv", index=False, header=False)
    with pytest.raises(InputError, match="'u999'"):
        slimg.read("edges.csv", "nodes.csv", label="team")
    edges.to_csv("edges.csv", index=False)
    assert slimg.read("edges.csv", "nodes.csv", label="team").edges == N


@pytest.mark.parametrize("ids", ["{}.0", " {}", "{} "])
def test_ids_that_are_written_in_two_ways(folder, ids):
    EDGES.map(ids.format).to_csv("edges.csv", index=False)
    assert slimg.read("edges.csv", "nodes.csv", label="team").edges == N
    options = Options(Source.parse("edges.csv"), Source.parse("nodes.csv"), label="team")
    assert read_to_disk(options, folder / "work", 1 << 28).graph.edges == N


def test_a_row_that_does_not_end(folder):
    (folder / "nodes.csv").write_text("id,team\n0,red\n1,blue\n" + "x" * (1 << 24))
    options = Options(Source.parse("edges.csv"), Source.parse("nodes.csv"), label="team")
    EDGES.to_csv("edges.csv", index=False)
    with pytest.raises(InputError, match=r"nodes\.csv: a row is longer than 4.*quote"):
        read_to_disk(options, folder / "work", 1 << 28)


def test_leading_zeros_are_pointed_out_and_no_other_column_is_taken_for_the_ids(folder):
    NODES.assign(id=NODES["id"].map("{:04}".format)).to_parquet("nodes.parquet")
    EDGES.to_parquet("edges.parquet")
    with pytest.raises(InputError, match=r"'0000'.*zeros"):
        slimg.read("edges.parquet", "nodes.parquet", label="team")


def test_rows_and_columns_without_a_value(folder):
    lines = NODES.to_csv(index=False).splitlines()
    (folder / "nodes.csv").write_text("".join(f"{line},,\n" for line in [*lines, ",,", ",,"]))
    (folder / "edges.csv").write_text(EDGES.to_csv(index=False) + ",\n")
    graph = slimg.read("edges.csv", "nodes.csv", label="team")
    assert graph.n == graph.edges == N
    assert notes_of(graph, "nodes.csv", "2 rows") and notes_of(graph, "edges.csv", "1 row")
    assert notes_of(graph, "'column 4'", "no value") and not notes_of(graph, "''")
    words = "fit --edges edges.csv --nodes nodes.csv --label team --out out --no-measure-fold-in"
    assert main(words.split()) == 0 and len(pd.read_csv("out/predictions.csv")) == N


def test_the_index_that_pandas_writes_is_no_feature(folder):
    NODES.to_csv("nodes.csv")
    graph = slimg.read("edges.csv", "nodes.csv", label="team")
    assert graph.feature_names == ("age: high", "age: low") and notes_of(graph, "'column 1'", "numbers the rows")


def test_what_excel_and_reports_write_above_a_table(folder):
    (folder / "edges.csv").write_text("sep=;\n" + EDGES.to_csv(index=False, sep=";"))
    assert slimg.read("edges.csv", "nodes.csv", label="team").edges == N
    (folder / "nodes.csv").write_text("People of 2024\n\n" + NODES.to_csv(index=False))
    with pytest.raises(InputError, match=r"nodes\.csv: the first line has 1 .* the second 3"):
        slimg.read("edges.csv", "nodes.csv", label="team")


def test_names_of_columns_with_blanks_and_labels_in_two_cases(folder):
    cases = [team.upper() if k % 3 else f" {team} " for k, team in enumerate(TEAMS)]
    NODES.assign(team=cases).rename(columns={"team": " team "}).to_csv("nodes.csv", index=False)
    graph = slimg.read("edges.csv", "nodes.csv", label="team")
    assert graph.classes.tolist() == ["BLUE", "RED", "blue", "red"]
    assert notes_of(graph, "'BLUE'", "'blue'", "case")


def test_utf_16_without_a_mark_names_the_option(folder):
    (folder / "nodes.csv").write_bytes(NODES.to_csv(index=False).encode("utf-16-le"))
    with pytest.raises(InputError, match="encoding"):
        slimg.read("edges.csv", "nodes.csv", label="team")


def test_objects_within_rows_are_columns(folder):
    rows = [{"id": k, "who": {"age": 20.5 + k, "city": {"name": "rome"}}, "team": TEAMS[k]} for k in range(N)]
    (folder / "nodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "nodes.json").write_text(json.dumps(rows))
    pq.write_table(pa.Table.from_pylist(rows), "nodes.parquet")
    names = [slimg.read("edges.csv", f"nodes.{end}", label="team").feature_names for end in ("jsonl", "json", "parquet")]
    assert names == 3 * [("who.age: high", "who.age: low", "who.city.name: rome")]
    assert slimg.read(EDGES, pl.DataFrame(rows), label="team").feature_names == names[0]


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ([{"a": 1}] * N, "objects"),
        ([{1, 2}] * N, "objects"),
        (1j * np.arange(N), "complex"),
        (pd.timedelta_range("1D", periods=N), "dates"),
        (pd.period_range("2020-01", periods=N, freq="M"), "dates"),
        ([f"Jan {1 + k % 28:02}, 1990" for k in range(N)], "dates"),
        ([f"{1 + k % 28}-Feb-91" for k in range(N)], "dates"),
    ],
)
def test_values_that_are_no_features(column, told):
    with pytest.raises(InputError, match=f"'odd' holds {told}") as caught:
        slimg.read(EDGES, NODES.assign(odd=column), label="team")
    assert "Timestamp" not in str(caught.value)


def test_types_of_arrow(folder):
    table = pa.table(NODES).append_column("price", pa.array([decimal.Decimal(k) / 4 for k in range(N)]))
    table = table.append_column("kind", pa.array(["a", "b"] * (N // 2)).dictionary_encode())
    table = table.append_column("place", pa.array([[1.0, float(k)] for k in range(N)]))
    pq.write_table(table, "nodes.parquet")
    graph = slimg.read("edges.csv", "nodes.parquet", label="team")
    assert [len(notes_of(graph, name)) for name in ("'price' is read as a number", "a category of 2", "2 numbers")] == [1, 1, 1]


def test_frames_with_odd_ids_and_indices():
    edges, nodes = WORDS
    plain = slimg.read(edges, nodes, label="team")
    categories = [pl.DataFrame(frame).with_columns(pl.exclude("age").cast(pl.Categorical)) for frame in (edges, nodes)]
    for graph in (
        slimg.read(edges.astype("category"), nodes.astype({"id": "category"}), label="team"),
        slimg.read(*categories, label="team"),
        slimg.read(edges, nodes.set_index(["id", "team"]), label="team"),
        slimg.read(edges.assign(weight=1).set_index(["source", "target"]), nodes, label="team"),
        slimg.read(edges, nodes.drop(columns="team"), labels=nodes.set_index("id")["team"]),
    ):
        assert graph.edges == N and (graph.codes == plain.codes).all() and graph.ids.tolist() == plain.ids.tolist()
    twice = slimg.read(EDGES, pd.concat([NODES, NODES[["age"]]], axis=1), label="team")
    assert twice.feature_names == ("age: high", "age: low", "age.1: high", "age.1: low")


@pytest.mark.parametrize(
    ("edges", "nodes", "told"),
    [
        (EDGES.astype("Int64").mask(EDGES.index.to_numpy()[:, None] == [3, -1]), NODES, "edges=: .*'source'.*row 4"),
        (EDGES, NODES.astype({"id": "Int64"}).replace({"id": {5: pd.NA}}), "nodes=: .*'id'.*row 6"),
        (EDGES, NODES[:0], "nodes=: .*empty"),
        (EDGES.assign(weight=np.arange(N) - 3), NODES, "'weight'.* 3 of 80 .*'-3'.*weight=False"),
        (EDGES.assign(weight=0), NODES, "'weight' are 0.*weight=False"),
        (EDGES.assign(source=EDGES["source"] + 1000), NODES, "'1000'|1000.*unknown='drop'"),
    ],
)
def test_tables_that_do_not_fit(edges, nodes, told):
    with pytest.raises(InputError, match=told):
        slimg.read(edges, nodes, label="team")


def test_a_column_of_labels_without_any(folder, capsys):
    NODES.assign(team="").to_csv("nodes.csv", index=False)
    assert main(["fit", "--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "team"]) == 2
    assert "nodes.csv: column 'team'" in capsys.readouterr().err


def test_one_file_for_both(folder, capsys):
    with pd.ExcelWriter("both.xlsx") as book:
        NODES.to_excel(book, sheet_name="people", index=False)
        EDGES.to_excel(book, sheet_name="links", index=False)
    assert slimg.read("both.xlsx:links", "both.xlsx:people", label="team").edges == N
    assert main(["fit", "--edges", "both.xlsx", "--nodes", "both.xlsx", "--label", "team"]) == 2
    assert "both.xlsx:SHEET" in capsys.readouterr().err


def test_all_problems_of_the_files_are_told_at_once_with_their_options(folder, capsys):
    bad = NODES.assign(born="2001-02-03", email=[f"{k}@x.org" for k in range(N)], team=np.arange(N) * 1.5)
    pd.concat([bad, bad[:2].assign(age=99)]).to_csv("nodes.csv", index=False)
    EDGES.assign(weight=-1).to_csv("edges.csv", index=False)
    assert main(["fit", "--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "score"]) == 2
    told = capsys.readouterr().err
    facts = ("'id' must be distinct", "'score' for --label", "--ignore born", "--ignore email", "--no-weight", "edges.csv: ")
    assert [fact for fact in facts if fact not in told] == []
    bad.assign(score=TEAMS).to_csv("nodes.csv", index=False)
    EDGES.replace({5: 999}).to_csv("edges.csv", index=False)
    assert main(["fit", "--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "score"]) == 2
    told = capsys.readouterr().err
    assert [fact for fact in ("--ignore born", "--ignore email", "'999'", "--unknown drop") if fact not in told] == []


def test_an_option_that_names_no_column_is_told(folder, capsys):
    assert main(["fit", "--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "team", "--text", "bio"]) == 2
    assert "'bio' for --text" in capsys.readouterr().err
    with pytest.raises(InputError, match="'bio' for kinds="):
        slimg.read("edges.csv", "nodes.csv", label="team", kinds={"bio": "text"})


def test_labels_that_are_there_twice(folder):
    labels = NODES[["id", "team"]]
    pd.concat([labels, labels[:3]]).to_csv("labels.csv", index=False)
    graph = slimg.read("edges.csv", NODES[["id", "age"]], labels="labels.csv")
    assert len(graph.labelled) == N and notes_of(graph, "the labels left out: 3")
    pd.concat([labels, labels[:1].assign(team="green")]).to_csv("labels.csv", index=False)
    with pytest.raises(InputError, match="'0'"):
        slimg.read("edges.csv", NODES[["id", "age"]], labels="labels.csv")


def test_new_rows_in_another_layout(folder, capsys):
    words = ["--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "team", "--out", "out", "--no-measure-fold-in"]
    assert main(["fit", *words]) == 0
    NODES[:3].assign(id=[500, 501, 502]).drop(columns="team").to_csv("new.csv", index=False)
    pd.DataFrame({"source": [500.0, 501.0], "target": [1.0, 502.0]}).to_csv("new_edges.csv", index=False)
    predict = ["predict", "--model", "out/model.slimg", "--nodes", "new.csv", "--edges", "new_edges.csv", "--out", "p.csv"]
    assert main(predict) == 0 and "no edges" not in capsys.readouterr().out
    pd.DataFrame([[500, 1]]).to_csv("new_edges.csv", index=False, header=False)
    assert main([*predict, "--force"]) == 2
    told = capsys.readouterr().err
    assert [fact for fact in ("'source'", "when the model was fitted", "--source", "column 1") if fact not in told] == []


@pytest.mark.parametrize(
    ("edges", "nodes", "told"),
    [
        (EDGES.assign(weight=0), NODES, r"edges\.csv: all weights.*'weight'.*--no-weight"),
        (EDGES.assign(weight=np.arange(N) - 1), NODES, r"edges\.csv: .*1 of 80.*row 1: '-1'"),
        (EDGES.astype("Int64").mask(EDGES.index.to_numpy()[:, None] == [3, -1]), NODES, r"edges\.csv: 1 edge has.*missing"),
        (EDGES, NODES.assign(team=""), r"nodes\.csv: column 'team'"),
        (EDGES, NODES.assign(born="2001-02-03"), r"nodes\.csv: .*--ignore born"),
    ],
)
def test_tables_that_do_not_fit_on_disk(folder, capsys, edges, nodes, told):
    edges.to_csv("edges.csv", index=False)
    nodes.to_csv("nodes.csv", index=False)
    words = ["--label", "team", "--engine", "mapped", "--memory", "4GB", "--out", "out"]
    assert main(["fit", "--edges", "edges.csv", "--nodes", "nodes.csv", *words]) == 2
    assert re.search(told, capsys.readouterr().err) and not (folder / "out").exists()


SWAPPED = {"edges": "payer,payee\na,b\nb,a\na,c\nb,c\nb,a\n", "nodes": "account,status\na,ok\nb,\nc,bad\n"}


@pytest.mark.parametrize("given", ["label", "names"])
def test_tables_that_are_swapped_are_named(folder, given):
    for name, text in SWAPPED.items():
        (folder / f"{name}.csv").write_text(text)
    label = {"label": "status"} if given == "label" else {}
    with pytest.raises(InputError, match=r"nodes\.csv.*nodes.*edges\.csv.*edges.*exchange"):
        slimg.read("nodes.csv", "edges.csv", **label)
    assert slimg.read("edges.csv", "nodes.csv", label="status").edges == 3
    if label:
        with pytest.raises(InputError, match=r"nodes\.csv.*'status'.*nodes="):
            slimg.read("nodes.csv", label="status")


def test_a_table_of_nodes_may_have_columns_that_edges_have(folder):
    (folder / "edges.csv").write_text("citing,cited\na,b\nb,c\n")
    (folder / "nodes.csv").write_text("talk,start,end,room\na,9,10,x\nb,9,10,y\nc,10,11,x\n")
    assert slimg.read("edges.csv", "nodes.csv", label="room").n == 3


@pytest.mark.parametrize("rows", [{"nodes": [{"id": 1}]}, {"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}])
def test_an_object_of_lists_is_no_table(folder, rows):
    (folder / "graph.json").write_text(json.dumps(rows))
    with pytest.raises(InputError, match=r"graph\.json.*'nodes'.*list.*own"):
        slimg.read(nodes="graph.json", label="label")


@pytest.mark.parametrize("members", [["p", "q"], np.array([1, 2]), {"p": 1}], ids=["list", "array", "object"])
@pytest.mark.parametrize(
    "options", [{"label": "x"}, {"kinds": {"x": "category"}}, {"kinds": {"x": "text"}}, {"id": "x"}], ids=str
)
def test_lists_where_one_value_belongs(members, options):
    nodes = pd.DataFrame({"id": range(4), "team": list("abab"), "x": [members] * 4})
    with pytest.raises(InputError, match="column 'x'"):
        slimg.read(edges=EDGES[:3], nodes=nodes, **{"label": "team", **options})


def test_edges_alone_have_no_labels(folder):
    (folder / "edges.csv").write_text(SWAPPED["edges"])
    with pytest.raises(InputError, match=r"edges\.csv.*no labels.*nodes=.*labels="):
        slimg.read("edges.csv", label="status")
