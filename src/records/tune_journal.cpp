#include "records/tune_journal.hpp"

#include "base/text.hpp"
#include "config/identity.hpp"
#include "records/sealed_line.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace hotgemm {

namespace {

constexpr int kJournalSchema = 1;
constexpr std::string_view kPrefix = "{\"tuned\":";
constexpr std::array<std::string_view, 3> kStatusWords = {"done", "partial", "failed"};

std::string encode(const std::string& problem, const JournalEntry& entry) {
  std::string line(kPrefix);
  line += json_string(problem);
  line += ",\"schema\":" + std::to_string(kJournalSchema);
  line += ",\"status\":" + json_string(to_string(entry.status));
  line += ",\"reason\":" + json_string(entry.reason);
  return sealed(std::move(line));
}

std::pair<std::string, JournalEntry> decode(std::string_view line) {
  check_seal(line);
  const nlohmann::json json = parse_object(line);
  std::pair<std::string, JournalEntry> result;
  result.first = string_field(json, "tuned", kMaxProblemTextBytes);
  const std::string status = string_field(json, "status");
  const auto* const word = std::find(kStatusWords.begin(), kStatusWords.end(), status);
  if (word == kStatusWords.end()) throw Reject{"\"status\" is " + in_quotes(status)};
  result.second.status = static_cast<JournalEntry::Status>(word - kStatusWords.begin());
  result.second.reason = string_field(json, "reason");
  if (encode(result.first, result.second) != line) throw Reject{"not as this version writes it"};
  return result;
}

}  // namespace

std::string_view to_string(JournalEntry::Status status) { return kStatusWords[static_cast<std::size_t>(status)]; }

std::string journal_digest(std::span<const Workload> problems, std::string_view options, const std::string& gpu,
                           const std::string& arch) {
  IdentityBuilder builder;
  for (const Workload& problem : problems) builder.field("problem", to_string(problem));
  builder.field("options", options).field("gpu", gpu).field("arch", arch);
  return builder.build().hex();
}

TuneJournal::TuneJournal(LayerOptions options, const std::string& digest, bool resume)
    : warn_(std::move(options.warn)) {
  if (!options.writable || options.user_directory.empty()) return;
  try {
    file_ =
        AppendFile::in_layer(options.user_directory, kTuneJournals, digest + ".jsonl", options.trust_shared, !resume);
    read(file_->text());
  } catch (const Error& error) {
    lose_disk(error.what());
  }
}

void TuneJournal::read(std::string_view text) {
  for_each_line(text, [&](std::string_view line, std::size_t, bool) {
    try {
      auto [problem, entry] = decode(line);
      entries_.insert_or_assign(std::move(problem), std::move(entry));
    } catch (const Reject&) {
      return;  // only consequence: that problem is done again
    }
  });
}

std::optional<JournalEntry> TuneJournal::status(const Workload& problem) const {
  const auto found = entries_.find(to_string(problem));
  return found == entries_.end() ? std::nullopt : std::optional(found->second);
}

void TuneJournal::add(const Workload& problem, JournalEntry entry) {
  entry.reason = storable(entry.reason);
  const std::string key = to_string(problem);
  const std::string line = encode(key, entry) + '\n';
  entries_.insert_or_assign(key, std::move(entry));
  if (!file_) return;
  try {
    file_->append(line);
  } catch (const Error& error) {
    lose_disk(error.what());
  }
}

void TuneJournal::lose_disk(const std::string& trouble) {
  file_.reset();
  if (warn_) warn_(trouble + "; this run cannot be resumed");
}

}  // namespace hotgemm
