// layer_chain_program M [PASSES]: does the sustained measure tell what a program sees?
//
// Runs the four products of a layer of an 8B language model (bf16, nt) with M rows, and behind each of them a kernel
// that changes every element of the result: as one chain, with our kernels as tuned (HOTGEMM_CACHE_DIR) and with the
// fastest of cuBLAS. Both chains, the single products and the pointwise kernels run alone in blocks of the sustained
// measure. Prints all times, the ratio of the chains, and the ratio that the single times predict.

#include "base/statistics.hpp"
#include "context_impl.hpp"
#include "gpu/check_kernels.hpp"
#include "gpu/operand_pool.hpp"
#include "gpu/stream.hpp"
#include "tune/bench.hpp"

#include <hotgemm/hotgemm.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{8} << 30;

struct Product {
  std::int64_t n;
  std::int64_t k;
};
/// Queries, keys and values; the output of attention; gate and up; down.
constexpr Product kLayer[] = {{6144, 4096}, {4096, 4096}, {28672, 4096}, {4096, 14336}};

/// A product with its operands, and the kernel behind it.
class Step {
 public:
  Step(Context& context, DeviceState& state, CublasBaseline& cublas, CUstream stream, const Product& product,
       std::int64_t m)
      : context_(context),
        check_(state.check_kernels()),
        problem_{{.m = m, .n = product.n, .k = product.k, .op_b = Op::t, .types = kBf16}},
        pool_(Driver::get(), problem_, state.info().l2_bytes, kMaxBytes),
        result_bytes_(static_cast<std::size_t>(m * product.n) * 2) {
    for (const OperandSet& set : pool_.sets()) check_.fill_normal(problem_, set, 1, stream);
    baseline_ = fastest_baseline(Driver::get(), stream, pool_.sets(), problem_, cublas, {.mode = TimingMode::eager});
  }

  const Workload& problem() const { return problem_; }
  void ours(CUstream stream, int turn) {
    context_.gemm(stream, problem_, OperandPool::operands(pool_.sets()[set(turn)], 1, 0));
  }
  void baseline(CUstream stream, int turn) const { baseline_.launch(stream, static_cast<int>(set(turn))); }
  void pointwise(CUstream stream, int turn) const {
    check_.pointwise(pool_.sets()[set(turn)].d, result_bytes_, stream);
  }

 private:
  std::size_t set(int turn) const { return static_cast<std::size_t>(turn) % pool_.sets().size(); }

  Context& context_;
  const CheckKernels& check_;
  Workload problem_;
  OperandPool pool_;
  std::size_t result_bytes_;
  Contender baseline_;
};

using Steps = std::vector<std::unique_ptr<Step>>;

/// Each product of ours, each of cuBLAS, the pointwise kernels, the chain of ours, the chain of cuBLAS.
std::vector<Contender> contenders_of(const Steps& steps) {
  std::vector<Contender> contenders;
  for (const auto& step : steps)
    contenders.push_back({"hotgemm " + to_string(step->problem()), [&step](CUstream s, int t) { step->ours(s, t); }});
  for (const auto& step : steps)
    contenders.push_back(
        {"cuBLAS " + to_string(step->problem()), [&step](CUstream s, int t) { step->baseline(s, t); }});
  contenders.push_back({"pointwise kernels", [&steps](CUstream s, int t) {
                          for (const auto& step : steps) step->pointwise(s, t);
                        }});
  contenders.push_back({"chain of hotgemm", [&steps](CUstream s, int t) {
                          for (const auto& step : steps) step->ours(s, t), step->pointwise(s, t);
                        }});
  contenders.push_back({"chain of cuBLAS", [&steps](CUstream s, int t) {
                          for (const auto& step : steps) step->baseline(s, t), step->pointwise(s, t);
                        }});
  return contenders;
}

int run(std::int64_t m, int passes) {
  const Driver& driver = Driver::get();
  const PrimaryContext primary(driver, 0);
  ContextOptions options;
  options.policy = Policy::estimate;
  Context context(options);
  DeviceState& state = impl_of(context).current();
  const OwnedStream stream(driver);
  CublasBaseline cublas(driver);
  Steps steps;
  for (const Product& product : kLayer)
    steps.push_back(std::make_unique<Step>(context, state, cublas, stream.get(), product, m));

  const std::vector<Contender> contenders = contenders_of(steps);
  const RaceResult raced = race(driver, stream.get(), contenders,
                                {.sets = 1 << 20, .rounds = passes, .blocks = BlockLengths{.load_s = kLoadS}});
  std::vector<double> us;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    us.push_back(median(raced.us[i]));
    std::printf("%-46s %9.2f us  %4.0f MHz  %3.0f W %s\n", contenders[i].name.c_str(), us.back(),
                raced.blocks[i].clock.mhz, raced.blocks[i].clock.watts, raced.failures[i].c_str());
  }
  const std::size_t count = steps.size();
  double ours = us[2 * count], baseline = us[2 * count];  // with the pointwise kernels
  for (std::size_t i = 0; i < count; ++i) {
    ours += us[i];
    baseline += us[count + i];
  }
  const double ratio = us[2 * count + 2] / us[2 * count + 1], predicted = baseline / ours;
  std::printf("ratio of the chains %.4f, predicted by the single products %.4f, difference %+.2f %%\n", ratio,
              predicted, (ratio / predicted - 1) * 100);
  return 0;
}

}  // namespace
}  // namespace hotgemm

int main(int argc, char** argv) {
  try {
    if (argc < 2) throw std::runtime_error("usage: layer_chain_program M [PASSES]");
    return hotgemm::run(std::stoll(argv[1]), argc > 2 ? std::stoi(argv[2]) : 4);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
