"""The C interface, include/hotgemm/hotgemm.h, in ctypes: its numbers, structs and functions.

The names are those of the header without `hotgemm_`. Nothing is opened before `library()` is called for the first time.
"""

from __future__ import annotations

import ctypes
import operator
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_float, c_int16, c_int32, c_int64, c_size_t,
                    c_uint32, c_uint64, c_void_p)

from . import _errors, _library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# ---- numbers, as the header has them behind HOTGEMM_ ----

STATUS = {"SUCCESS": 0, "INVALID_ARGUMENT": 1, "NOT_SUPPORTED": 2, "NOT_PREPARED": 3, "NO_DRIVER": 4, "NO_DEVICE": 5,
          "NO_COMPILER": 6, "COMPILE_FAILED": 7, "DRIVER_ERROR": 8, "OUT_OF_MEMORY": 9, "CONTEXT_LOST": 10,
          "WRONG_RESULT": 11, "IO_ERROR": 12, "FORKED": 13, "INTERRUPTED": 14, "INTERNAL": 15}
TYPE = {"F16": 0, "BF16": 1, "F32": 2, "E4M3": 3, "E5M2": 4, "S8": 5, "S32": 6}
OP = {"OP_N": 0, "OP_T": 1}
COMPUTE = {"COMPUTE_F32": 0, "COMPUTE_F16": 1, "COMPUTE_TF32": 2, "COMPUTE_S32": 3}
MODE = {"PRECISE": 0, "FAST": 1}
ORDER = {"ORDER_ANY": 0, "ORDER_DETERMINISTIC": 1, "ORDER_BATCH_INVARIANT": 2}
BATCH = {"BATCH_STRIDED": 0, "BATCH_POINTERS": 1}
GROUPS = {"GROUPS_NONE": 0, "GROUPS_ROWS": 1, "GROUPS_MASKED_ROWS": 2, "GROUPS_ALONG_K": 3}
SCALE = {"SCALE_NONE": 0, "SCALE_TENSOR": 1, "SCALE_VECTOR": 2, "SCALE_BLOCK_1X128": 3, "SCALE_BLOCK_128X128": 4}
GATE = {"GATE_NONE": 0, "GATE_HALVES": 1, "GATE_INTERLEAVED": 2}
BIAS = {"BIAS_NONE": 0, "BIAS_PER_COLUMN": 1, "BIAS_PER_ROW": 2}
ACTIVATION = {"ACTIVATION_NONE": 0, "RELU": 1, "GELU": 2, "GELU_ERF": 3, "SILU": 4, "SIGMOID": 5, "TANH": 6,
              "CLAMP": 7, "DRELU": 8, "DGELU": 9, "DGELU_ERF": 10, "DSILU": 11, "DSIGMOID": 12, "DTANH": 13}
CALL = {"IF_PREPARED": 1, "IF_TUNED": 2, "IF_AS_FAST": 4, "PREPARE_LATER": 8}
POLICY = {"POLICY_OF_CONTEXT": -1, "CACHED_ONLY": 0, "ESTIMATE": 1, "TUNE": 2, "BACKGROUND": 3}
ORIGIN = {"ORIGIN_TUNED": 0, "ORIGIN_NEAREST": 1, "ORIGIN_ESTIMATED": 2, "ORIGIN_PINNED": 3}
ORIGINS = {number: name[len("ORIGIN_"):].lower() for name, number in ORIGIN.items()}
OPERAND = {"OPERAND_A": 0, "OPERAND_B": 1}
NUMBERS = (STATUS, TYPE, OP, COMPUTE, MODE, ORDER, BATCH, GROUPS, SCALE, GATE, BIAS, ACTIVATION, CALL, POLICY, ORIGIN,
           OPERAND)


# ---- structs ----


_INF = float("inf")


class Sized(Structure):
    """A struct that says its size. Fields that `INIT` does not name begin as zero."""

    INIT: dict[str, Any] = {}

    def __init__(self, **fields: Any) -> None:
        super().__init__(size=ctypes.sizeof(self), **self.INIT)
        for name, value in fields.items():
            try:
                setattr(self, name, value)
            except OverflowError:
                raise _errors.InvalidArgument(f"{name} is {value}, which is out of range") from None
            except TypeError as error:
                raise TypeError(f"{name} is {value!r}: {error}") from None
            stored = getattr(self, name)  # ctypes keeps the lower bits of an integer, and makes infinity of a large float
            if isinstance(stored, int):
                is_cut = hasattr(value, "__index__") and stored != operator.index(value)
            else:
                is_cut = stored in (_INF, -_INF) and value != stored
            if is_cut:
                raise _errors.InvalidArgument(f"{name} is {value}, which is out of range")


class Problem(Sized):
    _fields_ = [("size", c_size_t), ("m", c_int64), ("n", c_int64), ("k", c_int64),
                *((name, c_int32) for name in ("op_a", "op_b", "type_a", "type_b", "type_c", "type_d", "compute", "mode",
                                               "order", "sm_limit")),
                ("batch", c_int64), ("batch_kind", c_int32), ("group_kind", c_int32), ("groups", c_int64),
                *((name, c_int32) for name in ("scale_a", "scale_b", "bias", "activation", "aux", "gated", "residual",
                                               "amax", "scale_d", "scalars", "prepacked_a", "prepacked_b")),
                ("function", c_uint64), ("bits", c_int32), ("bias_gradient", c_int32)]
    INIT = {"batch": 1}


class Operands(Sized):
    _fields_ = [("size", c_size_t), *((name, c_void_p) for name in ("a", "b", "c", "d")),
                *((name, c_int64) for name in ("lda", "ldb", "ldc", "ldd")), ("alpha", c_float), ("beta", c_float),
                ("alpha_device", c_void_p), ("beta_device", c_void_p),
                *((f"batch_stride_{name}", c_int64) for name in "abcd"),
                *((f"batch_{name}", c_void_p) for name in "abcd"),
                ("bias", c_void_p), ("residual", c_void_p), ("ld_residual", c_int64), ("batch_stride_residual", c_int64),
                ("auxiliary", c_void_p), ("ld_auxiliary", c_int64), ("batch_stride_auxiliary", c_int64),
                ("scale_a", c_void_p), ("scale_b", c_void_p), ("scale_d", c_void_p),
                ("workspace", c_void_p), ("workspace_bytes", c_size_t), ("group_offsets", c_void_p),
                ("function_operands", c_void_p * 4), ("clamp_low", c_float), ("clamp_high", c_float),
                ("amax", c_void_p), ("ld_function_operands", c_int64 * 4),
                ("batch_stride_function_operands", c_int64 * 4), ("group_counts", c_void_p), ("batch_stride_bias", c_int64),
                ("batch_align_a", c_int16), ("batch_align_b", c_int16), ("batch_align_c", c_int16), ("batch_align_d", c_int16),
                ("ld_scale_a", c_int64), ("ld_scale_b", c_int64), ("bias_gradient", c_void_p)]
    INIT = {"alpha": 1.0}


class Option(Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class Call(Sized):
    _fields_ = [("size", c_size_t), ("device", c_int32), ("flags", c_uint32), ("error", c_void_p),
                ("error_size", c_size_t)]
    INIT = {"device": -1}


class PlanFacts(Sized):
    _fields_ = [("size", c_size_t),
                *((name, c_int32) for name in ("origin", "registers", "spill_bytes", "smem_bytes", "threads", "reserved")),
                ("compile_ms", c_double), ("distance", c_double), ("cublas_ratio", c_double),
                ("workspace_bytes", c_size_t)]


class TuneResult(Sized):
    _fields_ = [("size", c_size_t), *((name, c_char_p) for name in ("problem", "config", "launch", "failure")),
                *((name, c_int32) for name in ("status", "measured", "was_recorded", "reserved")),
                ("median_us", c_double), ("tflops", c_double), ("seconds", c_double)]


TuneProgress = CFUNCTYPE(c_int32, c_void_p, POINTER(TuneResult))


class TuneOptions(Sized):
    _fields_ = [("size", c_size_t), ("retune", c_int32), ("max_candidates", c_int32), ("budget_s", c_double),
                ("scratch_bytes", c_int64), ("scratch_share", c_double), ("jobs", c_int32), ("rounds", c_int32),
                ("seed", c_uint64), ("progress", TuneProgress), ("user", c_void_p)]


class PrewarmEntry(Sized):
    _fields_ = [("size", c_size_t), *((name, c_char_p) for name in ("problem", "arch", "config", "failure")),
                *((name, c_int32) for name in ("origin", "from_cache", "registers", "spill_bytes"))]


class PrewarmReport(Sized):
    _fields_ = [("size", c_size_t),
                *((name, c_size_t) for name in ("compiled", "cached", "failed", "stored", "not_started"))]


PrewarmProgress = CFUNCTYPE(c_int32, c_void_p, c_size_t, c_size_t)
PrewarmEntryCallback = CFUNCTYPE(None, c_void_p, POINTER(PrewarmEntry))


class PrewarmOptions(Sized):
    _fields_ = [("size", c_size_t), ("archs", POINTER(c_char_p)), ("arch_count", c_size_t), ("jobs", c_int32),
                ("candidates", c_int32), ("progress", PrewarmProgress), ("entry", PrewarmEntryCallback),
                ("user", c_void_p)]


class Stats(Sized):
    _fields_ = [("size", c_size_t),
                *((name, c_uint64) for name in ("plans", "tuned", "recorded", "nearest", "estimated", "compiled",
                                                "without_workspace", "launches", "declined", "live_plans", "evictions",
                                                "exchanged", "waiting_classes", "refused_cubins")),
                *((name, c_double) for name in ("planning_s", "compiling_s", "tuning_s", "waiting_s"))]


STRUCTS = {"problem": Problem, "operands": Operands, "option": Option, "call": Call, "plan_facts": PlanFacts,
           "tune_result": TuneResult, "tune_options": TuneOptions, "prewarm_entry": PrewarmEntry,
           "prewarm_report": PrewarmReport, "prewarm_options": PrewarmOptions, "stats": Stats}

# ---- functions: what each returns, and what it takes ----

LogSink = CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)

# Structs go by address: c_void_p takes the result of ctypes.byref faster than a POINTER does, and the caller of each
# function is in this package.
_TEXT = [c_void_p, c_size_t, POINTER(c_size_t)]  # buffer, its bytes, length of the whole text
_TEXTS = [POINTER(c_char_p), c_size_t]
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "status_name": (c_char_p, [c_int32]),
    "last_error": (c_size_t, [c_void_p, c_size_t]),
    "version": (c_char_p, []),
    "problem_parse": (c_int32, [c_char_p, c_void_p]),
    "problem_text": (c_int32, [c_void_p, c_void_p, *_TEXT]),
    "option_names": (c_int32, [*_TEXT]),
    "context_create": (c_int32, [POINTER(Option), c_size_t, POINTER(c_void_p)]),
    "context_destroy": (None, [c_void_p]),
    "context_default": (c_int32, [POINTER(c_void_p)]),
    "context_configure_default": (c_int32, [POINTER(Option), c_size_t]),
    "add_function": (c_int32, [c_void_p, c_char_p, c_char_p, POINTER(c_uint64)]),
    "gemm": (c_int32, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]),
    "hgemm": (c_int32, [c_void_p, c_int32, c_int32, c_int64, c_int64, c_int64, c_float, c_void_p, c_int64, c_void_p,
                        c_int64, c_float, c_void_p, c_int64, c_int32]),
    "plan_create": (c_int32, [c_void_p, c_void_p, c_void_p, c_int32, c_void_p, c_void_p, POINTER(c_void_p)]),
    "plan_destroy": (None, [c_void_p]),
    "plan_launch": (c_int32, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "plan_refresh": (c_int32, [c_void_p, c_void_p, POINTER(c_int32)]),
    "plan_get_facts": (c_int32, [c_void_p, c_void_p]),
    "plan_config": (c_int32, [c_void_p, *_TEXT]),
    "plan_explain": (c_int32, [c_void_p, *_TEXT]),
    "prepacked_size": (c_int32, [c_void_p, c_int32, POINTER(c_size_t), POINTER(c_int64)]),
    "pack": (c_int32, [c_void_p, c_void_p, c_int32, c_void_p, c_int64, c_void_p, c_void_p, c_void_p]),
    "tune": (c_int32, [c_void_p, *_TEXTS, c_void_p, c_void_p]),
    "prewarm": (c_int32, [c_void_p, *_TEXTS, c_void_p, c_void_p]),
    "pause_tuning": (c_int32, [c_void_p]),
    "resume_tuning": (c_int32, [c_void_p]),
    "cancel_tuning": (c_int32, [c_void_p]),
    "wait_tuned": (c_int32, [c_void_p, c_double, POINTER(c_int32)]),
    "pin": (c_int32, [c_void_p, c_void_p, c_void_p, c_char_p, c_char_p, c_void_p]),
    "forget": (c_int32, [c_void_p, c_void_p, c_void_p, c_int32]),
    "reload": (c_int32, [c_void_p, POINTER(c_size_t)]),
    "records_digest": (c_int32, [c_void_p, *_TEXT]),
    "get_stats": (c_int32, [c_void_p, c_void_p]),
    "metrics": (c_int32, [c_void_p, *_TEXT]),
    "set_log_sink": (c_int32, [LogSink, c_void_p]),
    "set_log_level": (c_int32, [c_char_p]),
    "set_library_path": (c_int32, [c_char_p, c_char_p]),
}

# ---- calls ----

class _Functions:
    """The functions of the library that runs, without `hotgemm_`."""

    def __init__(self, library: ctypes.CDLL) -> None:
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(library, "hotgemm_" + name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any: ...


_opened: _Functions | None = None


def library() -> _Functions:
    """The functions of libhotgemm.so. The first call opens it, and prepares what it needs from Python."""
    global _opened
    if _opened is None:
        functions = _opened = _Functions(_library.open_library())
        for name, path in _library.from_wheels().items():
            # Refused if the library has been looked for already, by another user of libhotgemm.so in this process.
            functions.set_library_path(name.encode(), path.encode())
        from . import _log
        _log.install(functions)
    return _opened


def check(status: int) -> None:
    """Raises the exception of a status other than success, with the message of this thread's last failure."""
    if status:
        raise failure(status)


def failure(status: int) -> _errors.Error:
    functions = library()
    buffer = ctypes.create_string_buffer(functions.last_error(None, 0) + 1)
    functions.last_error(buffer, len(buffer))
    return _errors.of_status(functions.status_name(status).decode(), buffer.value.decode(errors="replace"))


def text(function: Any, *arguments: Any) -> str:
    """What `function` writes into a buffer."""
    length = c_size_t()
    check(function(*arguments, None, 0, length))
    while True:  # it may grow between two calls
        room = length.value + 1
        buffer = ctypes.create_string_buffer(room)
        check(function(*arguments, buffer, room, length))
        if length.value < room:
            return buffer.value.decode()


def decoded(text: bytes | None) -> str:
    return (text or b"").decode(errors="replace")


def names_of(struct: type[Sized]) -> list[str]:
    """The names of a struct's fields."""
    return [field[0] for field in struct._fields_]


def texts(values: list[str]) -> Any:
    return (c_char_p * len(values))(*(encoded(value) for value in values))


def encoded(text: str) -> bytes:
    """The text for C, which ends at a null."""
    if not isinstance(text, str):
        raise TypeError(f"expected a text, not {text!r}")
    if "\0" in text:
        raise _errors.InvalidArgument(f"{text!r} has a null character")
    return text.encode(errors="surrogateescape")
