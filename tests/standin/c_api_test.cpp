// The C interface: the same calls as in C++, structs of other versions, texts, and errors.

#include "standin/c_api_fixture.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <latch>
#include <map>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

namespace hotgemm::standin {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST_F(CApiTest, ACallComputes) {
  make();
  expect_call(HOTGEMM_SUCCESS);
  EXPECT_EQ(stats().launches, 1u);
  EXPECT_STREQ(hotgemm_version(), HOTGEMM_VERSION);
}

TEST_F(CApiTest, EveryFieldOfAProblemPassesThroughItsText) {
  const char* const texts[] = {
      "8 16 24 nt bf16*bf16>f32 order=deterministic sms=7 align=16",
      "8 16 24 tn s8*s8>f16 batch=3 epilogue=scale_a+scale_b:vector+bias:row+silu align=16",
      "8 16 24 nt e4m3*e5m2>bf16 acc=f32,fast epilogue=aux+gelu_erf+residual+scale_d+scalars align=16",
      "8 16 24 nt bf16 groups=3 align=16",
      "8 16 24 nn f16 acc=f16 prepacked=ab align=16",
      "8 16 24 nn f16 prepacked=a align=16",
      "8 16 24 nt e4m3 epilogue=amax align=16",
      "8 16 24 nt f16 batch=3,pointers epilogue=aux:bits+relu align=16",
      "8 16 24 nt f16 epilogue=drelu:bits+bias_gradient:row align=16",
      "8 16 24 nt f16 epilogue=gated:interleaved+silu align=16",
      "128 256 256 nt e4m3*e4m3>bf16 epilogue=scale_a:block_1x128+scale_b:block_128x128 align=16"};
  for (const char* text : texts) {
    const Problem expected = parse_workload(text);
    hotgemm_problem problem = HOTGEMM_PROBLEM_INIT;
    ASSERT_EQ(hotgemm_problem_parse(to_string(expected).c_str(), &problem), HOTGEMM_SUCCESS) << last_error();
    EXPECT_EQ(text_of([&](auto... out) { return hotgemm_problem_text(&problem, nullptr, out...); }),
              to_string(Workload(expected)));
  }
  hotgemm_problem problem = HOTGEMM_PROBLEM_INIT;
  EXPECT_EQ(hotgemm_problem_parse("8 16 24 nt f16 align=16", &problem), HOTGEMM_INVALID_ARGUMENT);
  EXPECT_THAT(last_error(), HasSubstr("align"));
}

TEST_F(CApiTest, TheTextOfACallHasItsAlignment) {
  const hotgemm_problem problem = c_problem();
  hotgemm_operands operands = HOTGEMM_OPERANDS_INIT;
  operands.a = operands.b = operands.d = reinterpret_cast<void*>(0x1002);
  operands.lda = 8;
  operands.ldb = operands.ldd = 16;
  EXPECT_EQ(text_of([&](auto... out) { return hotgemm_problem_text(&problem, &operands, out...); }),
            "8 16 8 nn f16 align=2");
}

TEST_F(CApiTest, TextThatDoesNotFitIsCut) {
  const hotgemm_problem problem = c_problem();
  char small[6] = {'?', '?', '?', '?', '?', '?'};
  std::size_t length = 0;
  EXPECT_EQ(hotgemm_problem_text(&problem, nullptr, small, 5, &length), HOTGEMM_SUCCESS);
  EXPECT_EQ(std::string(small, 6), std::string("8 16\0?", 6));
  EXPECT_EQ(length, std::string("8 16 8 nn f16 align=16").size());
  EXPECT_EQ(hotgemm_problem_text(&problem, nullptr, nullptr, 5, &length), HOTGEMM_INVALID_ARGUMENT);
}

/// A plan of `problem` by the policy of `context`. The caller destroys it.
hotgemm_plan* made_plan(hotgemm_context* context, const hotgemm_problem& problem, hotgemm_stream stream) {
  hotgemm_plan* plan = nullptr;
  EXPECT_EQ(hotgemm_plan_create(context, &problem, nullptr, HOTGEMM_POLICY_OF_CONTEXT, stream, nullptr, &plan),
            HOTGEMM_SUCCESS)
      << last_error();
  return plan;
}
hotgemm_plan_facts facts_of(const hotgemm_plan* plan) {
  hotgemm_plan_facts facts = HOTGEMM_PLAN_FACTS_INIT;
  EXPECT_EQ(hotgemm_plan_get_facts(plan, &facts), HOTGEMM_SUCCESS);
  return facts;
}

TEST_F(CApiTest, APlanIsMadeToldAndLaunched) {
  make();
  const hotgemm_problem problem = c_problem();
  hotgemm_plan* plan = made_plan(c_context_, problem, stream());
  ASSERT_NE(plan, nullptr);
  const hotgemm_plan_facts facts = facts_of(plan);
  EXPECT_EQ(facts.origin, HOTGEMM_ORIGIN_ESTIMATED);
  EXPECT_GT(facts.registers, 0);
  EXPECT_EQ(facts.cublas_ratio, 0);
  const Resources resources = plan->plan.resources();
  EXPECT_EQ(std::tuple(facts.registers, facts.spill_bytes, facts.smem_bytes, facts.threads),
            std::tuple(resources.registers, resources.spill_bytes, resources.smem_bytes, resources.threads));
  EXPECT_EQ(facts.compile_ms, resources.compile_ms);
  EXPECT_EQ(facts.workspace_bytes, plan->plan.workspace_bytes());
  const std::string config = text_of([&](auto... out) { return hotgemm_plan_config(plan, out...); });
  EXPECT_THAT(text_of([&](auto... out) { return hotgemm_plan_explain(plan, out...); }), HasSubstr(config));
  expect_right(small_case(), stream(), [&](const Operands& o) {
    const hotgemm_operands operands = c_operands(o);
    EXPECT_EQ(hotgemm_plan_launch(plan, &operands, stream(), nullptr), HOTGEMM_SUCCESS) << last_error();
  });
  std::int32_t replaced = 7;
  EXPECT_EQ(hotgemm_plan_refresh(c_context_, plan, &replaced), HOTGEMM_SUCCESS);
  EXPECT_EQ(replaced, 0);
  hotgemm_plan_destroy(plan);
  EXPECT_EQ(hotgemm_plan_create(c_context_, &problem, nullptr, 9, stream(), nullptr, &plan), HOTGEMM_INVALID_ARGUMENT);
  EXPECT_EQ(plan, nullptr);
}

TEST_F(CApiTest, APlanTellsTheRatioToCublasOfItsRecord) {
  const GemmCase c = small_case();
  {
    Context other(options(Policy::estimate));
    TuningRecord record = record_of(other, c, choices(c).front());
    record.cublas = {.version = "13.1.0", .algorithm = "", .ratio = 1.0625, .default_ratio = 1.25};
    impl_of(other).engine().database.add(record);
  }
  make();
  hotgemm_plan* plan = made_plan(c_context_, c_problem(), stream());
  ASSERT_NE(plan, nullptr);
  const hotgemm_plan_facts facts = facts_of(plan);
  EXPECT_EQ(facts.origin, HOTGEMM_ORIGIN_TUNED);
  EXPECT_EQ(facts.cublas_ratio, 1.25) << "of its default";
  hotgemm_plan_destroy(plan);
}

// ---- structs of other versions ----

TEST_F(CApiTest, AStructOfANewerVersionPassesIfItsNewFieldsAreNotSet) {
  make();
  struct Newer {
    hotgemm_problem problem = c_problem();
    std::int64_t added = 0;
  } newer;
  newer.problem.size = sizeof(Newer);
  const auto run = [&](hotgemm_status status) {
    CaseRun run(Driver::get(), small_case(), stream());
    run.fill(CaseRun::Data::integers, 1);
    run.run([&](const Operands& o) { EXPECT_EQ(call(newer.problem, o), status); });
  };
  run(HOTGEMM_SUCCESS);
  newer.added = 1;
  run(HOTGEMM_NOT_SUPPORTED);
  EXPECT_THAT(last_error(), HasSubstr("problem has a field beyond byte " + std::to_string(sizeof(hotgemm_problem))));
  newer.problem.size = 8;
  run(HOTGEMM_INVALID_ARGUMENT);
  EXPECT_THAT(last_error(), HasSubstr("problem.size is 8"));
}

TEST_F(CApiTest, AnOlderStructTakesNoTextThatItHasNoFieldFor) {
  hotgemm_problem older = HOTGEMM_PROBLEM_INIT;
  older.size = offsetof(hotgemm_problem, function);
  EXPECT_EQ(hotgemm_problem_parse("8 16 24 nt f16 epilogue=bias+relu", &older), HOTGEMM_SUCCESS) << last_error();
  EXPECT_EQ(older.activation, HOTGEMM_RELU);
  for (const char* text : {"8 16 24 nt f16 epilogue=aux:bits+relu", "8 16 24 nt f16 epilogue=bias_gradient",
                           "8 16 24 nt f16 epilogue=function:4c6b5b4fc29f0013"}) {
    EXPECT_EQ(hotgemm_problem_parse(text, &older), HOTGEMM_NOT_SUPPORTED) << text;
    EXPECT_THAT(last_error(), HasSubstr("problem.size is 144"));
  }
  EXPECT_EQ(older.activation, HOTGEMM_RELU) << "an error changes nothing";
}

TEST_F(CApiTest, AFunctionWritesNoByteBeyondTheRoomOfTheCaller) {
  make();
  struct {
    hotgemm_stats stats = HOTGEMM_STATS_INIT;
    std::uint64_t guard = 77;
  } out;
  out.stats.size = sizeof(out);
  EXPECT_EQ(hotgemm_get_stats(c_context_, &out.stats), HOTGEMM_SUCCESS);
  EXPECT_EQ(out.guard, 77u);
  EXPECT_EQ(out.stats.size, sizeof(out));
  out.stats.size = sizeof(hotgemm_stats) - 1;
  EXPECT_EQ(hotgemm_get_stats(c_context_, &out.stats), HOTGEMM_INVALID_ARGUMENT);
}

// ---- errors ----

TEST_F(CApiTest, BadArgumentsAreNamed) {
  make();
  const auto expect_bad = [&](hotgemm_status status, const char* part, auto&& change) {
    hotgemm_problem problem = c_problem();
    change(problem);
    const hotgemm_operands operands = HOTGEMM_OPERANDS_INIT;
    EXPECT_EQ(hotgemm_gemm(c_context_, &problem, &operands, stream(), nullptr), status) << part;
    EXPECT_THAT(last_error(), HasSubstr(part));
  };
  expect_bad(HOTGEMM_INVALID_ARGUMENT, "m is negative", [](hotgemm_problem& p) { p.m = -1; });
  expect_bad(HOTGEMM_INVALID_ARGUMENT, "type_b is 256", [](hotgemm_problem& p) { p.type_b = 256; });
  expect_bad(HOTGEMM_INVALID_ARGUMENT, "the type of A is 100", [](hotgemm_problem& p) { p.type_a = 100; });
  expect_bad(HOTGEMM_INVALID_ARGUMENT, "aux is 2", [](hotgemm_problem& p) { p.aux = 2; });
  expect_bad(HOTGEMM_INVALID_ARGUMENT, "order is -1", [](hotgemm_problem& p) { p.order = -1; });
  expect_bad(HOTGEMM_INVALID_ARGUMENT, "the gate is 3", [](hotgemm_problem& p) { p.gated = 3; });
  expect_bad(HOTGEMM_NOT_SUPPORTED, "derivative with a gated epilogue",
             [](hotgemm_problem& p) { p.gated = HOTGEMM_GATE_HALVES, p.activation = HOTGEMM_DSILU; });
  expect_bad(HOTGEMM_INVALID_ARGUMENT, "bits is 2", [](hotgemm_problem& p) { p.bits = 2; });
  expect_bad(HOTGEMM_INVALID_ARGUMENT, "the gradient of a bias is 3", [](hotgemm_problem& p) { p.bias_gradient = 3; });

  const hotgemm_problem problem = c_problem();
  const hotgemm_operands operands = HOTGEMM_OPERANDS_INIT;
  EXPECT_EQ(hotgemm_gemm(nullptr, &problem, &operands, stream(), nullptr), HOTGEMM_INVALID_ARGUMENT);
  EXPECT_EQ(last_error(), "context is null");
  EXPECT_EQ(hotgemm_gemm(c_context_, nullptr, &operands, stream(), nullptr), HOTGEMM_INVALID_ARGUMENT);
  EXPECT_EQ(hotgemm_gemm(c_context_, &problem, nullptr, stream(), nullptr), HOTGEMM_INVALID_ARGUMENT);
  EXPECT_EQ(last_error(), "operands is null");
  for (const auto& [flags, device] : {std::pair{16u, -1}, {8u, -1}, {0u, -2}, {0u, 1000}}) {
    hotgemm_call how = HOTGEMM_CALL_INIT;
    how.flags = flags;
    how.device = device;
    ASSERT_EQ(driver_.cuCtxSetCurrent(device == 1000 ? nullptr : cuda_context_), CUDA_SUCCESS);
    EXPECT_NE(hotgemm_gemm(c_context_, &problem, &operands, stream(), &how), HOTGEMM_SUCCESS);
    EXPECT_THAT(last_error(), HasSubstr(device == 1000 ? "1000" : flags != 0 ? "call.flags" : "call.device"));
  }
  ASSERT_EQ(driver_.cuCtxSetCurrent(cuda_context_), CUDA_SUCCESS);
}

TEST_F(CApiTest, TheMessageIsWrittenWhereTheCallAsks) {
  make();
  char message[200] = "";
  hotgemm_call how = HOTGEMM_CALL_INIT;
  how.error = message;
  how.error_size = sizeof(message);
  hotgemm_problem problem = c_problem(-5);
  const hotgemm_operands operands = HOTGEMM_OPERANDS_INIT;
  EXPECT_EQ(hotgemm_gemm(c_context_, &problem, &operands, stream(), &how), HOTGEMM_INVALID_ARGUMENT);
  EXPECT_STREQ(message, "m is negative: -5");
  std::thread([] { EXPECT_EQ(last_error(), ""); }).join();
}

TEST_F(CApiTest, AThreadThatEndsMayStillFail) {
  struct CallsAtTheEnd {
    ~CallsAtTheEnd() {
      EXPECT_EQ(hotgemm_set_log_level("no level"), HOTGEMM_INVALID_ARGUMENT);
      EXPECT_EQ(last_error(), "") << "the thread's message is gone";
    }
  };
  std::thread([] {
    thread_local CallsAtTheEnd made_first;  // and so destroyed last
    [[maybe_unused]] const auto* used = &made_first;
    EXPECT_EQ(hotgemm_set_log_level("no level"), HOTGEMM_INVALID_ARGUMENT);
    EXPECT_NE(last_error(), "");
  }).join();
}

TEST_F(CApiTest, EveryStatusHasAName) {
  EXPECT_STREQ(hotgemm_status_name(HOTGEMM_SUCCESS), "success");
  EXPECT_STREQ(hotgemm_status_name(HOTGEMM_NOT_PREPARED), "not_prepared");
  EXPECT_STREQ(hotgemm_status_name(HOTGEMM_INTERNAL), "internal");
  EXPECT_STREQ(hotgemm_status_name(HOTGEMM_INTERNAL + 1), "unknown");
  EXPECT_STREQ(hotgemm_status_name(-1), "unknown");
}

// ---- options ----

TEST_F(CApiTest, EveryOptionIsRead) {
  const std::map<std::string, std::string> values = {
      {"policy", "cached_only"}, {"objective", "energy"},    {"cache.mode", "ro"}, {"cache.read_only_layers", "/a:/b"},
      {"cache_directory", "/c"}, {"template_directory", ""}, {"worker", "none"},   {"problem_log", "none"}};
  const std::string names = text_of([](auto... out) { return hotgemm_option_names(out...); });
  std::size_t count = 0;
  for (std::size_t begin = 0, end; (end = names.find('\n', begin)) != std::string::npos; begin = end + 1, ++count) {
    const std::string name = names.substr(begin, end - begin);
    const auto known = values.find(name);
    for (const std::string& value : {known != values.end() ? known->second : std::string("1"), std::string("\x01")}) {
      const hotgemm_option option{name.c_str(), value.c_str()};
      hotgemm_context* made = nullptr;
      const hotgemm_status status = hotgemm_context_create(&option, 1, &made);
      const bool is_text = name == "cache_directory" || name == "template_directory" || name == "worker" ||
                           name == "problem_log" || name == "cache.read_only_layers";
      if (value == "\x01" && !is_text) {
        EXPECT_EQ(status, HOTGEMM_INVALID_ARGUMENT) << name;
        EXPECT_THAT(last_error(), HasSubstr("option " + name + " is "));
      } else if (value != "\x01") {
        EXPECT_EQ(status, HOTGEMM_SUCCESS) << name << ": " << last_error();
      }
      hotgemm_context_destroy(made);
    }
  }
  EXPECT_EQ(count, 30u);
  hotgemm_context* made = nullptr;
  const hotgemm_option huge{"tuning.scratch_bytes", "9000000000G"};  // more than 63 bits hold
  EXPECT_EQ(hotgemm_context_create(&huge, 1, &made), HOTGEMM_INVALID_ARGUMENT);
  EXPECT_THAT(last_error(), HasSubstr("option tuning.scratch_bytes is '9000000000G'; it is too large"));
  const hotgemm_option unknown{"polici", "tune"};
  EXPECT_EQ(hotgemm_context_create(&unknown, 1, &made), HOTGEMM_INVALID_ARGUMENT);
  EXPECT_THAT(last_error(), HasSubstr("there is no option 'polici'"));
}

// ---- contexts and devices ----

TEST_F(CApiTest, AThreadWithoutAContextUsesThatOfTheDeviceItNames) {
  make();
  GemmCase c = small_case();
  expect_right(c, stream(), [&](const Operands& o) {
    std::thread([&] {
      hotgemm_call how = HOTGEMM_CALL_INIT;
      const hotgemm_problem problem = c_problem();
      const hotgemm_operands operands = c_operands(o);
      EXPECT_EQ(hotgemm_gemm(c_context_, &problem, &operands, nullptr, &how), HOTGEMM_NO_DEVICE);
      how.device = 0;
      EXPECT_EQ(hotgemm_gemm(c_context_, &problem, &operands, nullptr, &how), HOTGEMM_SUCCESS) << last_error();
      CUcontext current = nullptr;
      driver_.cuCtxGetCurrent(&current);
      EXPECT_EQ(current, nullptr) << "the call leaves no context behind";
    }).join();
    driver_.cuStreamSynchronize(nullptr);
  });
}

TEST_F(CApiTest, ADeviceThatItNamesMayBeReset) {
  make();
  hotgemm_call how = HOTGEMM_CALL_INIT;
  how.device = 0;
  const auto plan_without_context = [&] {
    std::thread([&] {
      const hotgemm_problem problem = c_problem();
      hotgemm_plan* plan = nullptr;
      EXPECT_EQ(hotgemm_plan_create(c_context_, &problem, nullptr, HOTGEMM_ESTIMATE, nullptr, &how, &plan), 0)
          << last_error();
      hotgemm_plan_destroy(plan);
    }).join();
  };
  plan_without_context();
  stream_.reset();
  for (int i = 0; i < 2; ++i) {
    standin().reset_primary(0);
    plan_without_context();
    plan_without_context();
  }
  EXPECT_EQ(stats().plans, 3u) << "one in each context";
  EXPECT_THAT(standin().violations(), testing::IsEmpty());
}

TEST_F(CApiTest, AChildIsToldAlthoughNoCallOfItsParentWasGood) {
  make();
  hotgemm_call how = HOTGEMM_CALL_INIT;
  how.device = 0;
  hotgemm_problem problem = c_problem(-1);
  const hotgemm_operands operands = HOTGEMM_OPERANDS_INIT;
  ASSERT_EQ(hotgemm_gemm(c_context_, &problem, &operands, nullptr, &how), HOTGEMM_INVALID_ARGUMENT);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(hotgemm_gemm(c_context_, &problem, &operands, nullptr, &how));
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), HOTGEMM_FORKED);
}

TEST_F(CApiTest, ALogSinkIsNotRunningAfterItWasRemoved) {
  make();
  struct Sink {
    std::latch entered{1}, held{1};
    std::atomic<bool> is_left{false};
  } state;
  hotgemm_set_log_level("info");
  hotgemm_set_log_sink(
      [](void* user, const char* level, const char* message) {
        auto& s = *static_cast<Sink*>(user);
        EXPECT_STREQ(level, "info");
        EXPECT_NE(std::strlen(message), 0u);
        if (s.is_left) return;
        s.entered.count_down();
        s.held.wait();
        std::this_thread::sleep_for(20ms);
        s.is_left = true;
      },
      &state);
  std::thread caller([&] {
    ASSERT_EQ(driver_.cuCtxSetCurrent(cuda_context_), CUDA_SUCCESS);
    expect_call(HOTGEMM_SUCCESS);
  });
  state.entered.wait();
  state.held.count_down();
  EXPECT_EQ(hotgemm_set_log_sink(nullptr, nullptr), HOTGEMM_SUCCESS);
  EXPECT_TRUE(state.is_left);
  hotgemm_set_log_level("warn");
  caller.join();
}

TEST_F(CApiTest, CountersAndRecordsAreTold) {
  make();
  expect_call(HOTGEMM_SUCCESS);
  EXPECT_THAT(text_of([&](auto... out) { return hotgemm_metrics(c_context_, out...); }),
              HasSubstr("hotgemm_launches_total 1\n"));
  EXPECT_EQ(text_of([&](auto... out) { return hotgemm_records_digest(c_context_, out...); }).size(), 64u);
  EXPECT_EQ(stats().estimated, 1u);
  EXPECT_GT(stats().planning_s, 0);
  hotgemm_context_destroy(std::exchange(c_context_, nullptr));

  make({{"policy", "tune"}});
  expect_call(HOTGEMM_SUCCESS);
  const hotgemm_problem problem = c_problem();
  ASSERT_EQ(hotgemm_forget(c_context_, &problem, nullptr, 0), HOTGEMM_SUCCESS);
  const Stats told = c::context_of(c_context_).stats();
  EXPECT_GT(told.tuning.total_s, 0);
  EXPECT_EQ(std::tuple(stats().planning_s, stats().compiling_s, stats().tuning_s, stats().waiting_s),
            std::tuple(told.planning.total_s, told.compiling.total_s, told.tuning.total_s, told.waiting.total_s));
  EXPECT_EQ(stats().plans, 1u);
  EXPECT_EQ(stats().live_plans, 0u);
}

}  // namespace
}  // namespace hotgemm::standin
