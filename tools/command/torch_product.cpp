#include "command/torch_product.hpp"

#include "command/progress.hpp"
#include "command/session.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace hotgemm::command {
namespace {

// Reads the task from its argument, and prints a line of JSON with the version, then one for each problem.
constexpr const char* kScript = R"python(
import json, math, sys

task = json.loads(sys.argv[1])


def say(**answer):
    print(json.dumps(answer), flush=True)


try:
    import torch
    torch.cuda.set_device(task["device"])
except Exception as error:
    sys.exit(say(failure=" ".join(str(error).split()) or type(error).__name__))


def operands(problem, sets):
    dtype = {"f16": torch.float16, "f32": torch.float32, "s8": torch.int8}[problem["dtype"]]
    rows, columns = (problem["n"], problem["k"]) if problem["layout"] == "nt" else (problem["k"], problem["n"])
    for _ in range(sets):
        a = torch.randint(-1, 2, (problem["m"], problem["k"]), dtype=torch.int8, device="cuda").to(dtype)
        b = torch.randint(-1, 2, (rows, columns), dtype=torch.int8, device="cuda").to(dtype)
        yield a, b.t() if problem["layout"] == "nt" else b


def product_of(problem):
    settings = torch.backends.cuda.matmul
    settings.allow_tf32 = problem["sums"] == "tf32"
    in_f16 = problem["sums"] == "f16"
    if hasattr(settings, "allow_fp16_accumulation"):
        settings.allow_fp16_accumulation = in_f16
    elif in_f16:
        raise RuntimeError(f"PyTorch {torch.__version__} sums f16 in f32 only; see --acc f32")
    return torch._int_mm if problem["dtype"] == "s8" else torch.mm


def times(problem):
    product = product_of(problem)
    size = {"f16": 2, "f32": 4, "s8": 1}[problem["dtype"]]
    bytes_of_set = size * problem["k"] * (problem["m"] + problem["n"])
    sets = list(operands(problem, min(16, 1 + math.ceil(2 * task["l2_bytes"] / bytes_of_set))))
    a, b = sets[0]
    if not torch.equal(product(a, b)[:4].double(), torch.mm(a[:4].double(), b.double())):
        raise RuntimeError("wrong: the first rows differ from the exact ones")
    for matrix in (matrix for operands_of_set in sets for matrix in operands_of_set):
        matrix.random_(-127, 128) if problem["dtype"] == "s8" else matrix.normal_()
    clock = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    launched = 0

    def run(count):
        nonlocal launched
        clock[0].record()
        for _ in range(count):
            product(*sets[launched % len(sets)])
            launched += 1
        clock[1].record()
        torch.cuda.synchronize()
        return clock[0].elapsed_time(clock[1]) * 1e3 / count

    run(1)
    count = task["iters"] or max(1, min(4096, math.ceil(task["round_us"] / run(1))))
    if task["warmup"]:
        run(task["warmup"])
    return [run(count) for _ in range(task["rounds"])]


say(version=str(torch.__version__))
for problem in task["problems"]:
    try:
        say(us=times(problem))
    except Exception as error:
        say(failure=" ".join(str(error).split()) or type(error).__name__)
    torch.cuda.empty_cache()
)python";

Json task_of(const std::vector<Workload>& problems, const LadderTiming& timing, std::int64_t l2_bytes, int device) {
  Json task{{"device", device},         {"l2_bytes", l2_bytes},        {"rounds", timing.rounds},
            {"iters", timing.launches}, {"round_us", timing.round_us}, {"warmup", timing.warm_up_launches}};
  task["problems"] = Json::array();
  for (const Workload& p : problems) {
    task["problems"].push_back({{"m", p.m},
                                {"n", p.n},
                                {"k", p.k},
                                {"layout", p.op_b == Op::t ? "nt" : "nn"},
                                {"dtype", to_string(p.types.a)},
                                {"sums", to_string(p.types.compute)}});
  }
  return task;
}

/// `word` as one word of the shell.
std::string shell_word(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

struct Output {
  std::vector<std::string> lines;
  int status = 0;  // as wait() gives it
};

Output run(const std::string& command) {
  const UnblockedInterrupts for_child;
  FILE* const pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) throw Error(ErrorCode::io_error, std::string("run Python: ") + std::strerror(errno));
  std::string text;
  std::array<char, 4096> block{};
  while (const std::size_t count = std::fread(block.data(), 1, block.size(), pipe)) text.append(block.data(), count);
  Output output;
  output.status = pclose(pipe);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    output.lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return output;
}

std::string how_it_ended(int status) {
  if (WIFEXITED(status)) return fmt::format("ended with exit status {}", WEXITSTATUS(status));
  return fmt::format("ended by signal {}", WTERMSIG(status));
}

}  // namespace

TorchAnswer time_torch(const std::string& python, const std::vector<Workload>& problems, const LadderTiming& timing,
                       std::int64_t l2_bytes, int device) {
  const std::string task = task_of(problems, timing, l2_bytes, device).dump();
  const Output output = run(shell_word(python) + " -c " + shell_word(kScript) + " " + shell_word(task));
  TorchAnswer answer;
  std::string failure = python + " " + how_it_ended(output.status);
  for (const std::string& line : output.lines) {
    const Json said = Json::parse(line, nullptr, false);
    if (!said.is_object()) continue;  // a line of somebody else
    if (said.contains("version")) {
      answer.version = said["version"].get<std::string>();
    } else if (said.contains("us") && said["us"].is_array()) {
      answer.times.push_back({said["us"].get<std::vector<double>>(), ""});
    } else if (said.contains("failure")) {
      const auto why = said["failure"].get<std::string>();
      if (answer.version.empty()) {
        failure = "no PyTorch: " + why;
      } else {
        answer.times.push_back({{}, why});
      }
    }
  }
  answer.times.resize(problems.size(), {{}, failure});
  return answer;
}

}  // namespace hotgemm::command
