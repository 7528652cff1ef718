"""Completion scripts are accepted by the shells, and complete what there is."""

import shutil
import subprocess

import pytest

from slimg.cli import COMMANDS


def test_bash_completes_commands_options_and_files(slimg):
    script = slimg("completion", "bash")[1]

    def complete(*line):
        words = " ".join(f"'{word}'" for word in line)
        state = f"COMP_WORDS=({words}); COMP_CWORD={len(line) - 1}; COMP_LINE='{' '.join(line)}'; COMP_POINT=${{#COMP_LINE}}"
        code = f"{script}\n{state}; _shtab_slimg; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True, cwd="/")
        return {word.strip() for word in done.stdout.splitlines()}

    assert complete("slimg", "ex") == {"explain"}
    assert complete("slimg", "fit", "--no") == {
        "--no-directed", "--no-header", "--no-measure-fold-in", "--no-weight", "--nodes",
    }  # fmt: skip
    assert complete("slimg", "completion", "zs") == {"zsh"}
    assert complete("slimg", "gnnexp", "verif") == {"verify"}
    assert "/usr/bin" in {word.rstrip("/") for word in complete("slimg", "fit", "--nodes", "/usr/bi")}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_every_command_and_accepts_the_script(slimg, tmp_path, shell):
    code, out, _ = slimg("completion", shell)
    assert code == 0
    assert all(name in out for name in COMMANDS)
    assert "measure-fold-in" in out and "linearize" in out
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed here: its script was not run")
    (tmp_path / "script").write_text(out)
    subprocess.run([shell, "-n", tmp_path / "script"], check=True)
