#include <hotgemm/error.hpp>
#include <hotgemm/types.hpp>
#include <hotgemm/version.hpp>

#include <cstdio>

int main() {
  const char* text = "4096x4096x512 nt f16 f32 a16 b16 d16 beta0";
  const std::string again = hotgemm::to_string(hotgemm::parse_problem(text));
  std::printf("%s\n", again.c_str());
  if (again != text) return 1;
  if (hotgemm::version() != HOTGEMM_VERSION) return 4;
  try {
    hotgemm::parse_problem("4096x4096 nt");
  } catch (const hotgemm::Error& error) {
    return error.code() == hotgemm::ErrorCode::invalid_argument ? 0 : 2;
  }
  return 3;
}
