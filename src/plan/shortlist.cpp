#include "plan/shortlist.hpp"

#include "plan/model.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace hotgemm {
namespace {

constexpr int kFamilyShare = 8;  // 1 / kFamilyShare of the places is for families other than the first
constexpr int kTileVariants = 4;
constexpr int kPipelines = 3;  // of a tile whose work is divided in one way
constexpr int kWgmmaPipelines = 2;

// Tags of the fields that say how a tile's operands come in and its results go out: not which tile, nor who computes
// which part of it.
constexpr std::array<std::string_view, 8> kPipelineTags = {"k", "s", "x", "f", "e", "b", "cm", "cn"};
// Of those the ones in which a variant of a wgmma tile hardly differs from its neighbour: the menu has the deepest
// first.
constexpr std::array<std::string_view, 2> kDepthTags = {"s", "b"};

/// The config's name without the fields of `tags`.
std::string name_without(const KernelConfig& config, const auto& tags) {
  std::string name(family_of(config).name);
  const auto add = [&](const char*, const char* tag, auto value) {
    if (std::ranges::find(tags, tag) == tags.end()) name += "_" + (tag + std::to_string(static_cast<int>(value)));
  };
  std::visit([&](const auto& c) { c.visit_fields(c, add); }, config);
  return name;
}

/// Counts how many configs of each kind have been taken.
class Quotas {
 public:
  explicit Quotas(int count) : per_family_(std::max(count - count / kFamilyShare, 1)) {}

  bool take(const KernelConfig& config) {
    const bool is_wgmma = family_of(config).name == "wgmma";
    const std::string name(family_of(config).name);
    int& family = taken_[name];
    int& tile = taken_[name + std::to_string(block_m(config)) + "x" + std::to_string(block_n(config))];
    int& pipelines = taken_["pipelines of " + name_without(config, kPipelineTags)];
    int& depths = taken_["depths of " + name_without(config, kDepthTags)];
    if (family >= per_family_ || tile >= kTileVariants) return false;
    if (pipelines >= (is_wgmma ? kWgmmaPipelines : kPipelines) || (is_wgmma && depths >= 1)) return false;
    ++family, ++tile, ++pipelines, ++depths;
    return true;
  }

 private:
  int per_family_;
  std::map<std::string, int> taken_;
};

}  // namespace

std::vector<KernelConfig> shortlist(std::vector<KernelConfig> configs, const Problem& problem, const DeviceInfo& device,
                                    int count) {
  std::vector<KernelConfig> ranked = rank(std::move(configs), problem, device);
  const std::size_t places = std::min(ranked.size(), static_cast<std::size_t>(std::max(count, 0)));
  Quotas quotas(count);
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
