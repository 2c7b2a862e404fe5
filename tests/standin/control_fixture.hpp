#pragma once

#include "standin/runtime_fixture.hpp"

#include "plan/choice.hpp"

#include <stdexcept>
#include <string>

namespace hotgemm::standin {

/// Tests of the functions by which a program controls its plans. The policy is `estimate` unless a test says otherwise.
class ControlTest : public RuntimeTest {
 protected:
  /// The choices without records, best first.
  std::vector<Choice> choices(const GemmCase& c) {
    DeviceState& device = impl_of(context(Policy::estimate)).current();
    return choose(c.described(), device.info().arch, Database(DatabaseOptions{}), device.query());
  }
  /// A choice of another config than the one that is estimated.
  Choice other_choice(const GemmCase& c) {
    const std::vector<Choice> all = choices(c);
    for (const Choice& choice : all) {
      if (choice.config != all.front().config) return choice;
    }
    throw std::runtime_error("there is one config only");
  }
  /// The record by which the class of `c` runs `choice`.
  static TuningRecord record_of(Context& context, const GemmCase& c, const Choice& choice) {
    return {.problem = c.described(),
            .config = choice.config,
            .launch = choice.launch,
            .timing = {.median_us = 1, .spread_us = 0.1, .samples = 7, .ratio = 1},
            .environment = impl_of(context).current().environment(),
            .template_digest = impl_of(context).engine().template_digest(choice.config)};
  }
  /// Adds that record to the cache directory as another process would.
  void record_elsewhere(const GemmCase& c, const Choice& choice) {
    Context other(options(Policy::estimate));
    impl_of(other).engine().database.add(record_of(other, c, choice));
  }
  std::size_t loads() const { return standin().calls("cuModuleLoadData"); }
};

}  // namespace hotgemm::standin
