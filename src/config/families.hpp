#pragma once

#include "shared/fma_config.hpp"
#include "shared/gemm_args.hpp"
#include "shared/mma_config.hpp"
#include "shared/simt_config.hpp"
#include "shared/wgmma_legality.hpp"
#include "shared/wmma_config.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace hotgemm {

/// A config of any family. A family is registered in this file: as an alternative here, and by its FamilyOf below.
/// CONTRIBUTING.md ("A family") lists the other steps. If a step is missing, the build fails or a test names it.
using KernelConfig = std::variant<SimtConfig, MmaConfig, WgmmaConfig, FmaConfig, WmmaConfig>;

/// The types of A, of a kernel's sums, of B, and of C and D.
struct KernelTypes {
  DType element;
  DType accumulator;
  DType element_b = element;
  DType element_d = element;
  friend constexpr bool operator==(const KernelTypes&, const KernelTypes&) = default;

  /// True if A, B and D are of different types, or of 8 bits. Tests take fewer kernels of these types: they run by the
  /// lines of the others.
  constexpr bool is_mixed() const { return element_b != element || element_d != element || size_bytes(element) == 1; }
};

/// A family of kernels, as its registration describes it.
struct Family {
  std::string_view name;      ///< "mma"
  std::string_view config;    ///< "MmaConfig": the struct that the rendered unit names
  std::string_view header;    ///< "mma.cuh": the template that the rendered unit includes
  std::string_view function;  ///< "mma_gemm": its entry point
  std::string_view args;      ///< "GemmArgs": the struct of its parameter
  /// True if the family's kernels wait for the preceding work in the stream themselves, so that they may be launched
  /// before that work ends.
  bool waits_for_predecessor = false;
  std::string_view runs_on;  ///< for the index of pages: the units of a GPU that the family uses, and the architectures
  std::span<const KernelTypes> types;  ///< types that is_legal accepts for some configs
};

inline constexpr KernelTypes kTensorCoreTypes[] = {
    {DType::f16, DType::f32}, {DType::bf16, DType::f32}, {DType::f16, DType::f16}};
inline constexpr KernelTypes kCudaCoreTypes[] = {
    {DType::f16, DType::f32}, {DType::bf16, DType::f32}, {DType::f32, DType::f32}, {DType::f16, DType::f16}};
/// f16 and bf16 with a D of f32.
inline constexpr KernelTypes kWideResultTypes[] = {{DType::f16, DType::f32, DType::f16, DType::f32},
                                                   {DType::bf16, DType::f32, DType::bf16, DType::f32}};
// clang-format off
inline constexpr KernelTypes kFp8Types[] = {
    {DType::e4m3, DType::f32, DType::e4m3, DType::bf16}, {DType::e4m3, DType::f32, DType::e4m3, DType::f16},
    {DType::e4m3, DType::f32, DType::e4m3, DType::f32},
    {DType::e4m3, DType::f32, DType::e5m2, DType::bf16}, {DType::e4m3, DType::f32, DType::e5m2, DType::f16},
    {DType::e4m3, DType::f32, DType::e5m2, DType::f32},
    {DType::e5m2, DType::f32, DType::e4m3, DType::bf16}, {DType::e5m2, DType::f32, DType::e4m3, DType::f16},
    {DType::e5m2, DType::f32, DType::e4m3, DType::f32},
    {DType::e5m2, DType::f32, DType::e5m2, DType::bf16}, {DType::e5m2, DType::f32, DType::e5m2, DType::f16},
    {DType::e5m2, DType::f32, DType::e5m2, DType::f32}};
inline constexpr KernelTypes kIntegerTypes[] = {
    {DType::s8, DType::s32, DType::s8, DType::s32}, {DType::s8, DType::s32, DType::s8, DType::f32},
    {DType::s8, DType::s32, DType::s8, DType::bf16}, {DType::s8, DType::s32, DType::s8, DType::f16}};
/// Sums that are rounded to a D of 8 bits.
inline constexpr KernelTypes kByteResultTypes[] = {
    {DType::e4m3, DType::f32, DType::e4m3, DType::e4m3},
    {DType::e4m3, DType::f32, DType::e5m2, DType::e4m3}, {DType::e4m3, DType::f32, DType::e5m2, DType::e5m2},
    {DType::e5m2, DType::f32, DType::e4m3, DType::e4m3}, {DType::e5m2, DType::f32, DType::e4m3, DType::e5m2},
    {DType::e5m2, DType::f32, DType::e5m2, DType::e4m3}, {DType::e5m2, DType::f32, DType::e5m2, DType::e5m2},
    {DType::s8, DType::s32, DType::s8, DType::s8}};
// clang-format on

inline constexpr KernelTypes kTf32Types[] = {{DType::tf32, DType::f32, DType::tf32, DType::f32}};

/// All types of several lists.
template <std::size_t... kCounts>
constexpr auto joined(const KernelTypes (&... lists)[kCounts]) {
  std::array<KernelTypes, (kCounts + ...)> all{};
  auto* end = all.data();
  ((end = std::ranges::copy(lists, end).out), ...);
  return all;
}
inline constexpr KernelTypes kFloatTypes[] = {
    {DType::f16, DType::f32}, {DType::bf16, DType::f32}, {DType::f32, DType::f32}};
inline constexpr auto kSimtTypes =
    joined(kFloatTypes, kWideResultTypes, kTf32Types, kFp8Types, kIntegerTypes, kByteResultTypes);
inline constexpr auto kFmaTypes = joined(kCudaCoreTypes, kTf32Types, kIntegerTypes);
inline constexpr auto kMmaTypes = joined(kTensorCoreTypes, kTf32Types, kFp8Types, kIntegerTypes, kByteResultTypes);
inline constexpr auto kWgmmaTypes =
    joined(kTensorCoreTypes, kWideResultTypes, kTf32Types, kFp8Types, kIntegerTypes, kByteResultTypes);

/// The registration of a config's family: `Args`, the struct of its kernels' parameter, and `kFamily`.
template <class Config>
struct FamilyOf {
  static_assert(!std::is_same_v<Config, Config>,
                "an alternative of KernelConfig has no registration: specialise FamilyOf in src/config/families.hpp");
};

template <>
struct FamilyOf<SimtConfig> {
  using Args = GemmArgs;
  static constexpr Family kFamily{.name = "simt",
                                  .config = "SimtConfig",
                                  .header = "simt.cuh",
                                  .function = "simt_gemm",
                                  .args = "GemmArgs",
                                  .runs_on = "CUDA cores, sm_75 and later",
                                  .types = kSimtTypes};
};

template <>
struct FamilyOf<MmaConfig> {
  using Args = GemmArgs;
  static constexpr Family kFamily{.name = "mma",
                                  .config = "MmaConfig",
                                  .header = "mma.cuh",
                                  .function = "mma_gemm",
                                  .args = "GemmArgs",
                                  .runs_on = "tensor cores by `mma.sync`, sm_80 and later",
                                  .types = kMmaTypes};
};

template <>
struct FamilyOf<WgmmaConfig> {
  using Args = WgmmaArgs;
  static constexpr Family kFamily{.name = "wgmma",
                                  .config = "WgmmaConfig",
                                  .header = "wgmma.cuh",
                                  .function = "wgmma_gemm",
                                  .args = "WgmmaArgs",
                                  .waits_for_predecessor = true,
                                  .runs_on = "tensor cores and copy engine of Hopper, sm_90a",
                                  .types = kWgmmaTypes};
};

template <>
struct FamilyOf<FmaConfig> {
  using Args = GemmArgs;
  static constexpr Family kFamily{.name = "fma",
                                  .config = "FmaConfig",
                                  .header = "fma.cuh",
                                  .function = "fma_gemm",
                                  .args = "GemmArgs",
                                  .runs_on = "CUDA cores, sm_75 and later",
                                  .types = kFmaTypes};
};

template <>
struct FamilyOf<WmmaConfig> {
  using Args = GemmArgs;
  static constexpr Family kFamily{.name = "wmma",
                                  .config = "WmmaConfig",
                                  .header = "wmma.cuh",
                                  .function = "wmma_gemm",
                                  .args = "GemmArgs",
                                  .runs_on = "tensor cores by the instructions of `nvcuda::wmma`, sm_80 and later",
                                  .types = kTensorCoreTypes};
};

namespace detail {
template <class Visit, class... Configs>
constexpr void visit_alternatives(Visit& visit, std::type_identity<std::variant<Configs...>>) {
  (visit(std::type_identity<Configs>{}), ...);
}
}  // namespace detail

/// Calls visit(std::type_identity<Config>) for each family, in the order of the variant's alternatives.
template <class Visit>
constexpr void for_each_family(Visit&& visit) {
  detail::visit_alternatives(visit, std::type_identity<KernelConfig>{});
}

/// The families, in the order of the alternatives of KernelConfig.
std::span<const Family> families();
const Family& family_of(const KernelConfig& config);
/// The names as "simt, mma, …", for help and messages.
std::string family_names();

}  // namespace hotgemm
