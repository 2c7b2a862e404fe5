"""hotgemm in PyTorch 2.10 and later. The import registers operators; products of PyTorch are overridden by enable() only.

    import hotgemm.torch

    hotgemm.torch.enable()           # torch.mm and torch.bmm, and what is made of them
    ...
    print(hotgemm.torch.report())    # what was served, and what was passed on and why
"""

from ._operators import linear
from ._override import Override, disable, enable, is_enabled
from ._report import Problem, Report, prepare, report
from ._swap import Linear, Swap, swap_linear
from ._vllm import vllm_plugin

__all__ = ["Linear", "Override", "Problem", "Report", "Swap", "disable", "enable", "is_enabled", "linear", "prepare",
           "report", "swap_linear", "vllm_plugin"]
