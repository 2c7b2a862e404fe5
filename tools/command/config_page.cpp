#include "command/config_page.hpp"

#include "command/problem_options.hpp"
#include "command/table.hpp"
#include "config/repack.hpp"
#include "config/traits.hpp"
#include "plan/model.hpp"

#include <fmt/format.h>

#include <string>

namespace hotgemm::command {
namespace {

void describe_fields(Session& session, const KernelConfig& config) {
  Table table({{"field"}, {"tag"}, {"value", true}, {"meaning"}});
  Json& json = session.output["fields"];
  json = Json::object();
  const auto add = [&](const ConfigField& field, auto value) {
    table.add({field.name, field.tag, std::to_string(static_cast<int>(value)), field.meaning});
    json[field.name] = value;
  };
  std::visit([&](const auto& c) { c.visit_fields(c, add); }, config);
  session.print(table.text());
}

/// The text for a family without an overload of its own.
template <class Config>
std::string tile_text(const Config& c, const GemmTraits& traits) {
  return fmt::format("tile {}x{}x{}, {} threads; {} bytes of shared memory", c.block_m, c.block_n, c.block_k,
                     c.threads(), smem_bytes(c, traits));
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
      c.cluster_n, c.instructions(), c.instruction_n(), c.accumulator_registers(traits), c.a_tile(traits).bytes(),
      c.b_tile(traits).bytes(), c.stages, c.smem_bytes(traits));
}

void describe_archs(Session& session, const KernelConfig& config, const Workload& problem) {
  const GemmTraits traits = traits_of(repacked(problem, config));
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

void describe_config(Session& session, const KernelConfig& config, const Workload& problem, bool is_example) {
  const GemmTraits traits = traits_of(repacked(problem, config));
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
