#include "command/tar.hpp"

#include "base/new_file.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

namespace hotgemm::command {
namespace {

constexpr std::size_t kBlock = 512;
using Header = std::array<char, kBlock>;

struct Field {
  std::size_t offset;
  std::size_t size;
};
constexpr Field kName{0, 100}, kMode{100, 8}, kOwner{108, 8}, kGroup{116, 8}, kSize{124, 12}, kTime{136, 12},
    kChecksum{148, 8}, kType{156, 1}, kMagic{257, 8}, kPrefix{345, 155};

void put(Header& header, Field field, std::string_view text) {
  std::copy(text.begin(), text.end(), header.begin() + static_cast<std::ptrdiff_t>(field.offset));
}

void put_number(Header& header, Field field, std::uint64_t value) {
  put(header, field, fmt::format("{:0{}o}", value, field.size - 1));
}

std::string_view text_of(const Header& header, Field field) {
  const std::string_view all(header.data() + field.offset, field.size);
  return all.substr(0, all.find('\0'));
}

/// The sum of the header's bytes, with blanks for the checksum itself.
unsigned checksum(Header header) {
  std::fill_n(header.begin() + kChecksum.offset, kChecksum.size, ' ');
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  return sum;
}

Header header_of(const TarFile& file) {
  if (file.name.size() > kName.size) throw Error(ErrorCode::invalid_argument, "too long a name: " + file.name);
  Header header{};
  put(header, kName, file.name);
  put_number(header, kMode, 0644);
  put_number(header, kOwner, 0);
  put_number(header, kGroup, 0);
  put_number(header, kSize, file.bytes.size());
  put_number(header, kTime, 0);
  put(header, kType, "0");
  put(header, kMagic, std::string_view("ustar\00000", kMagic.size));
  put(header, kChecksum, fmt::format("{:06o}", checksum(header)) + std::string("\0 ", 2));
  return header;
}

std::size_t padding(std::size_t bytes) { return (kBlock - bytes % kBlock) % kBlock; }

class TarReader {
 public:
  explicit TarReader(const std::filesystem::path& path) : path_(path) {
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(path, error);
    if (std::filesystem::is_directory(status)) fail("it is a directory");
    // Opening a pipe would wait for its writer.
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) fail("it is not a regular file");
    in_.open(path, std::ios::binary);
    if (!in_) fail(std::strerror(errno));
    in_.seekg(0, std::ios::end);
    left_ = static_cast<std::uint64_t>(in_.tellg());
    in_.seekg(0);
    if (left_ < kBlock) fail("it is no tar archive");
  }

  /// False at the end of the archive.
  bool next(TarFile& file) {
    Header header{};
    read(header.data(), kBlock);
    if (std::ranges::all_of(header, [](char c) { return c == '\0'; })) return false;
    if (!text_of(header, kMagic).starts_with("ustar")) fail("it is no tar archive (ustar)");
    if (number(header, kChecksum) != checksum(header)) fail("a header is damaged");
    const std::string_view type(header.data() + kType.offset, 1);
    file.name = text_of(header, kName);
    if ((type != "0" && type[0] != '\0') || !text_of(header, kPrefix).empty()) fail(file.name + " is no plain file");
    const std::uint64_t size = number(header, kSize);
    if (size > left_) fail("it is cut short");
    file.bytes.resize(size);
    read(reinterpret_cast<char*>(file.bytes.data()), size);
    Header rest;
    read(rest.data(), padding(size));
    return true;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ErrorCode::io_error, "read the archive " + path_.string() + ": " + why);
  }
  void read(char* to, std::size_t bytes) {
    if (bytes > left_ || !in_.read(to, static_cast<std::streamsize>(bytes))) fail("it is cut short");
    left_ -= bytes;
  }
  std::uint64_t number(const Header& header, Field field) const {
    std::uint64_t value = 0;
    for (const char c : text_of(header, field)) {
      if (c == ' ') continue;
      if (c < '0' || c > '7') fail("a header is damaged");
      value = value * 8 + static_cast<std::uint64_t>(c - '0');
    }
    return value;
  }

  std::filesystem::path path_;
  std::ifstream in_;
  std::uint64_t left_ = 0;
};

}  // namespace

void write_tar(const std::filesystem::path& path, std::span<const TarFile> files) {
  const std::string zeros(2 * kBlock, '\0');
  std::vector<Header> headers;  // made first: a file may have too long a name
  for (const TarFile& file : files) headers.push_back(header_of(file));
  NewFile out(AT_FDCWD, path.string());
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::vector<std::uint8_t>& bytes = files[i].bytes;
    out.write({headers[i].data(), kBlock});
    out.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    out.write(std::string_view(zeros).substr(0, padding(bytes.size())));
  }
  out.write(zeros);
  out.publish();
}

std::vector<TarFile> read_tar(const std::filesystem::path& path) {
  TarReader reader(path);
  std::vector<TarFile> files;
  TarFile file;
  while (reader.next(file)) files.push_back(std::move(file));
  return files;
}

}  // namespace hotgemm::command
