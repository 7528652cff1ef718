"""Short vectors of float32 inside compiled kernels.

Numba leaves it to the compiler to find vectors in loops, and for a few dozen columns it finds poor ones: sums travel through
memory, and columns left over are added one by one. Here a vector is a value of its own: `load`, `add` and `scale` become
single instructions on any width the machine has, and a sum over many rows stays in registers.

Each lane is one column: nothing is added across lanes, so the bits are those of the plain loop.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model


class Vector(types.Type):
    """``lanes`` consecutive float32."""

    def __init__(self, lanes: int):
        self.lanes = lanes
        super().__init__(name=f"Vector({lanes})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Vector):
        super().__init__(manager, kind, ir.VectorType(ir.FloatType(), kind.lanes))


@intrinsic(prefer_literal=True)
def zeros(typing: Any, lanes: Any):
    """A vector of zeros; ``lanes`` is a constant."""
    kind = Vector(lanes.literal_value)

    def build(context: Any, builder: Any, signature: Any, args: Any):
        return ir.Constant(context.get_value_type(kind), None)

    return kind(lanes), build


@intrinsic
def load(typing: Any, vector: Any, array: Any, row: Any, column: Any):
    """array[row, column : column + lanes]; ``vector`` only says how many."""

    def build(context: Any, builder: Any, signature: Any, args: Any):
        address = _address(context, builder, signature.args[1:], args[1:])
        value = builder.load(builder.bitcast(address, context.get_value_type(vector).as_pointer()))
        value.align = 4
        return value

    return vector(vector, array, row, column), build


@intrinsic
def store(typing: Any, vector: Any, array: Any, row: Any, column: Any):
    """array[row, column : column + lanes] = vector."""

    def build(context: Any, builder: Any, signature: Any, args: Any):
        address = _address(context, builder, signature.args[1:], args[1:])
        builder.store(args[0], builder.bitcast(address, args[0].type.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(vector, array, row, column), build


@intrinsic
def add(typing: Any, a: Any, b: Any):
    """a + b."""

    def build(context: Any, builder: Any, signature: Any, args: Any):
        return builder.fadd(*args)

    return a(a, b), build


@intrinsic
def scale(typing: Any, a: Any, factor: Any):
    """a · factor, for a float32 factor."""

    def build(context: Any, builder: Any, signature: Any, args: Any):
        kind, word = args[0].type, ir.IntType(32)
        number = context.cast(builder, args[1], signature.args[1], types.float32)
        first = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(word, 0))
        same = ir.Constant(ir.VectorType(word, kind.count), None)
        return builder.fmul(args[0], builder.shuffle_vector(first, first, same))

    return a(a, factor), build


@intrinsic
def prefetch(typing: Any, array: Any, place: Any):
    """Ask for the cache line of array[place], a tuple of indices, in the second level of the cache.

    The first level has places for only a dozen lines under way, two rows of a row matrix; the second for four times as many.
    """

    def build(context: Any, builder: Any, signature: Any, args: Any):
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        index = cgutils.unpack_tuple(builder, args[1])
        address = _address(context, builder, (array, *place.types), (args[0], *index))
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        read, second_level, data = (ir.Constant(word, value) for value in (0, 2, 1))
        builder.call(function, [builder.bitcast(address, byte), read, second_level, data])
        return context.get_dummy_value()

    return types.void(array, place), build


def _address(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
    """Where the entry of an array is: ``args`` are the array and its indices."""
    array = kinds[0]
    view = context.make_array(array)(context, builder, args[0])
    index = [context.cast(builder, each, kind, types.intp) for each, kind in zip(args[1:], kinds[1:], strict=True)]
    shapes, strides = cgutils.unpack_tuple(builder, view.shape), cgutils.unpack_tuple(builder, view.strides)
    return cgutils.get_item_pointer2(context, builder, view.data, shapes, strides, array.layout, index)
