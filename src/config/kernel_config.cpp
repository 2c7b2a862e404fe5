#include "config/kernel_config.hpp"

#include "base/text.hpp"
#include "config/field_list.hpp"
#include "config/repack.hpp"

#include <array>
#include <charconv>
#include <type_traits>

namespace hotgemm {
namespace {

template <class Config>
constexpr bool has_tile() {
  return requires(const Config& config) {
    int{config.block_m};
    int{config.block_n};
    int{config.block_k};
  };
}

template <class... Configs>
constexpr std::array<Family, sizeof...(Configs)> registered(std::type_identity<std::variant<Configs...>>) {
  static_assert((has_tile<Configs>() && ...),
                "a config lacks block_m, block_n or block_k: a field, or a static constexpr int that never varies");
  static_assert((check_field_list<Configs>() && ...));
  return {FamilyOf<Configs>::kFamily...};
}
constexpr auto kFamilies = registered(std::type_identity<KernelConfig>{});

/// Removes "_", `tag` and a number from the front of `text`; leaves `text` unchanged if it does not start with them.
bool take_field(std::string_view& text, std::string_view tag, int& value) {
  std::string_view rest = text;
  if (!take_prefix(rest, "_") || !take_prefix(rest, tag)) return false;
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
  Config::visit_fields(config, [&](const ConfigField& field, auto& member) {
    int value = member;
    const bool has_field = take_field(text, field.tag, value);
    good = good && (has_field || !field.is_named(value));
    if constexpr (std::is_same_v<decltype(member), bool&>) {
      good = good && value <= 1;
      member = value != 0;
    } else {
      member = value;
    }
  });
  if (!good || !text.empty()) return std::nullopt;
  return config;
}

template <class Config>
std::optional<KernelConfig> parse_family(std::string_view text) {
  const std::string_view name = FamilyOf<Config>::kFamily.name;
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

std::string family_names() {
  std::string names;
  for (const Family& family : kFamilies) names += (names.empty() ? "" : ", ") + std::string(family.name);
  return names;
}

std::string to_string(const KernelConfig& config) {
  std::string text(family_of(config).name);
  std::visit(
      [&](const auto& c) {
        c.visit_fields(c, [&](const ConfigField& field, auto value) {
          if (!field.is_named(value)) return;
          text += '_';
          text += field.tag;
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

int blocks_per_sm(const KernelConfig& config) {
  const auto blocks = [](const auto& c) {
    if constexpr (requires { c.blocks_per_sm; }) {
      return c.blocks_per_sm;
    } else {
      return 1;
    }
  };
  return std::visit(blocks, config);
}

bool splits_k(const KernelConfig& config) {
  const auto splits = [](const auto& c) {
    if constexpr (requires { c.split_k; }) return c.split_k;
    return false;
  };
  return std::visit(splits, config);
}

bool loads_by_threads(const KernelConfig& config) {
  const auto loads = [](const auto& c) {
    if constexpr (requires { c.loaders; }) return c.loaders > 0;
    return false;
  };
  return std::visit(loads, config);
}

OperandForm operand_form(const KernelConfig& config, DType element, Operand operand, const Epilogue& epilogue) {
  const auto form = [&](const auto& c) -> OperandForm {
    OperandForm needed;
    if constexpr (requires { c.operand_alignment(element); }) needed.alignment = c.operand_alignment(element);
    if constexpr (requires { c.needs_k_major(element, operand, epilogue); })
      needed.is_k_major = c.needs_k_major(element, operand, epilogue);
    return needed;
  };
  return std::visit(form, config);
}

int smem_bytes(const KernelConfig& config, const GemmTraits& traits) {
  const auto bytes = [&](const auto& c) {
    if constexpr (requires { c.smem_bytes(traits); }) {
      return c.smem_bytes(traits);
    } else {
      return c.smem_bytes();
    }
  };
  return std::visit(bytes, config);
}

bool is_legal(const KernelConfig& config, const GemmTraits& traits, const ArchLimits& arch) {
  return std::visit([&](const auto& c) { return is_legal(c, traits, arch); }, config);
}

bool is_legal(const LaunchConfig& launch, const KernelConfig& config) {
  if (launch.programmatic && !family_of(config).waits_for_predecessor) return false;
  if (launch.splits > 1 && !splits_k(config)) return false;
  constexpr auto kSomeWord = DType::s8;
  return operand_form(config, kSomeWord, Operand::a).alignment > 1 || !repacks(launch);
}

}  // namespace hotgemm
