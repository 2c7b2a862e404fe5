#pragma once

#include "standin/control_fixture.hpp"

#include "c/handles.hpp"

#include <hotgemm/hotgemm.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace hotgemm::standin {
/// The text that a function of the interface gives.
template <class Give>
std::string text_of(Give&& give) {
  std::size_t length = 0;
  EXPECT_EQ(give(nullptr, std::size_t{0}, &length), HOTGEMM_SUCCESS);
  std::string text(length, '?');
  EXPECT_EQ(give(text.data(), length + 1, &length), HOTGEMM_SUCCESS);
  EXPECT_EQ(text.size(), length);
  return text;
}

inline std::string last_error() {
  std::string text(hotgemm_last_error(nullptr, 0), '?');
  hotgemm_last_error(text.data(), text.size() + 1);
  return text;
}

inline hotgemm_problem c_problem(std::int64_t m = 8, std::int64_t n = 16, std::int64_t k = 8) {
  hotgemm_problem problem = HOTGEMM_PROBLEM_INIT;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  return problem;
}

inline hotgemm_operands c_operands(const Operands& o) {
  hotgemm_operands result;
  static_assert(sizeof(result) == sizeof(o));
  std::memcpy(&result, &o, sizeof(o));
  return result;
}

class CApiTest : public ControlTest {
 protected:
  void TearDown() override {
    hotgemm_context_destroy(c_context_);
    hotgemm_set_log_sink(nullptr, nullptr);
    ControlTest::TearDown();
  }

  /// A context with the cache of the test. It tunes few candidates, and has time for them where other tests run on all
  /// cores: the usual two seconds then end while the candidates are compiled.
  hotgemm_context* make(std::map<std::string, std::string> options = {}) {
    options.insert({{"policy", "estimate"},
                    {"cache_directory", cache_.path().string()},
                    {"worker", "none"},
                    {"tuning.max_candidates", "4"},
                    {"tuning.budget_s", "60"}});
    std::vector<hotgemm_option> list;
    for (const auto& [name, value] : options) list.push_back({name.c_str(), value.c_str()});
    EXPECT_EQ(hotgemm_context_create(list.data(), list.size(), &c_context_), HOTGEMM_SUCCESS) << last_error();
    return c_context_;
  }
  /// Tunes one problem in the same way; hotgemm_tune has options of its own.
  hotgemm_status tune(const char* problem) {
    hotgemm_tune_options options = HOTGEMM_TUNE_OPTIONS_INIT;
    options.max_candidates = 4;
    options.budget_s = 60;
    return hotgemm_tune(c_context_, &problem, 1, &options, nullptr);
  }
  hotgemm_status call(const hotgemm_problem& problem, const Operands& o, const hotgemm_call* how = nullptr) {
    const hotgemm_operands operands = c_operands(o);
    return hotgemm_gemm(c_context_, &problem, &operands, stream(), how);
  }
  /// Expects `status` of a call of problem `c`, and a right result if that is success.
  void expect_call(hotgemm_status status, std::uint32_t flags = 0, const GemmCase& c = small_case()) {
    hotgemm_call how = HOTGEMM_CALL_INIT;
    how.flags = flags;
    hotgemm_problem problem = c_problem(c.problem.m, c.problem.n, c.problem.k);
    if (status != HOTGEMM_SUCCESS) {
      CaseRun run(Driver::get(), c, stream());
      run.fill(CaseRun::Data::integers, 1);
      run.run([&](const Operands& o) { EXPECT_EQ(call(problem, o, &how), status) << last_error(); });
      return;
    }
    expect_right(c, stream(), [&](const Operands& o) { EXPECT_EQ(call(problem, o, &how), status) << last_error(); });
  }
  hotgemm_stats stats() {
    hotgemm_stats stats = HOTGEMM_STATS_INIT;
    EXPECT_EQ(hotgemm_get_stats(c_context_, &stats), HOTGEMM_SUCCESS);
    return stats;
  }
  /// Waits until the thread of the library has nothing to do.
  void wait() {
    std::int32_t done = 0;
    EXPECT_EQ(hotgemm_wait_tuned(c_context_, 60, &done), HOTGEMM_SUCCESS);
    EXPECT_EQ(done, 1);
  }

  hotgemm_context* c_context_ = nullptr;
};

}  // namespace hotgemm::standin
