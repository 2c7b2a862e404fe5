// Runs the kernel that repacks operands, which is no GEMM, and prints its first error. The exit status is 1 if there is
// one.

#include "emulate/repack_run.hpp"

#include "repack.cuh"

#include <cstdio>
#include <exception>

int main() {
  using namespace hotgemm::emulate;
  try {
    for (const RepackCase& c : repack_cases()) {
      for (std::uint64_t seed = 1; seed < 3; ++seed) {
        const std::string text = repack_complaint(c, seed, [](const hotgemm::RepackArgs& args) { repack(args); });
        if (text.empty()) continue;
        std::printf("%s: %s\n", to_string(c).c_str(), text.c_str());
        return 1;
      }
    }
    return 0;
  } catch (const std::exception& error) {
    std::printf("exception: %s\n", error.what());
    return 2;
  }
}
