"""Formulas written by the code that computes them are those of the paper's table."""

import re

import pytest

from slimg.lab.gnnexp.algebra import IDENTITY, Polynomial, normalised, plain
from slimg.lab.gnnexp.writing import (
    Scalar,
    as_scalar,
    block_text,
    inside,
    latex,
    propagator_latex,
    propagator_text,
    symbolic,
    text,
)
from slimg.lab.propagators import get
from slimg.lab.propagators.expressions import A_row, A_sym, Hop, Power, blocks, each, identity, summation
from slimg.lab.propagators.registry import kind_of

PAPER = {
    "lr": r"\mathbf{X}",
    "sgc": r"\AsymK{K} \mathbf{X}",
    "dgc": r"[(1 - T/K) \mathbf{I} + (T/K) \AsymK{}]^K \mathbf{X}",
    "s2gc": r"\sum_{k=1}^K (\alpha \mathbf{I} + (1 - \alpha) \AsymK{k}) \mathbf{X}",
    "g2cn": r"\concat_{i=1}^N [\mathbf{I} - (T_i/K) ((b_i - 1) \mathbf{I} + \mathbf{A}_\mathrm{sym})^2]^K \mathbf{X}",
    "ppnp": r"(\mathbf{I} - (1 - \alpha) \AsymK{})^{-1} \mathbf{X}",
    "appnp": r"[ \sum_{k=0}^{K-1} \alpha (1 - \alpha)^k \AsymK{k} + (1 - \alpha)^K \AsymK{K} ] \mathbf{X}",
    "gprgnn": r"\concat_{k=0}^K \AsymK{k} \mathbf{X}",
    "chebnet": r"\concat_{k=0}^{K-1} \mathbf{A}_\mathrm{sym}^k \mathbf{X}",
    "gcn": r"\AsymK{K} \mathbf{X}",
    "sage": r"\concat_{k=0}^K \mathbf{A}_\mathrm{row}^k \mathbf{X}",
    "gcnii": r"\concat_{k=0}^{K-2} \AsymK{k} \mathbf{X} \cat ((1 - \alpha) \AsymK{K} + \alpha \AsymK{K-1}) \mathbf{X}",
    "h2gcn": r"\concat_{k=0}^{2K} \mathbf{A}_\mathrm{sym}^k \mathbf{X}",
    "gat": r"\prod_{k=1}^K [ \mathrm{diag}(\mathbf{X} \mathbf{w}_{k,1}) \tilde{\mathbf{A}} + \tilde{\mathbf{A}}"
    r" \mathrm{diag}(\mathbf{X} \mathbf{w}_{k,2}) ] \mathbf{X}",
    "dagnn": r"\sum_{k=0}^K \mathrm{diag}(\AsymK{k} \mathbf{X} \mathbf{w}) \AsymK{k} \mathbf{X}",
    "reg_kernel": r"(\mathbf{I} + \sigma^2 \mathbf{L})^{-1} \mathbf{X}",
    "diff_kernel": r"\exp(-(\sigma^2 / 2) \mathbf{L}) \mathbf{X}",
    "rw_kernel": r"(a \mathbf{I} - \mathbf{L})^p \mathbf{X}",
    "slimg": r"\mathbf{U} \cat g(\mathbf{X}) \cat g(\mathbf{A}_\mathrm{row}^2 \mathbf{X}) \cat g(\AsymK{2} \mathbf{X})",
}
"""The rows of the paper's source (without GDC, whose row is two formulas)."""


def simplified(formula):
    """Without what does not change the meaning: spaces, braces, kinds of brackets, names of macros."""
    formula = re.sub(r"\\AsymK\{(.*?)\}", r"\\tilde{\\mathbf{A}}_\\mathrm{sym}^{\1}", formula)
    formula = formula.replace(r"\concat", r"\Big\Vert").replace(r"\cat", r"\Vert").replace(r"\,", "")
    formula = re.sub(r"[\s{}]", "", formula).replace("[", "(").replace("]", ")")
    return re.sub(r"sym\^(?=[+)])", "sym", formula)  # \AsymK{} has an empty exponent


@pytest.mark.parametrize("name", PAPER)
def test_the_formula_is_the_papers_row(name):
    assert simplified(latex(symbolic(kind_of(name)).formula())) == simplified(PAPER[name])


def test_gdc_names_its_matrix_and_defines_it():
    assert text(symbolic(kind_of("gdc")).formula()) == "S̃_sym X, S = sparse_ε(α [I − (1 − α) Ã_sym]⁻¹)"


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("dgc", "[(1 − T/K) I + (T/K) Ã_sym]ᴷ X"),
        ("g2cn", "‖ᵢ₌₁ᴺ [I − (Tᵢ/K) [(bᵢ − 1) I + A_sym]²]ᴷ X"),
        ("gcnii", "‖ₖ₌₀ᴷ⁻² Ã_symᵏ X ‖ [(1 − α) Ã_symᴷ + α Ã_symᴷ⁻¹] X"),
        ("gat", "Πₖ₌₁ᴷ [diag(X wₖ₁) Ã + Ã diag(X wₖ₂)] X"),
        ("diff_kernel", "exp(−(σ²/2) L) X"),
    ],
)
def test_in_unicode(name, written):
    assert text(symbolic(kind_of(name)).formula()) == written


@pytest.mark.parametrize(
    ("propagator", "written"),
    [
        (get("dgc"), "(0.975 I + 0.025 Ã_sym)²⁰⁰ X"),
        (get("g2cn"), "[I − 0.1 (−I + A_sym)²]¹⁰⁰ X ‖ [I − 0.1 (I + A_sym)²]¹⁰⁰ X"),
        (get("sage", K=2), "X ‖ A_row X ‖ A_row² X"),
        (get("gprgnn"), "‖ₖ₌₀¹⁰ Ã_symᵏ X"),
        (get("rw_kernel"), "(2 I − L)² X"),
    ],
)
def test_with_values(propagator, written):
    assert text(propagator.formula()) == written


def test_signs_and_numbers():
    assert text(-1 * A_sym) == "−A_sym X"
    assert text(identity - 2 * (A_sym + A_row) ** 3) == "[I − 2 (A_sym + A_row)³] X"
    assert text(summation(0, 4, lambda k: k * A_row)) == "Σₖ₌₀⁴ k A_row X"


def test_an_index_stands_for_itself_inside():
    found = inside(each(0, 2, lambda k: A_row**k))
    assert [type(part) for part in found] == [Power, Hop] and found[0].exponent.text == "k"
    assert text(blocks(each(0, 7, lambda k: A_row**k), A_sym)) == "‖ₖ₌₀⁷ A_rowᵏ X ‖ A_sym X"


S, T = normalised("A", "sym", 1), normalised("A", "row")


@pytest.mark.parametrize(
    ("polynomial", "text"),
    [
        (IDENTITY, "I"),
        (Polynomial(), "0"),
        (S**12, "Ã_sym¹²"),
        (S**2 * 0.9 + S * 0.1, "0.9 Ã_sym² + 0.1 Ã_sym"),
        (IDENTITY * -1 + S * 2 * T, "2 Ã_sym A_row − I"),
        (S * 1e-7 + IDENTITY, "10⁻⁷".join(["1·", " Ã_sym + I"])),
        ((S + IDENTITY) ** 9, "Ã_sym⁹ + 9 Ã_sym⁸ + 36 Ã_sym⁷ + … + 36 Ã_sym² + 9 Ã_sym + I"),
    ],
)
def test_polynomials(polynomial, text):
    assert repr(polynomial) == text


def test_runs_of_four_powers_are_one_concatenation():
    assert propagator_text([IDENTITY, S, S**2]) == "X ‖ Ã_sym X ‖ Ã_sym² X"
    assert propagator_text([IDENTITY, S, S**2, S**3]) == "‖ₖ₌₀³ Ã_symᵏ X"
    assert propagator_text([S**k for k in range(2, 13)]) == "‖ₖ₌₂¹² Ã_symᵏ X"
    assert propagator_text([IDENTITY, T, S, S**2, S**3, S**4]) == "X ‖ A_row X ‖ ‖ₖ₌₁⁴ Ã_symᵏ X"
    assert propagator_text([]) == "0"


def test_the_row_of_gcnii_in_latex():
    blocks = [IDENTITY, S, S**2, S**3, S**5 * 0.9 + S**4 * 0.1]
    operator = r"{\tilde{\mathbf{A}}_{\mathrm{sym}}}"
    assert propagator_latex(blocks) == (
        rf"\Big\Vert_{{k=0}}^{{3}} {operator}^{{k}} \mathbf{{X}} \,\Vert\,"
        rf" (0.9 {operator}^{{5}} + 0.1 {operator}^{{4}}) \mathbf{{X}}"
    )
    assert (IDENTITY - S * 1e-5).latex == r"-1 \cdot 10^{-5} \tilde{\mathbf{A}}_{\mathrm{sym}} + \mathbf{I}"


def test_blocks_are_named_after_what_they_hold():
    assert [block_text(IDENTITY), block_text(T**2), block_text(T, "1")] == ["X", "A_row² X", "A_row 1"]


# symbols that write the arithmetic done with them -------------------------------------------------------------------


K, time, alpha, k = (Scalar.named(name) for name in ("K", "T", "alpha", "k"))


@pytest.mark.parametrize(
    ("number", "text", "latex"),
    [
        (1 - time / K, "1 − T/K", "1 - T / K"),
        ((1 - alpha) ** k, "(1 − α)ᵏ", r"(1 - \alpha)^{k}"),
        (alpha * (1 - alpha) ** k, "α (1 − α)ᵏ", r"\alpha (1 - \alpha)^{k}"),
        (2 * K, "2K", "2K"),
        (K - 2, "K − 2", "K - 2"),
        (K - 2 - 0 + 1, "K − 1", "K - 1"),
        (2 * (K + 1) - 2, "2K", "2K"),
        (1 + K, "K + 1", "K + 1"),
        (K - K, "0", "0"),
        (-(alpha**2 / 2), "−α²/2", r"-\alpha^{2} / 2"),
        (time.at(Scalar.named("i")) / K, "Tᵢ/K", "T_{i} / K"),
        (1 - (alpha - 1), "1 − (α − 1)", r"1 - (\alpha - 1)"),
        (0.9**k, "0.9ᵏ", "0.9^{k}"),
        (alpha * 3.0, "α·3", r"\alpha \cdot 3"),
        ((1 - alpha) * (1 - time), "(1 − α) (1 − T)", r"(1 - \alpha) (1 - T)"),
        (alpha / (1 + alpha), "α/(α + 1)", r"\alpha / (\alpha + 1)"),
    ],
)
def test_arithmetic_is_written(number, text, latex):
    assert (number.text, number.latex) == (text, latex)


def test_numbers_are_written_short():
    assert as_scalar(0.1 + 0.2).text == "0.3"
    assert as_scalar(-2).text == "−2" and as_scalar(-2).latex == "-2"


def test_small_letters_where_there_are_any():
    assert [plain(f"x^{{{each}}}") for each in ("2K", "K - 1", r"\theta", "0.5")] == ["x²ᴷ", "xᴷ⁻¹", "x^θ", "x^(0.5)"]
    assert [plain(f"x_{{{each}}}") for each in ("k=0", "1,2", r"\epsilon", "0.01")] == ["xₖ₌₀", "x₁₂", "x_ε", "x_0.01"]
    assert plain(r"\tilde{\mathbf{A}}_{2,\mathrm{sym},0.5\mathbf{I}}") == "Ã₂[0.5I]_sym"
