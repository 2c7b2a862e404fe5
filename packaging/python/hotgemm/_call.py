"""A call with arrays, as C takes it.

A repeated call costs what its arrays cost to read: the structs of a combination of layouts and options are made once for
each thread, and then only addresses are set.
"""

from __future__ import annotations

import ctypes
import threading

from . import _arrays, _c, _product
from ._errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_MOST_CALLS = 4096  # that a thread keeps; a program with more combinations pays for some of them again
_ONLY = {"prepared": _c.CALL["IF_PREPARED"], "tuned": _c.CALL["IF_TUNED"], "as_fast": _c.CALL["IF_AS_FAST"]}
_NUMBERS = frozenset((float, int))
_FIELDS = {"aux": "auxiliary", "alpha": "alpha_device", "beta": "beta_device"}


class Call:
    """The structs of one combination of layouts and options, for one thread."""

    __slots__ = ("problem", "operands", "options", "problem_at", "operands_at", "call_at", "stream", "is_swapped",
                 "reads_out", "fields", "before", "elsewhere", "wrote", "wrote_aux", "is_busy")

    def __init__(self, views: dict[str, _arrays.View], options: _product.Options, only: str | None,
                 prepare_later: bool) -> None:
        self.is_busy = False  # from the moment when addresses are set to the end of the C function that reads them
        self.problem, self.operands, self.is_swapped = _product.build(views, options)
        device = _common_device(views)
        self.options = _c.Call(device=device, flags=_flags(only, prepare_later))
        self.problem_at = ctypes.c_void_p(ctypes.addressof(self.problem))
        self.operands_at = ctypes.c_void_p(ctypes.addressof(self.operands))
        self.call_at = ctypes.c_void_p(ctypes.addressof(self.options))
        self.stream = _stream_of(views)
        self.reads_out = "c" not in views and (options.beta != 0 or "beta" in views)
        swapped = {"scale_a": "scale_b", "scale_b": "scale_a"} if self.is_swapped else {}
        self.fields = [swapped.get(name, _FIELDS.get(name, name)) for name in views if name not in ("a", "b", "out")]
        self.before = next((view.reader.refuse_gradient for view in views.values() if view.requires_gradient), None)
        self.elsewhere = next((view.reader.elsewhere(device) for view in views.values() if view.device >= 0), None)
        self.wrote, self.wrote_aux = views["out"].reader.wrote, views["aux"].reader.wrote if self.problem.aux else None

    def on_device(self) -> Any:
        """A context manager that makes the device of the arrays current, if the framework has another one."""
        elsewhere = self.elsewhere() if self.elsewhere is not None else None
        return _HERE if elsewhere is None else elsewhere

    def note_written(self, out: Any, aux: Any) -> None:
        """Tells PyTorch's autograd which tensors the call has written."""
        if self.wrote is not None:
            self.wrote((out,))
        if self.wrote_aux is not None:
            self.wrote_aux((aux,))


class _Here:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


_HERE = _Here()


class _Calls(threading.local):
    def __init__(self) -> None:
        self.by_key: dict[Any, Call] = {}


_calls = _Calls()


def ready(a: Any, b: Any, out: Any, alpha: Any, beta: Any, c: Any, bias: Any, activation: str | None, residual: Any,
          aux: Any, scale_a: Any, scale_b: Any, scale_d: Any, compute: str | None, mode: str | None, order: str | None,
          sm_limit: int, only: str | None, prepare_later: bool, stream: int | None, group_offsets: Any = None,
          group_counts: Any = None) -> Call:
    """The call with the addresses of these arrays in it. It is marked busy; the caller clears the mark. Code that Python runs
    meanwhile on this thread, such as a signal handler, gets another Call for the same combination."""
    is_plain = (c is bias is residual is aux is scale_a is scale_b is scale_d is group_offsets is group_counts is None
                and alpha.__class__ in _NUMBERS and beta.__class__ in _NUMBERS)
    readers = _arrays.readers
    reader = readers.get(a.__class__)
    if reader is None or readers.get(b.__class__) is not reader or readers.get(out.__class__) is not reader:
        reader = _common_reader(a=a, b=b, out=out)
    layouts, at_a, at_b, at_out = reader.read_product(a, b, out, stream)
    if is_plain:
        others: Any = ()
        key = (layouts, alpha, beta, activation, compute, mode, order, sm_limit, only, prepare_later)
    else:
        alpha, beta, others = _read_others(alpha, beta, stream, c=c, bias=bias, residual=residual, aux=aux,
                                           scale_a=scale_a, scale_b=scale_b, scale_d=scale_d,
                                           group_offsets=group_offsets, group_counts=group_counts)
        key = (layouts, alpha, beta, activation, compute, mode, order, sm_limit, only, prepare_later,
               *[other[:2] for other in others])
    try:
        call = _calls.by_key.get(key)
    except TypeError:  # an option that cannot be a key; Call names it in its error
        call = None
    if call is None or call.is_busy:
        views = views_of(stream, a=a, b=b, out=out)
        views.update((name, reader.view(layout, name)) for name, layout, reader, _ in others)
        call = Call(views, _product.Options(alpha, beta, activation, compute, mode, order, sm_limit), only, prepare_later)
        if len(_calls.by_key) >= _MOST_CALLS:
            _calls.by_key.clear()
        _calls.by_key[key] = call  # replaces a busy one, which its caller keeps
    if call.before is not None:
        call.before()
    call.is_busy = True
    operands = call.operands
    if call.is_swapped:
        at_a, at_b = at_b, at_a
    operands.a = at_a
    operands.b = at_b
    operands.d = at_out
    if call.reads_out:
        operands.c = at_out
    if others:
        for field, other in zip(call.fields, others):
            setattr(operands, field, other[3])
    return call


def _common_reader(**arrays: Any) -> Any:
    readers = [_arrays.reader_of(array, name) for name, array in arrays.items()]
    return readers[0] if readers.count(readers[0]) == len(readers) else _Mixed(*readers)


class _Mixed(_arrays.Reader):
    """Arrays of several kinds."""

    def __init__(self, *readers: Any) -> None:
        self._readers = readers

    def read_product(self, *arguments: Any) -> tuple[Any, int, int, int]:
        *arrays, stream = arguments
        layouts, addresses = zip(*(reader.read(array, name, stream)
                                   for reader, array, name in zip(self._readers, arrays, ("a", "b", "out"))))
        return layouts, *addresses


def views_of(stream: int | None, **arrays: Any) -> dict[str, _arrays.View]:
    views = {}
    for name, array in arrays.items():
        reader = _arrays.reader_of(array, name)
        views[name] = reader.view(reader.read(array, name, stream)[0], name)
    return views


def _read_others(alpha: Any, beta: Any, stream: int | None, **arrays: Any) -> tuple[float, float, list[Any]]:
    """alpha and beta as numbers of the host, and of each other array its name, layout, reader and address."""
    numbers = {"alpha": alpha, "beta": beta}
    for name, number in numbers.items():
        if _is_on_device(number):
            arrays[name], numbers[name] = number, float(name == "alpha")
        else:
            try:
                numbers[name] = number.__float__()
            except OverflowError:
                raise InvalidArgument(f"{name} is {number}, which is out of range") from None
            except (AttributeError, TypeError):
                raise TypeError(f"{name} is {number!r}; expected a number, or an array of one float32 on the device") from None
    others = []
    for name, array in arrays.items():
        if array is not None:
            reader = _arrays.reader_of(array, name)
            layout, at = reader.read(array, name, stream)
            others.append((name, layout, reader, at))
    return numbers["alpha"], numbers["beta"], others


def _is_on_device(number: Any) -> bool:
    if isinstance(number, (int, float)):
        return False
    if hasattr(number, "__cuda_array_interface__") or hasattr(number, "data_ptr"):
        return True
    device = getattr(number, "__dlpack_device__", None)  # arrays of NumPy have it, too
    return device is not None and int(device()[0]) in _arrays.DLPackReader.DEVICES


def _flags(only: str | None, prepare_later: bool) -> int:
    if only is None:
        if prepare_later:
            raise InvalidArgument("prepare_later has a meaning beside only= alone")
        return 0
    if only not in _ONLY:
        raise InvalidArgument(f"only is {only!r}; expected {', '.join(_ONLY)}, or None")
    return _ONLY[only] | (_c.CALL["PREPARE_LATER"] if prepare_later else 0)


def _common_device(views: dict[str, _arrays.View]) -> int:
    devices = {view.device: view for view in views.values() if view.device >= 0}
    if len(devices) > 1:
        raise InvalidArgument("arrays lie on several devices: " +
                              ", ".join(f"{view.name} on {device}" for device, view in devices.items()))
    return next(iter(devices), -1)


def _stream_of(views: dict[str, _arrays.View]) -> Callable[[], int]:
    """What tells the stream of a call that names none: the current one of the framework, or that of the arrays."""
    sources: dict[Any, _arrays.View] = {}
    for view in views.values():
        if view.stream is not None:
            key = view.stream if isinstance(view.stream, int) else getattr(view.stream, "func", view.stream)
            sources.setdefault(key, view)
    if not sources:
        return int  # 0: the legacy default stream
    handles = [view.stream if callable(view.stream) else (lambda handle=view.stream: handle)
               for view in sources.values()]
    if len(handles) == 1:
        return handles[0]

    def agreed() -> int:
        found = [handle() for handle in handles]
        if len(set(found)) > 1:
            raise InvalidArgument("arrays belong to different streams: " + ", ".join(
                f"{view.name} to {handle:#x}" for view, handle in zip(sources.values(), found)) +
                "; make them ready on one, and pass stream=")
        return found[0]

    return agreed
