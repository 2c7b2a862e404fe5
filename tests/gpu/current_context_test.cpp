// Calls of a thread that has no current CUDA context.

#include "gpu/gpu_fixture.hpp"

#include <hotgemm/error.hpp>

#include <functional>
#include <optional>
#include <thread>

namespace hotgemm {
namespace {

class NoCurrentContext : public GpuTest {
 protected:
  static void on_a_new_thread(const std::function<void()>& act) {
    std::thread thread([&] {
      CUcontext current = nullptr;
      driver().cuCtxGetCurrent(&current);
      EXPECT_EQ(current, nullptr);
      act();
      driver().cuCtxGetCurrent(&current);
      EXPECT_EQ(current, nullptr) << "the call has left a context behind";
    });
    thread.join();
  }
  static GemmCase some_case(std::int64_t m, std::int64_t k) {
    GemmCase c;
    c.problem = {.m = m, .n = 256, .k = k, .op_b = Op::t, .types = kBf16};
    c.set_tight_ld(8);
    return c;
  }
  void expect_right(const GemmCase& c, const std::function<void(const Operands&)>& call) {
    CaseRun run(driver(), c, stream());
    run.fill(CaseRun::Data::integers, 3);
    run.run([&](const Operands& operands) { on_a_new_thread([&] { call(operands); }); });
    EXPECT_EQ(run.inexact(), "");
    EXPECT_EQ(run.stray_write(), "");
  }
};

TEST_F(NoCurrentContext, TheContextOfTheStreamIsUsed) {
  TemporaryDirectory cache;
  Context context(options_for(Policy::estimate, cache.string()));
  for (const auto& [m, k] : {std::pair(192, 320), std::pair(64, 8192)}) {  // without and with workspace
    const GemmCase c = some_case(m, k);
    for (int call = 0; call < 2; ++call) {  // cold and warm
      expect_right(c, [&](const Operands& o) { context.gemm(stream(), c.problem, o); });
    }
    std::optional<Plan> plan;
    on_a_new_thread([&] { plan = context.plan(c.described(), Policy::estimate, stream()); });
    expect_right(c, [&](const Operands& o) { plan->launch(stream(), o); });
  }
}

TEST_F(NoCurrentContext, ADefaultStreamHasNone) {
  const GemmCase c = some_case(192, 320);
  on_a_new_thread([&] {
    try {
      gpu().context().plan(c.described(), Policy::estimate, nullptr);
      ADD_FAILURE() << "planned in no context";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::no_device) << error.what();
    }
  });
}

}  // namespace
}  // namespace hotgemm
