#include "plan/kept_trace.hpp"

#include <hotgemm/error.hpp>

#include <utility>

namespace hotgemm {

KeptTrace::KeptTrace(LayerOptions options, const std::string& name, const TraceHeader& header) {
  if (options.writable && !options.user_directory.empty()) {
    try {
      LineFile file = LineFile::in_layer(options.user_directory, kExhaustiveTraces, name + ".jsonl",
                                         options.trust_shared, /*afresh=*/false);
      lines_ = parse_trace(file.text()).lines;
      path_ = file.path();
      writer_.emplace(std::move(file), options.warn);
    } catch (const Error& error) {
      if (options.warn) options.warn(std::string(error.what()) + "; this trace is kept in memory only");
    }
  }
  if (lines_.empty()) add(header);
}

void KeptTrace::add(TraceLine line) {
  if (writer_) writer_->add(line);
  lines_.push_back(std::move(line));
}

void KeptTrace::flush() {
  if (writer_) writer_->flush();
}

}  // namespace hotgemm
