"""The command line: fast help, exit codes, one sentence for what is wrong."""

import subprocess
import sys
import time

import pytest

from slimg import __version__, cli
from slimg.errors import InputError


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "slimg", *arguments], capture_output=True, text=True, timeout=60)


def test_help_lists_the_commands_and_imports_nothing_heavy():
    begun = time.perf_counter()
    result = run("--help")
    assert time.perf_counter() - begun < 3  # 0.1 s on a machine that does nothing else
    assert result.returncode == 0
    assert all(name in result.stdout for name in cli.COMMANDS)
    heavy = "[name for name in ('numpy', 'numba', 'sklearn') if name in sys.modules]"
    code = f"import sys, slimg.cli; slimg.cli.command_parser([]); print({heavy})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert loaded.stdout.strip() == "[]"


def test_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"slimg {__version__}\n"


@pytest.mark.parametrize(("words", "facts"), [
    (("gnnexpp",), ("'gnnexpp'", "gnnexp'")),
    (("fit", "--lable", "x"), ("--lable", "--label", "slimg fit --help")),
    (("fit", "--relation"), ("--relation", "one argument")),
    (("fit", "--seed", "-1"), ("--seed", "'-1'", "from 0")),
    (("estimate", "--workers", "0"), ("--workers", "'0'", "from 1")),
    (("explain", "a", "--terms", "few"), ("--terms", "'few'")),
    (("fit", "--coverage", "1.5"), ("--coverage", "'1.5'", "between 0 and 1")),
    (("fit", "--scoring", "f1"), ("--scoring", "'f1'", "f1_macro")),
    (("fit", "--engine", "gpu"), ("--engine", "'gpu'", "mapped")),
    (("fit", "--number", "age", "--category", "age"), ("'age'", "--number", "--category")),
])  # fmt: skip
def test_what_is_typed_wrongly_is_told_in_one_sentence(capsys, words, facts):
    assert cli.main(list(words)) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and all(each in said for each in facts), said


@pytest.mark.parametrize(("error", "code"), [(InputError("no such thing"), 2), (KeyboardInterrupt(), 130)])
def test_exit_codes(monkeypatch, capsys, error, code):
    class Command:
        @staticmethod
        def add_parser(subparsers):
            def fail(args):
                raise error

            subparsers.add_parser("failing").set_defaults(run=fail)

    monkeypatch.setattr(cli, "COMMANDS", {"failing": ("failing", "")})
    monkeypatch.setattr(cli, "import_module", lambda name: Command)
    assert cli.main(["failing"]) == code
    assert capsys.readouterr().err == ("slimg: no such thing\n" if code == 2 else "slimg: interrupted\n")


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_a_parser_that_runs(name, capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main([name, "--help"])
    assert capsys.readouterr().out.startswith(f"usage: slimg {name}")
