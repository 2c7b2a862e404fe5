// group_speed_program FILE [estimate | tune]: how fast are groups, beside what a program without them does?
//
// For each problem of FILE (docs/shapes/groups.txt), with uniform groups and with skewed ones (GroupShares): one
// grouped call, raced against a call of hotgemm for each group, and against cublasGemmGroupedBatchedEx. These two know
// the sizes on the host. Times are those of graph replays, so that the loop costs no time of the host; what cannot be
// captured is timed by launches. With "tune" the grouped problem is tuned before.

#include "base/library_paths.hpp"
#include "base/statistics.hpp"
#include "config/group_sizes.hpp"
#include "config/shapes.hpp"
#include "config/work.hpp"
#include "context_impl.hpp"
#include "gpu/check_kernels.hpp"
#include "gpu/operand_pool.hpp"
#include "gpu/shared_library.hpp"
#include "gpu/stream.hpp"
#include "tune/bench.hpp"

#include <hotgemm/hotgemm.hpp>

#include <cublas_v2.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{24} << 30;

/// The products of the groups that have any: for each its problem, and its operands in a set.
struct Singles {
  struct Group {
    std::int64_t number, begin;
    Problem problem;
  };
  std::vector<Group> groups;

  Singles(const Problem& problem, const std::vector<std::int32_t>& numbers) {
    const bool masked = problem.group_kind == GroupKind::masked_rows;
    for (std::size_t i = 0; i < static_cast<std::size_t>(problem.groups); ++i) {
      Group group{static_cast<std::int64_t>(i), masked ? 0 : numbers[i], problem};
      std::int64_t& size = problem.group_kind == GroupKind::along_k ? group.problem.k : group.problem.m;
      size = masked ? numbers[i] : numbers[i + 1] - numbers[i];
      group.problem.groups = 0;
      group.problem.group_kind = GroupKind::none;
      if (size > 0) groups.push_back(group);
    }
  }
  double flops() const {
    double all = 0;
    for (const Group& group : groups) all += hotgemm::flops(group.problem);
    return all;
  }
  static Operands operands(const Group& group, const OperandSet& set) {
    Operands o = OperandPool::operands(set, 1, 0);
    const auto at = [&](const void* matrix, std::int64_t elements, DType type) {
      return static_cast<const std::byte*>(matrix) + elements * size_bytes(type);
    };
    const bool divides_rows = set.group_kind == GroupKind::rows, along_k = set.group_kind == GroupKind::along_k;
    o.a = at(o.a, group.begin * o.lda + group.number * o.batch_stride_a, group.problem.types.a);
    o.b = at(o.b, (along_k ? group.begin * o.ldb : 0) + group.number * o.batch_stride_b, group.problem.types.b);
    o.d = const_cast<std::byte*>(
        at(o.d, (divides_rows ? group.begin * o.ldd : 0) + group.number * o.batch_stride_d, group.problem.types.d));
    o.group_offsets = o.group_counts = nullptr;
    o.batch_stride_a = o.batch_stride_b = o.batch_stride_c = o.batch_stride_d = 0;
    return o;
  }
};

/// cublasGemmGroupedBatchedEx for bf16. Its matrices are column-major: it computes the transpose of D.
class CublasGroups {
 public:
  CublasGroups(const Driver& driver, const Singles& singles, const std::vector<OperandSet>& sets)
      : library_(SharedLibrary::open(take_library_path("HOTGEMM_LIBCUBLAS"), {"libcublas.so.13", "libcublas.so.12"},
                                     ErrorCode::not_supported)),
        gemm_(reinterpret_cast<decltype(gemm_)>(library_.get("cublasGemmGroupedBatchedEx"))),
        set_stream_(reinterpret_cast<decltype(set_stream_)>(library_.get("cublasSetStream_v2"))) {
    const auto create = reinterpret_cast<decltype(&::cublasCreate_v2)>(library_.get("cublasCreate_v2"));
    check(create(&handle_), "make a handle of cuBLAS");
    const auto count = singles.groups.size();
    ones_.assign(count, 1), sizes_.assign(count, 1), zeros_.assign(count, 0);
    const Problem& first = singles.groups.front().problem;
    op_a_.assign(count, first.op_a == Op::n ? CUBLAS_OP_N : CUBLAS_OP_T);
    op_b_.assign(count, first.op_b == Op::n ? CUBLAS_OP_N : CUBLAS_OP_T);
    for (const OperandSet& set : sets) {
      std::vector<const void*> pointers;
      for (const auto member : {&Operands::b, &Operands::a}) {
        for (const Singles::Group& group : singles.groups) pointers.push_back(Singles::operands(group, set).*member);
      }
      for (const Singles::Group& group : singles.groups) pointers.push_back(Singles::operands(group, set).d);
      pointers_.emplace_back(driver, pointers.size() * sizeof(void*));
      driver.check(driver.cuMemcpyHtoD(pointers_.back().get(), pointers.data(), pointers.size() * sizeof(void*)),
                   "upload pointers");
    }
    for (const Singles::Group& group : singles.groups) {
      const Operands o = Singles::operands(group, sets.front());
      rows_.push_back(static_cast<int>(group.problem.m));
      columns_.push_back(static_cast<int>(group.problem.n));
      depths_.push_back(static_cast<int>(group.problem.k));
      lda_.push_back(static_cast<int>(o.lda));
      ldb_.push_back(static_cast<int>(o.ldb));
      ldd_.push_back(static_cast<int>(o.ldd));
    }
  }

  void launch(CUstream stream, int set) const {
    const auto first = static_cast<CUdeviceptr>(pointers_[static_cast<std::size_t>(set)].get());
    const auto count = static_cast<CUdeviceptr>(rows_.size());
    const auto pointers = [&](CUdeviceptr number) {
      return reinterpret_cast<void* const*>(first + number * count * sizeof(void*));
    };
    check(set_stream_(handle_, reinterpret_cast<cudaStream_t>(stream)), "set the stream");
    check(
        gemm_(handle_, op_b_.data(), op_a_.data(), columns_.data(), rows_.data(), depths_.data(), ones_.data(),
              pointers(0), CUDA_R_16BF, ldb_.data(), pointers(1), CUDA_R_16BF, lda_.data(), zeros_.data(), pointers(2),
              CUDA_R_16BF, ldd_.data(), static_cast<int>(rows_.size()), sizes_.data(), CUBLAS_COMPUTE_32F),
        "cublasGemmGroupedBatchedEx");
  }

 private:
  static void check(cublasStatus_t status, const char* what) {
    if (status != CUBLAS_STATUS_SUCCESS)
      throw Error(ErrorCode::not_supported, std::string(what) + ": status " + std::to_string(status));
  }

  SharedLibrary library_;
  cublasStatus_t (*gemm_)(cublasHandle_t, const cublasOperation_t*, const cublasOperation_t*, const int*, const int*,
                          const int*, const void*, const void* const*, cudaDataType_t, const int*, const void* const*,
                          cudaDataType_t, const int*, const void*, void* const*, cudaDataType_t, const int*, int,
                          const int*, cublasComputeType_t);
  decltype(&::cublasSetStream_v2) set_stream_;
  cublasHandle_t handle_ = nullptr;  // lives as long as the process
  std::vector<DeviceBuffer> pointers_;
  std::vector<cublasOperation_t> op_a_, op_b_;
  std::vector<int> rows_, columns_, depths_, lda_, ldb_, ldd_, sizes_;
  std::vector<float> ones_, zeros_;
};

void set_numbers(const Driver& driver, const std::vector<OperandSet>& sets, const std::vector<std::int32_t>& numbers) {
  for (const OperandSet& set : sets) {
    driver.check(driver.cuMemcpyHtoD(set.group_numbers, numbers.data(), numbers.size() * sizeof(std::int32_t)),
                 "upload the sizes of groups");
  }
}

void report(const char* name, double flops, const std::vector<double>& us, const std::string& failure, double ours) {
  if (!failure.empty()) {
    std::printf("    %-22s %s\n", name, failure.c_str());
    return;
  }
  const double time = median(us);
  std::printf("    %-22s %10.2f us %8.1f TFLOP/s %7.3f\n", name, time, 1e-6 * flops / time, time / ours);
}

void measure(const Driver& driver, Context& context, const Workload& problem, CUstream stream) {
  DeviceState& state = impl_of(context).current();
  const Plan plan = context.plan(problem);
  OperandPool pool(driver, problem, state.info().l2_bytes, kMaxBytes);
  const std::vector<OperandSet>& sets = pool.sets();
  for (const OperandSet& set : sets) state.check_kernels().fill_normal(problem, set, 1, stream);
  for (const GroupShares shares : {GroupShares::uniform, GroupShares::skewed}) {
    const std::vector<std::int32_t> numbers = group_numbers(problem, shares);
    set_numbers(driver, sets, numbers);
    const Singles singles(problem, numbers);
    const auto of = [&](int set) -> const OperandSet& { return sets[static_cast<std::size_t>(set)]; };
    std::vector<Contender> contenders{
        {"groups", [&](CUstream on, int set) { plan.launch(on, OperandPool::operands(of(set), 1, 0)); }},
        {"a call for each group", [&](CUstream on, int set) {
           for (const Singles::Group& group : singles.groups)
             context.gemm(on, group.problem, Singles::operands(group, of(set)));
         }}};
    std::unique_ptr<CublasGroups> cublas;
    try {
      cublas = std::make_unique<CublasGroups>(driver, singles, sets);
      contenders.push_back({"cuBLAS, grouped", [&](CUstream on, int set) { cublas->launch(on, set); }});
    } catch (const Error& error) {
      std::printf("    no grouped call of cuBLAS: %s\n", error.what());
    }
    for (const Contender& one : contenders) one.launch(stream, 0);  // plans, and what cuBLAS allocates
    RaceOptions options{.mode = TimingMode::graph, .sets = static_cast<int>(sets.size()), .rounds = 9};
    RaceResult raced = race(driver, stream, contenders, options);
    if (std::ranges::any_of(raced.failures, [](const std::string& failure) { return !failure.empty(); })) {
      options.mode = TimingMode::eager;
      raced = race(driver, stream, contenders, options);
    }
    const double ours = raced.failures[0].empty() ? median(raced.us[0]) : 1;
    std::printf("%s, %s, %s, %s\n", to_string(static_cast<const Problem&>(problem)).c_str(),
                shares == GroupShares::skewed ? "skewed" : "uniform", std::string(to_string(options.mode)).c_str(),
                plan.config().c_str());
    for (std::size_t i = 0; i < contenders.size(); ++i)
      report(contenders[i].name.c_str(), singles.flops(), raced.us[i], raced.failures[i], ours);
    std::fflush(stdout);
  }
}

int run(const std::string& file, bool tunes) {
  const Driver& driver = Driver::get();
  const PrimaryContext primary(driver, 0);
  ContextOptions options;
  options.policy = Policy::estimate;
  Context context(options);
  const OwnedStream stream(driver);
  for (const Shape& shape : load_shapes(file)) {
    const Workload& problem = shape.workload;
    if (tunes) {
      const std::vector<TuneResult> results =
          context.tune(std::span(&problem, 1), {.max_candidates = 30, .budget_s = 10, .scratch_bytes = kMaxBytes});
      if (!results.front().failure.empty()) std::printf("not tuned: %s\n", results.front().failure.c_str());
    }
    measure(driver, context, problem, stream.get());
  }
  return 0;
}

}  // namespace
}  // namespace hotgemm

int main(int argc, char** argv) {
  try {
    const std::string how = argc > 2 ? argv[2] : "estimate";
    if (argc < 2 || argc > 3 || (how != "estimate" && how != "tune"))
      throw std::runtime_error("usage: group_speed_program FILE [estimate | tune]");
    return hotgemm::run(argv[1], how == "tune");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
