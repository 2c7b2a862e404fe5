#include "records/attempt_mark.hpp"

#include "records/database_files.hpp"
#include "records/sealed_line.hpp"

#include <hotgemm/error.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace hotgemm {
namespace {

[[noreturn]] void throw_mark_error(const std::string& what) {
  throw Error(ErrorCode::io_error, "cannot mark the kernels that are attempted: " + what);
}

}  // namespace

AttemptMark::~AttemptMark() {
  if (fd_) ::unlinkat(directory_.get(), name_.c_str(), 0);
}

void AttemptMark::create() {
  if (!options_.writable || options_.user_directory.empty()) throw_mark_error("no directory may be written to");
  directory_ =
      open_records(options_.user_directory, kAttempts, options_.trust_shared, /*create=*/true, throw_mark_error);
  if (!directory_) throw_mark_error("the directory has just been removed");
  name_ = new_segment_name();
  // The lock comes before the name, so that no other process sees the file of a live process without its lock.
  const std::string unfinished = name_ + ".tmp";
  fd_ = LockedDescriptor::open([&] { return open_new_records(directory_.get(), unfinished, options_.trust_shared); });
  if (!fd_) throw_mark_error(std::strerror(errno));
  const bool is_locked = ::flock(fd_.get(), LOCK_SH) == 0;
  if (is_locked && ::renameat(directory_.get(), unfinished.c_str(), directory_.get(), name_.c_str()) == 0) return;
  const int error = errno;
  ::unlinkat(directory_.get(), unfinished.c_str(), 0);
  fd_.release();
  throw_mark_error(std::strerror(error));
}

void AttemptMark::set(std::span<const RejectionRecord> attempts) {
  if (attempts.empty() && !fd_) return;
  const bool is_new = !fd_;
  if (is_new) create();
  std::string lines;
  for (RejectionRecord attempt : attempts) {
    for (std::string* text : {&attempt.config, &attempt.problem, &attempt.reason}) *text = storable(*text);
    lines += to_line(attempt) + '\n';
  }
  if (::ftruncate(fd_.get(), 0) != 0) throw_mark_error(std::strerror(errno));
  append_text(fd_.get(), name_, lines);
  if (lines.empty()) return;  // a machine that stops now may leave an old mark, which costs a kernel a week
  if (::fsync(fd_.get()) != 0 || (is_new && ::fsync(directory_.get()) != 0)) throw_mark_error(std::strerror(errno));
}

void take_attempts_of_the_dead(const LayerOptions& options,
                               const std::function<void(std::vector<RejectionRecord>)>& take) {
  if (!options.writable || options.user_directory.empty()) return;
  const FileDescriptor directory =
      open_records(options.user_directory, kAttempts, options.trust_shared, /*create=*/false, options.warn);
  if (!directory) return;
  for (const std::string& name : segment_names(directory.get())) {
    const std::optional<LockedSegment> mark = lock_segment(directory.get(), name);
    if (!mark) continue;  // its process lives
    std::vector<RejectionRecord> attempts;
    try {
      const DatabaseFile file = read_open_file(mark->fd.get(), options.user_directory / "v1" / kAttempts / name);
      for_each_line(file.text(), [&](std::string_view line, std::size_t, bool) {
        if (ParsedRejection parsed = parse_rejection(line); parsed.record)
          attempts.push_back(*std::move(parsed.record));
      });
    } catch (const Error& error) {
      options.warn(error.what());
      continue;
    }
    take(std::move(attempts));
    ::unlinkat(directory.get(), name.c_str(), 0);  // not before: this process may end, too
  }
}

}  // namespace hotgemm
