#include "gpu/cubin_memory.hpp"

#include "unit/elf_image.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace hotgemm {
namespace {

template <class T>
std::string bytes_of(T value) {
  std::string text(sizeof value, '\0');
  std::memcpy(text.data(), &value, sizeof value);
  return text;
}

/// An instruction with this opcode, whose access has the width of code `width`.
std::string instruction(std::uint64_t opcode, std::uint64_t width) {
  return bytes_of<std::uint64_t>(0xabcd'0000 | opcode) + bytes_of<std::uint64_t>(width << 9 | 7);
}

/// A record of `.nv.info` whose value follows.
std::string attribute(std::uint8_t which, std::uint32_t symbol, std::uint32_t value) {
  return bytes_of<std::uint8_t>(4) + bytes_of(which) + bytes_of<std::uint16_t>(8) + bytes_of(symbol) + bytes_of(value);
}

constexpr std::uint64_t kLoad = 0x983;
constexpr std::uint64_t kStore = 0x387;
constexpr std::uint64_t kWords = 4;  // codes of widths: 4, 8 and 16 bytes
constexpr std::uint64_t kPairs = 5;
constexpr std::uint64_t kQuads = 6;

TEST(CubinMemory, IsWhatTheSectionsSay) {
  // Two bytes of a value stand in the record itself; then the registers, and the frame.
  const std::string info = std::string("\x03\x50\x00\x00", 4) + attribute(0x2f, 9, 255) + attribute(0x11, 9, 96);
  const std::string code = instruction(kStore, kWords) + instruction(0x223, kWords) + instruction(kStore, kQuads) +
                           instruction(kLoad, kPairs);
  const Cubin cubin{.image = elf_of({{".nv.info", info},
                                     {".nv.info.k", attribute(0x11, 9, 1000)},
                                     {".nv.constant0.k", std::string(624, 'c')},
                                     {".nv.constant0.other", "c"},
                                     {".text.k", code},
                                     {".text.other", instruction(kLoad, kWords)}}),
                    .symbol = "k"};
  const CubinMemory expected{.stack_bytes = 96, .constant_bytes = 624, .local_store_bytes = 20, .local_load_bytes = 8};
  EXPECT_EQ(cubin_memory(cubin), expected);
}

TEST(CubinMemory, EndsWithARecordThatIsCutOff) {
  const std::string info = attribute(0x11, 9, 96) + std::string("\x04\x11\xff\x00\x01", 5);
  const Cubin cubin{.image = elf_of({{".nv.info", info}, {".text.k", "short"}}), .symbol = "k"};
  EXPECT_EQ(cubin_memory(cubin), CubinMemory{.stack_bytes = 96});
}

TEST(CubinMemory, IsUnknownForAnImageThatIsNoElfFile) {
  EXPECT_FALSE(cubin_memory(Cubin{.image = {'n', 'o'}, .symbol = "k"}));
}

}  // namespace
}  // namespace hotgemm
