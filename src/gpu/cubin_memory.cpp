#include "gpu/cubin_memory.hpp"

#include "gpu/elf_file.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace hotgemm {
namespace {

using Bytes = std::span<const std::uint8_t>;

template <class T>
T number_at(Bytes bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// The frame size of a kernel in `.nv.info`: a list of records with a format, an attribute and two bytes, which are the
/// value, or in one format the length of the value that follows. The value of a frame size is a symbol and a number.
std::int64_t frame_bytes(Bytes info) {
  constexpr std::uint8_t kValueFollows = 0x04;
  constexpr std::uint8_t kFrameSize = 0x11;
  constexpr std::size_t kHeader = 4;
  std::int64_t most = 0;
  for (std::size_t at = 0; at + kHeader <= info.size();) {
    const std::size_t length = info[at] == kValueFollows ? number_at<std::uint16_t>(info, at + 2) : 0;
    if (length > info.size() - at - kHeader) break;
    if (info[at + 1] == kFrameSize && length == 8)
      most = std::max<std::int64_t>(most, number_at<std::uint32_t>(info, at + kHeader + 4));
    at += kHeader + length;
  }
  return most;
}

/// Adds the accesses to local memory of machine code. Since sm_70 an instruction has 16 bytes: the opcode in its lowest
/// 12 bits, and the width of an access in bits 73 to 75.
void add_local_accesses(Bytes code, CubinMemory& memory) {
  constexpr std::uint64_t kLoadLocal = 0x983;
  constexpr std::uint64_t kStoreLocal = 0x387;
  constexpr std::array<int, 8> kBytes{1, 1, 2, 2, 4, 8, 16, 0};
  for (std::size_t at = 0; at + 16 <= code.size(); at += 16) {
    const std::uint64_t opcode = number_at<std::uint64_t>(code, at) & 0xfff;
    const int bytes = kBytes[number_at<std::uint64_t>(code, at + 8) >> 9 & 7];
    if (opcode == kLoadLocal) memory.local_load_bytes += bytes;
    if (opcode == kStoreLocal) memory.local_store_bytes += bytes;
  }
}

}  // namespace

std::optional<CubinMemory> cubin_memory(const Cubin& cubin) {
  const auto sections = elf_sections(cubin.image);
  if (!sections) return std::nullopt;
  CubinMemory memory;
  for (const ElfSection& section : *sections) {
    if (section.name == ".nv.info") memory.stack_bytes = frame_bytes(section.bytes);
    if (section.name == ".nv.constant0." + cubin.symbol)
      memory.constant_bytes = static_cast<std::int64_t>(section.bytes.size());
    if (section.name == ".text." + cubin.symbol) add_local_accesses(section.bytes, memory);
  }
  return memory;
}

}  // namespace hotgemm
