#include "config_page.hpp"

#include "plan/model.hpp"
#include "plan/traits.hpp"
#include "problem_options.hpp"
#include "table.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace hotgemm::command {
namespace {

/// Templates/shared says what a field is; this says it to someone who reads a config's name.
constexpr std::pair<std::string_view, std::string_view> kMeanings[] = {
    {"block_m", "rows of D that a block computes"},
    {"block_n", "columns of D that a block computes"},
    {"block_k", "how far along k a tile in shared memory reaches"},
    {"warps_m", "warps that share the block's rows"},
    {"warps_n", "warps that share the block's columns"},
    {"fragment_m", "rows of a product: 16, 32 or 8, of as many columns as make 256 sums"},
    {"stages", "tiles of A and B in flight in shared memory"},
    {"swizzle", "1: 16-byte chunks are permuted against bank conflicts, 0: rows are padded, or plain"},
    {"fragment_buffers", "2: the next step's fragments load while this step's products run"},
    {"store", "1: D goes through shared memory to 16-byte stores, 0: straight from registers, 2: between lanes"},
    {"async_copy", "1: operands are copied by cp.async, 0: through registers"},
    {"padded", "1: rows that are not swizzled are padded, 0: as they are"},
    {"b_matrices", "8x8 matrices that one ldmatrix of B loads"},
    {"serpentine", "1: products walk the columns back and forth, 0: always forward, all fragments loaded before"},
    {"blocks_per_sm", "resident blocks that the register budget must allow"},
    {"consumers", "warpgroups that compute"},
    {"split_n", "1: they divide the tile's columns among them, 0: its rows"},
    {"ping_pong", "1: each computes tiles of its own, one stores while another multiplies"},
    {"one_tile", "1: a block for each tile, 0: blocks that stay and take tile after tile"},
    {"cluster_m", "blocks below each other that share their tiles of B"},
    {"cluster_n", "blocks beside each other that share their tiles of A"},
    {"thread_m", "rows of D that a thread computes"},
    {"thread_n", "columns of D that a thread computes"},
    {"access", "elements of one access to global memory"},
    {"packed", "1: shared memory is read 16 bytes at a time, f16 multiplied in pairs, 0: by elements"},
    {"padded", "1: rows of shared memory are 16 bytes longer, against bank conflicts"},
    {"async_copy", "1: cp.async copies what it can, 0: all goes through registers"},
};

std::string_view meaning_of(std::string_view field) {
  for (const auto& [name, meaning] : kMeanings) {
    if (name == field) return meaning;
  }
  return "";
}

void describe_fields(Session& session, const KernelConfig& config) {
  Table table({{"field"}, {"tag"}, {"value", true}, {"meaning"}});
  Json& json = session.output["fields"];
  json = Json::object();
  const auto add = [&](const char* name, const char* tag, auto value) {
    table.add({name, tag, std::to_string(static_cast<int>(value)), std::string(meaning_of(name))});
    json[name] = value;
  };
  std::visit([&](const auto& c) { c.visit_fields(c, add); }, config);
  session.print(table.text());
}

std::string tile_text(const SimtConfig& c, const GemmTraits& traits) {
  return fmt::format("tile {}x{}x{} = {} threads of {}x{}; {} bytes of shared memory", c.block_m, c.block_n, c.block_k,
                     c.threads(), c.thread_m, c.thread_n, smem_bytes(c, traits));
}

std::string tile_text(const MmaConfig& c, const GemmTraits& traits) {
  const int registers = c.accumulator_registers(traits);
  return fmt::format(
      "tile {}x{}x{} = {}x{} warps of {}x{}, {} threads\n"
      "a warp's tile = {}x{} products m16n8k16 per 16 of k; {} accumulator and {} fragment registers per thread\n"
      "a stage = A {} + B {} bytes; {} stages: {} bytes of shared memory",
      c.block_m, c.block_n, c.block_k, c.warps_m, c.warps_n, c.warp_m(), c.warp_n(), c.threads(), c.warp_m() / kMmaM,
      c.warp_n() / kMmaN, registers, c.fragment_registers(), c.a_tile(traits).bytes(), c.b_tile(traits).bytes(),
      c.stages, c.smem_bytes(traits));
}

std::string tile_text(const FmaConfig& c, const GemmTraits& traits) {
  const ThreadTile tile = c.thread_tile(traits.element);
  return fmt::format(
      "tile {}x{}x{} = {} threads of {}x{}; a warp is {}x{} threads\n"
      "{} accumulator, {} fragment and {} staging registers per thread\n"
      "a stage = A {} + B {} bytes; {} stages: {} bytes of shared memory",
      c.block_m, c.block_n, c.block_k, c.threads(), c.thread_m, c.thread_n, tile.lanes_m, tile.lanes_n,
      c.accumulator_registers(traits), c.fragment_registers(traits), c.staging_registers(traits),
      c.a_tile(traits).bytes(), c.b_tile(traits).bytes(), c.stages, c.smem_bytes(traits));
}

std::string tile_text(const WmmaConfig& c, const GemmTraits& traits) {
  return fmt::format(
      "tile {}x{}x{} = {}x{} warps of {}x{}, {} threads\n"
      "a warp's tile = {}x{} products m{}n{}k16 per 16 of k; {} accumulator and {} fragment registers per thread\n"
      "a stage = A {} + B {} bytes; {} stages: {} bytes of shared memory",
      c.block_m, c.block_n, c.block_k, c.warps_m, c.warps_n, c.warp_m(), c.warp_n(), c.threads(),
      c.warp_m() / c.fragment_m, c.warp_n() / c.fragment_n(), c.fragment_m, c.fragment_n(),
      c.accumulator_registers(traits), c.fragment_registers(traits), c.a_tile(traits).bytes(), c.b_tile(traits).bytes(),
      c.stages, c.smem_bytes(traits));
}

std::string tile_text(const WgmmaConfig& c, const GemmTraits& traits) {
  return fmt::format(
      "tile {}x{}x{} = {} consumers of {}x{}, {} threads; clusters of {}x{} blocks\n"
      "a consumer's tile = {} products m64n{}k16 per 16 of k; {} accumulator registers per thread\n"
      "a stage = A {} + B {} bytes; {} stages: {} bytes of shared memory",
      c.block_m, c.block_n, c.block_k, c.consumers, c.consumer_m(), c.consumer_n(), c.threads(), c.cluster_m,
      c.cluster_n, c.consumer_m() / kWgmmaM, c.consumer_n(), c.accumulator_registers(traits), c.a_tile(traits).bytes(),
      c.b_tile(traits).bytes(), c.stages, c.smem_bytes(traits));
}

void describe_archs(Session& session, const KernelConfig& config, const Problem& problem) {
  const GemmTraits traits = traits_of(problem);
  Table table(
      {{"arch"}, {"legal"}, {"blocks/SM", true}, {"GPU planned for"}, {"predicted µs", true}, {"TFLOP/s", true}});
  session.output["archs"] = Json::array();
  for (const std::string& arch : known_archs()) {
    const ArchLimits& limits = arch_limits(arch);
    if (!is_legal(config, traits, limits)) {
      table.add({arch, "no", "-", "", "-", "-"});
      session.output["archs"].push_back({{"arch", arch}, {"legal", false}});
      continue;
    }
    const DeviceInfo device = nominal_device(arch);
    const int resident = resident_blocks(config, traits, limits);
    const double us = predict_us(config, problem, device);
    table.add({arch, "yes", std::to_string(resident), device.name, number(us, 2), number(tflops(problem, us), 1)});
    session.output["archs"].push_back(
        {{"arch", arch}, {"legal", true}, {"blocks_per_sm", resident}, {"gpu", device.name}, {"predicted_us", us}});
  }
  session.print(table.text());
}

}  // namespace

void describe_config(Session& session, const KernelConfig& config, const Problem& problem, bool is_example) {
  const GemmTraits traits = traits_of(problem);
  const Family& family = family_of(config);
  session.output["config"] = to_string(config);
  session.output["family"] = family.name;
  session.output["problem"] = to_string(problem);
  session.output["threads"] = threads(config);
  session.output["smem_bytes"] = smem_bytes(config, traits);
  session.print(fmt::format("{}: family {}, templates/{}\n", to_string(config), family.name, family.header));
  describe_fields(session, config);
  session.print(fmt::format("\nfor {}{}:", label(problem), is_example ? " (--shape names another problem)" : ""));
  session.print(std::visit([&](const auto& c) { return tile_text(c, traits); }, config));
  session.print("");
  describe_archs(session, config, problem);
}

}  // namespace hotgemm::command
