#include "config/kernel_config.hpp"

#include "shared/rung_tag.hpp"

#include <charconv>
#include <type_traits>

namespace hotgemm {
namespace {

// In the order of the alternatives of KernelConfig.
constexpr Family kFamilies[] = {
    {"simt", "SimtConfig", "simt.cuh", "simt_gemm", "GemmArgs", false},
    {"mma", "MmaConfig", "mma.cuh", "mma_gemm", "GemmArgs", false},
    {"wgmma", "WgmmaConfig", "wgmma.cuh", "wgmma_gemm", "WgmmaArgs", true},
    {"fma", "FmaConfig", "fma.cuh", "fma_gemm", "GemmArgs", false},
    {"wmma", "WmmaConfig", "wmma.cuh", "wmma_gemm", "GemmArgs", false},
};
static_assert(std::size(kFamilies) == std::variant_size_v<KernelConfig>);

/// Removes "_", `tag` and a number from the front of `text`; leaves `text` unchanged if it does not start with them.
bool take_field(std::string_view& text, std::string_view tag, int& value) {
  std::string_view rest = text;
  if (!rest.starts_with("_")) return false;
  rest.remove_prefix(1);
  if (!rest.starts_with(tag)) return false;
  rest.remove_prefix(tag.size());
  if (rest.empty() || rest.front() < '0' || rest.front() > '9') return false;  // from_chars would accept a sign
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc()) return false;
  text = rest.substr(static_cast<std::size_t>(end - rest.data()));
  return true;
}

template <class Config>
std::optional<KernelConfig> parse_fields(std::string_view text) {
  Config config;
  bool good = true;
  Config::visit_fields(config, [&](const char*, const auto& tag, auto& field) {
    int value = field;
    const bool has_field = take_field(text, static_cast<const char*>(tag), value);
    good = good && (has_field || !is_named(tag, value));
    if constexpr (std::is_same_v<decltype(field), bool&>) {
      good = good && value <= 1;
      field = value != 0;
    } else {
      field = value;
    }
  });
  if (!good || !text.empty()) return std::nullopt;
  return config;
}

template <class Config>
std::optional<KernelConfig> parse_family(std::string_view text) {
  const std::string_view name = family_of(Config{}).name;
  if (!text.starts_with(name)) return std::nullopt;
  return parse_fields<Config>(text.substr(name.size()));
}

/// Parses `text` with each family in turn and returns the config of the first one that accepts it.
template <class... Configs>
std::optional<KernelConfig> parse_any(std::string_view text, const std::variant<Configs...>&) {
  std::optional<KernelConfig> config;
  ((config = parse_family<Configs>(text)) || ...);
  return config;
}

}  // namespace

const Family& family_of(const KernelConfig& config) { return kFamilies[config.index()]; }
std::span<const Family> families() { return kFamilies; }

std::string to_string(const KernelConfig& config) {
  std::string text(family_of(config).name);
  std::visit(
      [&](const auto& c) {
        c.visit_fields(c, [&](const char*, const auto& tag, auto value) {
          if (!is_named(tag, value)) return;
          text += '_';
          text += tag;
          text += std::to_string(static_cast<int>(value));
        });
      },
      config);
  return text;
}

std::optional<KernelConfig> parse_config(std::string_view text) {
  std::optional<KernelConfig> config = parse_any(text, KernelConfig{});
  // A leading zero, as in "01", would give one config two names.
  if (config && to_string(*config) != text) return std::nullopt;
  return config;
}

int block_m(const KernelConfig& config) {
  return std::visit([](const auto& c) { return c.block_m; }, config);
}
int block_n(const KernelConfig& config) {
  return std::visit([](const auto& c) { return c.block_n; }, config);
}
int threads(const KernelConfig& config) {
  return std::visit([](const auto& c) { return c.threads(); }, config);
}

int smem_bytes(const KernelConfig& config, const GemmTraits& traits) {
  struct {
    const GemmTraits& traits;
    int operator()(const SimtConfig& c) const { return c.smem_bytes(); }
    int operator()(const MmaConfig& c) const { return c.smem_bytes(traits); }
    int operator()(const WgmmaConfig& c) const { return c.smem_bytes(); }
    int operator()(const FmaConfig& c) const { return c.smem_bytes(traits); }
    int operator()(const WmmaConfig& c) const { return c.smem_bytes(traits); }
  } const visitor{traits};
  return std::visit(visitor, config);
}

bool is_legal(const KernelConfig& config, const GemmTraits& traits, const ArchLimits& arch) {
  return std::visit([&](const auto& c) { return is_legal(c, traits, arch); }, config);
}

std::string to_string(const LaunchConfig& launch) {
  return "r" + std::to_string(launch.raster_width) + (launch.raster_along_n ? "n" : "m") +
         (launch.programmatic ? "p" : "");
}

std::optional<LaunchConfig> parse_launch(std::string_view text) {
  std::string_view rest = text;
  const bool programmatic = rest.ends_with('p');
  if (programmatic) rest.remove_suffix(1);
  if (rest.size() < 3 || rest.front() != 'r') return std::nullopt;
  const char side = rest.back();
  if (side != 'm' && side != 'n') return std::nullopt;
  LaunchConfig launch{.raster_width = 0, .raster_along_n = side == 'n', .programmatic = programmatic};
  const char* end = rest.data() + rest.size() - 1;
  const auto [stop, error] = std::from_chars(rest.data() + 1, end, launch.raster_width);
  if (error != std::errc() || stop != end || launch.raster_width < 1 || launch.raster_width > 4096) return std::nullopt;
  if (to_string(launch) != text) return std::nullopt;
  return launch;
}

bool is_legal(const LaunchConfig& launch, const KernelConfig& config) {
  return !launch.programmatic || family_of(config).waits_for_predecessor;
}

}  // namespace hotgemm
