#!/usr/bin/env python3
"""Products of PyTorch's tensors by hotgemm: a plain one, one with an epilogue, a batch, and a CUDA graph."""

import sys


def skip(why):
    print(f"torch_matmul: skipped: {why}", file=sys.stderr)
    sys.exit(3)


try:
    import torch
except ImportError:
    skip("PyTorch is not installed")
if not torch.cuda.is_available():
    skip("PyTorch sees no GPU")

import hotgemm


def check(what, result, expected):
    torch.testing.assert_close(result, expected, rtol=2e-2, atol=2e-2 * expected.abs().max().item())
    print(f"{what}: {tuple(result.shape)} as PyTorch has it")


def main():
    torch.manual_seed(1)
    x = torch.randn(512, 1024, device="cuda", dtype=torch.bfloat16)
    weight = torch.randn(2048, 1024, device="cuda", dtype=torch.bfloat16)  # as nn.Linear stores it
    bias = torch.randn(2048, device="cuda", dtype=torch.bfloat16)

    check("product", hotgemm.matmul(x, weight.t()), x @ weight.t())

    fused = hotgemm.matmul(x, weight.t(), bias=bias, activation="gelu")
    linear = torch.nn.functional.linear(x, weight, bias)
    check("bias and GELU", fused, torch.nn.functional.gelu(linear, approximate="tanh"))

    heads = torch.randn(32, 128, 64, device="cuda", dtype=torch.float16)
    check("batch", hotgemm.matmul(heads, heads.transpose(1, 2)), heads @ heads.transpose(1, 2))

    # A plan before the capture: nothing is planned, compiled or allocated while the graph is recorded.
    out = torch.empty(512, 2048, device="cuda", dtype=torch.bfloat16)
    plan = hotgemm.plan(x, weight.t(), out)
    print(plan.explain())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        plan.launch(x, weight.t(), out)
    graph.replay()
    check("graph", out, x @ weight.t())


if __name__ == "__main__":
    main()
