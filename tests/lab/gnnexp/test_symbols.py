"""Names of operators, and loops without normalisation taken apart."""

from fractions import Fraction

import pytest

from slimg.errors import InputError
from slimg.lab.gnnexp.algebra import IDENTITY, Polynomial
from slimg.lab.gnnexp.symbols import HALF, Attention, Laplacian, Operator, normalised, scaled


@pytest.mark.parametrize(
    ("operator", "text", "latex"),
    [
        (Operator(), "A", r"\mathbf{A}"),
        (Operator("A", Fraction(1), -HALF, -HALF), "Ã_sym", r"\tilde{\mathbf{A}}_{\mathrm{sym}}"),
        (Operator("A", Fraction(0), Fraction(-1)), "A_row", r"\mathbf{A}_{\mathrm{row}}"),
        (Operator("A2", Fraction(0), -HALF, -HALF), "A₂_sym", r"\mathbf{A}_{2,\mathrm{sym}}"),
        (Operator("A", Fraction(2), -HALF, -HALF), "Ã[2I]_sym", r"\tilde{\mathbf{A}}_{\mathrm{sym},2\mathbf{I}}"),
        (Operator("B", Fraction(1)), "B\u0303", r"\tilde{\mathbf{B}}"),
        (Operator("A", Fraction(0), -HALF), "D^(-1/2)AD^(0)", r"\mathbf{D}^{-1/2} \mathbf{A} \mathbf{D}^{0}"),
        (Laplacian(), "L", r"\mathbf{L}"),
        (Laplacian("A2"), "L(A₂)", r"\mathbf{L}(A2)"),
    ],
)
def test_names(operator, text, latex):
    assert (operator.text, operator.latex) == (text, latex)


def test_weight_vectors_of_attention_are_numbered_by_layer_and_head():
    assert Attention(2).vectors == ("w_{2,1}", "w_{2,2}")
    assert Attention(2, 3, heads=4).vectors == ("w_{2,3,1}", "w_{2,3,2}")
    assert Attention(1, loops=Fraction(0)).text == "[diag(X w₁₁) A + A diag(X w₁₂)]"


def test_loops_without_normalisation_are_a_sum():
    plain = Polynomial.of(Operator())
    assert normalised("A", "none", 1) == plain + IDENTITY
    assert scaled("A", Fraction(3), Fraction(0), Fraction(0)) == plain + IDENTITY * 3


def test_an_unknown_normalisation_lists_the_choices():
    with pytest.raises(InputError, match="choose one of col, none, row, sym"):
        normalised("A", "random")


def test_only_averages_with_loops_keep_the_ones():
    assert Operator("A", Fraction(1), Fraction(-1)).keeps_ones
    assert not Operator("A", Fraction(0), Fraction(-1)).keeps_ones
    assert not Operator("A", Fraction(1), -HALF, -HALF).keeps_ones
