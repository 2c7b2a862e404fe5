#include "nvrtc/compile_sample.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace hotgemm {
namespace {

std::string variable(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value ? value : otherwise;
}

/// Families of the templates in `changed`: "wgmma" of "wgmma.cuh", "wgmma_ceiling.cuh" and "shared/wgmma_config.hpp".
/// A template that several families include gives a name that no family has.
std::set<std::string> changed_families(const std::string& changed) {
  std::istringstream paths(changed);
  std::set<std::string> families;
  for (std::string path; paths >> path;) {
    const std::string file = std::filesystem::path(path).filename().string();
    families.insert(file.substr(0, file.find_first_of("._")));
  }
  return families;
}

std::string family_of_symbol(const std::string& symbol) {
  const std::size_t begin = std::min(symbol.find('_'), symbol.size() - 1) + 1;
  return symbol.substr(begin, symbol.find('_', begin) - begin);
}

}  // namespace

SampleOptions SampleOptions::from_environment() {
  return {.full = variable("HOTGEMM_TEST_FULL", "0") == "1",
          .seed = std::stoull(variable("HOTGEMM_TEST_SEED", "1")),
          .changed = variable("HOTGEMM_TEST_CHANGED", "")};
}

std::vector<std::size_t> sample_kernels(const std::vector<SampledKernel>& kernels, const SampleOptions& options) {
  if (kernels.empty()) throw std::logic_error("a sample of no kernels");
  std::vector<std::size_t> order(kernels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (options.full) return order;

  // std::shuffle may differ between standard libraries.
  std::mt19937_64 random(options.seed);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);

  const std::set<std::string> changed = changed_families(options.changed);
  const auto is_changed = [&](std::size_t i) { return changed.contains(family_of_symbol(kernels[i].symbol)); };
  const auto of_changed = std::stable_partition(order.begin(), order.end(), is_changed);
  std::set<std::size_t> chosen;
  std::set<std::string> archs;
  std::map<std::string, std::set<std::string>> kinds;  // by family
  for (const std::size_t i : order) {
    const SampledKernel& kernel = kernels[i];
    const bool is_golden = std::filesystem::exists(HOTGEMM_SOURCE_DIR "/tests/golden/" + kernel.symbol + ".cu");
    const bool is_new_arch = archs.insert(kernel.arch).second;
    std::set<std::string>& of_family = kinds[family_of_symbol(kernel.symbol)];
    const bool is_drawn_kind =
        of_family.insert(kernel.kind).second && (of_family.size() - 1) % options.share.kinds == 0;
    if (is_golden || is_new_arch || is_drawn_kind) chosen.insert(i);
  }
  const double share = of_changed == order.begin() ? options.share.usual : options.share.changed;
  const auto count = static_cast<std::size_t>(std::ceil(share * static_cast<double>(kernels.size())));
  const std::size_t most = std::min(kernels.size(), std::max<std::size_t>(12, count));
  for (std::size_t i = 0; i < order.size() && chosen.size() < most; ++i) chosen.insert(order[i]);
  return {chosen.begin(), chosen.end()};
}

}  // namespace hotgemm
