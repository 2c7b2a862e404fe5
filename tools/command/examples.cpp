#include "command/examples.hpp"

#include <algorithm>
#include <iterator>

namespace hotgemm::command {
namespace {

constexpr std::string_view kExamples[] = {
    "hotgemm show --shape 4096x4096x4096 --layout nt --dtype bf16",
    "hotgemm tune --shape 4096x4096x4096 --layout nt --dtype bf16",
    "hotgemm bench --shape 4096x4096x4096 --layout nt --dtype bf16",
    "hotgemm prewarm --arch sm_90a --shapes shapes.txt",
    "hotgemm prewarm --arch sm_80,sm_90a --shape '1:4096 4096 4096 nt bf16' --layer layer",
    "hotgemm prewarm --arch sm_90a --shapes shapes.txt --verify",
    "hotgemm tune --shapes shapes.txt --run-budget 2h --resume",
    "hotgemm tune --shape '1:64 14336 4096 nt bf16 epilogue=bias+gelu'",
    "hotgemm bench --shapes shapes.txt --summary",
    "hotgemm bench --shape 8192x8192x8192 --measure sustained --json",
    "hotgemm ladder --no-run --arch sm_90a --family fma",
    "hotgemm ladder --shape 4096x4096x4096 --csv",
    "hotgemm show mma_m128_n128_k32_wm2_wn2_s4_x1_f1_e1_b1",
    "hotgemm show --shape '64 64 64 nn f16' --arch sm_90a --source",
    "hotgemm emulate --shape 70x50x40 --data integers",
    "hotgemm cache stat",
    "hotgemm cache trim --max-size 512M",
    "hotgemm db show --json",
    "hotgemm db prune --stale",
    "hotgemm help cache trim",
    "hotgemm info --json",
};

}  // namespace

std::vector<std::string> examples_of(std::string_view command) {
  std::vector<std::string> examples;
  const std::string start = std::string(command) + " ";
  for (const std::string_view example : kExamples) {
    if (example.starts_with(start)) examples.emplace_back(example);
  }
  constexpr std::size_t kMost = 3;  // the first ones are those of the command without a subcommand
  examples.resize(std::min(examples.size(), kMost));
  return examples;
}

}  // namespace hotgemm::command
