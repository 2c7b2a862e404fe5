#include "ladder/rung_name.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace hotgemm {
namespace {

using Alias = std::pair<std::string_view, std::string_view>;

/// Names of the material that the table of rungs has under another one.
constexpr auto kAliases = std::to_array<Alias>({
    // kernels that one table of the material calls so, and another otherwise
    {"hgemm_t_8x8_sliced_k16_f16x8_pack_bcf_dbuf", "hgemm_t_8x8_sliced_k16_f16x8_pack_dbuf"},
    {"hgemm_t_8x8_sliced_k16_f16x8_pack_bcf_dbuf_async", "hgemm_t_8x8_sliced_k16_f16x8_pack_dbuf_async"},
    {"hgemm_t_8x8_sliced_k32_f16x8_pack_bcf_dbuf", "hgemm_t_8x8_sliced_k32_f16x8_pack_dbuf"},
    {"hgemm_t_8x8_sliced_k32_f16x8_pack_bcf_dbuf_async", "hgemm_t_8x8_sliced_k32_f16x8_pack_dbuf_async"},
    // shared memory is always dynamic here
    {"hgemm_wmma_m16n16k16_mma4x2_warp4x4_stages", "hgemm_wmma_m16n16k16_mma4x2_warp4x4_stages_dsmem"},
    {"hgemm_wmma_m16n16k16_mma4x4_warp4x4_stages", "hgemm_wmma_m16n16k16_mma4x4_warp4x4_stages_dsmem"},
    {"hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages", "hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem"},
    // programs
    {"hgemm_mma_stage", "hgemm_mma_m16n8k16_mma2x4_warp4x4x2_stages_dsmem"},
    {"hgemm_cute", "hgemm_mma_stages_block_swizzle_tn_cute"},
    {"hgemm_cublas", "hgemm_cublas_tensor_op_tn"},
    // block_m, block_n, block_k, thread_m, thread_n
    {"mm_mma_int8<16,16,128,1,1>", "s8+16x16+t1x1"},
    {"mm_mma_int8<32,32,128,2,2>", "s8+32x32+t2x2"},
    {"mm_mma_int8<64,32,128,4,2>", "s8+64x32+t4x2"},
    {"mm_mma_int8<64,64,128,4,4>", "s8+64x64+t4x4"},
    {"mm_mma_int8<128,128,128,8,16>", "s8+128x128+t8x16"},
    {"mm_mma_int8<128,128,128,16,8>", "s8+128x128+t16x8"},
    {"mm_mma_int8<128,256,128,8,16>", "s8+128x256+t8x16"},
    {"mm_mma_int8<256,128,128,16,8>", "s8+256x128+t16x8"},
});

std::string without_spaces(std::string_view text) {
  std::string result(text);
  std::erase(result, ' ');
  return result;
}

}  // namespace

std::string rung_name(std::string_view name) {
  std::string result(name);
  if (name.ends_with(')')) {
    name.remove_suffix(1);
    if (name.starts_with('(')) result = name.substr(1);
    if (name.starts_with("tn(")) result = "tn+" + std::string(name.substr(3));
  } else if (name.ends_with("_kernel")) {
    result.resize(result.size() - std::string_view("_kernel").size());
  } else if (name.ends_with('>')) {
    result = without_spaces(name);
  }
  // The earlier tables call by `mma` what others call by `wmma`; kernels of mma.sync have 2×4 warps.
  if (result.starts_with("mma4x2") || result.starts_with("mma4x4")) return "w" + result;
  const auto* const alias = std::ranges::find(kAliases, result, &Alias::first);
  return alias == kAliases.end() ? result : std::string(alias->second);
}

std::vector<std::string> joined_names(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words) {
    const bool continues =
        !names.empty() && names.back().find('<') != std::string::npos && names.back().find('>') == std::string::npos;
    if (continues) {
      names.back().append(",").append(word);
    } else {
      names.push_back(word);
    }
  }
  return names;
}

}  // namespace hotgemm
