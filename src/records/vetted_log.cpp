#include "records/vetted_log.hpp"

#include "records/sealed_line.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <ctime>
#include <limits>
#include <utility>

namespace hotgemm {
namespace {

constexpr int kVettedSchema = 1;
constexpr std::string_view kKernelPrefix = "{\"vetted\":\"";

std::string encode_vetted(const VettedKernel& vetted, std::int64_t time) {
  std::string line(kKernelPrefix);
  line += vetted.kernel;
  line += schema_text(kVettedSchema);
  line += ",\"gpu\":" + json_string(vetted.gpu);
  line += ",\"driver\":" + json_string(vetted.driver);
  line += ",\"time\":" + std::to_string(time);
  return sealed(std::move(line));
}

}  // namespace

std::string to_line(const VettedKernel& vetted, std::int64_t time) { return encode_vetted(vetted, time); }

std::optional<VettedKernel> parse_vetted(std::string_view line) {
  if (line.size() > kMaxRecordLineBytes || !line.starts_with(kKernelPrefix)) return std::nullopt;
  try {
    check_seal(line);
    const nlohmann::json json = parse_object(line);
    const VettedKernel vetted{digest_field(json, "vetted"), string_field(json, "gpu"), string_field(json, "driver")};
    const std::int64_t time = integer_field(json, "time", std::numeric_limits<std::int64_t>::max());
    // One comparison rejects every other spelling, and every other schema.
    return encode_vetted(vetted, time) == line ? std::optional(vetted) : std::nullopt;
  } catch (const Reject&) {
    return std::nullopt;
  }
}

VettedLog::VettedLog(LayerOptions options) : options_(std::move(options)) {
  if (!options_.warn) options_.warn = [](const std::string&) {};
  has_disk_ = options_.writable && !options_.user_directory.empty();
}

bool VettedLog::knows(const VettedKernel& vetted) const {
  const std::lock_guard lock(mutex_);
  read();
  return vetted_.contains(vetted);
}

std::size_t VettedLog::count(std::string_view gpu, std::string_view driver) const {
  const std::lock_guard lock(mutex_);
  read();
  const auto is_of = [&](const VettedKernel& vetted) { return vetted.gpu == gpu && vetted.driver == driver; };
  return static_cast<std::size_t>(std::ranges::count_if(vetted_, is_of));
}

void VettedLog::reload() {
  const std::lock_guard lock(mutex_);
  is_read_ = false;
}

void VettedLog::add(const VettedKernel& vetted) {
  if (vetted.gpu.empty() || vetted.driver.empty()) return;
  std::string warning;
  {
    const std::lock_guard lock(mutex_);
    read();
    if (!vetted_.insert(vetted).second || !has_disk_) return;
    try {
      own_segment(segment_, options_.user_directory, kVettedKernels, options_.trust_shared)
          .append(to_line(vetted, std::max<std::int64_t>(0, std::time(nullptr))));
    } catch (const Error& error) {
      has_disk_ = false;
      warning = std::string(error.what()) + "; vetted kernels are kept in memory only";
    }
  }
  if (!warning.empty()) options_.warn(warning);
}

void VettedLog::read() const {
  if (std::exchange(is_read_, true) || options_.user_directory.empty()) return;
  for (const DatabaseFile& file :
       read_user_layer(options_.user_directory, kVettedKernels, options_.trust_shared, options_.warn)) {
    for_each_line(file.text(), [&](std::string_view line, std::size_t, bool) {
      if (std::optional<VettedKernel> vetted = parse_vetted(line)) vetted_.insert(*std::move(vetted));
    });
  }
}

}  // namespace hotgemm
