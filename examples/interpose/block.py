#!/usr/bin/env python3
"""Blocks of a transformer, forward and backward, with random weights: a PyTorch program that knows nothing of hotgemm.
docs/cublas.md runs it with hotgemm in front of cuBLAS.

    python3 examples/interpose/block.py --hidden 1001 --tokens 512
"""

import argparse
import sys

import torch


class Block(torch.nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(hidden) for _ in range(2))
        self.qkv = torch.nn.Linear(hidden, 3 * hidden)
        self.out = torch.nn.Linear(hidden, hidden)
        self.up = torch.nn.Linear(hidden, 4 * hidden)
        self.down = torch.nn.Linear(4 * hidden, hidden)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(-3, -2)
                   for part in self.qkv(self.norms[0](x)).chunk(3, dim=-1))
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(-3, -2).flatten(-2))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norms[1](x)), approximate="tanh"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", type=int, default=4096)
    parser.add_argument("--heads", type=int, default=0, help="default: hidden / 128, or 7, 11 or 13 that divides hidden")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        print("block: skipped: PyTorch sees no GPU", file=sys.stderr)
        sys.exit(3)
    heads = arguments.heads or next((n for n in (arguments.hidden // 128, 7, 11, 13) if n and arguments.hidden % n == 0), 1)

    torch.manual_seed(0)
    model = torch.nn.Sequential(*(Block(arguments.hidden, heads) for _ in range(arguments.layers)))
    model = model.to(arguments.device, torch.bfloat16)
    x = torch.randn(1, arguments.tokens, arguments.hidden, device=arguments.device, dtype=torch.bfloat16)

    def step():
        model.zero_grad()
        loss = model(x).float().square().mean()
        loss.backward()
        return loss

    for _ in range(arguments.steps):  # what a program does before it counts
        loss = step()
    if arguments.device != "cuda":
        print(f"loss {loss.item():.4f}")
        return
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(arguments.steps):
        loss = step()
    end.record()
    end.synchronize()
    print(f"loss {loss.item():.4f}, {begin.elapsed_time(end) / arguments.steps:.3f} ms a step")


if __name__ == "__main__":
    main()
