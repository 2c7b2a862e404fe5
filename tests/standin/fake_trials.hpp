#pragma once

#include "standin/fake_cubin.hpp"

#include "config/render.hpp"
#include "config/traits.hpp"
#include "tune/measurer.hpp"
#include "tune/search.hpp"

#include <memory>
#include <string>
#include <vector>

namespace hotgemm::standin {

/// Candidates for `problem` whose kernels run only on the stand-in: nothing is compiled.
inline std::vector<Candidate> fake_candidates(const Workload& problem, std::size_t count) {
  static const TemplateBundle bundle = TemplateBundle::embedded();
  std::vector<Candidate> candidates = all_candidates(problem, nominal_device("sm_90a"));
  candidates.resize(count);
  for (Candidate& c : candidates) {
    const KernelSource source = render(c.config, traits_of(problem), "sm_90a", bundle);
    c.identity = source.identity.hex();
    c.cubin = std::make_shared<const Cubin>(
        Cubin{.image = fake_cubin({source.symbol}), .symbol = source.symbol, .arch = "sm_90a", .toolchain = "none"});
  }
  return candidates;
}

inline std::vector<Trial> fake_trials(const Workload& problem, std::size_t count) {
  std::vector<Trial> trials;
  for (const Candidate& c : fake_candidates(problem, count)) trials.push_back({c.config, c.launch, c.cubin});
  return trials;
}

/// A part of a kernel's symbol that no other config's symbol contains.
inline std::string symbol_part(const KernelConfig& config) { return "hotgemm_" + to_string(config) + "_f16"; }

}  // namespace hotgemm::standin
