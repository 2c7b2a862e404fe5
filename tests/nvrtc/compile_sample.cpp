#include "nvrtc/compile_sample.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>

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
  std::set<std::size_t> chosen;
  std::set<std::string> archs;
  const auto choose = [&](std::size_t i) {
    chosen.insert(i);
    archs.insert(kernels[i].arch);
  };
  for (const std::size_t i : order) {
    const bool is_golden = std::filesystem::exists(HOTGEMM_SOURCE_DIR "/tests/golden/" + kernels[i].symbol + ".cu");
    if (is_golden || changed.contains(family_of_symbol(kernels[i].symbol))) choose(i);
  }
  for (const std::size_t i : order) {
    if (!archs.contains(kernels[i].arch)) choose(i);
  }
  const std::size_t count = std::min(kernels.size(), std::max<std::size_t>(12, (kernels.size() + 2) / 3));
  for (std::size_t i = 0; i < order.size() && chosen.size() < count; ++i) choose(order[i]);
  return {chosen.begin(), chosen.end()};
}

}  // namespace hotgemm
