#pragma once

#include "standin/fake_trials.hpp"
#include "standin/runtime_fixture.hpp"

#include "gpu/code_digest.hpp"
#include "tune/tune.hpp"

#include <cstdlib>
#include <string>
#include <vector>

namespace hotgemm::standin {

/// A test with planted kernels and worker processes.
class GuestFixture : public RuntimeTest {
 protected:
  static constexpr int kCandidates = 8;

  void TearDown() override {
    ::unsetenv("HOTGEMM_STANDIN_SCRIPT");
    RuntimeTest::TearDown();
  }

  Workload problem() const { return small_case().described(); }
  /// The configs that are measured, in the order of their check; their kernels are in the cache afterwards.
  std::vector<KernelConfig> measured_configs() {
    DeviceState& device = impl_of(context()).current();
    Engine& engine = impl_of(context()).engine();
    std::vector<Candidate> rows = tuning_candidates(device, problem(), kCandidates);
    build_candidates(rows, problem(), device.environment(), engine, 0);
    device.check_kernels();
    merge_twins(rows, problem());
    std::vector<KernelConfig> configs;
    for (const Candidate& c : rows) {
      if (c.is_alive()) configs.push_back(c.config);
    }
    forget_context();
    return configs;
  }
  /// Makes the kernels of `configs` vetted.
  void vet(const std::vector<KernelConfig>& configs) {
    Engine& engine = impl_of(context()).engine();
    const Environment where = impl_of(context()).current().environment();
    std::vector<Candidate> rows;
    for (const KernelConfig& config : configs) rows.push_back({.config = config});
    build_candidates(rows, problem(), where, engine, 0);
    for (const Candidate& c : rows) engine.vetted.add({kernel_digest(*c.cubin), where.gpu, where.driver});
  }
  /// Makes `config` the fastest kernel, which ends by `fate`, in processes that start from now on.
  static void plant(const KernelConfig& config, const std::string& fate) {
    const std::string symbol = symbol_part(config);
    ::setenv("HOTGEMM_STANDIN_SCRIPT", ("hotgemm_=speed:1000;" + symbol + "=speed:300;" + symbol + "=" + fate).c_str(),
             1);
  }
  ContextOptions with_worker() const {
    ContextOptions how = options(Policy::tune, kCandidates);
    how.tuning.budget_s = 8;  // a kernel hangs if it says nothing for a quarter of this
    how.worker = HOTGEMM_COMMAND;
    return how;
  }
  /// The reason for which a new process rejects `config`; "" if it does not.
  std::string remembered(const KernelConfig& config) {
    const Engine engine(options(Policy::estimate));
    for (const RejectionRecord& record : engine.rejections.all()) {
      if (record.config == to_string(config)) return record.reason;
    }
    return "";
  }
};

}  // namespace hotgemm::standin
