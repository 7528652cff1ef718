"""Completion scripts are accepted by the shell, and complete what there is."""

import subprocess

import pytest

from slimg.cli import COMMANDS
from slimg.cli.completion import words


def test_bash_completes_commands_and_options(slimg):
    script = slimg("completion", "bash")[1]

    def complete(*line):
        given = " ".join(f"'{word}'" for word in line)
        code = f"{script}\nCOMP_WORDS=({given}); COMP_CWORD={len(line) - 1}; _slimg; echo ${{COMPREPLY[@]}}"
        return subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True, cwd="/").stdout.split()

    assert complete("slimg", "ex") == ["explain"]
    assert complete("slimg", "fit", "--no") == [
        "--no-directed", "--no-header", "--no-measure-fold-in", "--no-weight", "--nodes",
    ]  # fmt: skip
    assert complete("slimg", "fit", "--nodes", "/usr/bi") == ["/usr/bin"]
    assert complete("slimg", "completion", "zs") == ["zsh"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_name_every_command(slimg, shell):
    code, out, _ = slimg("completion", shell)
    assert code == 0
    assert all(name in out for name in COMMANDS)
    assert "nodes" in out


def test_every_option_is_there():
    assert {"--edges", "--json", "--label"} <= set(words()["fit"])
    assert {"table", "show", "verify"} <= set(words()["gnnexp"])
