"""`slimg open`: answers add up and equal recomputations; nobody without the token, and no broken request, gets anything."""

import argparse
import io
import json
import shutil
import socket
from functools import partial

import numpy as np
import pandas as pd
import pytest

from served import Served
from slimg import SlimG, __version__, cli
from slimg.cli.inputs import options_of, read_new_rows
from slimg.errors import InputError
from slimg.io import Source, read
from slimg.io.features import FeaturePlan
from slimg.io.inputs import read_inputs
from slimg.report.answers import Answers

NODE = "0007"


@pytest.fixture(scope="module")
def server(fitted_once):
    served = Served(fitted_once)
    yield served
    code, output, errors = served.stop()
    assert (code, errors) == (0, ""), "it ends with Ctrl-C, and nothing went wrong on the way"
    assert "Stopped." in output


@pytest.fixture(scope="module")
def model(fitted_once):
    return SlimG.load(fitted_once / "model.slimg")


def contrast(scores, code):
    return scores[code] - scores.mean()


def changed_scores(model, folder, users, follows):
    """Scores of the node on the graph that is read from changed files."""
    users.to_csv(folder / "users.csv", index=False)
    follows.to_csv(folder / "follows.csv", index=False)
    reading = model.data_["reading"]
    files = {"edges": [str(folder / "follows.csv")], "nodes": [str(folder / "users.csv")]}
    options = options_of(argparse.Namespace(**{**reading["options"], **files}))
    graph = read_inputs(options, plan=FeaturePlan.from_dict(reading["plan"])).graph
    return model.decision_function(graph)[7].astype(float)


def test_the_parts_add_up_to_the_score_and_the_terms_to_the_parts(server, model):
    scores = model.decision_function()[7].astype(float)
    for name in ("", *model.classes_):
        status, told = server.ask("node", id=NODE, **{"class": name})
        code = list(model.classes_).index(name) if name else int(scores.argmax())
        assert status == 200 and told["class"] == model.classes_[code]
        assert told["score"] == pytest.approx(contrast(scores, code), abs=1e-6)
        parts = [part["value"] for part in told["parts"]]
        assert told["bias"] + sum(parts) + told["rounding"] == pytest.approx(told["score"], abs=1e-9)
        assert abs(told["rounding"]) < 1e-3
        for part in told["parts"]:
            for kind in ("features", "nodes"):
                if part[kind]:
                    assert sum(term["value"] for term in part[kind]) == pytest.approx(part["value"], abs=1e-9)
    assert told["attributes"]["city"] in ("rome", "oslo") and told["degree"] == len(told["neighbours"])


def test_search_by_id_and_by_value(server, folder):
    assert server.ask("search", text="0007")[1][0]["id"] == "0007"
    bird = folder.users.loc[folder.users["bio"].str.contains("bird"), "user"]
    found = server.ask("search", text=" BIRD ")[1]
    assert 0 < len(found) <= 8 and {each["id"] for each in found} <= set(bird)
    assert all("bird" in each["about"] for each in found)
    assert server.ask("search", text="zebra") == (200, []) == server.ask("search", text="")


def test_without_an_edge_with_one_and_with_another_value_as_if_the_files_were_so(server, model, folder, tmp_path):
    users, follows = folder.users, folder.follows
    told = server.ask("node", id=NODE)[1]
    near, code = told["neighbours"][0]["id"], list(model.classes_).index(told["class"])
    both = {NODE, near}
    fewer = follows[[set(pair) != both for pair in zip(follows["who"], follows["whom"], strict=True)]]
    far = next(user for user in users["user"] if user not in {each["id"] for each in told["neighbours"]} | {NODE})
    more = pd.concat([follows, pd.DataFrame({"who": [NODE], "whom": [far]})])

    def with_value(column, value):
        return users.assign(**{column: users[column].astype(object).where(users["user"] != NODE, value)})

    cases = [
        ({"without": [[near, ""]]}, users, fewer),
        ({"with": [[far, "", ""]]}, users, more),
        ({"values": [["age", "55"]]}, with_value("age", 55), follows),
        ({"values": [["city", ""]]}, with_value("city", ""), follows),
        ({"values": [["bio", "car bus car"]]}, with_value("bio", "car bus car"), follows),
        ({"without": [[near, ""]], "values": [["age", "18"], ["city", "rome"]]},
         with_value("age", 18).assign(city=with_value("city", "rome")["city"]), fewer),
    ]  # fmt: skip
    before = contrast(model.decision_function()[7].astype(float), code)
    moved = 0
    for change, nodes, edges in cases:
        status, found = server.ask("what-if", {"id": NODE, "class": told["class"], **change})
        scores = changed_scores(model, tmp_path, nodes, edges)
        assert status == 200, found
        assert found["before"]["score"] == pytest.approx(before, abs=1e-4)
        assert found["after"]["score"] == pytest.approx(contrast(scores, code), abs=1e-5)
        chances = np.exp(scores / model.temperature_ - (scores / model.temperature_).max())
        assert found["after"]["probability"] == pytest.approx(chances[code] / chances.sum(), abs=1e-5)
        assert found["after"]["prediction"] == model.classes_[scores.argmax()]
        for each in (found["before"], found["after"]):
            assert sum(each[name] for name in found["parts"]) == pytest.approx(each["score"], abs=1e-9)
        moved += abs(found["after"]["score"] - before) > 1e-3
    assert moved == len(cases), "every change is felt"


def test_predictions_filtered_sorted_paged_and_downloaded(server, fitted_once, model):
    table = pd.read_csv(fitted_once / "predictions.csv", dtype={"user": str}, keep_default_na=False)
    status, _, csv = server.request("GET", "predictions.csv")
    assert status == 200 and csv == (fitted_once / "predictions.csv").read_bytes()
    query = {"text": "rome", "class": "red", "state": "unknown", "least": "0.4", "order": "-probability"}
    kept = table[(table["city"] == "rome") & (table["prediction"] == "red") & (table["team"] == "")]
    kept = kept[kept["probability"] >= 0.4]
    found = server.ask("predictions", **query)[1]
    assert found["total"] == len(kept) > 3
    downloaded = pd.read_csv(io.BytesIO(server.request("GET", "predictions.csv", **query)[2]), dtype={"user": str})
    assert set(downloaded["user"]) == set(kept["user"]) and list(downloaded.columns) == list(table.columns)
    assert downloaded["probability"].is_monotonic_decreasing
    assert [row["id"] for row in found["rows"]] == list(downloaded["user"])[:25]
    pages = [server.ask("predictions", page=str(page), order="-id")[1] for page in range(5)]
    ids = [row["id"] for page in pages for row in page["rows"]]
    assert ids == sorted(table["user"], reverse=True) and pages[0]["last"] == 4
    differs = table[(table["team"] != "") & (table["team"] != table["prediction"])]
    assert server.ask("predictions", state="differs")[1]["total"] == len(differs)
    by = [row["id"] for row in server.ask("predictions", order="-p(blue)")[1]["rows"]]
    assert table.set_index("user").loc[by, "p(blue)"].is_monotonic_decreasing


def test_new_rows_get_what_slimg_predict_gives(server, fitted, slimg, tmp_path):
    nodes = "user,age,city,bio\nnew1,44,oslo,tea milk tea\nnew2,31,rome,cat dog\n"
    edges = "who,whom\nnew1,0002\nnew1,0005\nnew2,new1\n"
    (tmp_path / "new.csv").write_text(nodes)
    (tmp_path / "links.csv").write_text(edges)
    code, _, err = slimg("predict", "--nodes", "new.csv", "--edges", "links.csv", "--out", "expected.csv")
    assert code == 0, err
    expected = pd.read_csv("expected.csv")
    status, found = server.ask("new-rows", {"nodes": nodes, "edges": edges})
    assert status == 200 and [row["id"] for row in found["rows"]] == ["new1", "new2"]
    assert [row["prediction"] for row in found["rows"]] == list(expected["prediction"])
    np.testing.assert_allclose([row["probability"] for row in found["rows"]], expected["probability"], atol=1e-6)
    assert list(pd.read_csv(io.StringIO(found["csv"])).columns) == list(expected.columns)
    assert "2 new nodes" in found["text"]


@pytest.mark.parametrize(
    ("name", "asked", "words"),
    [
        ("node", {"id": "0070x"}, ("no node '0070x'", "'0070'")),
        ("node", {"id": "007"}, ("no node '007'", "'0070' or '0071' or '0072'")),
        ("node", {"id": NODE, "class": "pink"}, ("class 'pink'", "blue, green, red")),
        ("predictions", {"least": "half"}, ("least probability", "'half'")),
        ("predictions", {"order": "size"}, ("order 'size'",)),
        ("predictions", {"state": "odd"}, ("state 'odd'",)),
        ("what-if", {"id": NODE}, ("nothing is changed",)),
        ("what-if", {"id": "nobody", "with": []}, ("no node 'nobody'",)),
        ("what-if", {"id": NODE, "with": [[NODE, "", ""]]}, ("'0007' was named twice",)),
        ("what-if", {"id": NODE, "without": [["NOT", ""]]}, ("no edge between '0007'",)),
        ("what-if", {"id": NODE, "with": [["NEAR", "", ""]]}, ("already an edge between '0007'",)),
        ("what-if", {"id": NODE, "with": [["NOT", "", "heavy"]]}, ("weight", "'heavy'")),
        ("what-if", {"id": NODE, "with": [["NOT", "", "2"]]}, ("no weights",)),
        ("what-if", {"id": NODE, "with": [["NOT", "likes", ""]]}, ("unknown relation 'likes'",)),
        ("what-if", {"id": NODE, "with": "0008"}, ("with", "list")),
        ("what-if", {"id": 7}, ("id must be a text",)),
        ("what-if", {"id": NODE, "values": [["age", "old"]]}, ("'old'", "'age'", "a number")),
        ("what-if", {"id": NODE, "values": [["team", "red"]]}, ("'team'", "age, city, bio")),
        ("new-rows", {}, ("no table of nodes",)),
        ("new-rows", {"nodes": "user,age\nx,3\n"}, ("lacks 'city'",)),
        ("new-rows", {"nodes": "user,age,city,bio\n0007,3,rome,cat\n"}, ("no row is new",)),
        ("new-rows", {"nodes": "user,age,city,bio\nx,3,rome,cat\n", "edges": "who,whom\nx,nowhere\n"}, ("'nowhere'",)),
        ("new-rows", {"nodes": "no table"}, ("nodes",)),
    ],
)
def test_bad_input_gets_one_sentence(server, name, asked, words):
    near = [each["id"] for each in server.ask("node", id=NODE)[1]["neighbours"]]
    far = next(f"{k:04}" for k in range(120) if f"{k:04}" not in [*near, NODE])
    asked = json.loads(json.dumps(asked).replace("NEAR", near[0]).replace("NOT", far))
    status, told = server.ask(name, asked) if name in ("what-if", "new-rows") else server.ask(name, **asked)
    assert status == 400
    assert all(word in told["error"] for word in words), told["error"]
    assert "\n" not in told["error"] and "Traceback" not in told["error"]


def test_an_unseen_category_is_told(server):
    told = server.ask("what-if", {"id": NODE, "values": [["city", "lima"]]})[1]
    assert "'lima'" in told["notes"][0]


def wrong_requests(server, count):
    """Requests of which none may succeed, each with the statuses it may get."""
    rng = np.random.default_rng(0)
    token, port = server.token, server.port
    names = ["", "node?id=0007", "predictions.csv", "report.html", "../record.json", "..%2f..%2fetc/passwd", "%2e%2e/model.slimg",
             "//etc/passwd", "....//", "\\..\\record.json", "open.js/../../x", "x" * 3000]  # fmt: skip
    tokens = ["", "x", token[:-1], token + "x", token.swapcase(), "%00", "..", token[::-1], "ÿ", "?token=" + token]
    hosts = ["evil.example", f"127.0.0.1:{port}.evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", "",
             f"127.0.0.1:{port}\r\nHost: evil.example", "[::1]"]  # fmt: skip
    origins = ["http://evil.example", "null", f"https://127.0.0.1:{port}", f"http://127.0.0.1:{port}.evil.example", "file://"]
    methods = ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "HEAD", "FOO", "get", "G" * 300]
    bodies = [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe\x00", b"[" * 50_000, b'{"id": "\\ud800"}', b'{"id": 1e999}',
              b'{"id": "0007", "with": [[1, 2, 3]]}', b'{"id": "0007", "values": {"age": 3}}', b'{"nodes": "\\u0000"}',
              b'{"nodes": [1]}', b"x" * 100_000]  # fmt: skip
    missing = ["../record.json", "..%2frecord.json", "/etc/passwd", "record.json", "model.slimg", "predictions", "api", "node/"]

    def pick(items):
        return items[rng.integers(len(items))]

    def raw(method, path, host=f"127.0.0.1:{port}", headers=(), body=b""):
        lines = [f"{method} {path} HTTP/1.1", *([f"Host: {host}"] if host is not None else []), *headers]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body

    post = ["Content-Type: application/json"]
    for number in range(count):
        kind = number % 8
        if kind == 0:  # a wrong or missing token, whatever else
            yield raw(pick(["GET", "POST", *methods[:8]]), f"/{pick(tokens)}/{pick(names)}", body=pick(bodies)), {401}
        elif kind == 1:
            yield raw("GET", f"/{token}/{pick(names)}", host=pick([*hosts, None])), {403, 400}
        elif kind == 2:
            yield raw("GET", f"/{token}/{pick(names)}", headers=[f"Origin: {pick(origins)}"]), {403}
        elif kind == 3:
            yield raw("GET", f"/{token}/{pick(missing[:-3])}{pick(['', '?x=1', '#'])}"), {404}
        elif kind == 4:
            yield raw(pick(methods), f"/{token}/{pick(names[:4])}"), {405, 400}
        elif kind == 5:
            yield raw("POST", f"/{token}/{pick(['what-if', 'new-rows'])}", headers=post, body=pick(bodies)), {400}
        elif kind == 6:  # of another type, of no or a false length, in chunks
            length = pick([*(f"Content-Length: {size}" for size in ("99999999999", "-1", "x")), "Transfer-Encoding: chunked"])
            yield raw("POST", f"/{token}/what-if", headers=pick([[length, *post], ["Content-Type: text/plain"], [length]])), {400}
        else:
            lines = [b"", b"GET", b"GET / HTTP/9.9", b"\x16\x03\x01\x02", b"GET /" + b"a" * 70_000, b"A B C D E",
                     f"GET /{token}/".encode(), f"GET http://evil/{token}/ HTTP/1.1".encode(),
                     b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 300]  # fmt: skip
            yield pick(lines) + b"\r\n\r\n", {400, 401, 403, 414, 431, 505}


def test_a_thousand_wrong_requests_get_nothing(server):
    answered = 0
    for data, expected in wrong_requests(server, 1000):
        answer = server.send(data)
        answered += bool(answer)
        assert answer.startswith(b"HTTP/1.0 ") or not answer, answer[:200]
        status = int(answer[9:12]) if answer else 400
        assert status in expected, (status, expected, data[:300])
        head, _, body = answer.partition(b"\r\n\r\n")
        assert b"Traceback" not in body and len(body) < 1000
        if status == 401:
            assert body == b"" and server.token.encode() not in head
    assert answered > 950, "an empty line has no answer"
    assert server.ask("node", id=NODE)[0] == 200, "it is alive"
    assert server.process.poll() is None


def test_what_every_answer_carries(server):
    status, headers, body = server.request("GET", "")
    assert status == 200 and b"Ask about a node" in body
    assert {"default-src 'none'", "frame-ancestors 'none'"} <= set(headers["Content-Security-Policy"].split("; "))
    assert headers["Cache-Control"] == "no-store" and headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Server"].strip() == "slimg"
    assert server.request("GET", "report.html")[2].startswith(b"<!DOCTYPE html>")
    own = {"Origin": server.address.rsplit("/", 2)[0], "Host": f"localhost:{server.port}"}
    assert server.request("GET", "node?id=0007", headers=own)[0] == 200


def test_it_listens_on_the_loopback_address_alone_and_writes_nothing(server, fitted_once):
    before = {path.name: path.stat().st_mtime_ns for path in fitted_once.iterdir()}
    other = socket.gethostbyname(socket.gethostname())
    if not other.startswith("127."):
        with pytest.raises(OSError):
            socket.create_connection((other, server.port), timeout=2)
    server.ask("new-rows", {"nodes": "user,age,city,bio\nx,3,rome,cat\n"})
    assert {path.name: path.stat().st_mtime_ns for path in fitted_once.iterdir()} == before


def test_a_folder_that_cannot_be_opened(fitted, slimg, server):
    out = fitted.path / "slimg-out"
    code, _, err = slimg("open", out, "--port", server.port, "--no-browser")
    assert code == 2 and f"port {server.port} is in use" in err
    assert "'70000'" in slimg("open", out, "--port", "70000", "--no-browser")[2]
    record = json.loads((out / "record.json").read_text(encoding="utf-8"))
    (out / "record.json").write_text(json.dumps({**record, "version": "0.0.1"}))
    code, _, err = slimg("open", out)
    assert code == 2 and "record.json" in err and "0.0.1" in err and __version__ in err
    (out / "record.json").write_text("[]")
    assert "record.json" in slimg("open", out)[2]
    (out / "record.json").write_text(json.dumps(record))
    for name in ("predictions.csv", "report.html", "model.slimg", "record.json"):
        (out / name).unlink()
        code, _, err = slimg("open", out)
        assert code == 2 and name in err and len(err.splitlines()) == 1
    shutil.rmtree(out)
    assert "slimg-out/record.json does not exist" in slimg("open")[2]


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """A fit of two relations, one of them weighted, and nodes with lists."""
    folder, rng = tmp_path_factory.mktemp("typed"), np.random.default_rng(1)
    rows = [{"id": k, "label": "ab"[k % 2] if k % 3 else None, "tags": [["x", "y"][k % 2], "xyz"[k % 3]],
             "place": [float(k % 2) + rng.normal(), rng.normal()]} for k in range(60)]  # fmt: skip
    (folder / "nodes.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for name in ("cites", "pays"):
        ends = pd.DataFrame(rng.integers(0, 60, (150, 2)), columns=["source", "target"]).drop_duplicates()
        ends = ends[ends["source"] != ends["target"]]
        weights = {"weight": rng.integers(1, 4, len(ends))} if name == "pays" else {}
        ends.assign(**weights).to_csv(folder / f"{name}.csv", index=False)
    files = [f"--edges={folder / name}.csv" for name in ("cites", "pays")]
    words = ["fit", *files, "--directed", "pays", "--nodes", str(folder / "nodes.jsonl"), "--label", "label"]
    assert cli.main([*words, "--out", str(folder / "out"), "--json"]) == 0
    model = SlimG.load(folder / "out/model.slimg")
    frame = read(Source(folder / "out/predictions.jsonl")).frame
    return folder, Answers(model, frame, partial(read_new_rows, model)), model


def test_relations_weights_and_lists(typed):
    folder, answers, model = typed
    assert answers.start()["relations"] == ["cites", "pays →", "pays ←"] and answers.start()["weighted"]
    told = answers.node({"id": "7"})
    pays = pd.read_csv(folder / "pays.csv")
    assert {each["id"] for each in told["neighbours"] if "pays →" in each["relations"]} == set(
        pays.loc[pays["source"] == 7, "target"].astype(str)
    )
    new = next(str(k) for k in range(60) if k != 7 and str(k) not in {each["id"] for each in told["neighbours"]})
    gone = pays.loc[pays["target"] == 7, "source"].iloc[0]
    edges = {"with": [[new, "pays →", "2.5"]], "without": [[str(gone), "pays ←"]]}
    found = answers.what_if({"id": "7", **edges, "values": [["tags", "x, z"], ["place", "1, -2"]]})
    changed = pays[(pays["source"] != gone) | (pays["target"] != 7)]
    row = pd.DataFrame({"source": [7], "target": [int(new)], "weight": [2.5]})
    pd.concat([changed, row]).to_csv(folder / "pays.csv", index=False)
    rows = [json.loads(line) for line in (folder / "nodes.jsonl").read_text().splitlines()]
    rows[7] |= {"tags": ["x", "z"], "place": [1, -2]}
    (folder / "nodes.jsonl").write_text("\n".join(map(json.dumps, rows)))
    reading = model.data_["reading"]
    graph = read_inputs(options_of(argparse.Namespace(**reading["options"])), plan=FeaturePlan.from_dict(reading["plan"])).graph
    scores = model.decision_function(graph)[7].astype(float)
    code = list(model.classes_).index(told["class"])
    assert found["after"]["score"] == pytest.approx(contrast(scores, code), abs=1e-5)
    for values, words in (([["place", "1"]], "'1'"), ([["place", "north, 2"]], "numbers separated by commas")):
        with pytest.raises(InputError, match=words):
            answers.what_if({"id": "7", "values": values})
    with pytest.raises(InputError, match="weight of an edge must be a number above 0, not '-1'"):
        answers.what_if({"id": "7", "with": [[new, "pays →", "-1"]]})


def test_new_rows_of_several_relations_name_them_in_a_column(typed):
    _, answers, model = typed
    nodes, edges = "id,tags,place\nnew,,\n", "source,target,relation,weight\nnew,3,cites,1\nnew,4,pays,2.5\n"
    for each in ("", edges):
        assert [row["id"] for row in answers.new_rows({"nodes": nodes, "edges": each})["rows"]] == ["new"]
    graph = read_new_rows(model, nodes.encode(), edges.encode()).graph
    assert {each.name: (each.edges, each.directed) for each in graph.relations} == {"cites": (1, False), "pays": (1, True)}
    for words, question in {
        "no column 'relation'": {"nodes": nodes, "edges": "source,target\nnew,3\n"},
        "relation 'likes'": {"nodes": nodes, "edges": edges.replace("cites", "likes")},
        "'place' needs lists of numbers": {"nodes": nodes.replace(",,", ",,1 2")},
    }.items():
        with pytest.raises(InputError, match=words):
            answers.new_rows(question)
