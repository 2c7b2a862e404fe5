#include "standin/kernel_symbol.hpp"

#include "config/families.hpp"

#include <charconv>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

namespace hotgemm::standin {
namespace {

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('_', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::optional<int> parse_int(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<DType> parse_dtype(std::string_view text) {
  for (int i = 0; i < kElementTypes; ++i) {
    if (text == element_type(static_cast<DType>(i)).name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

/// Removes `tag` and the digits after it from the start of `text`.
std::optional<int> take_int(std::string_view& text, std::string_view tag) {
  if (!text.starts_with(tag)) return std::nullopt;
  text.remove_prefix(tag.size());
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto value = parse_int(text.substr(0, digits));
  text.remove_prefix(digits);
  return value;
}

/// The texts before and after `separator`; the second is empty if there is none.
std::pair<std::string_view, std::string_view> split_in_two(std::string_view text, std::string_view separator) {
  const std::size_t at = text.find(separator);
  if (at == text.npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + separator.size())};
}

constexpr std::string_view kFast = "fast";

/// Parses the five words "f16_f32_nt_a8b8d8_c0", "e4m3xe5m2_f32tobf16_nt_a16b16d8_c0", or "e4m3_f32fasttobf16_…".
std::optional<GemmTraits> parse_traits(const std::vector<std::string_view>& words, std::size_t first) {
  const auto [a_text, b_text] = split_in_two(words[first], "x");
  auto [sum_text, d_text] = split_in_two(words[first + 1], "to");
  const bool fast_sums = sum_text.ends_with(kFast);
  if (fast_sums) sum_text.remove_suffix(kFast.size());
  const auto element = parse_dtype(a_text), element_b = parse_dtype(b_text.empty() ? a_text : b_text);
  const auto accumulator = parse_dtype(sum_text), element_d = parse_dtype(d_text.empty() ? a_text : d_text);
  const std::string_view layout = words[first + 2];
  std::string_view vectors = words[first + 3];
  const std::string_view reads_c = words[first + 4];
  if (!element || !element_b || !accumulator || !element_d || layout.size() != 2 ||
      layout.find_first_not_of("nt") != layout.npos)
    return {};
  const auto a = take_int(vectors, "a"), b = take_int(vectors, "b"), d = take_int(vectors, "d");
  if (!a || !b || !d || !vectors.empty() || (reads_c != "c0" && reads_c != "c1")) return {};
  return GemmTraits{.element = *element,
                    .accumulator = *accumulator,
                    .element_b = *element_b,
                    .element_d = *element_d,
                    .op_a = layout[0] == 't' ? Op::t : Op::n,
                    .op_b = layout[1] == 't' ? Op::t : Op::n,
                    .reads_c = reads_c == "c1",
                    .vec_a = *a,
                    .vec_b = *b,
                    .vec_d = *d,
                    .fast_sums = fast_sums};
}

/// Removes `tag` from the start of `text`, if it is there.
bool take(std::string_view& text, std::string_view tag) {
  if (!text.starts_with(tag)) return false;
  text.remove_prefix(tag.size());
  return true;
}

Scaling take_scaling(std::string_view& text, std::string_view tag) {
  if (!take(text, tag)) return Scaling::none;
  for (const auto& [kind, scaling] : {std::pair("v", Scaling::vector), std::pair("t", Scaling::tensor),
                                      std::pair("r", Scaling::block_1x128), std::pair("s", Scaling::block_128x128)}) {
    if (take(text, kind)) return scaling;
  }
  return Scaling::none;
}

/// Parses the word of a fused kernel's epilogue, "esavsbtbnauxrelures".
std::optional<Epilogue> parse_epilogue(std::string_view text) {
  Epilogue e;
  if (!take(text, "e")) return {};
  e.scale_a = take_scaling(text, "sa");
  e.scale_b = take_scaling(text, "sb");
  e.bias = take(text, "bn") ? Bias::per_column : take(text, "bm") ? Bias::per_row : Bias::none;
  e.aux = take(text, "aux");
  // The longer name of two with the same beginning comes first.
  for (const auto& [tag, activation] :
       {std::pair("relu", Activation::relu), std::pair("geluerf", Activation::gelu_erf),
        std::pair("gelu", Activation::gelu), std::pair("silu", Activation::silu),
        std::pair("sigmoid", Activation::sigmoid), std::pair("tanh", Activation::tanh),
        std::pair("clamp", Activation::clamp), std::pair("drelu", Activation::drelu),
        std::pair("dgeluerf", Activation::dgelu_erf), std::pair("dgelu", Activation::dgelu),
        std::pair("dsilu", Activation::dsilu), std::pair("dsigmoid", Activation::dsigmoid),
        std::pair("dtanh", Activation::dtanh)}) {
    if (e.activation == Activation::none && take(text, tag)) e.activation = activation;
  }
  e.bits = take(text, "bits");
  constexpr std::size_t kDigits = 16;
  if (take(text, "fn")) {
    std::uint64_t number = 0;
    const std::string_view digits = text.substr(0, kDigits);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
    if (error != std::errc() || end != digits.data() + kDigits) return {};
    e.function = EpilogueFunction::of(number);
    text.remove_prefix(kDigits);
  }
  e.gate = take(text, "gateh") ? Gate::halves : take(text, "gatei") ? Gate::interleaved : Gate::none;
  e.residual = take(text, "res");
  e.amax = take(text, "amax");
  e.bias_gradient = take(text, "dbn") ? Bias::per_column : take(text, "dbm") ? Bias::per_row : Bias::none;
  e.scale_d = take(text, "sd");
  e.scalars = take(text, "dev");
  if (!text.empty() || e == Epilogue{}) return {};
  return e;
}

/// The tag and value of each word between the family and the traits: "m128" is {"m", 128}.
std::optional<std::map<std::string_view, int>> parse_fields(const std::vector<std::string_view>& words,
                                                            std::size_t first, std::size_t last) {
  std::map<std::string_view, int> fields;
  for (std::size_t i = first; i < last; ++i) {
    const std::size_t tag = std::min(words[i].find_first_of("0123456789"), words[i].size());
    const auto value = parse_int(words[i].substr(tag));
    if (tag == 0 || !value || !fields.emplace(words[i].substr(0, tag), *value).second) return std::nullopt;
  }
  return fields;
}

template <class Config>
std::optional<Config> parse_config(const std::map<std::string_view, int>& fields) {
  Config config;
  std::size_t found = 0, expected = 0;
  Config::visit_fields(config, [&](const ConfigField& field, auto& value) {
    const auto word = fields.find(field.tag);
    if (word == fields.end()) {
      expected += field.is_named(value) ? 1 : 0;
      return;
    }
    ++expected;
    value = static_cast<std::remove_reference_t<decltype(value)>>(word->second);
    ++found;
  });
  if (found != expected || fields.size() != expected) return std::nullopt;
  return config;
}

template <class Config>
int smem_bytes(const Config& config, const GemmTraits& traits) {
  if constexpr (requires { config.smem_bytes(traits); }) {
    return config.smem_bytes(traits);
  } else {
    return config.smem_bytes();
  }
}

ExpectedBox expected_box(BoxExtent box, const WgmmaTile& tile) {
  const CUtensorMapSwizzle swizzle = tile.swizzle_bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                     : tile.swizzle_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                                                : CU_TENSOR_MAP_SWIZZLE_32B;
  return {static_cast<std::uint32_t>(box.x), static_cast<std::uint32_t>(box.y), swizzle, tile.k_major};
}

/// Adds the properties that only some families have.
template <class Config>
void add_family(const Config&, GemmKernel&) {}
void add_family(const WgmmaConfig& config, GemmKernel& kernel) {
  kernel.cluster_m = config.cluster_m;
  kernel.cluster_n = config.cluster_n;
  kernel.blocks_per_sm = config.one_tile ? 0 : config.blocks_per_sm;
  kernel.splits_k = config.split_k;
  kernel.boxes = {expected_box(config.a_box(kernel.traits), config.a_tile(kernel.traits)),
                  expected_box(config.b_box(kernel.traits), config.b_tile(kernel.traits)), std::nullopt};
  if (config.gate_half(kernel.traits) > 0) kernel.boxes->b.leaves_rest = false;
  kernel.boxes->copies_a = !config.loads_by_threads(kernel.traits, kernel.traits.vec_a);
  kernel.boxes->copies_b = !config.loads_by_threads(kernel.traits, kernel.traits.vec_b);
  if (config.stores_in_bulk(kernel.traits)) {
    const BoxExtent box = config.d_box(kernel.traits);
    kernel.boxes->d = {static_cast<std::uint32_t>(box.x), static_cast<std::uint32_t>(box.y),
                       CU_TENSOR_MAP_SWIZZLE_128B};
  }
}

template <class Config>
std::optional<GemmKernel> gemm_of(const std::map<std::string_view, int>& fields, const GemmTraits& traits) {
  const auto config = parse_config<Config>(fields);
  if (!config) return std::nullopt;
  bool legal = false;
  for (const ArchLimits& arch : kArchTable) legal = legal || is_legal(*config, traits, arch);
  if (!legal) return GemmKernel{.traits = traits, .legal = false};
  GemmKernel kernel{.traits = traits,
                    .block_m = config->block_m,
                    .block_n = config->block_n,
                    .threads = config->threads(),
                    .smem_bytes = smem_bytes(*config, traits),
                    .legal = true};
  add_family(*config, kernel);
  return kernel;
}

/// The tests' kernel with workspace (gpu/split_kernel.hpp), which is of no registered family.
std::optional<GemmKernel> gemm_of_testsplit(const std::map<std::string_view, int>& fields, const GemmTraits& traits) {
  const auto m = fields.find("m"), n = fields.find("n"), splits = fields.find("s");
  if (m == fields.end() || n == fields.end() || m->second < 1 || n->second < 1) return std::nullopt;
  if (splits == fields.end() || splits->second < 1) return std::nullopt;
  return GemmKernel{.traits = traits, .block_m = m->second, .block_n = n->second, .splits = splits->second};
}

std::optional<GemmKernel> parse_gemm(std::string_view symbol) {
  constexpr std::size_t kTraitWords = 5;
  std::vector<std::string_view> words = split(symbol);
  const std::optional<Epilogue> epilogue = parse_epilogue(words.back());
  if (epilogue) words.pop_back();
  const bool masked = words.back() == "masked", along_k = words.back() == "groupk";
  const bool grouped = masked || along_k || words.back() == "group";
  const bool pointers = words.back() == "pointers", batched = grouped || pointers || words.back() == "batch";
  if (batched) words.pop_back();
  if (words.size() < 2 + kTraitWords || words[0] != "hotgemm") return std::nullopt;
  const std::size_t traits_at = words.size() - kTraitWords;
  auto traits = parse_traits(words, traits_at);
  if (traits && epilogue) traits->epilogue = *epilogue;
  if (traits) {
    traits->batched = batched, traits->grouped = grouped, traits->masked = masked, traits->along_k = along_k;
    traits->pointers = pointers;
  }
  const auto fields = parse_fields(words, 2, traits_at);
  if (!traits || !fields) return std::nullopt;
  if (words[1] == "testsplit") return gemm_of_testsplit(*fields, *traits);
  std::optional<GemmKernel> kernel;
  for_each_family([&]<class Config>(std::type_identity<Config>) {
    if (words[1] == FamilyOf<Config>::kFamily.name) kernel = gemm_of<Config>(*fields, *traits);
  });
  return kernel;
}

}  // namespace

KernelSymbol parse_kernel_symbol(std::string_view symbol) {
  if (symbol == "hotgemm_repack") return {KernelKind::repack, {}};
  if (symbol == "hotgemm_fill") return {KernelKind::fill, {}};
  if (symbol == "hotgemm_check") return {KernelKind::check, {}};
  if (symbol == "hotgemm_digest") return {KernelKind::digest, {}};
  if (symbol == "hotgemm_pointwise") return {KernelKind::pointwise, {}};
  if (const auto gemm = parse_gemm(symbol)) return {KernelKind::gemm, *gemm};
  return {};
}

}  // namespace hotgemm::standin
