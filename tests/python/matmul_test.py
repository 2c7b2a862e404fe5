"""Products are right in every way to pass them. Numbers are whole and small, so that results are exact."""

import numpy as np
import pytest

import hotgemm
from device import array, empty, integers

M, N, K = 24, 40, 32


def product(a, b):
    return a.values @ b.values


def same(out, expected):
    np.testing.assert_array_equal(out.values, expected)


@pytest.mark.parametrize("type_name, result", [("float16", "float16"), ("bfloat16", "bfloat16"), ("float32", "float32"),
                                               ("float16", "float32"), ("int8", "int32")])
def test_types(type_name, result):
    a, b, out = integers((M, K), type_name), integers((K, N), type_name, seed=1), empty((M, N), result)
    assert hotgemm.matmul(a, b, out) is out
    same(out, product(a, b))


@pytest.mark.parametrize("a_transposed", [False, True])
@pytest.mark.parametrize("b_transposed", [False, True])
@pytest.mark.parametrize("out_transposed", [False, True])
def test_transposed_views(a_transposed, b_transposed, out_transposed):
    a = integers((K, M)).T if a_transposed else integers((M, K))
    b = integers((N, K), seed=1).T if b_transposed else integers((K, N), seed=1)
    out = empty((N, M)).T if out_transposed else empty((M, N))
    hotgemm.matmul(a, b, out)
    same(out, product(a, b))
    ops = (not b_transposed, not a_transposed) if out_transposed else (a_transposed, b_transposed)
    assert f" {''.join('nt'[op] for op in ops)} " in hotgemm.problem(a, b, out)


def test_rows_with_gaps():
    a, b, out = integers((M, 2 * K))[:, :K], integers((K, N + 8), seed=1)[:, 8:], empty((M, 3 * N))[:, N:2 * N]
    around = out.memory.bytes.copy()
    hotgemm.matmul(a, b, out)
    same(out, product(a, b))
    out.host[...] = around.view(np.float16).reshape(M, 3 * N)[:, N:2 * N]
    np.testing.assert_array_equal(out.memory.bytes, around)  # nothing beside out was written


def with_odd_strides(array):
    """The same array, with a stride that means nothing wherever there is but one element."""
    strides = [7 * array.host.itemsize if size == 1 else stride
               for size, stride in zip(array.host.shape, array.host.strides)]
    return array.view(np.lib.stride_tricks.as_strided(array.host, strides=strides))


@pytest.mark.parametrize("m, n, k", [(1, N, K), (M, 1, K), (M, N, 1), (1, 1, K), (1, 1, 1)])
@pytest.mark.parametrize("transposed", [False, True])
def test_sizes_of_one_have_any_stride(m, n, k, transposed):
    a = integers((k, m)).T if transposed else integers((m, k))
    b = integers((n, k), seed=1).T if transposed else integers((k, n), seed=1)
    a, b, out = (with_odd_strides(each) for each in (a, b, empty((m, n))))
    hotgemm.matmul(a, b, out)
    same(out, product(a, b))


def test_no_elements():
    hotgemm.matmul(empty((0, K)), integers((K, N)), empty((0, N)))
    out = integers((M, N))
    hotgemm.matmul(empty((M, 0)), empty((0, N)), out)
    same(out, np.zeros((M, N)))


@pytest.mark.parametrize("a_batch, b_batch", [((3,), (3,)), ((3,), ()), ((), (3,)), ((3,), (1,)), ((1,), (3,)),
                                              ((1,), (1,)), ((1,), ())])
def test_batches(a_batch, b_batch):
    a, b = integers((*a_batch, M, K)), integers((*b_batch, K, N), seed=1)
    out = empty((*(max(a_batch, b_batch)), M, N))
    hotgemm.matmul(a, b, out)
    same(out, product(a, b))


def test_batches_of_views():
    heads = integers((M, 3, K))
    a = heads.view(heads.host.transpose(1, 0, 2))  # heads side by side in a row
    b = integers((3, N, K), seed=1).T
    wide = empty((M, 3, N))
    out = wide.view(wide.host.transpose(1, 0, 2))
    hotgemm.matmul(a, b, out)
    same(out, product(a, b))
    shared = integers((M, K), seed=2)
    expanded = shared.view(np.broadcast_to(shared.host, (3, M, K)))
    hotgemm.matmul(expanded, b, out)
    same(out, product(shared, b))


@pytest.mark.parametrize("m, gap", [(M, 0), (1, 0), (1, 8)])
def test_batches_that_share_b_are_one_product(m, gap):
    a, b = integers((3, m, K + gap))[:, :, :K], integers((K, N), seed=1)
    out, c, residual = (integers((3, m, N), seed=seed) for seed in (2, 3, 4))
    hotgemm.matmul(a, b, out, c=c, beta=2.0, residual=residual, bias=integers((N,), seed=5))
    same(out, product(a, b) + 2 * c.values + integers((N,), seed=5).values + residual.values)
    assert hotgemm.problem(a, b, out).startswith(f"{3 * m} {N} {K} nn f16")
    hotgemm.matmul(a, b, out, bias=integers((m, 1)))  # rows of one product differ
    same(out, product(a, b) + integers((m, 1)).values)


def test_batches_with_gaps_are_not_joined():
    a, b, out = integers((3, 2 * M, K))[:, :M], integers((K, N), seed=1), empty((3, M, N))
    hotgemm.matmul(a, b, out)
    same(out, product(a, b))
    assert "batch=3" in hotgemm.problem(a, b, out)


@pytest.mark.parametrize("b_transposed", [False, True])
def test_groups_of_rows(b_transposed):
    a, out = integers((M, K)), integers((M, N), seed=2)
    b = integers((3, N, K), seed=1).T if b_transposed else integers((3, K, N), seed=1)
    bias, before = integers((N,), seed=3), out.values
    for offsets in ([0, 5, 5, M - 3], [0, 0, M, M], [0, 0, 0, 0]):
        hotgemm.matmul(a, b, out, bias=bias, group_offsets=array(offsets, "int32"))
        for group, (begin, end) in enumerate(zip(offsets, offsets[1:])):
            before[begin:end] = a.values[begin:end] @ b.values[group] + bias.values
        same(out, before)
    assert "groups=3" in hotgemm.problem(a, b, out, group_offsets=array([0, 5, 5, M], "int32"))


def test_groups_of_other_shapes_are_refused():
    a, b, out = integers((M, K)), integers((3, K, N), seed=1), empty((M, N))
    for arguments, message in [((a, integers((K, N)), out, [0, K]), "has shape .1, "),
                               ((integers((3, M, K)), b, out, [0, M]), "expected .m, k. and .groups, k, n."),
                               ((a, b, out, [0, M]), "group_offsets of shape .2,.; expected .4,."),
                               ((integers((K, M)).T, b, out, [0, 1, 2, M]), "expected rows without gaps")]:
        *arrays, offsets = arguments
        with pytest.raises(hotgemm.InvalidArgument, match=message):
            hotgemm.matmul(*arrays, group_offsets=array(offsets, "int32"))
    with pytest.raises(hotgemm.InvalidArgument, match="group_offsets .* expected int32"):
        hotgemm.matmul(a, b, out, group_offsets=array([0, 1, 2, M], "float32"))


def test_masked_groups():
    a, b, out = integers((3, M, K)), integers((3, K, N), seed=1), integers((3, M, N), seed=2)
    bias, before = integers((3, N), seed=3), out.values
    for counts in ([0, 5, M], [M, 1, 0]):
        hotgemm.matmul(a, b, out, bias=bias, group_counts=array(counts, "int32"))
        for group, count in enumerate(counts):
            before[group, :count] = a.values[group, :count] @ b.values[group] + bias.values[group]
        same(out, before)
    assert "groups=3,masked" in hotgemm.problem(a, b, out, group_counts=array([1, 2, 3], "int32"))
    with pytest.raises(hotgemm.InvalidArgument, match="with group_counts, expected .groups, m, k."):
        hotgemm.matmul(integers((M, K)), b, out, group_counts=array([1, 2, 3], "int32"))


def test_groups_along_k():
    a, b, out = integers((K, M)).T, integers((K, N), seed=1), integers((3, M, N), seed=2)
    for offsets in ([0, 7, 7, K - 1], [0, 0, K, K]):
        before = out.values
        hotgemm.matmul(a, b, out, beta=1.0, group_offsets=array(offsets, "int32"))
        for group, (begin, end) in enumerate(zip(offsets, offsets[1:])):
            before[group] += a.values[:, begin:end] @ b.values[begin:end]
        same(out, before)
    assert "groups=3,k" in hotgemm.problem(a, b, out, group_offsets=array([0, 1, 2, K], "int32"))
    with pytest.raises(hotgemm.NotSupported, match="an A that is not transposed with groups along k"):
        hotgemm.matmul(integers((M, K)), b, out, group_offsets=array([0, 1, 2, K], "int32"))


def test_alpha_and_beta():
    a, b, c = integers((M, K)), integers((K, N), seed=1), integers((M, N), seed=2)
    out = integers((M, N), seed=3)
    before = out.values
    hotgemm.matmul(a, b, out, alpha=2, beta=-1.0)
    same(out, 2 * product(a, b) - before)
    hotgemm.matmul(a, b, out, beta=3, c=c)
    same(out, product(a, b) + 3 * c.values)
    hotgemm.matmul(a, b, out, alpha=np.float32(0.5))
    same(out, 0.5 * product(a, b))
    hotgemm.matmul(a, b, out, alpha=array([4.0], "float32"), beta=array([2.0], "float32"), c=c)
    same(out, 4 * product(a, b) + 2 * c.values)


@pytest.mark.parametrize("transposed", [False, True])
def test_epilogue(transposed):
    a, b = integers((M, K)), integers((K, N), seed=1)

    def like_out(seed):
        return integers((N, M), seed=seed).T if transposed else integers((M, N), seed=seed)

    out, aux, residual, c = like_out(9), like_out(8), like_out(3), like_out(4)
    column, row = integers((N,), seed=5), integers((M, 1), seed=6)
    hotgemm.matmul(a, b, out, bias=column)
    same(out, product(a, b) + column.values)
    hotgemm.matmul(a, b, out, bias=row)
    same(out, product(a, b) + row.values)
    hotgemm.matmul(a, b, out, bias=column, activation="relu", residual=residual, aux=aux, beta=2.0, c=c)
    inner = product(a, b) + 2 * c.values + column.values
    same(aux, inner)
    same(out, np.maximum(inner, 0) + residual.values)
    hotgemm.matmul(a, b, out, activation="drelu", residual=residual, aux=c)
    same(out, product(a, b) * (c.values > 0) + residual.values)
    with pytest.raises(hotgemm.InvalidArgument, match="'drelu', which reads aux; aux is None"):
        hotgemm.matmul(a, b, out, activation="drelu")
    rows, columns = array(np.arange(M) % 3, "float32"), array(np.arange(N) % 2, "float32")
    hotgemm.matmul(a, b, out, scale_a=rows, scale_b=columns, scale_d=array([2.0], "float32"))
    same(out, 2 * product(a, b) * rows.values[:, None] * columns.values)
    hotgemm.matmul(a, b, out, scale_a=array(3.0, "float32"))
    same(out, 3 * product(a, b))


def test_epilogue_of_a_batch():
    a, b = integers((2, M, K)), integers((K, N), seed=1)
    out, residual, bias = empty((2, M, N)), integers((M, N), seed=2), integers((1, N), seed=3)
    hotgemm.matmul(a, b, out, bias=bias, residual=residual)  # one residual for all products
    same(out, product(a, b) + bias.values + residual.values)
    assert "batch=2" in hotgemm.problem(a, b, out, bias=bias, residual=residual)


def test_equal_shapes_of_different_layouts_are_told_apart():
    a, b, out = integers((K, K)), integers((K, K), seed=1), empty((K, K))
    for left, right in ((a, b), (a.T, b), (a, b.T), (a, b)):
        hotgemm.matmul(left, right, out)
        same(out, product(left, right))


def test_bfloat16_bias_of_8_bit_floats():
    a, b = empty((M, K), "float8_e4m3fn"), empty((N, K), "float8_e4m3fn").T
    a.host[...], b.host[...] = 0x38, 0x40  # 1 and 2
    for each in (a, b):  # a typestr has no word for these elements: their name is looked for in dtype
        each.dtype = type("dtype", (), {"name": "float8_e4m3fn"})
    out, bias = empty((M, N), "bfloat16"), integers((N,), "bfloat16")
    hotgemm.matmul(a, b, out, bias=bias)
    same(out, np.broadcast_to(2 * K + bias.values, (M, N)))


A, B, OUT = (M, K), (K, N), (M, N)
BAD = {
    "inner sizes": (dict(b=integers((K + 1, N))), ["a of shape (24, 32)", "b of shape (33, 40)", "32 columns", "33 rows"]),
    "out's shape": (dict(out=empty((M, N + 1))), ["out of shape (24, 41)", "(24, 40)"]),
    "one dimension": (dict(a=integers((K,))), ["a of shape (32,)", "1 dimensions"]),
    "four dimensions": (dict(b=integers((1, 1, K, N))), ["b of shape (1, 1, 32, 40)"]),
    "batches": (dict(a=integers((2, M, K)), b=integers((3, K, N))), ["batches of 2 and 3"]),
    "type": (dict(a=array(np.zeros(A), "float64")), ["a has elements of type <f8, shape (24, 32)", "float16"]),
    "bias's size": (dict(bias=integers((M,))), ["bias of shape (24,)", "(40,)", "(24, 1)"]),
    "bias's type": (dict(bias=integers((N,), "float32")), ["bias of shape (40,)", "float32", "expected float16"]),
    "scale's type": (dict(scale_a=integers((M,))), ["scale_a of shape (24,)", "expected float32"]),
    "residual's shape": (dict(residual=integers((M, K))), ["residual of shape (24, 32)", "(24, 40)"]),
    "c's type": (dict(c=integers(OUT, "float32"), beta=1.0), ["c of shape (24, 40)", "float32"]),
    "gaps in rows": (dict(a=integers((M, 2 * K))[:, ::2]), ["a of shape (24, 32)", "strides (64, 2)", "contiguous"]),
    "gaps in out": (dict(out=empty((M, 2 * N))[:, ::2]), ["out of shape (24, 40)", "strides (80, 2)"]),
    "overlapping rows": (dict(a=integers((1, K)).view(np.broadcast_to(integers((1, K)).host, A))), ["a of shape (24, 32)"]),
    "activation": (dict(activation="swish"), ["activation is 'swish'", "silu"]),
    "compute": (dict(compute="f64"), ["compute is 'f64'", "tf32"]),
    "order": (dict(order=1), ["order is 1", "deterministic"]),
    "only": (dict(only="quick"), ["only is 'quick'", "tuned"]),
    "prepare_later": (dict(prepare_later=True), ["prepare_later", "only="]),
    "strided bias": (dict(bias=integers((2 * N,))[::2]), ["bias of shape (40,)", "not contiguous"]),
    "sm_limit": (dict(sm_limit=-1), ["sm_limit is -1"]),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_arguments_are_named(what):
    wrong, words = BAD[what]
    arguments = {"a": integers(A), "b": integers(B), "out": integers(OUT), **wrong}
    before = arguments["out"].values
    with pytest.raises(hotgemm.InvalidArgument) as raised:
        hotgemm.matmul(**arguments)
    assert isinstance(raised.value, ValueError) and raised.value.code == "invalid_argument"
    for word in words:
        assert word in str(raised.value)
    same(arguments["out"], before)


def test_read_only_results_are_refused():
    out = empty(OUT)
    out.read_only = True
    with pytest.raises(hotgemm.InvalidArgument, match="out of shape .* is read-only"):
        hotgemm.matmul(integers(A), integers(B), out)


def test_results_are_allocated_by_frameworks_only():
    with pytest.raises(hotgemm.InvalidArgument, match=r"pass out=.* a is a device.Array; .*\(24, 40\).*float16"):
        hotgemm.matmul(integers(A), integers(B))


@pytest.mark.parametrize("wrong", [dict(a=np.zeros(A, np.float16)), dict(a=[[1.0]]), dict(alpha="2"), dict(stream="main"),
                                   dict(bias=[0.0] * N)])
def test_what_is_no_array_on_the_device_is_refused(wrong):
    with pytest.raises((TypeError, hotgemm.InvalidArgument)) as raised:
        hotgemm.matmul(**{"a": integers(A), "b": integers(B), "out": empty(OUT), **wrong})
    assert next(iter(wrong)) in str(raised.value)


def test_errors_of_the_library_have_their_class():
    a, b = integers((M, K), "int8"), integers((K, N), "int8")
    with pytest.raises(hotgemm.NotSupported) as raised:
        hotgemm.matmul(a, b, empty((M, N), "int32"), activation="relu")
    assert isinstance(raised.value, NotImplementedError) and raised.value.code == "not_supported"


def test_calls_may_decline():
    a, b, out = integers((M, 8 * K)), integers((8 * K, N)), empty((M, N))
    declined = hotgemm.stats()["declined"]
    with pytest.raises(hotgemm.NotPrepared):
        hotgemm.matmul(a, b, out, only="prepared")
    assert hotgemm.stats()["declined"] == declined + 1
    hotgemm.matmul(a, b, out)
    hotgemm.matmul(a, b, out, only="prepared")
    with pytest.raises(hotgemm.NotPrepared):
        hotgemm.matmul(a, b, out, only="tuned")
