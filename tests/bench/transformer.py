#!/usr/bin/env python3
"""Times a training step of a transformer block, by PyTorch alone and with hotgemm, on a GPU.

    python3 tests/bench/transformer.py --list > shapes.txt     # the products of all cases
    hotgemm tune --cublas-default --shapes shapes.txt
    python3 tests/bench/transformer.py                         # pairs of runs, without and with hotgemm.torch.enable()
    python3 tests/bench/transformer.py --addmm                 # with hotgemm.torch.enable(addmm=True)
    python3 tests/bench/transformer.py --interposed LIBRARY    # with LIBRARY, libhotgemm_cublas.so, in front of cuBLAS

--interposed has eighteen processes on the GPU, and needs some 50 GB of its memory. HOTGEMM_CUBLAS_REPORT says what each
of them had served.

A case is a block of hidden size 4096, or one of 1001 with a vocabulary of 50257, both in bf16, with or without biases.
A step is the forward and the backward pass.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

import torch

sys.path.append(str(pathlib.Path(__file__).parents[2] / "examples/interpose"))
from block import Block

PAIRS = 15
PROCESSES = 9  # of each side, where a library is preloaded: the host's time of a step differs between processes
RUNS = 3       # of each of them
RUN_S = 0.08  # about, of a side of a pair

CASES = [(hidden, tokens, bias) for hidden, sizes in ((4096, (1, 16, 512, 4096)), (1001, (512, 4096)))
         for tokens in sizes for bias in (False, True)]


def name_of(hidden, tokens, bias):
    return f"hidden {hidden}, {tokens} tokens, {'with' if bias else 'without'} biases"


class Case:
    def __init__(self, hidden, tokens, bias):
        self.name = name_of(hidden, tokens, bias)
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(Block(hidden, 32 if hidden == 4096 else 13))
        if hidden == 1001:
            self.model.append(torch.nn.Linear(hidden, 50257))
        for module in self.model.modules():
            if isinstance(module, torch.nn.Linear) and not bias:
                module.bias = None
        self.model.to("cuda", torch.bfloat16)
        self.x = torch.randn(1, tokens, hidden, device="cuda", dtype=torch.bfloat16)

    def step(self):
        self.model.zero_grad()
        self.model(self.x).float().square().mean().backward()

    def gradients(self):
        self.step()
        return [parameter.grad.float().clone() for parameter in self.model.parameters()]

    def exact_gradients(self):
        """In f32, of the same parameters."""
        state = {name: value.clone() for name, value in self.model.state_dict().items()}
        x, self.x = self.x, self.x.float()
        self.model.float()
        try:
            return self.gradients()
        finally:
            self.x = x
            self.model.to(torch.bfloat16).load_state_dict(state)


def milliseconds(step, steps):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1e3 / steps


def steps_of(step):
    for _ in range(3):
        step()
    return max(1, min(200, int(RUN_S * 1e3 / milliseconds(step, 3))))


def interval(ratios):
    """The 95 % interval of the median of 15 pairs, by the ranks of the binomial distribution."""
    ordered = sorted(ratios)
    return ordered[3], ordered[11]


def error(gradients, exact):
    return max(((g - e).norm() / e.norm()).item() for g, e in zip(gradients, exact) if e.norm() > 0)


def cases(only):
    """Makes the cases whose name contains `only`."""
    for values in CASES:
        if only in name_of(*values):
            yield Case(*values)


def list_products(only):
    import hotgemm.torch as ht

    with ht.enable(addmm=True, prepare=False):
        for case in cases(only):
            case.step()
    print(ht.report().shapes(), end="")


def compare(when, addmm, only):
    import hotgemm.torch as ht

    print("| case | PyTorch, ms | hotgemm, ms | speed-up, 95 % interval | served of eligible | error of gradients, PyTorch | hotgemm |")
    print("|---|---:|---:|---|---|---:|---:|")
    for case in cases(only):
        steps = steps_of(case.step)

        def enabled():
            return ht.enable(when=when, addmm=addmm)

        with enabled():
            case.step()
            ht.prepare()
            case.step()
        exact = case.exact_gradients()
        plain = error(case.gradients(), exact)
        with enabled():
            ours = error(case.gradients(), exact)
        ht.report(reset=True)
        sides = ([], [])
        for pair in range(PAIRS):
            for side in ((0, 1), (1, 0))[pair % 2]:
                if side:
                    with enabled():
                        sides[1].append(milliseconds(case.step, steps))
                else:
                    sides[0].append(milliseconds(case.step, steps))
        ratios = [a / b for a, b in zip(*sides)]
        low, high = interval(ratios)
        report = ht.report()
        served = sum(problem.served for problem in report.problems)
        calls = sum(problem.calls for problem in report.problems)
        print(f"| {case.name} | {statistics.median(sides[0]):.3f} | {statistics.median(sides[1]):.3f} | "
              f"{statistics.median(ratios):.3f} ({low:.3f} to {high:.3f}) | {served} of {calls} | {plain:.1e} | {ours:.1e} |",
              flush=True)


def serve():
    """Runs as many steps of a case as stdin asks for, again and again: a side of `compare_interposed`."""
    library = os.environ.get("LD_PRELOAD")
    if library and library not in pathlib.Path("/proc/self/maps").read_text():
        sys.exit(f"transformer: {library} was not loaded")
    case = None
    for line in sys.stdin:
        command, *numbers = line.split()
        if command == "case":
            case = None
            hidden, tokens, bias = (int(number) for number in numbers)
            case = Case(hidden, tokens, bool(bias))
            milliseconds(case.step, 3)
            time.sleep(1)  # the library may load kernels meanwhile
        case.step()  # takes memory
        print(milliseconds(case.step, int(numbers[0]) if command == "run" else 3), flush=True)
        torch.cuda.empty_cache()  # for the other processes


class Side:
    """A process that serves, with `library` in front of cuBLAS if there is one."""

    def __init__(self, library):
        variables = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        if library:
            variables["LD_PRELOAD"] = library
        self.process = subprocess.Popen([sys.executable, __file__, "--serve"], env=variables, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # answer() tells it

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit("transformer: a process that times a side has ended; its message stands above")
        return float(line)

    def run(self, steps):
        self.ask(f"run {steps}")
        return self.answer()

    def end(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            sys.exit("transformer: a process that times a side has failed at its end")


def begin_case(sides, case):
    """A few sides at a time, which need memory for a whole step each."""
    for first in range(0, len(sides), 6):
        for side in sides[first:first + 6]:
            side.ask("case " + " ".join(str(int(value)) for value in case))
        for side in sides[first:first + 6]:
            side.answer()


def times_of(pair, steps):
    """The median times of both sides, which run in turn: only one process works at a time."""
    times = ([], [])
    for run in range(RUNS):
        for side in ((0, 1), (1, 0))[run % 2]:
            times[side].append(pair[side].run(steps))
    return tuple(statistics.median(side) for side in times)


def compare_interposed(library, only):
    pairs = [(Side(None), Side(library)) for _ in range(PROCESSES)]
    sides = [side for pair in pairs for side in pair]
    print("| case | PyTorch, ms | under the interposer, ms | speed-up, 96 % interval over pairs of processes |")
    print("|---|---:|---:|---|")
    for case in (case for case in CASES if only in name_of(*case)):
        begin_case(sides, case)
        steps = max(1, min(200, int(RUN_S * 1e3 / sides[0].run(3))))
        times = [times_of(pair, steps) for pair in pairs]
        ratios = sorted(plain / ours for plain, ours in times)
        plain, ours = (statistics.median(side) for side in zip(*times))
        print(f"| {name_of(*case)} | {plain:.3f} | {ours:.3f} | {statistics.median(ratios):.3f} "
              f"({ratios[1]:.3f} to {ratios[-2]:.3f}) |", flush=True)
    for side in sides:
        side.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the products of all cases, as a shape file")
    parser.add_argument("--interposed", metavar="LIBRARY", help="compare with LIBRARY in front of cuBLAS, by LD_PRELOAD")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--addmm", action="store_true", help="as of hotgemm.torch.enable()")
    parser.add_argument("--when", default="as_fast", help="as of hotgemm.torch.enable()")
    parser.add_argument("--only", default="", metavar="TEXT",
                        help='cases whose name contains TEXT, such as "4096, 512 tokens"')
    arguments = parser.parse_args()
    if not any(arguments.only in name_of(*values) for values in CASES):
        parser.error(f"no case has {arguments.only!r} in its name; they are: " + "; ".join(name_of(*v) for v in CASES))
    if arguments.list:
        list_products(arguments.only)
    elif arguments.serve:
        serve()
    elif arguments.interposed:
        if arguments.addmm or arguments.when != "as_fast":
            parser.error("--addmm and --when are for hotgemm.torch, not for --interposed")
        library = pathlib.Path(arguments.interposed).resolve()
        if not library.is_file():
            parser.error(f"there is no file {library}")
        compare_interposed(str(library), arguments.only)
    else:
        compare(arguments.when, arguments.addmm, arguments.only)


if __name__ == "__main__":
    main()
