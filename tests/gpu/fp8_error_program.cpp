// fp8_error_program: how exact are sums of FP8, ours and cuBLASLt's, precise and fast?
//
// D is f32, so that its rounding hides nothing. Errors are norms over all elements of D, relative to the exact result.
// Prints a table in markdown.
//
//   normal       both factors N(0,1)
//   one sign     both factors |N(0,1)|: a partial sum grows with k
//   cancelling   the same for the first half of k; the second half takes it away again, but for every 16th product

#include "gpu/gemm_case.hpp"

#include "gpu/cublas.hpp"
#include "gpu/device.hpp"
#include "gpu/stream.hpp"

#include <hotgemm/hotgemm.hpp>

#include <cmath>
#include <cstdio>
#include <exception>
#include <random>
#include <vector>

namespace hotgemm {
namespace {

constexpr std::int64_t kSize = 128;  // rows and columns of D
constexpr unsigned kSeed = 1;

enum class Data { normal, one_sign, cancelling };
constexpr const char* kNames[] = {"normal", "one sign", "cancelling"};

/// N(0,1) at each place, or its magnitude.
std::vector<float> draw(std::size_t count, Data data, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = data == Data::normal ? normal(random) : std::abs(normal(random));
  return values;
}

void fill(CaseRun& run, Data data, std::size_t k) {
  const std::size_t drawn = data == Data::cancelling ? k / 2 : k;
  const std::vector<float> a = draw(kSize * drawn, data, kSeed), b = draw(kSize * drawn, data, kSeed + 1);
  run.fill_factors([&](std::size_t i, std::size_t l) { return a[i * drawn + l % drawn]; },
                   [&](std::size_t l, std::size_t j) {
                     const float value = b[l % drawn * kSize + j];
                     if (l < drawn) return value;
                     return l % 16 == 0 ? 0.0f : -value;
                   });
}

int run() {
  const Driver& driver = Driver::get();
  const PrimaryContext primary(driver, 0);
  ContextOptions options;
  options.policy = Policy::estimate;
  Context context(options);
  const OwnedStream stream(driver);
  CublasBaseline cublas(driver);
  std::printf(
      "| data | k | hotgemm precise | cuBLASLt precise | hotgemm fast | cuBLASLt fast "
      "|\n|---|---:|---:|---:|---:|---:|\n");
  for (const Data data : {Data::normal, Data::one_sign, Data::cancelling}) {
    for (const std::int64_t k : {512, 4096, 16384, 65536}) {
      std::printf("| %s | %lld |", kNames[static_cast<int>(data)], static_cast<long long>(k));
      for (const ComputeMode mode : {ComputeMode::precise, ComputeMode::fast}) {
        GemmCase c{.problem = {.m = kSize, .n = kSize, .k = k, .op_b = Op::t, .types = kE4m3}};
        c.problem.types.c = c.problem.types.d = DType::f32;
        c.problem.types.mode = mode;
        c.set_tight_ld(16);
        CaseRun run(driver, c, stream.get());
        fill(run, data, static_cast<std::size_t>(k));
        const Plan plan = context.plan(c.described());
        run.run([&](const Operands& operands) { plan.launch(stream.get(), operands); });
        std::printf(" %.2g (%s) |", run.relative_error(), plan.config().substr(0, plan.config().find('_')).c_str());
        run.run([&](const Operands& o) {
          const auto address = [](const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); };
          const OperandSet set{
              .a = address(o.a), .b = address(o.b), .d = address(o.d), .lda = o.lda, .ldb = o.ldb, .ldd = o.ldd};
          cublas.default_gemm(c.described(), {&set, 1}, 1, 0).launch(stream.get(), 0);
        });
        std::printf(" %.2g |", run.relative_error());
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace
}  // namespace hotgemm

int main() {
  try {
    return hotgemm::run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
