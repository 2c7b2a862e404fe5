"""Inference of a small transformer with random weights, by PyTorch alone and with hotgemm.

    python examples/python/transformer.py [--hidden 1024] [--layers 4] [--tokens 512] [--batch 4]

The weights are made at random; nothing is downloaded. Without a GPU it runs too, by PyTorch alone.
"""

import argparse
import time

import torch
import torch.nn.functional as F

import hotgemm.torch


class Block(torch.nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(hidden), torch.nn.LayerNorm(hidden)
        self.qkv = torch.nn.Linear(hidden, 3 * hidden, bias=False)
        self.out = torch.nn.Linear(hidden, hidden, bias=False)
        self.up = torch.nn.Linear(hidden, 4 * hidden, bias=False)
        self.down = torch.nn.Linear(4 * hidden, hidden, bias=False)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1))
        attention = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attention.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def milliseconds(model, x, runs):
    def finish():
        if x.is_cuda:
            torch.cuda.synchronize()

    finish()
    start = time.perf_counter()
    for _ in range(runs):
        result = model(x)
    finish()
    return (time.perf_counter() - start) * 1e3 / runs, result


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("hidden", 1024), ("heads", 16), ("layers", 4), ("tokens", 512), ("batch", 4), ("runs", 10)):
        parser.add_argument("--" + name, type=int, default=default)
    options = parser.parse_args()

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = torch.nn.Sequential(*(Block(options.hidden, options.heads) for _ in range(options.layers)))
    model = model.to(device, torch.bfloat16).eval()
    x = torch.randn(options.batch, options.tokens, options.hidden, device=device, dtype=torch.bfloat16)

    with torch.inference_mode():
        model(x)
        stock_ms, stock = milliseconds(model, x, options.runs)
        print(f"PyTorch: {stock_ms:.2f} ms")
        if device == "cpu":
            print("there is no GPU: hotgemm has nothing to do")
            return
        # "prepared" serves what has a kernel, also where no record says that it is faster than cuBLAS. A program leaves
        # `when` at its default, and runs `hotgemm tune --cublas-default` once, on the problems of report().shapes().
        with hotgemm.torch.enable(when="prepared"):
            model(x)  # PyTorch computes; hotgemm sees the problems,
            prepared = hotgemm.torch.prepare()  # and compiles a kernel for each
            hotgemm.torch.report(reset=True)
            ours_ms, ours = milliseconds(model, x, options.runs)
            print(f"hotgemm: {ours_ms:.2f} ms, {prepared} kernels prepared")
            print(hotgemm.torch.report())
    difference = (ours.float() - stock.float()).abs().max() / stock.float().abs().max()
    print(f"largest difference, relative to the largest element: {difference:.1e}")


if __name__ == "__main__":
    main()
