"""swap_linear(): the linear layers of a model, computed by hotgemm."""

from __future__ import annotations

import warnings

import torch

from . import _operators  # noqa: F401  defines the operators

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


class Linear(torch.nn.Linear):
    """torch.nn.Linear whose forward pass is torch.ops.hotgemm.linear."""

    def forward(self, input: Tensor) -> Tensor:
        return torch.ops.hotgemm.linear(input, self.weight, self.bias)


class Swap:
    """What swap_linear() did. undo(), or leaving it as a context, takes it back."""

    def __init__(self, layers: list[torch.nn.Linear]) -> None:
        self._layers = layers

    def __len__(self) -> int:
        """The number of layers that were swapped."""
        return len(self._layers)

    def undo(self) -> None:
        """Warns of layers whose class another library has derived from ours since, as parametrizations and FSDP do:
        hotgemm goes on to compute them."""
        derived = 0
        for layer in self._layers:
            if type(layer) is Linear:
                layer.__class__ = torch.nn.Linear
            elif isinstance(layer, Linear):
                derived += 1
        if derived:
            warnings.warn(f"undo() leaves {derived} of {len(self)} layers to hotgemm, whose class was derived since "
                          "swap_linear()", stacklevel=2)
        self._layers = []

    def __enter__(self) -> Swap:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()


def swap_linear(module: torch.nn.Module, *, where: Callable[[str, torch.nn.Linear], bool] | None = None) -> Swap:
    """Makes each torch.nn.Linear in `module`, or `module` itself, a hotgemm.torch.Linear.

    The objects stay: the layers, their Parameters, hooks and names in the state_dict. Classes derived from nn.Linear are
    left alone. `where` gets the name and the layer, and says which to swap.
    """
    layers = [layer for name, layer in module.named_modules()
              if type(layer) is torch.nn.Linear and (where is None or where(name, layer))]
    for layer in layers:
        layer.__class__ = Linear
    return Swap(layers)
