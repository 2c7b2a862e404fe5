"""A product as C has it, from views of its arrays: sizes, ops, leading dimensions, distances of a batch, the epilogue."""

from __future__ import annotations

from typing import NamedTuple

from . import _c
from ._arrays import NAMES, View
from ._errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping


class Options(NamedTuple):
    """What a product is beside its arrays, in the words of `matmul`."""

    alpha: float
    beta: float
    activation: str | None
    compute: str | None
    mode: str | None
    order: str | None
    sm_limit: int


_F32, _BF16 = _c.TYPE["F32"], _c.TYPE["BF16"]
_S8, _S32 = _c.TYPE["S8"], _c.TYPE["S32"]
_FP8 = (_c.TYPE["E4M3"], _c.TYPE["E5M2"])
_WORDS = {"compute": {word[8:].lower(): number for word, number in _c.COMPUTE.items()},
          "mode": {word.lower(): number for word, number in _c.MODE.items()},
          "order": {word[6:].lower(): number for word, number in _c.ORDER.items()},
          "activation": {word.lower(): number for word, number in _c.ACTIVATION.items()
                         if number and word != "CLAMP"}}  # whose limits are no option
_BESIDE_OUT = ("c", "residual", "aux")  # which have out's shape
_FIRST_DERIVATIVE = _c.ACTIVATION["DRELU"]  # they read aux


def number_of(option: str, word: str | None, default: int = 0) -> int:
    """The number of an option's word; the default's for None."""
    if word is None:
        return default
    try:
        return _WORDS[option][word]
    except (KeyError, TypeError):
        raise InvalidArgument(f"{option} is {word!r}; expected {', '.join(_WORDS[option])}, or None") from None


def groups_of(views: Mapping[str, View]) -> tuple[str, int]:
    """The kind of groups, and their number."""
    a, b, offsets, counts = (views.get(name) for name in ("a", "b", "group_offsets", "group_counts"))
    if offsets is None and counts is None:
        return "GROUPS_NONE", 0
    if offsets is not None and counts is not None:
        raise InvalidArgument(f"{offsets} and {counts}; expected one of them")
    numbers = offsets if counts is None else counts
    dimensions = (len(a.shape), len(b.shape))
    if counts is not None:
        if dimensions != (3, 3) or a.shape[0] != b.shape[0]:
            raise InvalidArgument(f"{a} and {b}; with group_counts, expected (groups, m, k) and (groups, k, n)")
        kind, groups, count = "GROUPS_MASKED_ROWS", a.shape[0], a.shape[0]
    elif dimensions == (2, 3):
        kind, groups, count = "GROUPS_ROWS", b.shape[0], b.shape[0] + 1
    elif dimensions == (2, 2):
        count = max(numbers.shape[0] if numbers.shape else 1, 2)
        kind, groups = "GROUPS_ALONG_K", count - 1
    else:
        raise InvalidArgument(f"{a} and {b}; with group_offsets, expected (m, k) and (groups, k, n), or (m, k) and (k, n)")
    _vector(numbers, {(count,): 1})
    return kind, groups


def result_shape(views: Mapping[str, View]) -> tuple[int, ...]:
    """The shape of a @ b, or of the rows of groups, each times its own matrix of b, or of the products of groups."""
    a, b = views["a"], views["b"]
    kind, groups = groups_of(views)
    for view in (a, b):
        if len(view.shape) not in (2, 3):
            raise InvalidArgument(f"{view} has {len(view.shape)} dimensions; expected 2, or 3 for a batch")
    if a.shape[-1] != b.shape[-2]:
        raise InvalidArgument(f"{a} and {b}: a has {a.shape[-1]} columns, and b {b.shape[-2]} rows")
    shape = (a.shape[-2], b.shape[-1])
    if kind == "GROUPS_ROWS":
        return shape
    if groups:
        return (groups, *shape)
    batches = [view.shape[0] for view in (a, b) if len(view.shape) == 3]
    if not batches:
        return shape
    batch = next((batch for batch in batches if batch != 1), 1)
    if any(each not in (1, batch) for each in batches):
        raise InvalidArgument(f"{a} and {b}: batches of {batches[0]} and {batches[1]}; expected equal ones, or 1")
    return (batch, *shape)


def result_type(a: View) -> int:
    """The type of a result that the caller leaves open."""
    return _S32 if a.type == _S8 else _BF16 if a.type in _FP8 else a.type


class Matrix:
    """How an operand is stored: its op, the distances of its rows and of the matrices of a batch, in elements."""

    def __init__(self, view: View, shape: tuple[int, ...], can_be_transposed: bool) -> None:
        """`shape` is that of the operand in the product: with a batch, if the product has one."""
        rows, cols = shape[-2:]
        self.op = _c.OP["OP_N"]
        ld = _row_distance(view.strides[-2:], rows, cols)
        # A column without gaps is a row of its transpose: its alignment is that of the whole, not of an element.
        if can_be_transposed and (ld is None or (cols == 1 and rows > 1 and view.strides[-2] == 1)):
            self.op = _c.OP["OP_T"]
            ld = _row_distance(view.strides[:-3:-1], cols, rows)
        if ld is None:
            lines = "rows or columns" if can_be_transposed else "rows" if view.given is view else "columns"
            expected = f"{view} and strides {view.given.strides}: expected {lines} without gaps that do not overlap"
            raise InvalidArgument(f"{expected}, as out has them; copy it into an array like out" if view.name in _BESIDE_OUT
                                  else f"{expected}; copy it into a contiguous array")
        if len(view.shape) == 3 and view.strides[0] < 0 and view.shape[0] > 1:
            raise InvalidArgument(f"{view} and strides {view.given.strides}: expected matrices that follow each other; copy it into "
                                  "a contiguous array")
        self.ld = ld
        self.stride = view.strides[0] if len(view.shape) == 3 and view.shape[0] > 1 else 0

    def ld_of_joined_rows(self, rows: int) -> int:
        """The leading dimension, if the matrices of a batch are one with more rows; 0 if they do not lie so."""
        if rows == 1:
            return self.stride if self.stride >= self.ld else 0
        return self.ld if self.stride == rows * self.ld else 0


def _row_distance(strides: Any, rows: int, cols: int) -> int | None:
    """The leading dimension of a matrix with contiguous rows; None if its rows are not. Strides of sizes 1 are any."""
    row, col = strides
    if rows <= 1:
        row = max(cols, 1)
    if cols > 1 and col != 1 and rows > 0:
        return None
    return row if row >= max(cols, 1) else None


def _is_column_major(out: View) -> bool:
    """Whether columns are contiguous, and rows are not."""
    rows, cols = out.shape[-2:]
    return (_row_distance(out.strides[-2:], rows, cols) is None
            and _row_distance(out.strides[:-3:-1], cols, rows) is not None)


def build(views: Mapping[str, View], options: Options) -> tuple[_c.Problem, _c.Operands, bool]:
    """The structs of a product, without addresses; and whether A and B change places.

    `views` has a, b and out, and those of c, bias, residual, aux, scale_a, scale_b, scale_d, alpha, beta, group_offsets
    and group_counts that the call has. A result whose columns are contiguous is computed as the transposed product.
    """
    a, b, out = views["a"], views["b"], views["out"]
    kind, groups = groups_of(views)
    shape = result_shape(views)
    if out.shape != shape:
        raise InvalidArgument(f"{out}; the product of {a} and {b} has shape {shape}")
    reads_aux = number_of("activation", options.activation) >= _FIRST_DERIVATIVE
    if reads_aux and "aux" not in views:
        raise InvalidArgument(f"the activation is {options.activation!r}, which reads aux; aux is None")
    for name in ("out",) if reads_aux else ("out", "aux"):
        if name in views and views[name].unwritable:
            raise InvalidArgument(f"{views[name]} is {views[name].unwritable}, and would be written")
    _check_types(views)
    epilogue = _epilogue(views, options, shape, kind, groups)
    is_swapped = not groups and _is_column_major(out)
    if is_swapped:
        views = {name: view.transposed() if name == "out" or name in _BESIDE_OUT else view
                 for name, view in views.items()}
        a, b, out = b.transposed(), a.transposed(), views["out"]
        epilogue = _transposed(epilogue)
        shape = (*shape[:-2], shape[-1], shape[-2])
    m, n = shape[-2:]
    k = a.shape[-1]
    stored = {"a": Matrix(a, (m, k), kind != "GROUPS_ROWS"), "b": Matrix(b, (k, n), True), "d": Matrix(out, (m, n), False)}
    problem = _c.Problem(
        m=m, n=n, k=k, op_a=stored["a"].op, op_b=stored["b"].op, type_a=a.type, type_b=b.type, type_c=out.type,
        type_d=out.type, compute=number_of("compute", options.compute, _c.COMPUTE["COMPUTE_S32" if a.type == _S8 else
                                                                                 "COMPUTE_F32"]),
        mode=number_of("mode", options.mode), order=number_of("order", options.order), sm_limit=options.sm_limit,
        batch=shape[0] if len(shape) == 3 and not groups else 1, groups=groups, group_kind=_c.GROUPS[kind], **epilogue)
    if "c" in views:
        stored["c"] = _beside_out(views["c"], out)
    elif options.beta != 0 or "beta" in views:
        stored["c"] = stored["d"]
    for name, field in (("residual", "_residual"), ("aux", "_auxiliary")):
        if name in views:
            stored[field] = _beside_out(views[name], out)
    _join_rows(problem, stored)
    operands = _c.Operands(alpha=options.alpha, beta=options.beta)
    for name, matrix in stored.items():
        setattr(operands, f"ld{name}", matrix.ld)
        setattr(operands, f"batch_stride_{name.lstrip('_')}", matrix.stride)
    if groups > 1 and problem.bias == _c.BIAS["BIAS_PER_COLUMN"] and views["bias"].shape == (groups, n):
        operands.batch_stride_bias = n
    return problem, operands, is_swapped


def _join_rows(problem: _c.Problem, stored: dict[str, Matrix]) -> None:
    """Makes a batch one product, if its products share B and the rows of all else follow each other: a layer's weights with
    activations of three dimensions. That is faster, and of the same class as without a batch."""
    others = {id(matrix): matrix for name, matrix in stored.items() if name != "b"}.values()  # C may be D
    lds = [matrix.ld_of_joined_rows(problem.m) for matrix in others]
    if (problem.batch > 1 and stored["b"].stride == 0 and stored["a"].op == _c.OP["OP_N"] and all(lds)
            and problem.bias != _c.BIAS["BIAS_PER_ROW"] and problem.scale_a != _c.SCALE["SCALE_VECTOR"]):
        problem.m, problem.batch = problem.m * problem.batch, 1
        for matrix, ld in zip(others, lds):
            matrix.ld, matrix.stride = ld, 0


def _beside_out(view: View, out: View) -> Matrix:
    """An operand that has the size of the result, and is stored in the same order."""
    shape = out.shape
    one_for_all = view.name != "aux" and len(shape) == 3 and view.shape in (shape[1:], (1, *shape[1:]))
    if view.shape != shape and not one_for_all:
        raise InvalidArgument(f"{view}; expected {out.given.shape}, the shape of out")
    return Matrix(view, shape, False)


def _check_types(views: Mapping[str, View]) -> None:
    out = views["out"].type
    bias = _BF16 if out in _FP8 else _F32 if out == _S8 else out
    expected = {"c": out, "residual": out, "aux": out, "bias": bias, "scale_a": _F32, "scale_b": _F32, "scale_d": _F32,
                "alpha": _F32, "beta": _F32, "group_offsets": _S32, "group_counts": _S32}
    for name, view in views.items():
        if name in expected and view.type != expected[name]:
            raise InvalidArgument(f"{view} has elements of type {NAMES[view.type]}; expected {NAMES[expected[name]]} beside "
                                  f"an out of {NAMES[out]}")


def _epilogue(views: Mapping[str, View], options: Options, shape: tuple[int, ...], kind: str,
              groups: int) -> dict[str, int]:
    m, n = shape[-2:]
    rows = (groups, m) if kind == "GROUPS_MASKED_ROWS" else (m,)
    activation = number_of("activation", options.activation)
    written = ("aux",) if activation < _FIRST_DERIVATIVE else ()
    numbers = {"activation": activation, **{name: 1 for name in ("residual", *written, "scale_d") if name in views},
               "scalars": int("alpha" in views or "beta" in views)}
    for name in ("scale_d", "alpha", "beta"):
        if name in views:
            _vector(views[name], {(): 1})
    if "bias" in views:
        columns = _c.BIAS["BIAS_PER_COLUMN"]
        numbers["bias"] = _vector(views["bias"], {(n,): columns, (1, n): columns, (max(groups, 1), n): columns,
                                                  (*rows, 1): _c.BIAS["BIAS_PER_ROW"]})
    tensor, vector = _c.SCALE["SCALE_TENSOR"], _c.SCALE["SCALE_VECTOR"]
    if "scale_a" in views:
        numbers["scale_a"] = _vector(views["scale_a"], {(): tensor, rows: vector, (*rows, 1): vector})
    if "scale_b" in views:
        numbers["scale_b"] = _vector(views["scale_b"], {(): tensor, (n,): vector, (1, n): vector})
    return numbers


def _vector(view: View, kinds: dict[tuple[int, ...], int]) -> int:
    """The kind of a vector or a scalar, by its shape. The first kind wins where sizes are 1."""
    shape = () if () in kinds and all(size == 1 for size in view.shape) else view.shape
    if shape not in kinds:
        raise InvalidArgument(f"{view}; expected {' or '.join(str(kind or (1,)) for kind in kinds)}")
    step = 1
    for size, stride in zip(reversed(view.shape), reversed(view.strides)):
        if size > 1 and stride != step:
            raise InvalidArgument(f"{view} and strides {view.strides}: its elements are not contiguous")
        step *= size
    return kinds[shape]


def _transposed(epilogue: dict[str, int]) -> dict[str, int]:
    columns, rows = _c.BIAS["BIAS_PER_COLUMN"], _c.BIAS["BIAS_PER_ROW"]
    swapped = dict(epilogue)
    swapped["bias"] = {columns: rows, rows: columns}.get(epilogue.get("bias", 0), 0)
    swapped["scale_a"], swapped["scale_b"] = epilogue.get("scale_b", 0), epilogue.get("scale_a", 0)
    return swapped
