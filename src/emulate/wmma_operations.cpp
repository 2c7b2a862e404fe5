#include "emulate/wmma_operations.hpp"

#include "emulate/block.hpp"
#include "emulate/grid_dependency.hpp"
#include "emulate/number.hpp"
#include "emulate/warp_operations.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

namespace hotgemm::emulate {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;

constexpr int kElements = 256;  // of any result fragment
constexpr int kDepth = 16;
constexpr int kPieceBytes = 16;
constexpr int kFirstLineBytes = 32;  // the alignment of a matrix in global memory

// ---- load and store ----

using u64 = std::uint64_t;

struct LoadOperands {
  WmmaLines lines;
  u32* r;
  int registers;
  u64 address;
  int stride;
};
struct StoreOperands {
  int row_elements;
  int element_bytes;
  const void* d;
  u64 address;
  int stride;
};

/// Reports lanes that disagree about the place of the matrix.
template <class Operands>
void check_agreement(Warp& warp, const WarpCall& call) {
  const auto& first = operands_of<Operands>(call, 0);
  for (std::size_t lane = 1; lane < kLanes; ++lane) {
    const auto& other = operands_of<Operands>(call, lane);
    if (other.address == first.address && other.stride == first.stride) continue;
    report(*warp.lanes[lane], {.hazard = Hazard::bad_operand,
                               .instruction = call.instruction,
                               .detail = fmt::format("lane {} gives address 0x{:x} and stride {}, lane 0 0x{:x} and {}",
                                                     lane, other.address, other.stride, first.address, first.stride)});
    return;
  }
}

/// Calls read(thread, address, first element) for each piece of a matrix, eight lines at a time, 16 bytes of each, like
/// one phase of ldmatrix. Then gives the elements to the lanes.
template <class Read>
void load_pieces(Warp& warp, const WarpCall& call, Read&& read) {
  check_agreement<LoadOperands>(warp, call);
  const auto& at = operands_of<LoadOperands>(call, 0);
  const int elements = at.lines.count * at.lines.length;
  std::vector<u16> matrix(static_cast<std::size_t>(elements));
  std::size_t pieces = 0;
  for (int column = 0; column < at.lines.length; column += kPieceBytes / 2) {
    for (int line = 0; line < at.lines.count; ++line) {
      const std::int64_t offset = (std::int64_t{line} * at.stride + column) * 2;
      read(*warp.lanes[pieces++ % kLanes], at.address + static_cast<u64>(offset),
           &matrix[static_cast<std::size_t>(line * at.lines.length + column)]);
    }
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const auto& own = operands_of<LoadOperands>(call, lane);
    for (int i = 0; i < own.registers; ++i) {
      const std::size_t pair = (lane * static_cast<std::size_t>(own.registers) + static_cast<std::size_t>(i)) * 2 %
                               static_cast<std::size_t>(elements);
      own.r[i] = matrix[pair] | u32{matrix[pair + 1]} << 16;
    }
  }
}

void execute_load(Warp& warp, const WarpCall& call) {
  const auto has_seen = [&](const Access& access) { return warp.has_seen(access); };
  std::vector<u32> addresses;
  load_pieces(warp, call, [&](Thread& thread, u64 address, u16* to) {
    addresses.push_back(static_cast<u32>(address));
    thread.block->shared().read(thread, call.instruction, addresses.back(), to, kPieceBytes, has_seen);
  });
  count_banks(warp.lanes.front()->block->grid().counters, call.instruction, addresses, kPieceBytes);
}

void execute_load_global(Warp& warp, const WarpCall& call) {
  const auto& at = operands_of<LoadOperands>(call, 0);
  if (at.address % kFirstLineBytes != 0) {
    report(*warp.lanes.front(), {.hazard = Hazard::bad_operand,
                                 .instruction = call.instruction,
                                 .detail = fmt::format("the matrix begins at 0x{:x}, not at a multiple of {} bytes",
                                                       at.address, kFirstLineBytes)});
  }
  for (Thread* const thread : warp.lanes) touch_global(*thread, call.instruction);
  load_pieces(warp, call, [&](Thread& thread, u64 address, u16* to) {
    thread.block->grid().memory.read(thread, call.instruction, address, to, kPieceBytes, kPieceBytes);
  });
}

/// Each lane stores contiguous elements of a row.
void execute_store(Warp& warp, const WarpCall& call) {
  check_agreement<StoreOperands>(warp, call);
  const auto has_seen = [&](const Access& access) { return warp.has_seen(access); };
  constexpr int kPerLane = kElements / kLanes;
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto& own = operands_of<StoreOperands>(call, static_cast<std::size_t>(lane));
    const int row = lane * kPerLane / own.row_elements, column = lane * kPerLane % own.row_elements;
    Thread& thread = *warp.lanes[static_cast<std::size_t>(lane)];
    thread.block->shared().write(
        thread, call.instruction,
        static_cast<u32>(own.address) + static_cast<u32>((row * own.stride + column) * own.element_bytes), own.d,
        kPerLane * own.element_bytes, has_seen);
  }
}

// ---- mma ----

struct WmmaOperands {
  WmmaShape shape;
  const u32* a;
  const u32* b;
  void* d;
};

using WidenFunction = float (*)(u16);

/// The elements of an operand, in their order in memory.
template <WidenFunction kWiden, class Registers>
std::vector<double> gather(const WarpCall& call, int outer, int registers, const Registers& registers_of) {
  std::vector<double> elements(static_cast<std::size_t>(outer * kDepth));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::size_t per_lane = static_cast<std::size_t>(registers) * 2;
    const u32 pair = registers_of(operands_of<WmmaOperands>(call, i / per_lane))[i % per_lane / 2];
    elements[i] = static_cast<double>(kWiden(static_cast<u16>(pair >> (i % 2 * 16))));
  }
  return elements;
}

/// A result of 256 elements, row by row; lane l holds the elements 8l … 8l + 7.
using Result = std::array<double, kElements>;

template <WidenFunction kWiden>
void multiply(const WarpCall& call, Result& d) {
  const WmmaShape shape = operands_of<WmmaOperands>(call, 0).shape;
  const int m = shape.m, n = kElements / m;
  const auto a = gather<kWiden>(call, m, shape.registers_a, [](const WmmaOperands& o) { return o.a; });
  const auto b = gather<kWiden>(call, n, shape.registers_b, [](const WmmaOperands& o) { return o.b; });
  for (int row = 0; row < m; ++row) {
    for (int k = 0; k < kDepth; ++k) {
      const double x = a[static_cast<std::size_t>(shape.row_a ? row * kDepth + k : k * m + row)];
      for (int col = 0; col < n; ++col) {
        d[static_cast<std::size_t>(row * n + col)] +=
            x * b[static_cast<std::size_t>(shape.row_b ? k * n + col : col * kDepth + k)];
      }
    }
  }
}

template <WidenFunction kWiden>
void execute_wmma_f32(Warp&, const WarpCall& call) {
  const auto register_of = [&](std::size_t i) -> float& {
    return static_cast<float*>(operands_of<WmmaOperands>(call, i / 8).d)[i % 8];
  };
  Result d;
  for (std::size_t i = 0; i < d.size(); ++i) d[i] = register_of(i);
  multiply<kWiden>(call, d);
  for (std::size_t i = 0; i < d.size(); ++i) register_of(i) = narrow_f32(d[i]);
}

void execute_wmma_f16(Warp&, const WarpCall& call) {
  const auto register_of = [&](std::size_t i) -> u32& {
    return static_cast<u32*>(operands_of<WmmaOperands>(call, i / 8).d)[i % 8 / 2];
  };
  Result d;
  for (std::size_t i = 0; i < d.size(); ++i) d[i] = widen_f16(static_cast<u16>(register_of(i) >> (i % 2 * 16)));
  multiply<widen_f16>(call, d);
  for (std::size_t i = 0; i < d.size(); i += 2) register_of(i) = narrow_f16(d[i]) | u32{narrow_f16(d[i + 1])} << 16;
}

}  // namespace

void wmma_load(Instruction instruction, WmmaLines lines, u32* r, int registers, u32 shared, int stride) {
  LoadOperands operands{lines, r, registers, shared, stride};
  meet_all_lanes(instruction, &operands, execute_load);
}

void wmma_load_global(Instruction instruction, u32* r, int registers, u64 global, int stride) {
  LoadOperands operands{{16, 16}, r, registers, global, stride};
  meet_all_lanes(instruction, &operands, execute_load_global);
}

void wmma_mma(Instruction instruction, const WmmaShape& shape, float (&d)[8], const u32* a, const u32* b) {
  WmmaOperands operands{shape, a, b, d};
  const bool is_f16 = instruction == Instruction::wmma_mma_f32_f16;
  meet_all_lanes(instruction, &operands, is_f16 ? execute_wmma_f32<widen_f16> : execute_wmma_f32<widen_bf16>);
}

void wmma_mma(Instruction instruction, const WmmaShape& shape, u32 (&d)[4], const u32* a, const u32* b) {
  WmmaOperands operands{shape, a, b, d};
  meet_all_lanes(instruction, &operands, execute_wmma_f16);
}

void wmma_store(int m, u32 shared, const float (&d)[8], int stride) {
  StoreOperands operands{kElements / m, 4, d, shared, stride};
  meet_all_lanes(Instruction::wmma_store_d, &operands, execute_store);
}
void wmma_store(int m, u32 shared, const u32 (&d)[4], int stride) {
  StoreOperands operands{kElements / m, 2, d, shared, stride};
  meet_all_lanes(Instruction::wmma_store_d, &operands, execute_store);
}

}  // namespace hotgemm::emulate
