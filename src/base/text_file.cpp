#include "base/text_file.hpp"

#include <hotgemm/error.hpp>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace hotgemm {

std::string read_text_file(const std::filesystem::path& path) {
  const auto fail = [&] {
    return Error(ErrorCode::io_error, "cannot read " + path.string() + ": " + std::strerror(errno));
  };
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw fail();
  std::string text;
  char block[4096];
  while (file.read(block, sizeof block), file.gcount() > 0) text.append(block, static_cast<std::size_t>(file.gcount()));
  if (file.bad() || errno == EISDIR) throw fail();
  return text;
}

}  // namespace hotgemm
