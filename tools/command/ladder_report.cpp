#include "command/ladder_report.hpp"

#include "base/statistics.hpp"
#include "command/problem_options.hpp"
#include "command/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace hotgemm::command {
namespace {

constexpr const char* kNone = "-";

/// Microseconds of a launch; NaN where the row was not timed.
struct Times {
  double median = kNan;
  double least = kNan;
  double mean = kNan;
  double most = kNan;
};

Times times_of(const LadderRow& row) {
  std::vector<double> us;
  for (const double sample : row.us) {
    if (!std::isnan(sample)) us.push_back(sample);
  }
  if (us.empty()) return {};
  const auto [least, most] = std::ranges::minmax(us);
  double sum = 0;
  for (const double sample : us) sum += sample;
  return {.median = median(us), .least = least, .mean = sum / static_cast<double>(us.size()), .most = most};
}

double tflops_of(const LadderRow& row, const Workload& problem) { return tflops(problem, times_of(row).median); }

/// TFLOP/s of the fastest cuBLAS row; NaN if none was timed.
double library_tflops(const LadderTable& table) {
  double best = kNan;
  for (const LadderRow& row : table.rows) {
    if (row.is_cublas()) best = std::fmax(best, tflops_of(row, table.problem));
  }
  return best;
}

std::string samples_text(const LadderRow& row) {
  std::string text;
  for (const double sample : row.samples) text += (text.empty() ? "" : ", ") + fmt::format("{:.6g}", sample);
  return text.empty() ? kNone : text;
}

/// Bytes of memory that a kernel takes; empty where they are not known.
struct KernelMemory {
  explicit KernelMemory(const LadderRow& row) {
    if (!row.memory) return;
    const CubinMemory& memory = *row.memory;
    stack = memory.stack_bytes;
    constant = memory.constant_bytes;
    // ptxas counts stores and loads together here. Accesses that do not add up to that are no spills alone.
    if (memory.local_store_bytes + memory.local_load_bytes != row.cubin->spill_bytes) return;
    spill_stores = memory.local_store_bytes;
    spill_loads = memory.local_load_bytes;
  }

  std::optional<std::int64_t> stack;
  std::optional<std::int64_t> constant;
  std::optional<std::int64_t> spill_stores;
  std::optional<std::int64_t> spill_loads;
};

std::string text_of(const std::optional<std::int64_t>& bytes) { return bytes ? std::to_string(*bytes) : kNone; }

/// Writes the columns and the cells of a table. Some cells of a row depend on the rows above it.
class RowWriter {
 public:
  RowWriter(const LadderReport& report, const LadderTable& table)
      : report_(report), problem_(table.problem), library_tflops_(library_tflops(table)) {}

  std::vector<Table::Column> columns() const {
    std::vector<Table::Column> all{{"rung"}};
    const auto add_numbers = [&](std::initializer_list<const char*> headings) {
      for (const char* heading : headings) all.push_back({heading, true});
    };
    if (report_.is_verbose) all.insert(all.end(), {{"kernel"}, {"tuner"}});
    if (report_.was_run) {
      all.push_back({"D[0], D[1]"});
      if (report_.is_verbose) {
        add_numbers({"min µs", "mean µs", "max µs"});
      } else {
        add_numbers({"µs"});
      }
      add_numbers({"swizzle", "TFLOP/s", "gain", "of cuBLAS"});
    } else {
      add_numbers({"swizzle"});
    }
    add_numbers({"registers", "stack", "spill stores", "spill loads", "smem", "constant", "warps/SM", "blocks/SM",
                 "threads", "grid", "blocks", "compile ms"});
    if (report_.with_roofline) {
      all.push_back({"pipe"});
      add_numbers({"traffic MB", "FLOP/B", "device FLOP/B"});
      all.push_back({"binds"});
      add_numbers({"bound TFLOP/s"});
      if (report_.was_run) add_numbers({"of bound"});
    }
    all.push_back({"note"});
    return all;
  }

  std::vector<std::string> cells(const LadderRow& row) {
    std::vector<std::string> all{row.entry.label};
    if (report_.is_verbose) {
      const char* const tuner = row.is_candidate ? "candidate" : "rung only";
      all.insert(all.end(), {row.entry.name, row.is_ours() ? tuner : kNone});
    }
    if (report_.was_run) {
      add_speed(row, all);
    } else {
      all.push_back(row.swizzle);
    }
    add_resources(row, all);
    if (report_.with_roofline) add_roofline(row, all);
    all.push_back(one_line(row.reason));
    return all;
  }

 private:
  void add_speed(const LadderRow& row, std::vector<std::string>& all) {
    const Times times = times_of(row);
    const double rate = tflops(problem_, times.median);
    all.push_back(samples_text(row));
    if (report_.is_verbose) {
      all.insert(all.end(), {number(times.least, 2), number(times.mean, 2), number(times.most, 2)});
    } else {
      all.push_back(number(times.median, 2));
    }
    all.insert(all.end(), {row.swizzle, number(rate, 2), gain_text(rate), number(rate / library_tflops_, 3)});
  }

  /// The gain over the best row above, as in the material's tables. Empty for a row that is not faster.
  std::string gain_text(double rate) {
    const double before = best_tflops_;
    if (!(rate > before)) return "";
    best_tflops_ = rate;
    return fmt::format("+{:.1f}%", before > 0 ? (rate / before - 1) * 100 : 0.0);
  }

  static void add_resources(const LadderRow& row, std::vector<std::string>& all) {
    if (!row.cubin) {
      all.insert(all.end(), 12, kNone);
      return;
    }
    const Occupancy& o = row.occupancy;
    const KernelMemory memory(row);
    all.insert(all.end(), {std::to_string(row.cubin->registers), text_of(memory.stack), text_of(memory.spill_stores),
                           text_of(memory.spill_loads), std::to_string(row.smem_bytes), text_of(memory.constant),
                           fmt::format("{}/{}", o.warps_per_sm, o.most_warps),
                           fmt::format("{} ({})", o.blocks_per_sm, to_string(o.limit)),
                           std::to_string(threads(*row.entry.config)), fmt::format("{}×{}", row.tiles_n, row.tiles_m),
                           std::to_string(row.blocks), number(row.cubin->compile_ms, 0)});
  }

  void add_roofline(const LadderRow& row, std::vector<std::string>& all) const {
    const Roofline& r = row.roofline;
    if (row.outcome == LadderOutcome::refused) {
      all.insert(all.end(), report_.was_run ? 7 : 6, kNone);
      return;
    }
    all.insert(all.end(),
               {std::string(to_string(r.pipe)), number(r.traffic_bytes * 1e-6, 1), number(r.intensity, 2),
                number(r.device_ratio, 1), r.is_compute_bound ? "compute" : "memory", number(r.bound_tflops, 1)});
    if (report_.was_run) all.push_back(number(tflops(problem_, times_of(row).median) / r.bound_tflops, 3));
  }

  const LadderReport& report_;
  const Workload& problem_;
  double library_tflops_;
  double best_tflops_ = 0;
};

Table table_of(const LadderReport& report, const LadderTable& ladder) {
  RowWriter writer(report, ladder);
  Table table(writer.columns());
  for (const LadderRow& row : ladder.rows) table.add(writer.cells(row));
  return table;
}

/// The corners of D that --show-matrix asks for.
std::string matrices_of(const LadderTable& table) {
  std::string text;
  for (const LadderRow& row : table.rows) {
    if (row.corners) text += fmt::format("\n\nD of {}:\n{}", row.entry.label, to_text(*row.corners));
  }
  return text;
}

std::vector<std::string> lines_below(const LadderReport& report) {
  std::vector<std::string> lines;
  if (!report.is_complete) lines.push_back("Stopped before all rungs were measured.");
  if (!report.with_roofline) return lines;
  for (const LadderTable& table : report.tables) {
    const double bytes = least_bytes(table.problem);
    lines.push_back(fmt::format("{}: {:.1f} MB at least, {:.2f} FLOP/B at most", label(table.problem), bytes * 1e-6,
                                flops(table.problem) / bytes));
  }
  lines.push_back(fmt::format("device FLOP/B: the pipe's peak at {} MHz on {} SMs, over {} GB/s of DRAM",
                              report.device.clock_mhz, report.device.sm_count, report.device.dram_gbps));
  lines.push_back(
      "traffic: what blocks ask of L2 and DRAM, each for itself; caches serve a part of it, so a rung that memory "
      "binds may be faster than its bound");
  lines.push_back(
      "binds: the lower of two bounds, the pipe's peak and DRAM at this traffic; not counted are the issue of loads, "
      "shared memory and its bank conflicts, and latency, which bind many rungs earlier");
  return lines;
}

/// The values of a row, under their names in CSV and JSON.
Json row_json(const LadderReport& report, const LadderTable& table, const LadderRow& row) {
  const Workload& p = table.problem;
  const Times times = times_of(row);
  const double rate = tflops(p, times.median);
  Json json{{"problem", to_string(p)},
            {"m", p.m},
            {"n", p.n},
            {"k", p.k},
            {"layout", std::string(to_string(p.op_a)) + std::string(to_string(p.op_b))},
            {"dtype", to_string(p.types.a)},
            {"acc", to_string(p.types.compute)},
            {"name", row.entry.name},
            {"label", row.entry.label},
            {"config", row.is_ours() ? Json(to_string(*row.entry.config)) : Json()},
            {"launch", row.is_ours() ? Json(to_string(row.launch)) : Json()},
            {"us_median", times.median},
            {"us_min", times.least},
            {"us_mean", times.mean},
            {"us_max", times.most},
            {"tflops", rate},
            {"of_best_cublas", rate / library_tflops(table)}};
  const Cubin* cubin = row.cubin.get();
  const auto of_cubin = [&](auto value) { return cubin != nullptr ? Json(value) : Json(); };
  json["registers"] = of_cubin(cubin != nullptr ? cubin->registers : 0);
  json["spill_bytes"] = of_cubin(cubin != nullptr ? cubin->spill_bytes : 0);
  const KernelMemory memory = cubin != nullptr ? KernelMemory(row) : KernelMemory(LadderRow{});
  const auto known = [](const std::optional<std::int64_t>& bytes) { return bytes ? Json(*bytes) : Json(); };
  json["spill_store_bytes"] = known(memory.spill_stores);
  json["spill_load_bytes"] = known(memory.spill_loads);
  json["stack_bytes"] = known(memory.stack);
  json["smem_bytes"] = of_cubin(row.smem_bytes);
  json["constant_bytes"] = known(memory.constant);
  json["warps_per_sm"] = of_cubin(row.occupancy.warps_per_sm);
  json["threads"] = of_cubin(cubin != nullptr ? threads(*row.entry.config) : 0);
  json["grid"] = of_cubin(fmt::format("{}x{}", row.tiles_n, row.tiles_m));
  json["blocks"] = of_cubin(row.blocks);
  json["compile_ms"] = of_cubin(cubin != nullptr ? cubin->compile_ms : 0.0);
  const bool is_refused = row.outcome == LadderOutcome::refused;
  json["intensity"] = is_refused ? kNan : row.roofline.intensity;
  json["refusal"] = one_line(row.reason);
  json["gpu"] = report.device.name;
  return json;
}

/// Adds the values that JSON has and CSV has not.
void add_details(const LadderRow& row, Json& json) {
  constexpr std::array<const char*, 4> kOutcomes{"sound", "refused", "failed", "wrong"};
  json["outcome"] = kOutcomes[static_cast<std::size_t>(row.outcome)];
  json["samples"] = row.samples;
  json["swizzle"] = row.swizzle;
  if (row.corners) {
    json["matrix"] = {{"rows", row.corners->rows}, {"columns", row.corners->columns}, {"values", row.corners->values}};
  }
  if (row.is_ours()) json["is_candidate"] = row.is_candidate;
  if (row.cubin) {
    json["blocks_per_sm"] = row.occupancy.blocks_per_sm;
    json["most_warps_per_sm"] = row.occupancy.most_warps;
    json["occupancy_limit"] = to_string(row.occupancy.limit);
  }
  if (row.outcome == LadderOutcome::refused) return;
  const Roofline& r = row.roofline;
  json["roofline"] = {{"pipe", to_string(r.pipe)},
                      {"traffic_bytes", r.traffic_bytes},
                      {"problem_intensity", r.problem_intensity},
                      {"peak_tflops", r.peak_tflops},
                      {"device_ratio", r.device_ratio},
                      {"bound_tflops", r.bound_tflops},
                      {"binds", r.is_compute_bound ? "compute" : "memory"}};
}

std::string csv_cell(const Json& value) {
  if (value.is_null() || (value.is_number_float() && !std::isfinite(value.get<double>()))) return {};
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

bool LadderReport::has(LadderOutcome outcome) const {
  for (const LadderTable& table : tables) {
    for (const LadderRow& row : table.rows) {
      if (row.outcome == outcome && (outcome != LadderOutcome::refused || row.entry.is_named)) return true;
    }
  }
  return false;
}

std::string to_text(const LadderReport& report) {
  std::string text;
  for (const LadderTable& table : report.tables) {
    if (!text.empty()) text += "\n\n";
    text += fmt::format("{} on {} ({})\n", label(table.problem), report.device.name, report.device.arch);
    text += (table.rows.empty() ? "no selected rung computes it" : table_of(report, table).text()) + matrices_of(table);
  }
  for (const std::string& line : lines_below(report)) text += "\n" + line;
  return text;
}

std::string to_markdown(const LadderReport& report, const std::string& heading, const RunEnvironment& environment) {
  std::string text = "## " + heading + "\n\n" + to_markdown(environment);
  for (const LadderTable& table : report.tables)
    text += "\n### " + label(table.problem) + "\n\n" + table_of(report, table).markdown() + "\n";
  for (const std::string& line : lines_below(report)) text += "\n" + line + "\n";
  return text;
}

std::string to_csv(const LadderReport& report) {
  std::string text;
  for (const LadderTable& table : report.tables) {
    for (const LadderRow& row : table.rows) {
      std::string heading;
      std::string line;
      const Json json = row_json(report, table, row);
      for (const auto& [name, value] : json.items()) {
        heading += (heading.empty() ? "" : ",") + name;
        line += (line.empty() ? "" : ",") + csv_cell(value);
      }
      text += (text.empty() ? heading : "") + "\n" + line;
    }
  }
  return text;
}

void to_json(const LadderReport& report, Json& output) {
  output["gpu"] = report.device.name;
  output["arch"] = report.device.arch;
  output["complete"] = report.is_complete;
  output["results"] = Json::array();
  for (const LadderTable& table : report.tables) {
    for (const LadderRow& row : table.rows) {
      Json json = row_json(report, table, row);
      add_details(row, json);
      json["median_us"] = json["us_median"];
      if (row.outcome != LadderOutcome::sound) json["failure"] = json["refusal"];
      output["results"].push_back(std::move(json));
    }
  }
}

}  // namespace hotgemm::command
