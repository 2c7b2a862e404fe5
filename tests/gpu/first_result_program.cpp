// first_result_program POLICY CACHE_DIRECTORY START_NS: one GEMM from a cold process.
//
// POLICY is cached_only, estimate or tune. START_NS is the monotonic clock at the start of the process. Prints a JSON
// object: the time to make the CUDA context and the operands, the time of everything else up to the first result,
// whether the result is right, and whether libnvrtc is loaded.

#include "gpu/device.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/stream.hpp"
#include "standin/element.hpp"

#include <hotgemm/hotgemm.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

constexpr std::int64_t kSize = 512;  // m, n and k

using Clock = std::chrono::steady_clock;

double ms(Clock::duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

Policy parse_policy(const std::string& text) {
  for (const Policy policy : {Policy::cached_only, Policy::estimate, Policy::tune}) {
    if (text == to_string(policy)) return policy;
  }
  throw Error(ErrorCode::invalid_argument, "no policy: " + text);
}

bool is_mapped(const std::string& library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(library) != line.npos) return true;
  }
  return false;
}

const void* pointer(const DeviceBuffer& buffer) { return reinterpret_cast<const void*>(buffer.get()); }

int run(const std::string& policy, const std::string& cache_directory, const std::string& start_ns) {
  const Clock::time_point start{std::chrono::nanoseconds(std::stoll(start_ns))};
  const Clock::time_point before_context = Clock::now();
  const Driver& driver = Driver::get();
  const PrimaryContext primary(driver, 0);
  const OwnedStream stream(driver);
  const std::vector<std::uint16_t> ones(kSize * kSize, standin::narrow_f16(1));
  const DeviceBuffer a(driver, ones.size() * 2), b(driver, ones.size() * 2), d(driver, ones.size() * 2);
  for (const DeviceBuffer* operand : {&a, &b}) {
    driver.check(driver.cuMemcpyHtoDAsync(operand->get(), ones.data(), ones.size() * 2, stream.get()), "upload ones");
  }
  stream.synchronize();
  const Clock::time_point after_context = Clock::now();

  ContextOptions options;
  options.policy = parse_policy(policy);
  options.cache_directory = cache_directory;
  Context context(options);
  const Workload problem{Problem{.m = kSize, .n = kSize, .k = kSize, .op_b = Op::t}};
  context.gemm(stream.get(), problem,
               {.a = pointer(a),
                .b = pointer(b),
                .d = reinterpret_cast<void*>(d.get()),
                .lda = kSize,
                .ldb = kSize,
                .ldc = kSize,
                .ldd = kSize});
  stream.synchronize();
  const Clock::time_point end = Clock::now();

  std::vector<std::uint16_t> found(ones.size());
  driver.check(driver.cuMemcpyDtoH(found.data(), d.get(), found.size() * 2), "download D");
  const bool correct =
      std::ranges::all_of(found, [](std::uint16_t bits) { return bits == standin::narrow_f16(kSize); });
  std::printf(R"({"context_ms": %.3f, "first_result_ms": %.3f, "correct": %s, "nvrtc_loaded": %s, "compiled": %llu})"
              "\n",
              ms(after_context - before_context), ms((end - start) - (after_context - before_context)),
              correct ? "true" : "false", is_mapped("libnvrtc") ? "true" : "false",
              static_cast<unsigned long long>(context.stats().compiled));
  return correct ? 0 : 4;
}

}  // namespace
}  // namespace hotgemm

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s cached_only|estimate|tune CACHE_DIRECTORY START_NS\n", argv[0]);
    return 1;
  }
  try {
    return hotgemm::run(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
