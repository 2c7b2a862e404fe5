#include "emulate/warp_operations.hpp"

#include "emulate/block.hpp"
#include "emulate/number.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <vector>

namespace hotgemm::emulate {
namespace {

using u32 = std::uint32_t;

/// Called when the running thread reaches an instruction of its whole warp, or of `members`.
void meet(Instruction instruction, void* operands, Warp::Execute execute, u32 members) {
  Thread& thread = this_thread();
  thread.warp->meet(thread, instruction, members, operands, execute);
}

// ---- ldmatrix, stmatrix ----

struct MatrixOperands {
  u32 shared;
  u32* r;
};
using MatrixRow = std::array<std::uint16_t, 8>;

/// Counts the banks of `matrices` matrices. The first lanes give the addresses of their rows.
void count_matrix_banks(Warp& warp, const WarpCall& call, std::size_t matrices) {
  std::vector<u32> addresses(8 * matrices);
  for (std::size_t lane = 0; lane < addresses.size(); ++lane)
    addresses[lane] = operands_of<MatrixOperands>(call, lane).shared;
  count_banks(warp.lanes.front()->block->grid().counters, call.instruction, addresses, 16);
}

/// ldmatrix of two or four 8×8 matrices. In register i, lane 4g + t holds the elements (g, 2t) and (g, 2t+1) of matrix
/// i; with .trans, the elements (2t, g) and (2t+1, g).
template <std::size_t kMatrices, bool kTransposed>
void execute_ldmatrix(Warp& warp, const WarpCall& call) {
  std::array<MatrixRow, 8 * kMatrices> rows;  // row r of matrix i at 8i + r
  const auto has_seen = [&](const Access& access) { return warp.has_seen(access); };
  for (std::size_t lane = 0; lane < rows.size(); ++lane) {
    Thread& thread = *warp.lanes[lane];
    thread.block->shared().read(thread, call.instruction, operands_of<MatrixOperands>(call, lane).shared,
                                rows[lane].data(), 16, has_seen);
  }
  count_matrix_banks(warp, call, kMatrices);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::size_t g = lane / 4, t = lane % 4;
    for (std::size_t i = 0; i < kMatrices; ++i) {
      const u32 low = kTransposed ? rows[8 * i + 2 * t][g] : rows[8 * i + g][2 * t];
      const u32 high = kTransposed ? rows[8 * i + 2 * t + 1][g] : rows[8 * i + g][2 * t + 1];
      operands_of<MatrixOperands>(call, lane).r[i] = low | high << 16;
    }
  }
}

/// stmatrix of four 8×8 matrices, the inverse of ldmatrix.
template <bool kTransposed>
void execute_stmatrix(Warp& warp, const WarpCall& call) {
  const auto has_seen = [&](const Access& access) { return warp.has_seen(access); };
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::size_t i = lane / 8, g = lane % 8;
    MatrixRow row;
    for (std::size_t c = 0; c < 8; ++c) {
      const std::size_t source = kTransposed ? 4 * c + g / 2 : 4 * g + c / 2;  // the lane with element (g, c)
      const u32 pair = operands_of<MatrixOperands>(call, source).r[i];
      row[c] = static_cast<std::uint16_t>(pair >> (kTransposed ? g : c) % 2 * 16);
    }
    Thread& thread = *warp.lanes[lane];
    thread.block->shared().write(thread, call.instruction, operands_of<MatrixOperands>(call, lane).shared, row.data(),
                                 16, has_seen);
  }
  count_matrix_banks(warp, call, 4);
}

// ---- mma ----

struct MmaOperands {
  const u32* a;
  u32 b[2];
  void* d;
};

using WidenFunction = float (*)(std::uint16_t);

/// A 16×8 sum of a 16×16 by 16×8 product, with all elements in matrix order.
struct MmaTile {
  std::array<std::array<double, 16>, 16> a;
  std::array<std::array<double, 8>, 16> b;
  std::array<std::array<double, 8>, 16> d;

  void multiply() {
    for (std::size_t row = 0; row < 16; ++row) {
      for (std::size_t k = 0; k < 16; ++k) {
        for (std::size_t col = 0; col < 8; ++col) d[row][col] += a[row][k] * b[k][col];
      }
    }
  }
};

/// With lane = 4g + t: A's registers hold the elements (g, 2t), (g+8, 2t), (g, 2t+8), (g+8, 2t+8), each with its right
/// neighbour. B's registers hold (2t, g) and (2t+8, g), each with the element below.
template <WidenFunction kWiden>
void gather_factors(const WarpCall& call, MmaTile& tile) {
  const auto low = [](u32 pair) { return static_cast<double>(kWiden(static_cast<std::uint16_t>(pair))); };
  const auto high = [](u32 pair) { return static_cast<double>(kWiden(static_cast<std::uint16_t>(pair >> 16))); };
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::size_t g = lane / 4, t = lane % 4;
    const auto& operands = operands_of<MmaOperands>(call, lane);
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t row = g + i % 2 * 8, col = 2 * t + i / 2 * 8;
      tile.a[row][col] = low(operands.a[i]);
      tile.a[row][col + 1] = high(operands.a[i]);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      tile.b[2 * t + i * 8][g] = low(operands.b[i]);
      tile.b[2 * t + i * 8 + 1][g] = high(operands.b[i]);
    }
  }
}

/// Visits the accumulators. Elements 0 and 1 of a lane are (g, 2t) and its right neighbour; elements 2 and 3 are eight
/// rows below.
template <class Use>
void for_each_accumulator(MmaTile& tile, const Use& use) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::size_t g = lane / 4, t = lane % 4;
    for (std::size_t i = 0; i < 4; ++i) use(lane, i, tile.d[g + i / 2 * 8][2 * t + i % 2]);
  }
}

template <WidenFunction kWiden>
void execute_mma_f32(Warp&, const WarpCall& call) {
  MmaTile tile;
  gather_factors<kWiden>(call, tile);
  const auto register_of = [&](std::size_t lane, std::size_t i) -> float& {
    return static_cast<float*>(operands_of<MmaOperands>(call, lane).d)[i];
  };
  for_each_accumulator(tile, [&](std::size_t lane, std::size_t i, double& d) { d = register_of(lane, i); });
  tile.multiply();
  for_each_accumulator(tile, [&](std::size_t lane, std::size_t i, double d) { register_of(lane, i) = narrow_f32(d); });
}

void execute_mma_f16(Warp&, const WarpCall& call) {
  MmaTile tile;
  gather_factors<widen_f16>(call, tile);
  const auto register_of = [&](std::size_t lane, std::size_t i) -> u32& {
    return static_cast<u32*>(operands_of<MmaOperands>(call, lane).d)[i / 2];
  };
  for_each_accumulator(tile, [&](std::size_t lane, std::size_t i, double& d) {
    d = widen_f16(static_cast<std::uint16_t>(register_of(lane, i) >> (i % 2 * 16)));
  });
  tile.multiply();
  for_each_accumulator(tile, [&](std::size_t lane, std::size_t i, double d) {
    u32& pair = register_of(lane, i);
    const u32 kept = i % 2 == 0 ? pair & 0xffff0000u : pair & 0xffffu;
    pair = kept | u32{narrow_f16(d)} << (i % 2 * 16);
  });
}

// ---- mma with 32 bytes of k ----

/// The elements of a word, the lowest first; the rest stays as it is.
using WordFunction = void (*)(u32 word, double (&elements)[4]);

void s8_elements(u32 word, double (&elements)[4]) {
  for (int i = 0; i < 4; ++i) elements[i] = static_cast<std::int8_t>(word >> (8 * i));
}
template <float (*kWiden)(std::uint8_t)>
void fp8_elements(u32 word, double (&elements)[4]) {
  for (int i = 0; i < 4; ++i) elements[i] = static_cast<double>(kWiden(static_cast<std::uint8_t>(word >> (8 * i))));
}
void tf32_elements(u32 word, double (&elements)[4]) { elements[0] = static_cast<double>(truncated_tf32(word)); }

/// With lane = 4g + t: A's registers hold the words (g, t), (g+8, t), (g, t+4), (g+8, t+4) of rows of eight words of k.
/// B's registers hold the words (t, g) and (t+4, g) of such columns.
struct MmaWords {
  int elements;  ///< of a word
  std::array<std::array<double, 32>, 16> a;
  std::array<std::array<double, 32>, 8> b;

  MmaWords(const WarpCall& call, int elements_of_word, WordFunction of_a, WordFunction of_b)
      : elements(elements_of_word) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t g = lane / 4, t = lane % 4;
      const auto& operands = operands_of<MmaOperands>(call, lane);
      for (std::size_t i = 0; i < 4; ++i) put(a[g + i % 2 * 8], t + i / 2 * 4, operands.a[i], of_a);
      for (std::size_t i = 0; i < 2; ++i) put(b[g], t + i * 4, operands.b[i], of_b);
    }
  }
  void put(std::array<double, 32>& row, std::size_t place, u32 word, WordFunction of) const {
    double values[4] = {};
    of(word, values);
    for (int i = 0; i < elements; ++i)
      row[place * static_cast<std::size_t>(elements) + static_cast<std::size_t>(i)] = values[i];
  }
  double product(std::size_t row, std::size_t col) const {
    double sum = 0;
    for (std::size_t k = 0; k < 8 * static_cast<std::size_t>(elements); ++k) sum += a[row][k] * b[col][k];
    return sum;
  }
};

template <class Register, class Round>
void execute_mma_words(const WarpCall& call, const MmaWords& words, const Round& round) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    auto* const d = static_cast<Register*>(operands_of<MmaOperands>(call, lane).d);
    for (std::size_t i = 0; i < 4; ++i) {
      d[i] = round(static_cast<double>(d[i]) + words.product(lane / 4 + i / 2 * 8, 2 * (lane % 4) + i % 2));
    }
  }
}

void execute_mma_s8(Warp&, const WarpCall& call) {
  execute_mma_words<int>(call, {call, 4, s8_elements, s8_elements},
                         [](double sum) { return static_cast<int>(static_cast<std::int64_t>(sum)); });
}
template <int kElements, WordFunction kOfA, WordFunction kOfB>
void execute_mma_f32_words(Warp&, const WarpCall& call) {
  execute_mma_words<float>(call, {call, kElements, kOfA, kOfB}, [](double sum) { return narrow_f32(sum); });
}

// ---- shfl, vote, barriers ----

struct ShflOperands {
  u32 value, b, c, result;
};

/// The source lane of `lane`, as in the pseudo-code of the PTX ISA.
u32 shfl_source(Instruction instruction, u32 lane, u32 b, u32 c) {
  const u32 b_value = b & 31u, c_value = c & 31u, segment = c >> 8 & 31u;
  const u32 max_lane = (lane & segment) | (c_value & ~segment);
  const u32 min_lane = lane & segment;
  switch (instruction) {
    case Instruction::shfl_sync_up: {
      const int source = static_cast<int>(lane) - static_cast<int>(b_value);
      return source >= static_cast<int>(max_lane) ? static_cast<u32>(source) : lane;
    }
    case Instruction::shfl_sync_down: return lane + b_value <= max_lane ? lane + b_value : lane;
    case Instruction::shfl_sync_bfly: return (lane ^ b_value) <= max_lane ? lane ^ b_value : lane;
    default: {
      const u32 source = min_lane | (b_value & ~segment);
      return source <= max_lane ? source : lane;
    }
  }
}

void execute_shfl(Warp& warp, const WarpCall& call) {
  for (const Thread* const thread : warp.lanes) {
    const auto lane = static_cast<u32>(thread->lane);
    if ((call.members >> lane & 1u) == 0) continue;
    auto& operands = operands_of<ShflOperands>(call, lane);
    const u32 source = shfl_source(call.instruction, lane, operands.b, operands.c);
    if ((call.members >> source & 1u) == 0) {
      report(*thread, {.hazard = Hazard::bad_operand,
                       .instruction = call.instruction,
                       .detail = fmt::format("lane {} reads lane {}, which does not take part", lane, source)});
      operands.result = ~0u;
    } else {
      operands.result = operands_of<ShflOperands>(call, source).value;
    }
  }
}

struct VoteOperands {
  bool predicate;
  u32 ballot;
};

void execute_vote(Warp&, const WarpCall& call) {
  u32 ballot = 0;
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if ((call.members >> lane & 1u) != 0 && operands_of<VoteOperands>(call, lane).predicate) ballot |= 1u << lane;
  }
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if ((call.members >> lane & 1u) != 0) operands_of<VoteOperands>(call, lane).ballot = ballot;
  }
}

void execute_bar_warp_sync(Warp& warp, const WarpCall& call) {
  std::vector<Arrival> arrivals;
  for (Thread* const thread : warp.lanes) {
    if ((call.members >> thread->lane & 1u) != 0) arrivals.push_back(thread->arrive());
  }
  const View view = join(arrivals);
  for (Thread* const thread : warp.lanes) {
    if ((call.members >> thread->lane & 1u) != 0) thread->view = view;
  }
}

void arrive_at_barrier(Instruction instruction, int id, int threads) {
  Thread& thread = this_thread();
  count(thread, instruction);
  const int all = thread.block->grid().threads_per_block;
  if (id < 0 || id >= kBarriers || threads < 0 || threads > all || threads % kLanes != 0) {
    report(thread, {.hazard = Hazard::bad_operand,
                    .instruction = instruction,
                    .detail = fmt::format("barrier {} for {} threads of {}", id, threads, all)});
    return;
  }
  commit_banks(thread);
  const bool waits = thread.block->barrier(id).arrive(thread, instruction, id, threads == 0 ? all : threads);
  if (waits) thread.block->cluster().suspend(thread, instruction);
}

}  // namespace

void meet_all_lanes(Instruction instruction, void* operands, Warp::Execute execute) {
  const Thread& thread = this_thread();
  if (thread.warp->lanes.size() == kLanes) {
    meet(instruction, operands, execute, ~0u);
  } else {
    report(thread, {.hazard = Hazard::bad_operand,
                    .instruction = instruction,
                    .detail = fmt::format("it needs 32 lanes, and the warp has {}", thread.warp->lanes.size())});
  }
}

void ldmatrix(Instruction instruction, u32 (&r)[2], u32 shared) {
  MatrixOperands operands{shared, r};
  const bool is_transposed = instruction == Instruction::ldmatrix_x2_trans;
  meet_all_lanes(instruction, &operands, is_transposed ? execute_ldmatrix<2, true> : execute_ldmatrix<2, false>);
}

void ldmatrix(Instruction instruction, u32 (&r)[4], u32 shared) {
  MatrixOperands operands{shared, r};
  const bool is_transposed = instruction == Instruction::ldmatrix_x4_trans;
  meet_all_lanes(instruction, &operands, is_transposed ? execute_ldmatrix<4, true> : execute_ldmatrix<4, false>);
}

void stmatrix(Instruction instruction, u32 shared, const u32 (&r)[4]) {
  u32 registers[4] = {r[0], r[1], r[2], r[3]};
  MatrixOperands operands{shared, registers};
  const bool is_transposed = instruction == Instruction::stmatrix_x4_trans;
  meet_all_lanes(instruction, &operands, is_transposed ? execute_stmatrix<true> : execute_stmatrix<false>);
}

void mma_m16n8k16(Instruction instruction, float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  MmaOperands operands{a, {b0, b1}, d};
  const bool is_f16 = instruction == Instruction::mma_m16n8k16_f32_f16;
  meet_all_lanes(instruction, &operands, is_f16 ? execute_mma_f32<widen_f16> : execute_mma_f32<widen_bf16>);
}

void mma_m16n8k16(Instruction instruction, u32 (&d)[2], const u32 (&a)[4], u32 b0, u32 b1) {
  MmaOperands operands{a, {b0, b1}, d};
  meet_all_lanes(instruction, &operands, execute_mma_f16);
}

void mma_m16n8k32_s8(int (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  MmaOperands operands{a, {b0, b1}, d};
  meet_all_lanes(Instruction::mma_m16n8k32_s32_s8, &operands, execute_mma_s8);
}

void mma_m16n8k32_fp8(DType type_a, DType type_b, float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  constexpr auto kE4m3 = fp8_elements<widen_e4m3>, kE5m2 = fp8_elements<widen_e5m2>;
  const bool is_e4m3 = type_b == DType::e4m3;
  MmaOperands operands{a, {b0, b1}, d};
  const Warp::Execute execute =
      type_a == DType::e4m3
          ? (is_e4m3 ? execute_mma_f32_words<4, kE4m3, kE4m3> : execute_mma_f32_words<4, kE4m3, kE5m2>)
          : (is_e4m3 ? execute_mma_f32_words<4, kE5m2, kE4m3> : execute_mma_f32_words<4, kE5m2, kE5m2>);
  meet_all_lanes(Instruction::mma_m16n8k32_f32_fp8, &operands, execute);
}

void mma_m16n8k8_tf32(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  MmaOperands operands{a, {b0, b1}, d};
  meet_all_lanes(Instruction::mma_m16n8k8_f32_tf32, &operands, execute_mma_f32_words<1, tf32_elements, tf32_elements>);
}

u32 shfl_sync(Instruction instruction, u32 value, u32 b, u32 c, u32 members) {
  ShflOperands operands{value, b, c, 0};
  meet(instruction, &operands, execute_shfl, members);
  return operands.result;
}

bool elect_sync() {
  bool is_elected = false;
  meet_all_lanes(Instruction::elect_sync, &is_elected, [](Warp& warp, const WarpCall& call) {
    if (!warp.elected) warp.elected = warp.lanes.front()->block->grid().random.below(kLanes);
    operands_of<bool>(call, *warp.elected) = true;
  });
  return is_elected;
}

u32 vote_sync(Instruction instruction, bool predicate, u32 members) {
  VoteOperands operands{predicate, 0};
  meet(instruction, &operands, execute_vote, members);
  return operands.ballot;
}

void bar_warp_sync(u32 members) { meet(Instruction::bar_warp_sync, nullptr, execute_bar_warp_sync, members); }

void bar_sync(int id, int threads) { arrive_at_barrier(Instruction::bar_sync, id, threads); }
void bar_arrive(int id, int threads) { arrive_at_barrier(Instruction::bar_arrive, id, threads); }

}  // namespace hotgemm::emulate
