"""Plans: a kernel that is loaded and ready for one class of problems."""

from __future__ import annotations

import ctypes

from . import _arrays, _c, _call, _context
from ._errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Plan:
    """A kernel for products of these sizes, types, ops and this epilogue. `plan` makes it."""

    def __init__(self, handle: ctypes.c_void_p, context: _context.Context | None, problem: bytes,
                 options: tuple[Any, ...]) -> None:
        self._handle, self._context = handle, context
        self._problem, self._options = problem, options
        self._launch = _c.library().plan_launch

    def launch(self, a: Any, b: Any, out: Any, *, alpha: Any = None, beta: Any = None, c: Any = None, bias: Any = None,
               residual: Any = None, aux: Any = None, scale_a: Any = None, scale_b: Any = None, scale_d: Any = None,
               stream: Any = None) -> Any:
        """Enqueues the product, as `matmul` does, and returns out.

        Arrays have the shapes and types of those that the plan was made with; they are aligned as well or better. alpha
        and beta may differ, but beta is zero if and only if it was then. None: as then.

        Raises InvalidArgument for other arrays and after the context was closed, and Error as `matmul` does.
        """
        planned_alpha, planned_beta, activation, compute, mode, order, sm_limit = self._options
        if stream is not None:
            stream = _arrays.handle_of(stream)
        call = _call.ready(a, b, out, planned_alpha if alpha is None else alpha, planned_beta if beta is None else beta,
                           c, bias, activation, residual, aux, scale_a, scale_b, scale_d, compute, mode, order, sm_limit,
                           None, False, stream)
        try:
            if bytes(call.problem) != self._problem:
                raise InvalidArgument(f"the plan is for {problem_text(self._problem)}, and the arrays are for "
                                      f"{problem_text(bytes(call.problem))}")
            if self._context is not None:
                self._context.handle  # raises if the context is closed, which has unloaded the kernel
            if stream is None:
                stream = call.stream()
            with call.on_device():
                status = self._launch(self._handle, call.operands_at, stream, call.call_at)
        finally:
            call.is_busy = False
        if status:
            raise _c.failure(status)
        call.note_written(out, aux)
        return out

    @property
    def config(self) -> str:
        """The name of the kernel's config: "wgmma_m256_n128_...", as `hotgemm show` takes it."""
        return _c.text(_c.library().plan_config, self._handle)

    def explain(self) -> str:
        """Config, origin and resources, for people."""
        return _c.text(_c.library().plan_explain, self._handle)

    def facts(self) -> dict[str, Any]:
        """"origin" ("tuned", "nearest", "estimated" or "pinned"), "registers", "spill_bytes", "smem_bytes", "threads",
        "compile_ms", "distance" to the recorded class, "cublas_ratio" (time of cuBLAS's default / time of this kernel;
        0: not measured), "workspace_bytes"."""
        facts = _c.PlanFacts()
        _c.check(_c.library().plan_get_facts(self._handle, ctypes.byref(facts)))
        numbers = {name: getattr(facts, name) for name in _c.names_of(_c.PlanFacts) if name not in ("size", "reserved")}
        return {**numbers, "origin": _c.ORIGINS.get(facts.origin, "unknown")}

    def refresh(self) -> bool:
        """Takes the present kernel of the class; True if that is another one. No other thread may use the plan meanwhile."""
        replaced = ctypes.c_int32()
        _c.check(_c.library().plan_refresh(_context.handle_of(self._context), self._handle, replaced))
        return bool(replaced.value)

    def __reduce__(self) -> Any:
        raise TypeError("a hotgemm.Plan cannot be copied or pickled: it owns a loaded kernel. Make another by hotgemm.plan()")

    def __repr__(self) -> str:
        return f"<hotgemm.Plan {problem_text(self._problem)}: {self.config}>"

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle is not None:
            _c.library().plan_destroy(handle)


def problem_text(problem: bytes) -> str:
    """The text of a hotgemm_problem, without alignment."""
    return _c.text(_c.library().problem_text, problem, None).partition(" align=")[0]


def plan(a: Any, b: Any, out: Any, *, alpha: Any = 1.0, beta: Any = 0.0, c: Any = None, bias: Any = None,
         activation: str | None = None, residual: Any = None, aux: Any = None, scale_a: Any = None, scale_b: Any = None,
         scale_d: Any = None, compute: str | None = None, mode: str | None = None, order: str | None = None,
         sm_limit: int = 0, policy: str | None = None, stream: Any = None,
         context: _context.Context | None = None) -> Plan:
    """The plan that `matmul` with these arguments uses. Its kernel is compiled and loaded when the function returns;
    nothing is launched. Make plans before a graph is captured, and keep them to launch without a look-up.

    policy: "cached_only", "estimate", "tune" or "background"; None: that of the context. The other arguments are those of
    `matmul`. Raises NotPrepared under "cached_only" if the kernel is not in the cache, and what `matmul` raises.
    """
    if stream is not None:
        stream = _arrays.handle_of(stream)
    call = _call.ready(a, b, out, alpha, beta, c, bias, activation, residual, aux, scale_a, scale_b, scale_d, compute,
                       mode, order, sm_limit, None, False, stream)
    handle = ctypes.c_void_p()
    try:
        if stream is None:
            stream = call.stream()
        with call.on_device():
            _c.check(_c.library().plan_create(_context.handle_of(context), call.problem_at, call.operands_at,
                                              policy_number(policy), stream, call.call_at, handle))
    finally:
        call.is_busy = False
    return Plan(handle, context, bytes(call.problem), (alpha, beta, activation, compute, mode, order, sm_limit))


def policy_number(policy: str | None) -> int:
    if policy is None:
        return _c.POLICY["POLICY_OF_CONTEXT"]
    number = _c.POLICY.get(policy.upper(), -1) if isinstance(policy, str) else -1
    if number < 0:
        raise InvalidArgument(f"policy is {policy!r}; expected cached_only, estimate, tune, background, or None")
    return number
