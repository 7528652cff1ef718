"""Symbols that write the arithmetic done with them."""

import pytest

from slimg.lab.gnnexp.notation import Scalar, as_scalar, plain

K, T, alpha, k = (Scalar.named(name) for name in ("K", "T", "alpha", "k"))


@pytest.mark.parametrize(
    ("number", "text", "latex"),
    [
        (1 - T / K, "1 − T/K", "1 - T / K"),
        ((1 - alpha) ** k, "(1 − α)ᵏ", r"(1 - \alpha)^{k}"),
        (alpha * (1 - alpha) ** k, "α (1 − α)ᵏ", r"\alpha (1 - \alpha)^{k}"),
        (2 * K, "2K", "2K"),
        (K - 2, "K − 2", "K - 2"),
        (K - 2 - 0 + 1, "K − 1", "K - 1"),
        (2 * (K + 1) - 2, "2K", "2K"),
        (1 + K, "K + 1", "K + 1"),
        (K - K, "0", "0"),
        (-(alpha**2 / 2), "−α²/2", r"-\alpha^{2} / 2"),
        (T.at(Scalar.named("i")) / K, "Tᵢ/K", "T_{i} / K"),
        (1 - (alpha - 1), "1 − (α − 1)", r"1 - (\alpha - 1)"),
        (0.9**k, "0.9ᵏ", "0.9^{k}"),
        (alpha * 3.0, "α·3", r"\alpha \cdot 3"),
        ((1 - alpha) * (1 - T), "(1 − α) (1 − T)", r"(1 - \alpha) (1 - T)"),
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
