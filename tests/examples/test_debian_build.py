"""The Debian graph's making, on a small index written by hand, and what holds for the files that are committed."""

import pyarrow.parquet as pq
import pytest

from examples.debian import build


def entry(name, section="utils", **fields):
    lines = [f"Package: {name}", f"Section: {section}", f"Filename: pool/main/{name}.deb"]
    lines += [f"{key.replace('_', '-')}: {value}" for key, value in fields.items()]
    return "\n".join(lines)


@pytest.fixture
def index():
    return build.read_index(
        "\n\n".join(
            [
                entry("task-a", "tasks", Depends="game (>= 1.0), virtual-mailer | mailer, absent | gone"),
                entry("game", "games", Pre_Depends="libsdl:any", Recommends="game-data | game", Breaks="libssl (<< 3)",
                      Description="A GAME"),
                entry("game-data", "games", Description="data files for the game\n long text is not read"),
                entry("mailer", "mail", Depends="libsdl (<< 2) | libssl, python3-x"),
                entry("libsdl", "libs", Description="C++ game library"),
                entry("libssl", "libs"),
                entry("python3-x", "python"),
                entry("game-doc", "doc"),
                entry("never-reached", "games"),
            ]
        )
    )


def test_fields_join_continuations_but_keep_only_the_summary_of_a_description():
    fields = build.read_fields("Package: a\nTag: x::y,\n z::w\nDescription: one: line\n more")
    assert fields == {"Package": "a", "Tag": "x::y, z::w", "Description": "one: line"}


def test_index_has_debian_packages_once():
    text = "\n\n".join(
        [entry("a", Description="first"), entry("a", Description="second"), "Package: foreign\nSection: utils"]
    )
    index = build.read_index(text)
    assert list(index) == ["a"]
    assert index["a"]["Description"] == "first"


def test_links_take_the_first_real_alternative_and_drop_versions(index):
    assert build.links(index["task-a"], index) == {"game", "mailer"}
    assert build.links(index["mailer"], index) == {"libsdl", "python3-x"}


def test_links_drop_the_package_itself_and_read_the_fields_asked_for(index):
    assert build.links(index["game"], index) == {"libsdl", "game-data"}
    assert build.links(dict(index["game"], Recommends="game"), index) == {"libsdl"}
    assert build.links(index["game"], index, ["Breaks"]) == {"libssl"}


def test_choice_is_the_closure_of_tasks_in_sections_that_name_a_subject(index):
    assert build.choose_packages(index) == ["game", "game-data", "libsdl", "mailer"]


def test_choice_keeps_the_largest_sections(index, monkeypatch):
    monkeypatch.setattr(build, "SECTIONS_KEPT", 1)
    assert build.choose_packages(index) == ["game", "game-data"]


def test_tables_hold_frequent_words_with_repetition_and_edges_among_the_kept(index):
    packages, relations = build.tables(index, build.choose_packages(index))
    assert packages.column("words").to_pylist() == [["game"], ["game"], ["game"], []]
    assert packages.column("section").to_pylist() == ["games", "games", "libs", "mail"]
    assert [tuple(row.values()) for row in relations.to_pylist()] == [
        ("game", "Pre-Depends", "libsdl"),
        ("game", "Recommends", "game-data"),
        ("mailer", "Depends", "libsdl"),
    ]


def test_maintainers_lose_their_address_and_count_from_five_packages():
    index = build.read_index("\n\n".join(entry(f"p{i}", Maintainer='"A, B" <a@b.org>') for i in range(5)))
    packages, _ = build.tables(index, sorted(index))
    assert packages.column("maintainer").to_pylist() == ["A, B"] * 5
    packages, _ = build.tables(index, sorted(index)[:4])
    assert packages.column("maintainer").to_pylist() == [None] * 4


@pytest.mark.parametrize(
    ("summary", "words"),
    [
        ("C++ and mp3, for Gtk+", ["c++", "mp3", "gtk+"]),
        ("2d a x11-utils", ["x11", "utils"]),
        ("", []),
        ("the game of games", ["game", "games"]),
    ],
)
def test_words(summary, words):
    assert build.summary_words(summary) == words


def test_without_apt_the_build_ends_with_a_sentence(monkeypatch):
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    with pytest.raises(SystemExit, match="apt-get"):
        build.dump_index()


def test_the_index_is_that_of_the_release_without_updates(monkeypatch, tmp_path):
    asked = []

    def output(*words):
        asked.append(words)
        return "bookworm /lists/main\nbookworm-updates /lists/updates\n" if words[0] == "apt-get" else "Package: a\n"

    monkeypatch.setattr(build.shutil, "which", lambda name: name)
    monkeypatch.setattr(build, "HELPER", tmp_path)
    monkeypatch.setattr(build, "_output", output)
    assert build.dump_index() == "Package: a\n"
    assert asked[-1] == (str(tmp_path), "cat-file", "/lists/main")


def test_main_writes_what_tables_says(index, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(build, "dump_index", lambda: "")
    monkeypatch.setattr(build, "read_index", lambda text: index)
    build.main(["--out", str(tmp_path / "new")])
    expected = build.tables(index, build.choose_packages(index))
    for table, name in zip(expected, ("packages.parquet", "relations.parquet"), strict=True):
        assert pq.read_table(tmp_path / "new" / name).to_pylist() == table.to_pylist()
    assert "index of 9 packages" in capsys.readouterr().out


def test_committed_files_are_small_sorted_and_closed():
    files = [build.HERE / "packages.parquet", build.HERE / "relations.parquet"]
    assert sum(file.stat().st_size for file in files) < 1_000_000
    packages, relations = (pq.read_table(file) for file in files)
    names = packages.column("name").to_pylist()
    rows = [tuple(row.values()) for row in relations.to_pylist()]
    assert names == sorted(set(names))
    assert rows == sorted(set(rows))
    assert {end for row in rows for end in (row[0], row[2])} <= set(names)
    assert {row[1] for row in rows} == set(build.RELATIONS)
    sections = set(packages.column("section").to_pylist())
    assert len(sections) == build.SECTIONS_KEPT
    assert not sections & (build.ROLE_SECTIONS | build.LANGUAGE_SECTIONS)


def test_committed_features_hold_no_address_tag_or_section_field():
    packages = pq.read_table(build.HERE / "packages.parquet")
    assert packages.column_names == ["name", "section", "maintainer", "words"]
    maintainers = {who for who in packages.column("maintainer").to_pylist() if who}
    assert not any("@" in who for who in maintainers)
    words = {word for row in packages.column("words").to_pylist() for word in row}
    assert not any("::" in word for word in words)
    assert not words & build.FUNCTION_WORDS
