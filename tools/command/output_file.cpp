#include "command/output_file.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

namespace hotgemm::command {

std::filesystem::path output_file(const std::string& name) {
  if (name == "-") throw Error(ErrorCode::invalid_argument, "the file to write needs a name; - is none");
  std::error_code error;
  const bool is_link = std::filesystem::is_symlink(std::filesystem::symlink_status(name, error));
  const std::filesystem::file_status status = std::filesystem::status(name, error);
  if (!std::filesystem::exists(status)) {
    if (is_link) throw Error(ErrorCode::invalid_argument, name + " is a link to nothing, so it is not replaced");
    const std::filesystem::path parent = std::filesystem::path(name).parent_path() / ".";
    if (::access(parent.c_str(), W_OK | X_OK) == 0) return name;
    throw Error(ErrorCode::io_error, fmt::format("cannot write {}: {}", name, std::strerror(errno)));
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw Error(ErrorCode::invalid_argument, name + " is not a regular file, so it is not replaced");
  }
  return is_link ? std::filesystem::canonical(name) : std::filesystem::path(name);
}

void write_file(const std::filesystem::path& file, std::string_view bytes) {
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(file, ignored);
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (out) return;
  const std::string reason = std::strerror(errno);
  if (is_new) std::filesystem::remove(file, ignored);
  throw Error(ErrorCode::io_error, fmt::format("cannot write {}: {}", file.string(), reason));
}

}  // namespace hotgemm::command
