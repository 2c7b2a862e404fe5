// The host cost of a warm call on a 64×64×64 problem, which is too small to hide it. The kernel estimated to be fastest
// there has no tensor maps. Two rows are for a kernel with tensor maps; in the second of them all maps change with
// every call.
//
// Two rows replay a CUDA graph of 16 calls and wait for it, beside a graph of as many raw launches.
//
// Each other measurement is a batch of launches that fits the launch queue, with the wait for the GPU outside the timed
// region. A batch of bare cuLaunchKernel calls of the same kernel runs beside every batch, so that the difference is
// paired: `raw_ns` is its time per call, `over_raw_ns` the median difference.

#include "base/statistics.hpp"
#include "c/handles.hpp"
#include "config/render.hpp"
#include "config/traits.hpp"
#include "context_impl.hpp"
#include "gpu/cublas.hpp"
#include "gpu/device.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/gemm_launch.hpp"
#include "gpu/operand_pool.hpp"
#include "gpu/stream.hpp"
#include "gpu/tensor_map.hpp"

#include <hotgemm/hotgemm.h>
#include <hotgemm/hotgemm.hpp>

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

constexpr int kBatch = 256;  // launches; the driver queues about a thousand before the caller must wait
constexpr int kBatches = 400;
constexpr int kWarmUps = 8;
constexpr int kGraphCalls = 16;

/// All data that a warm call needs, made once.
class WarmCall {
 public:
  /// The call of a kernel with tensor maps, or of the kernel that is estimated to be fastest. Returns nullptr, with the
  /// reason in `why_not`, if there is no suitable GPU.
  template <bool kHasMaps>
  static WarmCall* get(std::string& why_not) {
    static std::string reason;
    static WarmCall* instance = []() -> WarmCall* {
      try {
        return new WarmCall(kHasMaps);  // never destroyed: libcuda may be gone when static objects are destroyed
      } catch (const Error& error) {
        reason = error.what();
        return nullptr;
      }
    }();
    why_not = reason;
    return instance;
  }

  const Driver& driver() const { return driver_; }
  CUstream stream() const { return stream_.get(); }
  const Workload& problem() const { return problem_; }
  const Operands& operands() const { return operands_; }
  /// Operands at other addresses than the last time.
  const Operands& other_operands() {
    is_elsewhere_ = !is_elsewhere_;
    return is_elsewhere_ ? elsewhere_ : operands_;
  }
  const OperandPool& pool() const { return pool_; }
  Context& context() { return context_; }
  const Plan& plan() const { return plan_; }

  /// Launches the kernel of the plan by hand, with prepared arguments.
  void launch_raw() {
    void* parameters[] = {kernel_->maps ? static_cast<void*>(&args_) : &args_.gemm};
    driver_.check(
        driver_.cuLaunchKernel(kernel_->kernel.function(), blocks_, 1, 1, static_cast<unsigned>(kernel_->shape.threads),
                               1, 1, static_cast<unsigned>(kernel_->shape.smem_bytes), stream(), parameters, nullptr),
        "launch a kernel");
  }

 private:
  static constexpr int kSize = 64;

  static ContextOptions options() {
    ContextOptions options;
    options.policy = Policy::estimate;
    // Other records than the default context's, which one_line_hgemm tunes in the background.
    options.cache_directory = (std::filesystem::temp_directory_path() / "hotgemm_host_cost").string();
    return options;
  }

  static Plan plan_of(Context& context, const Workload& problem, bool has_maps) {
    if (!has_maps) return context.plan(problem);
    const WgmmaConfig config{.block_m = 64, .block_n = 64, .consumers = 1, .one_tile = true};
    auto& impl = impl_of(context);
    impl.engine().database.add({.problem = problem,
                                .config = config,
                                .launch = {},
                                .timing = {.median_us = 1, .spread_us = 0.1, .samples = 7, .ratio = 1},
                                .environment = impl.current().environment(),
                                .template_digest = impl.engine().template_digest(config)});
    Plan plan = context.plan(problem);
    if (plan.config() == to_string(KernelConfig(config))) return plan;
    throw Error(ErrorCode::not_supported, "no kernel with tensor maps on " + impl.current().info().arch);
  }

  explicit WarmCall(bool has_maps)
      : driver_(Driver::get()),
        primary_(driver_, 0),
        stream_(driver_),
        context_(options()),
        pool_(driver_, problem_, 1 << 16, std::int64_t{1} << 20),
        operands_(OperandPool::operands(pool_.sets().front(), 1, 0)),
        elsewhere_(OperandPool::operands(pool_.sets().at(1), 1, 0)),
        plan_(plan_of(context_, problem_, has_maps)) {
    DeviceState& state = impl_of(context_).current();
    Engine& engine = impl_of(context_).engine();
    const KernelConfig config = parse_config(plan_.config()).value();
    const GemmTraits traits = traits_of(problem_);
    const BuildResult built = engine.builder.build(render(config, traits, state.info().arch, engine.bundle));
    kernel_ = state.load(config, traits, *built.cubin);  // the same kernel as the plan's
    blocks_ = static_cast<unsigned>(kernel_->shape.blocks(kSize, kSize, kernel_->sm_count));
    const OperandSet& set = pool_.sets().front();
    args_.gemm = {.a = set.a,
                  .b = set.b,
                  .c = 0,
                  .d = set.d,
                  .lda = set.lda,
                  .ldb = set.ldb,
                  .ldc = set.ldc,
                  .ldd = set.ldd,
                  .m = kSize,
                  .n = kSize,
                  .k = kSize,
                  .alpha = 1,
                  .beta = 0,
                  .raster_width = 1,
                  .raster_along_n = 0};
    if (kernel_->maps) {
      const MatrixMaps& maps = *kernel_->maps;
      const auto add = [&](const std::optional<TensorMapSpec>& spec, TensorMap& map) {
        if (spec) map = encode_tensor_map(driver_, *spec);
      };
      const BoxMaps a = box_maps(maps.of_a(operands_.a, kSize, kSize, set.lda), maps.a_is_k_major);
      const BoxMaps b = box_maps(maps.of_b(operands_.b, kSize, kSize, set.ldb), maps.b_is_k_major);
      add(a.whole, args_.a);
      add(a.rest, args_.a_rest);
      add(b.whole, args_.b);
      add(b.rest, args_.b_rest);
      if (maps.d) args_.d = encode_tensor_map(driver_, maps.d->of(operands_.d, kSize, kSize, set.ldd));
    }
  }

  const Driver& driver_;
  PrimaryContext primary_;
  OwnedStream stream_;
  Workload problem_{Problem{.m = kSize, .n = kSize, .k = kSize, .op_b = Op::t}};
  Context context_;
  OperandPool pool_;
  Operands operands_;
  Operands elsewhere_;
  bool is_elsewhere_ = false;
  Plan plan_;
  std::shared_ptr<const GemmKernel> kernel_;
  unsigned blocks_ = 0;
  WgmmaArgs args_{};  // families without tensor maps read only args_.gemm
};

/// Seconds per call.
template <class Call>
double time_batch(const WarmCall& warm, Call&& call) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kBatch; ++i) call();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  warm.driver().check(warm.driver().cuStreamSynchronize(warm.stream()), "wait for a batch");
  return took.count() / kBatch;
}

/// Times batches of `call`, each beside a batch of `raw`.
template <class Call>
void measure(benchmark::State& state, const WarmCall& warm, const std::function<void()>& raw_call, Call&& call) {
  for (int i = 0; i < kWarmUps; ++i) time_batch(warm, call);
  std::vector<double> raw_ns, over_ns, ns;
  bool raw_first = false;
  for (auto _ : state) {
    raw_first = !raw_first;  // so that neither always follows a wait
    double raw = 0, subject = 0;
    if (raw_first) raw = time_batch(warm, raw_call);
    subject = time_batch(warm, call);
    if (!raw_first) raw = time_batch(warm, raw_call);
    state.SetIterationTime(subject);
    ns.push_back(subject * 1e9);
    raw_ns.push_back(raw * 1e9);
    over_ns.push_back((subject - raw) * 1e9);
  }
  state.counters["median_ns"] = median(ns);
  state.counters["raw_ns"] = median(raw_ns);
  state.counters["over_raw_ns"] = median(over_ns);
}

template <class Call>
void measure(benchmark::State& state, WarmCall& warm, Call&& call) {
  measure(
      state, warm, [&] { warm.launch_raw(); }, call);
}

/// Runs `body` with the warm call, or skips the benchmark.
template <bool kHasMaps = false>
void with_gpu(benchmark::State& state, const std::function<void(WarmCall&)>& body) {
  std::string why_not;
  WarmCall* warm = WarmCall::get<kHasMaps>(why_not);
  if (warm == nullptr) {
    state.SkipWithError(("no GPU: " + why_not).c_str());
    return;
  }
  try {
    body(*warm);
  } catch (const Error& error) {
    state.SkipWithError(error.what());
  }
}

void raw_launch(benchmark::State& state) {
  with_gpu(state, [&](WarmCall& warm) { measure(state, warm, [&] { warm.launch_raw(); }); });
}

void plan_launch(benchmark::State& state) {
  with_gpu(state,
           [&](WarmCall& warm) { measure(state, warm, [&] { warm.plan().launch(warm.stream(), warm.operands()); }); });
}

void plan_launch_with_maps(benchmark::State& state) {
  with_gpu<true>(state, [&](WarmCall& warm) {
    measure(state, warm, [&] { warm.plan().launch(warm.stream(), warm.operands()); });
  });
}

void plan_launch_elsewhere(benchmark::State& state) {
  with_gpu<true>(state, [&](WarmCall& warm) {
    measure(state, warm, [&] { warm.plan().launch(warm.stream(), warm.other_operands()); });
  });
}

void context_gemm(benchmark::State& state) {
  with_gpu(state, [&](WarmCall& warm) {
    measure(state, warm, [&] { warm.context().gemm(warm.stream(), warm.problem(), warm.operands()); });
  });
}

/// The C interface: the same call, a call that may decline, and one that does.
void c_call(benchmark::State& state, std::uint32_t flags, hotgemm_status expected) {
  with_gpu(state, [&](WarmCall& warm) {
    hotgemm_context handle{&warm.context(), nullptr};
    hotgemm_problem problem = HOTGEMM_PROBLEM_INIT;
    hotgemm_problem_parse(to_string(static_cast<const Problem&>(warm.problem())).c_str(), &problem);
    hotgemm_operands operands;
    std::memcpy(&operands, &warm.operands(), sizeof(operands));
    hotgemm_call call = HOTGEMM_CALL_INIT;
    call.flags = flags;
    measure(state, warm, [&] {
      if (hotgemm_gemm(&handle, &problem, &operands, warm.stream(), &call) == expected) return;
      throw Error(ErrorCode::internal, "hotgemm_gemm returned another status");
    });
  });
}

void c_gemm(benchmark::State& state) { c_call(state, 0, HOTGEMM_SUCCESS); }
void c_gemm_if_prepared(benchmark::State& state) { c_call(state, HOTGEMM_IF_PREPARED, HOTGEMM_SUCCESS); }
void c_gemm_declined(benchmark::State& state) { c_call(state, HOTGEMM_IF_TUNED, HOTGEMM_NOT_PREPARED); }

void c_plan_launch(benchmark::State& state) {
  with_gpu(state, [&](WarmCall& warm) {
    const hotgemm_plan plan{warm.plan()};
    hotgemm_operands operands;
    std::memcpy(&operands, &warm.operands(), sizeof(operands));
    measure(state, warm, [&] { hotgemm_plan_launch(&plan, &operands, warm.stream(), nullptr); });
  });
}

void one_line_hgemm(benchmark::State& state) {
  with_gpu(state, [&](WarmCall& warm) {
    const Workload& p = warm.problem();
    const Operands& o = warm.operands();
    measure(state, warm, [&] {
      hgemm(warm.stream(), p.op_a, p.op_b, p.m, p.n, p.k, o.alpha, o.a, o.lda, o.b, o.ldb, o.beta, o.d, o.ldd);
    });
  });
}

/// Replays of a graph that holds kGraphCalls of `call`, each with the wait for it.
void graph_of(benchmark::State& state, WarmCall& warm, const std::function<void()>& call) {
  const auto captured = [&](const std::function<void()>& each) {
    return OwnedGraph::capture(warm.driver(), warm.stream(), [&] {
      for (int i = 0; i < kGraphCalls; ++i) each();
    });
  };
  const OwnedGraph raw = captured([&] { warm.launch_raw(); });
  const OwnedGraph subject = captured(call);
  const auto replay = [&](const OwnedGraph& graph) {
    graph.launch(warm.stream());
    warm.driver().check(warm.driver().cuStreamSynchronize(warm.stream()), "wait for a replay");
  };
  measure(
      state, warm, [&] { replay(raw); }, [&] { replay(subject); });
}

void graph_of_context_gemm(benchmark::State& state) {
  with_gpu(state, [&](WarmCall& warm) {
    graph_of(state, warm, [&] { warm.context().gemm(warm.stream(), warm.problem(), warm.operands()); });
  });
}

void graph_of_plan_launch(benchmark::State& state) {
  with_gpu(state,
           [&](WarmCall& warm) { graph_of(state, warm, [&] { warm.plan().launch(warm.stream(), warm.operands()); }); });
}

void cublas_gemm_ex(benchmark::State& state) {
  with_gpu(state, [&](WarmCall& warm) {
    CublasBaseline cublas(warm.driver());
    if (!cublas.available()) {
      state.SkipWithError(("no cuBLAS: " + cublas.why_not()).c_str());
      return;
    }
    const Contender contender = cublas.default_gemm(warm.problem(), warm.pool().sets(), 1, 0);
    measure(state, warm, [&] { contender.launch(warm.stream(), 0); });
  });
}

BENCHMARK(raw_launch)->UseManualTime()->Iterations(kBatches);
BENCHMARK(plan_launch)->UseManualTime()->Iterations(kBatches);
BENCHMARK(plan_launch_with_maps)->UseManualTime()->Iterations(kBatches);
BENCHMARK(plan_launch_elsewhere)->UseManualTime()->Iterations(kBatches);
BENCHMARK(context_gemm)->UseManualTime()->Iterations(kBatches);
BENCHMARK(c_plan_launch)->UseManualTime()->Iterations(kBatches);
BENCHMARK(c_gemm)->UseManualTime()->Iterations(kBatches);
BENCHMARK(c_gemm_if_prepared)->UseManualTime()->Iterations(kBatches);
BENCHMARK(c_gemm_declined)->UseManualTime()->Iterations(kBatches);
BENCHMARK(one_line_hgemm)->UseManualTime()->Iterations(kBatches);
BENCHMARK(graph_of_context_gemm)->UseManualTime()->Iterations(kBatches);
BENCHMARK(graph_of_plan_launch)->UseManualTime()->Iterations(kBatches);
BENCHMARK(cublas_gemm_ex)->UseManualTime()->Iterations(kBatches);

}  // namespace
}  // namespace hotgemm
