"""Propagators in writing, in both notations."""

import pytest

from slimg.lab.gnnexp.algebra import IDENTITY, Polynomial
from slimg.lab.gnnexp.formula import block_text, polynomial_latex, polynomial_text, propagator_latex, propagator_text
from slimg.lab.gnnexp.symbols import normalised

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
    assert polynomial_text(polynomial) == text == repr(polynomial)


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
    assert polynomial_latex(IDENTITY - S * 1e-5) == r"-1 \cdot 10^{-5} \tilde{\mathbf{A}}_{\mathrm{sym}} + \mathbf{I}"


def test_blocks_are_named_after_what_they_hold():
    assert [block_text(IDENTITY), block_text(T**2), block_text(T, "1")] == ["X", "A_row² X", "A_row 1"]
