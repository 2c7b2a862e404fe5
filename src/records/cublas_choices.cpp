#include "records/cublas_choices.hpp"

#include "config/identity.hpp"
#include "config/problem_text.hpp"
#include "records/sealed_line.hpp"

#include <hotgemm/error.hpp>

#include <fcntl.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <utility>

namespace hotgemm {
namespace {

constexpr std::string_view kPrefix = "{\"cublas\":";
constexpr int kSchema = 1;
constexpr std::size_t kAlgorithmDigits = 128;

std::string name_of(const CublasChoiceKey& key) {
  IdentityBuilder builder;
  builder.field("version", key.version).field("gpu", key.gpu).field("measure", key.measure);
  return builder.field("problem", to_string(key.problem)).build().hex() + ".jsonl";
}

std::string encode(const CublasChoiceKey& key, const CublasChoice& choice) {
  std::string line(kPrefix);
  line += json_string(key.version);
  line += ",\"schema\":" + std::to_string(kSchema);
  line += ",\"gpu\":" + json_string(key.gpu);
  line += ",\"measure\":" + json_string(key.measure);
  line += ",\"problem\":" + json_string(to_string(key.problem));
  line += ",\"algorithm\":" + json_string(choice.algorithm);
  line += ",\"name\":" + json_string(choice.name);
  line += ",\"has_default\":" + std::to_string(static_cast<int>(choice.has_default));
  line += ",\"lt_is_faster\":" + std::to_string(static_cast<int>(choice.lt_is_faster));
  line += ",\"time\":" + std::to_string(choice.time);
  return sealed(std::move(line));
}

/// Throws Reject for a line that is not what encode writes for `key`.
CublasChoice decode(std::string_view line, const CublasChoiceKey& key) {
  check_seal(line);
  const nlohmann::json json = parse_object(line);
  CublasChoice choice;
  choice.algorithm = string_field(json, "algorithm");
  const bool is_hex = choice.algorithm.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_hex || (!choice.algorithm.empty() && choice.algorithm.size() != kAlgorithmDigits)) {
    throw Reject{"\"algorithm\" is not 128 hexadecimal digits"};
  }
  choice.name = string_field(json, "name");
  choice.has_default = integer_field(json, "has_default", 1) == 1;
  choice.lt_is_faster = integer_field(json, "lt_is_faster", 1) == 1;
  choice.time = integer_field(json, "time", std::numeric_limits<std::int64_t>::max());
  const bool has_baseline = choice.lt_is_faster ? !choice.algorithm.empty() : choice.has_default;
  if (!has_baseline) throw Reject{"the faster side is missing"};
  if (encode(key, choice) != line) throw Reject{"for another key, or not as this version writes it"};
  return choice;
}

}  // namespace

CublasChoices::CublasChoices(LayerOptions options) : options_(std::move(options)) {
  if (!options_.warn) options_.warn = [](const std::string&) {};
  has_disk_ = options_.writable && !options_.user_directory.empty();
}

/// The text of a file of this user; empty if there is none.
std::string CublasChoices::read(const std::string& name) const {
  if (options_.user_directory.empty()) return {};
  const FileDescriptor directory = open_records(options_.user_directory, kCublasChoices, options_.trust_shared,
                                                /*create=*/false, options_.warn);
  if (!directory) return {};
  const FileDescriptor fd(::openat(directory.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return {};
  try {
    return std::string(read_open_file(fd.get(), name).text());
  } catch (const Error&) {
    return {};
  }
}

std::optional<CublasChoice> CublasChoices::find(const CublasChoiceKey& key) const {
  const std::string name = name_of(key);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = made_.find(name); found != made_.end()) return found->second;
  }
  const std::string text = read(name);
  try {
    return text.empty() ? std::nullopt : std::optional(decode(std::string_view(text).substr(0, text.find('\n')), key));
  } catch (const Reject&) {
    return std::nullopt;  // only consequence: the choice is made again
  }
}

void CublasChoices::keep(const CublasChoiceKey& key, CublasChoice choice) {
  if (choice.time == 0) choice.time = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::time(nullptr)));
  choice.name = storable(choice.name);
  const std::string name = name_of(key), line = encode(key, choice);
  const std::lock_guard lock(mutex_);
  made_.insert_or_assign(name, std::move(choice));
  if (!has_disk_) return;
  try {
    const FileDescriptor directory =
        open_records(options_.user_directory, kCublasChoices, options_.trust_shared, /*create=*/true,
                     [](const std::string& trouble) { throw Error(ErrorCode::io_error, trouble); });
    if (!directory) return;
    publish_lines(directory.get(), name, std::span(&line, 1), record_file_mode(directory.get(), options_.trust_shared));
  } catch (const Error& error) {
    has_disk_ = false;
    options_.warn(std::string(error.what()) + "; choices among cuBLAS's algorithms are kept in memory only");
  }
}

}  // namespace hotgemm
