#pragma once

#include "emulate/gemm_kernel.hpp"
#include "ladder/rung_table.hpp"

#include <cstddef>
#include <utility>

namespace hotgemm::emulate {

/// The config of rung kIndex, which must belong to this family.
template <class Config, std::size_t kIndex>
inline constexpr Config kRungConfig = std::get<Config>(*kRungs[kIndex].config);

/// The traits that the ladder uses by default: the widest accesses, and sums of f16 in f16.
template <std::size_t kIndex>
inline constexpr GemmTraits kRungTraits = kRungs[kIndex].traits();

/// True if rung `index` belongs to the family and no earlier rung has the same kernel.
template <class Config>
constexpr bool is_first_with_kernel(std::size_t index) {
  const auto& rung = kRungs[index];
  if (!rung.config || !std::holds_alternative<Config>(*rung.config)) return false;
  for (std::size_t i = 0; i < index; ++i) {
    if (kRungs[i].config == rung.config && kRungs[i].element == rung.element && kRungs[i].op_b == rung.op_b)
      return false;
  }
  return true;
}

/// Calls visit<index>() for one rung of each kernel of a family.
template <class Config, class Visit>
void for_each_rung_kernel(Visit&& visit) {
  const auto visit_one = [&]<std::size_t kIndex>() {
    if constexpr (is_first_with_kernel<Config>(kIndex)) visit.template operator()<kIndex>();
  };
  [&]<std::size_t... kIndices>(std::index_sequence<kIndices...>) { (visit_one.template operator()<kIndices>(), ...); }
  (std::make_index_sequence<std::size(kRungs)>());
}

}  // namespace hotgemm::emulate
