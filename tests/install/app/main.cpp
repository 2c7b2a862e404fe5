#include <hotgemm/error.hpp>
#include <hotgemm/problem.hpp>
#include <hotgemm/types.hpp>
#include <hotgemm/version.hpp>

#include <cstdio>

int main() {
  const char* text = "4096 4096 512 nt f16 align=16";
  const std::string again = hotgemm::to_string(hotgemm::parse_workload(text));
  std::printf("%s\n", again.c_str());
  if (again != text) return 1;
  if (hotgemm::version() != HOTGEMM_VERSION) return 4;
  // As on the pages. GCC's -Wextra warns of members that are not named and have no value of their own.
  const hotgemm::Problem problem{.m = 4096, .n = 4096, .k = 4096, .op_b = hotgemm::Op::t, .types = hotgemm::kBf16};
  if (problem.epilogue.bias != hotgemm::Bias::none) return 5;
  try {
    hotgemm::parse_workload("4096x4096 nt");
  } catch (const hotgemm::Error& error) {
    return error.code() == hotgemm::ErrorCode::invalid_argument ? 0 : 2;
  }
  return 3;
}
