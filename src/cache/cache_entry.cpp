#include "cache/cache_entry.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>
#include <utility>

namespace hotgemm {
namespace {

constexpr std::string_view kMagic = "hotgemm\n";
// A change of format also changes the directory name "v1". So within "v1" any other number means damage.
constexpr std::uint32_t kFormat = 1;
constexpr std::size_t kMaxHeaderBytes = std::size_t{4} << 20U;
constexpr std::size_t kPrefixBytes = 8 + 4 + 4 + 8 + 32;
constexpr std::size_t kHeaderOffset = kPrefixBytes + 32;
constexpr std::size_t kTagDigits = 12;
constexpr std::size_t kIdentityDigits = 64;
constexpr std::string_view kSuffix = ".hgk";

class Writer {
 public:
  void bytes(std::span<const std::uint8_t> data) { out_.insert(out_.end(), data.begin(), data.end()); }
  void raw(std::string_view text) { out_.insert(out_.end(), text.begin(), text.end()); }
  template <typename T>
  void number(T value) {
    static_assert(std::is_unsigned_v<T>);
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      out_.push_back(static_cast<std::uint8_t>((value >> (8 * i)) & 0xFFU));
    }
  }
  void integer(int value) { number(static_cast<std::uint32_t>(value)); }
  void text(std::string_view value) {
    number(static_cast<std::uint64_t>(value.size()));
    raw(value);
  }
  std::vector<std::uint8_t> take() { return std::move(out_); }

 private:
  std::vector<std::uint8_t> out_;
};

[[noreturn]] void damaged(const std::string& what) { throw Error(ErrorCode::io_error, what); }

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> data) : rest_(data) {}
  std::span<const std::uint8_t> bytes(std::uint64_t count) {
    if (count > rest_.size()) damaged("it ends inside a field");
    const auto head = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(head.size());
    return head;
  }
  template <typename T>
  T number() {
    T value = 0;
    const auto data = bytes(sizeof(T));
    for (std::size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value | (static_cast<T>(data[i]) << (8 * i)));
    return value;
  }
  int integer() { return static_cast<int>(number<std::uint32_t>()); }
  std::string text() {
    const auto data = bytes(number<std::uint64_t>());
    return {data.begin(), data.end()};
  }
  Sha256 digest() {
    Sha256 value{};
    const auto data = bytes(value.size());
    std::copy(data.begin(), data.end(), value.begin());
    return value;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::span<const std::uint8_t> rest_;
};

bool numbers_are_sane(const Cubin& cubin) {
  return cubin.registers >= 0 && cubin.spill_bytes >= 0 && cubin.static_smem_bytes >= 0 &&
         std::isfinite(cubin.compile_ms) && cubin.compile_ms >= 0;
}

std::vector<std::uint8_t> encode_header(const CacheEntry& entry) {
  Writer writer;
  writer.bytes(entry.identity.digest);
  writer.text(entry.identity.text);
  writer.text(entry.cubin.symbol);
  writer.text(entry.cubin.arch);
  writer.text(entry.cubin.toolchain);
  writer.integer(entry.cubin.registers);
  writer.integer(entry.cubin.spill_bytes);
  writer.integer(entry.cubin.static_smem_bytes);
  writer.number(std::bit_cast<std::uint64_t>(entry.cubin.compile_ms));
  writer.number(static_cast<std::uint64_t>(entry.created_ns));
  return writer.take();
}

CacheEntry decode_header(std::span<const std::uint8_t> bytes) {
  CacheEntry entry;
  Reader reader(bytes);
  entry.identity.digest = reader.digest();
  entry.identity.text = reader.text();
  entry.cubin.symbol = reader.text();
  entry.cubin.arch = reader.text();
  entry.cubin.toolchain = reader.text();
  entry.cubin.registers = reader.integer();
  entry.cubin.spill_bytes = reader.integer();
  entry.cubin.static_smem_bytes = reader.integer();
  entry.cubin.compile_ms = std::bit_cast<double>(reader.number<std::uint64_t>());
  entry.created_ns = static_cast<std::int64_t>(reader.number<std::uint64_t>());
  if (!reader.at_end()) damaged("its header is longer than its fields");
  if (!numbers_are_sane(entry.cubin)) damaged("its header holds an impossible number");
  return entry;
}

// The SHA-256 that the second checksum stores: of the prefix, which contains the payload digest, and of the header.
Sha256 header_digest(std::span<const std::uint8_t> prefix, std::span<const std::uint8_t> header) {
  std::vector<std::uint8_t> covered(prefix.begin(), prefix.end());
  covered.insert(covered.end(), header.begin(), header.end());
  return sha256(covered);
}

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

std::vector<std::uint8_t> encode_entry(const CacheEntry& entry) {
  if (!numbers_are_sane(entry.cubin)) {
    throw Error(ErrorCode::invalid_argument, "cache entry of " + entry.cubin.symbol + ": a negative count or time");
  }
  const std::vector<std::uint8_t> header = encode_header(entry);
  const std::size_t payload_bytes = entry.cubin.image.size();
  if (payload_bytes == 0 || header.size() > kMaxHeaderBytes ||
      payload_bytes > kMaxEntryBytes - kHeaderOffset - header.size()) {
    throw Error(ErrorCode::invalid_argument, "cache entry of " + entry.cubin.symbol + ": an image of " +
                                                 std::to_string(payload_bytes) + " bytes and a header of " +
                                                 std::to_string(header.size()) + " bytes are outside the bounds");
  }
  Writer prefix;
  prefix.raw(kMagic);
  prefix.number(kFormat);
  prefix.number(static_cast<std::uint32_t>(header.size()));
  prefix.number(static_cast<std::uint64_t>(payload_bytes));
  prefix.bytes(sha256(entry.cubin.image));
  std::vector<std::uint8_t> file = prefix.take();
  const Sha256 covered = header_digest(file, header);
  file.reserve(kHeaderOffset + header.size() + payload_bytes);
  file.insert(file.end(), covered.begin(), covered.end());
  file.insert(file.end(), header.begin(), header.end());
  file.insert(file.end(), entry.cubin.image.begin(), entry.cubin.image.end());
  return file;
}

CacheEntry decode_entry(std::span<const std::uint8_t> bytes) {
  if (bytes.size() > kMaxEntryBytes) damaged("it is longer than any entry");
  Reader reader(bytes);
  const auto magic = reader.bytes(kMagic.size());
  if (!std::equal(magic.begin(), magic.end(), kMagic.begin())) damaged("it is not a hotgemm cache entry");
  if (const auto format = reader.number<std::uint32_t>(); format != kFormat) {
    damaged("its format number is " + std::to_string(format) + ", not " + std::to_string(kFormat));
  }
  const auto header_bytes = reader.number<std::uint32_t>();
  const auto payload_bytes = reader.number<std::uint64_t>();
  const Sha256 payload_digest = reader.digest();
  const Sha256 stored_digest = reader.digest();
  if (header_bytes > kMaxHeaderBytes) damaged("its header is longer than any header");
  const auto header = reader.bytes(header_bytes);
  const auto payload = reader.bytes(payload_bytes);
  if (!reader.at_end() || payload.empty()) damaged("its length is not what its header says");
  if (header_digest(bytes.first(kPrefixBytes), header) != stored_digest) damaged("its header's checksum is wrong");
  if (sha256(payload) != payload_digest) damaged("its image's checksum is wrong");
  CacheEntry entry = decode_header(header);
  entry.cubin.image.assign(payload.begin(), payload.end());
  return entry;
}

std::string toolchain_tag(std::string_view toolchain) { return to_hex(sha256(toolchain)).substr(0, kTagDigits); }

std::string entry_name(std::string_view identity_hex, std::string_view tag) {
  return std::string(identity_hex).append("-").append(tag).append(kSuffix);
}

bool is_entry_name(std::string_view name) {
  return name.size() == kIdentityDigits + 1 + kTagDigits + kSuffix.size() && is_hex(name.substr(0, kIdentityDigits)) &&
         name[kIdentityDigits] == '-' && is_hex(name.substr(kIdentityDigits + 1, kTagDigits)) &&
         name.ends_with(kSuffix);
}

bool is_bad_entry_name(std::string_view name) {
  return name.ends_with(kBadSuffix) && is_entry_name(name.substr(0, name.size() - kBadSuffix.size()));
}

}  // namespace hotgemm
