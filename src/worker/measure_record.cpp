#include "worker/measure_record.hpp"

#include "base/member_count.hpp"

#include <hotgemm/version.hpp>

#include <algorithm>
#include <chrono>
#include <optional>

namespace hotgemm {
namespace {

// A field that is left out here has its default value in the other process.
static_assert(member_count<MeasureOptions>() == 4 && member_count<RaceOptions>() == 14 &&
                  member_count<BlockLengths>() == 3 && member_count<CublasQuestion>() == 4 &&
                  member_count<Trial>() == 3 && member_count<Cubin>() == 8 && member_count<GpuFacts>() == 5 &&
                  member_count<DeviceInfo>() == 7 && member_count<Environment>() == 5 && member_count<Verdict>() == 2 &&
                  member_count<BlockReport>() == 2 && member_count<ClockState>() == 6 &&
                  member_count<CublasComparison>() == 4,
              "encode and decode the new field, unless only its own process needs it; then correct the number");

void add_trials(FieldWriter& fields, std::span<const Trial> trials) {
  fields.add_number(static_cast<std::uint64_t>(trials.size()));
  for (const Trial& trial : trials) {
    fields.add_text(to_string(trial.config)).add_text(to_string(trial.launch)).add_text(trial.cubin->symbol);
  }
}

std::vector<Trial> read_trials(FieldReader& fields, const Cubins& cubins) {
  std::vector<Trial> trials;
  for (auto left = fields.number<std::uint64_t>(); left > 0; --left) {
    const std::string name = fields.text(), raster = fields.text(), symbol = fields.text();
    const std::optional<KernelConfig> config = parse_config(name);
    const std::optional<LaunchConfig> launch = parse_launch(raster);
    const auto cubin = cubins.find(symbol);
    if (!config || !launch || !is_legal(*launch, *config) || cubin == cubins.end()) {
      throw Error(ErrorCode::internal, "a worker was asked to run an unknown kernel: " + name + " " + raster);
    }
    trials.push_back({*config, *launch, cubin->second});
  }
  return trials;
}

using Time = std::chrono::steady_clock::time_point;

/// The steady clock belongs to the machine: all its processes see the same clock.
void add_time(FieldWriter& fields, Time time) { fields.add_number(time.time_since_epoch().count()); }

Time read_time(FieldReader& fields) { return Time(Time::duration(fields.number<Time::rep>())); }

Reply reply_of(ReplyKind kind, const FieldWriter& fields) {
  Reply reply;
  reply.kind = kind;
  reply.set_text({reinterpret_cast<const char*>(fields.bytes().data()), fields.bytes().size()});
  return reply;
}

}  // namespace

void Reply::set_text(std::string_view text) {
  text = text.substr(0, text_buffer.size());
  std::ranges::copy(text, text_buffer.begin());
  text_bytes = static_cast<std::uint32_t>(text.size());
}

std::string_view Reply::text() const { return {text_buffer.data(), text_bytes}; }

bool Reply::is_intact() const {
  return magic == kMagic && kind <= ReplyKind::fatal && text_bytes <= text_buffer.size() && stage >= 0 &&
         stage <= static_cast<int>(Stage::measure);
}

std::span<const std::byte> FieldReader::take(std::size_t bytes) {
  if (bytes > rest_.size()) throw Error(ErrorCode::internal, "a record between processes is too short");
  const auto taken = rest_.first(bytes);
  rest_ = rest_.subspan(bytes);
  return taken;
}

std::string FieldReader::text() {
  const auto size = number<std::uint64_t>();
  if (size > rest_.size()) throw Error(ErrorCode::internal, "a record between processes is too short");
  const auto bytes = take(size);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Request encode_begin(const Workload& problem, const MeasureOptions& options) {
  FieldWriter fields;
  fields.add_text(to_string(problem)).add_number(options.scratch_bytes);
  fields.add_number(options.seed).add_number(options.with_baseline);
  add_time(fields, options.deadline);
  return {RequestKind::begin, fields.bytes()};
}

BeginRequest decode_begin(std::span<const std::byte> body) {
  FieldReader fields(body);
  BeginRequest request;
  request.problem = parse_workload(fields.text());
  request.options.scratch_bytes = fields.number<std::int64_t>();
  request.options.seed = fields.number<std::uint64_t>();
  request.options.with_baseline = fields.number<bool>();
  request.options.deadline = read_time(fields);
  return request;
}

Request encode_cubin(const Cubin& cubin) {
  FieldWriter fields;
  fields.add_text(cubin.symbol).add_text(cubin.arch).add_text(cubin.toolchain);
  fields.add_number(cubin.registers).add_number(cubin.spill_bytes).add_number(cubin.static_smem_bytes);
  fields.add_number(cubin.compile_ms);
  fields.add_text({reinterpret_cast<const char*>(cubin.image.data()), cubin.image.size()});
  return {RequestKind::cubin, fields.bytes()};
}

Cubin decode_cubin(std::span<const std::byte> body) {
  FieldReader fields(body);
  Cubin cubin;
  cubin.symbol = fields.text();
  cubin.arch = fields.text();
  cubin.toolchain = fields.text();
  cubin.registers = fields.number<int>();
  cubin.spill_bytes = fields.number<int>();
  cubin.static_smem_bytes = fields.number<int>();
  cubin.compile_ms = fields.number<double>();
  const std::string image = fields.text();
  cubin.image.assign(image.begin(), image.end());
  return cubin;
}

Request encode_check(std::span<const Trial> trials, unsigned seed) {
  FieldWriter fields;
  fields.add_number(seed);
  add_trials(fields, trials);
  return {RequestKind::check, fields.bytes()};
}

CheckRequest decode_check(std::span<const std::byte> body, const Cubins& cubins) {
  FieldReader fields(body);
  CheckRequest request;
  request.seed = fields.number<unsigned>();
  request.trials = read_trials(fields, cubins);
  return request;
}

Request encode_race(std::span<const Trial> trials, const RaceOptions& options, bool with_baseline) {
  FieldWriter fields;
  fields.add_number(with_baseline).add_number(static_cast<int>(options.mode)).add_number(options.rounds);
  fields.add_number(options.round_us).add_number(options.warm_up_us);
  fields.add_number(options.max_launches).add_number(options.seed);
  fields.add_number(options.abandon_ratio);
  add_time(fields, options.deadline);
  const BlockLengths blocks = options.blocks.value_or(BlockLengths{});
  fields.add_number(options.blocks.has_value());
  fields.add_number(blocks.load_s).add_number(blocks.settle_s).add_number(blocks.counted_s);
  add_trials(fields, trials);
  return {RequestKind::race, fields.bytes()};
}

RaceRequest decode_race(std::span<const std::byte> body, const Cubins& cubins) {
  FieldReader fields(body);
  RaceRequest request;
  request.with_baseline = fields.number<bool>();
  request.options.mode = static_cast<TimingMode>(fields.number<int>());
  request.options.rounds = fields.number<int>();
  request.options.round_us = fields.number<double>();
  request.options.warm_up_us = fields.number<double>();
  request.options.max_launches = fields.number<int>();
  request.options.seed = fields.number<std::uint64_t>();
  request.options.abandon_ratio = fields.number<double>();
  request.options.deadline = read_time(fields);
  const bool has_blocks = fields.number<bool>();
  BlockLengths blocks;
  blocks.load_s = fields.number<double>();
  blocks.settle_s = fields.number<double>();
  blocks.counted_s = fields.number<double>();
  if (has_blocks) request.options.blocks = blocks;
  request.trials = read_trials(fields, cubins);
  return request;
}

Request encode_compare(const Trial& pick, const CublasQuestion& question) {
  FieldWriter fields;
  fields.add_number(static_cast<int>(question.mode)).add_number(static_cast<int>(question.measure));
  fields.add_number(static_cast<int>(question.objective)).add_number(static_cast<int>(question.scope));
  add_trials(fields, {&pick, 1});
  return {RequestKind::compare, fields.bytes()};
}

CompareRequest decode_compare(std::span<const std::byte> body, const Cubins& cubins) {
  FieldReader fields(body);
  CompareRequest request;
  request.question.mode = static_cast<TimingMode>(fields.number<int>());
  request.question.measure = static_cast<Measure>(fields.number<int>());
  request.question.objective = static_cast<Objective>(fields.number<int>());
  request.question.scope = static_cast<CublasScope>(fields.number<int>());
  const std::vector<Trial> trials = read_trials(fields, cubins);
  if (trials.size() != 1) throw Error(ErrorCode::internal, "a comparison is of one trial");
  request.pick = trials.front();
  return request;
}

Reply encode_facts(const GpuFacts& facts) {
  FieldWriter fields;
  const DeviceInfo& info = facts.info;
  const Environment& environment = facts.environment;
  fields.add_text(version());  // first, so that every version can read it
  fields.add_text(info.arch).add_text(info.name).add_number(info.sm_count).add_number(info.l2_bytes);
  fields.add_number(info.memory_bytes).add_number(info.clock_mhz).add_number(info.dram_gbps);
  fields.add_text(environment.gpu).add_text(environment.arch).add_number(environment.sm_count);
  fields.add_text(environment.driver).add_text(environment.toolchain).add_number(facts.free_bytes);
  fields.add_number(facts.power_limit_w).add_number(facts.reports_power);
  return reply_of(ReplyKind::facts, fields);
}

GpuFacts decode_facts(const Reply& reply) {
  FieldReader fields(std::as_bytes(std::span(reply.text())));
  if (const std::string other = fields.text(); other != version()) {
    throw Error(ErrorCode::io_error, "the worker is hotgemm " + other + ", and this is " + std::string(version()));
  }
  GpuFacts facts;
  DeviceInfo& info = facts.info;
  Environment& environment = facts.environment;
  info.arch = fields.text();
  info.name = fields.text();
  info.sm_count = fields.number<int>();
  info.l2_bytes = fields.number<std::int64_t>();
  info.memory_bytes = fields.number<std::int64_t>();
  info.clock_mhz = fields.number<int>();
  info.dram_gbps = fields.number<int>();
  environment.gpu = fields.text();
  environment.arch = fields.text();
  environment.sm_count = fields.number<int>();
  environment.driver = fields.text();
  environment.toolchain = fields.text();
  facts.free_bytes = fields.number<std::int64_t>();
  facts.power_limit_w = fields.number<double>();
  facts.reports_power = fields.number<bool>();
  return facts;
}

Reply encode_blocks(std::size_t row, const BlockReport& report, double power_limit_w) {
  const ClockState& clock = report.clock;
  FieldWriter fields;
  fields.add_number(clock.mhz).add_number(clock.watts).add_number(clock.samples).add_number(clock.power_cap_share);
  fields.add_number(clock.other_share).add_number(clock.reasons).add_number(report.unsteady).add_number(power_limit_w);
  Reply reply = reply_of(ReplyKind::blocks, fields);
  reply.trial = static_cast<std::int32_t>(row);
  return reply;
}

void decode_blocks(const Reply& reply, BlockReport& report, double& power_limit_w) {
  FieldReader fields(std::as_bytes(std::span(reply.text())));
  ClockState& clock = report.clock;
  clock.mhz = fields.number<double>();
  clock.watts = fields.number<double>();
  clock.samples = fields.number<int>();
  clock.power_cap_share = fields.number<double>();
  clock.other_share = fields.number<double>();
  clock.reasons = fields.number<std::uint64_t>();
  report.unsteady = fields.number<int>();
  power_limit_w = fields.number<double>();
}

Reply encode_comparison(const CublasComparison& comparison) {
  FieldWriter fields;
  fields.add_text(comparison.version).add_text(comparison.algorithm);
  fields.add_number(comparison.ratio).add_number(comparison.default_ratio);
  return reply_of(ReplyKind::compared, fields);
}

CublasComparison decode_comparison(const Reply& reply) {
  FieldReader fields(std::as_bytes(std::span(reply.text())));
  CublasComparison comparison;
  comparison.version = fields.text();
  comparison.algorithm = fields.text();
  comparison.ratio = fields.number<double>();
  comparison.default_ratio = fields.number<double>();
  return comparison;
}

Reply encode_error(ReplyKind kind, ErrorCode code, std::string_view message) {
  Reply reply;
  reply.kind = kind;
  reply.code = static_cast<std::int32_t>(code);
  reply.set_text(message);
  return reply;
}

Error decode_error(const Reply& reply) {
  const bool is_code = reply.code >= 0 && reply.code <= static_cast<std::int32_t>(ErrorCode::internal);
  return {is_code ? static_cast<ErrorCode>(reply.code) : ErrorCode::internal, std::string(reply.text())};
}

}  // namespace hotgemm
