#include "records/resumable_trace.hpp"

#include <hotgemm/error.hpp>

#include <utility>

namespace hotgemm {

ResumableTrace::ResumableTrace(LayerOptions options, const std::string& name, const TraceHeader& header) {
  if (options.writable && !options.user_directory.empty()) {
    try {
      AppendFile file = AppendFile::in_layer(options.user_directory, kExhaustiveTraces, name + ".jsonl",
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

void ResumableTrace::add(TraceLine line) {
  if (writer_) writer_->add(line);
  lines_.push_back(std::move(line));
}

void ResumableTrace::flush() {
  if (writer_) writer_->flush();
}

}  // namespace hotgemm
