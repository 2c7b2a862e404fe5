#pragma once

#include "shared/arch_limits.hpp"
#include "shared/gemm_traits.hpp"

#include <optional>
#include <type_traits>

namespace hotgemm {

/// The registers that a thread must hold at once, and the number that it may have.
struct LiveRegisters {
  int accumulators = 0;
  int fragments = 0;
  int staging = 0;  ///< loaded values that are not yet stored to shared memory
  int budget = 0;

  int all() const { return accumulators + fragments + staging; }
};

/// The live registers from the config's accumulator_registers, fragment_registers and staging_registers. nullopt for a
/// family that leaves its registers to the compiler and only states an estimate.
template <class Config>
std::optional<LiveRegisters> live_registers(const Config& c, const GemmTraits& traits, const ArchLimits& arch) {
  if constexpr (requires { c.accumulator_registers(traits); }) {
    LiveRegisters live{.accumulators = c.accumulator_registers(traits)};
    if constexpr (requires { c.fragment_registers(); }) live.fragments = c.fragment_registers();
    if constexpr (requires { c.fragment_registers(traits); }) live.fragments = c.fragment_registers(traits);
    if constexpr (requires { c.staging_registers(traits); }) live.staging = c.staging_registers(traits);
    live.budget = register_budget(arch.registers_per_sm, c.threads(), c.blocks_per_sm);
    if constexpr (requires { c.consumer_registers(traits); }) live.budget = c.consumer_registers(traits);
    return live;
  } else {
    static_assert(
        requires { Config::kEstimatedRegisters; },
        "this config states neither accumulator_registers(traits), from which occupancy and refusals are "
        "computed, nor kEstimatedRegisters (templates/shared/<family>_config.hpp)");
    return std::nullopt;
  }
}

}  // namespace hotgemm
