#include "plan/shortlist.hpp"

#include "config/work.hpp"
#include "plan/model.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <variant>

namespace hotgemm {
namespace {

constexpr int kFamilyShare = 8;  // 1 / kFamilyShare of the places is for families other than the first
constexpr int kTileVariants = 4;

/// The number of places that one family gives to variants of one tile with one division of its work.
struct VariantQuotas {
  int pipelines = 3;
  int depths = 3;  ///< variants that differ only in the depth of the pipeline
};

template <class Config>
constexpr VariantQuotas quotas_of(const Config&) {
  return {};
}
/// The menu of wgmma has the deepest pipeline first, and the others hardly differ from it.
constexpr VariantQuotas quotas_of(const WgmmaConfig&) { return {.pipelines = 2, .depths = 1}; }

/// The places for transposed tiles. Plain tiles of the same size tie with them. A plain tile has 64, 128 or more rows;
/// a transposed one gains where these are more than m, or a part of the last tile.
int places_of_transposed(int count, std::int64_t m) {
  const std::int64_t rows = (m + 127) / 128 * 128;
  const bool may_gain = rows * 100 >= m * 103;
  return std::max(count / (may_gain ? 3 : 10), 1);
}

bool is_transposed(const KernelConfig& config) {
  const auto* const wgmma = std::get_if<WgmmaConfig>(&config);
  return wgmma != nullptr && wgmma->transposed;
}

/// The name of the config without the fields of `kinds`.
std::string name_without(const KernelConfig& config, std::initializer_list<FieldKind> kinds) {
  std::string name(family_of(config).name);
  const auto add = [&](const ConfigField& field, auto value) {
    if (std::ranges::find(kinds, field.kind) != kinds.end()) return;
    name += "_" + (field.tag + std::to_string(static_cast<int>(value)));
  };
  std::visit([&](const auto& c) { c.visit_fields(c, add); }, config);
  return name;
}

/// Counts how many configs of each kind have been taken.
class Quotas {
 public:
  Quotas(int count, std::int64_t m)
      : per_family_(std::max(count - count / kFamilyShare, 1)), of_transposed_(places_of_transposed(count, m)) {}

  bool take(const KernelConfig& config) {
    const VariantQuotas most = std::visit([](const auto& c) { return quotas_of(c); }, config);
    const std::string name(family_of(config).name);
    int& family = taken_[name];
    int& tile = taken_[name + std::to_string(block_m(config)) + "x" + std::to_string(block_n(config))];
    int& pipelines = taken_["pipelines of " + name_without(config, {FieldKind::pipeline, FieldKind::depth})];
    int& depths = taken_["depths of " + name_without(config, {FieldKind::depth})];
    if (is_transposed(config) && transposed_ >= of_transposed_) return false;
    if (family >= per_family_ || tile >= kTileVariants) return false;
    if (pipelines >= most.pipelines || depths >= most.depths) return false;
    ++family, ++tile, ++pipelines, ++depths;
    if (is_transposed(config)) ++transposed_;
    return true;
  }

 private:
  int per_family_;
  int of_transposed_;
  int transposed_ = 0;
  std::map<std::string, int> taken_;
};

}  // namespace

std::vector<KernelConfig> shortlist(std::vector<KernelConfig> configs, const Workload& problem,
                                    const DeviceInfo& device, int count) {
  std::vector<KernelConfig> ranked = rank(std::move(configs), problem, device);
  const std::size_t places = std::min(ranked.size(), static_cast<std::size_t>(std::max(count, 0)));
  Quotas quotas(count, with_uniform_groups(problem).m);
  std::vector<bool> is_in(ranked.size());
  std::size_t taken = 0;
  for (const bool keeps_quotas : {true, false}) {
    for (std::size_t i = 0; i < ranked.size() && taken < places; ++i) {
      if (is_in[i] || (keeps_quotas && !quotas.take(ranked[i]))) continue;
      is_in[i] = true;
      ++taken;
    }
  }
  std::vector<KernelConfig> list;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    if (is_in[i]) list.push_back(ranked[i]);
  }
  return list;
}

}  // namespace hotgemm
