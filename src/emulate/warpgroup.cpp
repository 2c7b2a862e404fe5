#include "emulate/warpgroup.hpp"

#include "emulate/block.hpp"
#include "emulate/number.hpp"
#include "emulate/warp_operations.hpp"
#include "emulate/wgmma_operand.hpp"
#include "shared/wgmma_descriptor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

namespace hotgemm::emulate {
namespace {

using u32 = std::uint32_t;

constexpr int kRows = 64, kWarpRows = kRows / kWarpgroupWarps;
constexpr u32 kPoison = 0x7fffdeadu;  // a NaN in f32, and in both halves of an f16 pair

/// The sum in a register; of f16, that in its lower or upper half.
double sum_in(u32 bits, DType type, bool is_upper) {
  if (type == DType::f32) return static_cast<double>(std::bit_cast<float>(bits));
  if (type == DType::s32) return static_cast<double>(static_cast<std::int32_t>(bits));
  return static_cast<double>(widen_f16(static_cast<std::uint16_t>(is_upper ? bits >> 16 : bits)));
}
void put_sum(u32& bits, double sum, DType type, bool is_upper) {
  if (type == DType::f32) {
    bits = std::bit_cast<u32>(narrow_f32(sum));
  } else if (type == DType::s32) {
    bits = static_cast<u32>(static_cast<std::int32_t>(sum));
  } else if (is_upper) {
    bits = (bits & 0xffffu) | u32{narrow_f16(sum)} << 16;
  } else {
    bits = (bits & 0xffff0000u) | narrow_f16(sum);
  }
}

/// Calls use(value in `values`, lane, register, is_upper_half) for each element of a warp's 16 rows. For a sum of 32
/// bits, register r of lane 4g + t holds row g + 8 (r / 2 % 2) and column 8 (r / 4) + 2t + r % 2. For f16, register r
/// holds the elements 2r and 2r + 1 of that order.
template <class Use>
void for_each_element(const WgmmaShape& shape, std::vector<double>& values, const Use& use) {
  for (int lane = 0; lane < kLanes; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < shape.n / 2; ++i) {
      const int row = g + 8 * (i / 2 % 2), col = 8 * (i / 4) + 2 * t + i % 2;
      double& value = values[static_cast<std::size_t>(row * shape.n + col)];
      const bool is_word = shape.has_word_sums();
      use(value, static_cast<std::size_t>(lane), is_word ? i : i / 2, !is_word && i % 2 == 1);
    }
  }
}

/// Calls use(outer, k) for the first element of each chunk of the operand.
template <class Use>
void for_each_chunk(const WgmmaOperand& operand, int outers, const Use& use) {
  const u32 step_outer = operand.is_k_major() ? 1 : operand.chunk_elements();
  const u32 step_k = operand.is_k_major() ? operand.chunk_elements() : 1;
  for (u32 outer = 0; outer < static_cast<u32>(outers); outer += step_outer) {
    for (u32 k = 0; k < operand.depth(); k += step_k) use(outer, k);
  }
}

WgmmaOperand operand_a(const WgmmaShape& shape, std::uint64_t descriptor) {
  return {descriptor, shape.a_is_k_major, size_bytes(shape.a)};
}
WgmmaOperand operand_b(const WgmmaShape& shape, std::uint64_t descriptor) {
  return {descriptor, shape.b_is_k_major, size_bytes(shape.b)};
}

/// The element `i` of a chunk.
float element(const std::uint8_t* chunk, u32 i, DType type) {
  const auto half = [&] { return static_cast<std::uint16_t>(chunk[2 * i] | chunk[2 * i + 1] << 8); };
  switch (type) {
    case DType::f16: return widen_f16(half());
    case DType::bf16: return widen_bf16(half());
    case DType::e4m3: return widen_e4m3(chunk[i]);
    case DType::e5m2: return widen_e5m2(chunk[i]);
    case DType::s8: return static_cast<float>(static_cast<std::int8_t>(chunk[i]));
    case DType::tf32: {
      std::uint32_t bits;
      std::memcpy(&bits, chunk + 4 * i, sizeof bits);
      return truncated_tf32(bits);
    }
    case DType::f32:
    case DType::s32: break;  // no instruction has them
  }
  return std::bit_cast<float>(kNanF32);
}

/// Reads the `outers` × depth elements of the operand.
std::vector<float> fetch(const SharedMemory& shared, const WgmmaOperand& operand, int outers, DType type) {
  std::vector<float> elements(static_cast<std::size_t>(outers) * operand.depth());
  for_each_chunk(operand, outers, [&](u32 outer, u32 k) {
    std::uint8_t chunk[WgmmaOperand::kChunkBytes];
    shared.fetch(operand.chunk(outer, k), chunk);
    for (u32 i = 0; i < operand.chunk_elements(); ++i) {
      const u32 o = operand.is_k_major() ? outer : outer + i, l = operand.is_k_major() ? k + i : k;
      elements[o * operand.depth() + l] = element(chunk, i, type);
    }
  });
  return elements;
}

/// The sum of exact products and the accumulator, as tensor cores of Hopper round it for FP8: each summand is truncated
/// to 13 bits after the leading bit of the largest one.
double fp8_sum(const std::vector<double>& summands) {
  double largest = 0, sum = 0;
  for (const double value : summands) {
    if (!std::isfinite(value)) return std::accumulate(summands.begin(), summands.end(), 0.0);
    largest = std::max(largest, std::abs(value));
  }
  if (largest == 0) return 0;
  constexpr int kFractionBits = 13;
  const double unit = std::ldexp(1.0, std::ilogb(largest) - kFractionBits);
  for (const double value : summands) sum += std::trunc(value / unit) * unit;
  return sum;
}

/// The new value of a sum. Products are exact in f64, and so are the sums of those that are not FP8, but for roundings
/// far below those of f32; then the sum is rounded once, as in mma. Sums of s8 wrap.
double rounded_sum(const WgmmaShape& shape, const std::vector<double>& summands) {
  if (is_fp8(shape.a)) return static_cast<double>(narrow_f32(fp8_sum(summands)));
  double sum = 0;
  for (const double value : summands) sum += value;
  switch (shape.sum) {
    case DType::s32: return static_cast<double>(static_cast<std::int32_t>(static_cast<std::int64_t>(sum)));
    case DType::f16: return static_cast<double>(widen_f16(narrow_f16(sum)));
    default: return static_cast<double>(narrow_f32(sum));
  }
}

}  // namespace

Warpgroup::Warpgroup(Block& block, int index)
    : block_(block),
      index_(index),
      agent_(block.cluster().add_agent(fmt::format("warpgroup {} of block {}", index, block.index()))) {}

Thread& Warpgroup::thread(int i) const {
  return block_.threads()[static_cast<std::size_t>(index_ * kWarpgroupThreads + i)];
}

int Warpgroup::arrived() const {
  const auto has_arrived = [](const WarpState& warp) { return !warp.calls.empty(); };
  return kLanes * static_cast<int>(std::ranges::count_if(warps_, has_arrived));
}

void Warpgroup::multiply(const Warp& warp, const std::array<void*, kLanes>& operands) {
  Thread& thread = *warp.lanes.front();
  WarpState& state = state_of(thread);
  const auto& first = *static_cast<const WgmmaOperands*>(operands.front());
  for (std::size_t lane = 1; lane < kLanes; ++lane) {
    if (static_cast<const WgmmaOperands*>(operands[lane])->agrees_with(first)) continue;
    report(thread, {.hazard = Hazard::bad_operand,
                    .instruction = Instruction::wgmma_mma_async,
                    .detail = fmt::format("lanes 0 and {} of the warp give different operands", lane)});
    return;
  }
  View view = thread.view;
  for (const Thread* const lane : warp.lanes) view = meet(view, lane->view);
  check_rows(warp, first);
  const std::shared_ptr<Sum> sum = sum_of(warp, operands);
  sum->group = state.committed;
  Rows rows{};
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    rows[lane] = static_cast<const WgmmaOperands*>(operands[lane])->rows;
  state.calls.push_back(
      {.operands = first, .rows = rows, .view = std::move(view), .group = state.committed, .sum = sum});
  if (arrived() < kWarpgroupThreads) return;
  if (agrees(thread)) issue(thread);
  for (WarpState& each : warps_) each.calls.pop_front();
  for (Thread* const waiting : std::exchange(waiting_, {})) block_.cluster().wake(*waiting);
}

/// Checks that a fence came after the last product with the same registers of A.
void Warpgroup::check_rows(const Warp& warp, const WgmmaOperands& operands) {
  if (!operands.shape.a_in_registers) return;
  const Thread& thread = *warp.lanes.front();
  if (state_of(thread).unfenced_rows.insert(operands.rows).second) return;
  report(thread, {.hazard = Hazard::conflict,
                  .instruction = Instruction::wgmma_mma_async,
                  .detail = "no wgmma.fence orders it after writes to the registers of A"});
}

/// The sum in flight that the warp's products continue. If there is none, makes a new sum with the values of the
/// registers.
std::shared_ptr<Warpgroup::Sum> Warpgroup::sum_of(const Warp& warp, const std::array<void*, kLanes>& operands) {
  const Thread& thread = *warp.lanes.front();
  WarpState& state = state_of(thread);
  const auto& first = *static_cast<const WgmmaOperands*>(operands.front());
  const auto found = std::ranges::find_if(state.sums, [&](const auto& sum) {
    return sum->registers.front() == first.accumulators && sum->shape == first.shape;
  });
  if (found != state.sums.end()) return *found;
  if (!state.is_fenced) {
    report(thread, {.hazard = Hazard::conflict,
                    .instruction = Instruction::wgmma_mma_async,
                    .detail = "no wgmma.fence orders it after accesses to the accumulators' registers"});
  }
  auto sum = std::make_shared<Sum>();
  sum->shape = first.shape;
  sum->values.resize(static_cast<std::size_t>(kWarpRows * first.shape.n));
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    sum->registers[lane] = static_cast<const WgmmaOperands*>(operands[lane])->accumulators;
  }
  for_each_element(sum->shape, sum->values, [&](double& value, std::size_t lane, int r, bool is_upper) {
    value = sum_in(static_cast<const u32*>(sum->registers[lane])[r], sum->shape.sum, is_upper);
  });
  for (void* const registers : sum->registers) {
    std::fill_n(static_cast<u32*>(registers), first.shape.registers(), kPoison);
  }
  return state.sums.emplace_back(std::move(sum));
}

bool Warpgroup::agrees(Thread& thread) const {
  const Call& first = warps_.front().calls.front();
  const auto complain = [&](std::string detail) {
    report(thread,
           {.hazard = Hazard::bad_operand, .instruction = Instruction::wgmma_mma_async, .detail = std::move(detail)});
    return false;
  };
  for (std::size_t warp = 1; warp < kWarpgroupWarps; ++warp) {
    const Call& call = warps_[warp].calls.front();
    if (!call.operands.agrees_with(first.operands))
      return complain(fmt::format("warps 0 and {} give different operands", warp));
    if (call.group != first.group) return complain("the warps have committed different numbers of groups");
  }
  for (const std::uint64_t descriptor : {first.operands.a, first.operands.b}) {  // a is 0 if A is in registers
    if (WgmmaOperand(descriptor, true, 1).base_offset() != 0) {
      return complain("the emulated device knows no base offset");
    }
  }
  return true;
}

void Warpgroup::issue(Thread& thread) {
  const Call& call = warps_.front().calls.front();
  const WgmmaOperands& first = call.operands;
  begin_reads(thread, call);
  Product& product =
      products_.emplace_back(Product{first.shape, first.a, first.b, first.accumulate, call.group, {}, {}});
  for (std::size_t warp = 0; warp < kWarpgroupWarps; ++warp) {
    product.sums[warp] = warps_[warp].calls.front().sum;
    product.rows[warp] = warps_[warp].calls.front().rows;
  }
}

void Warpgroup::begin_reads(Thread& thread, const Call& call) {
  View view = call.view;
  for (const WarpState& warp : warps_) view = meet(view, warp.calls.front().view);
  const AsyncSight sight{*view.seen, *view.fenced, agent_, agent_};
  const Access access{static_cast<u32>(call.group + 1), agent_, Instruction::wgmma_mma_async};
  const WgmmaOperands& first = call.operands;
  const auto begin = [&](const WgmmaOperand& operand, int outers) {
    for_each_chunk(operand, outers, [&](u32 outer, u32 k) {
      // Copies may leave out rows beyond the matrix. If other rows were left out, NaNs in D show it.
      block_.shared().begin_async_read(thread, operand.chunk(outer, k), sight, access, SharedMemory::Unwritten::is_nan);
    });
  };
  if (!first.shape.a_in_registers) begin(operand_a(first.shape, first.a), kRows);
  begin(operand_b(first.shape, first.b), first.shape.n);
}

void Warpgroup::complete(std::size_t groups) {
  if (groups <= completed_groups_) return;
  completed_groups_ = groups;
  std::size_t done = 0;
  for (; done < products_.size() && products_[done].group < groups; ++done) execute(products_[done]);
  products_.erase(products_.begin(), products_.begin() + static_cast<std::ptrdiff_t>(done));
}

/// The 64 rows of A in the registers of all lanes. From the PTX ISA's figures for m64nNk8 and m64nNk32: register r of
/// lane 4g + t holds the elements of row g + 8 (r % 2) in word t + 4 (r / 2) of the row's 32 bytes.
std::vector<float> Warpgroup::rows_of(const Product& product) {
  constexpr std::size_t kWords = kWgmmaKBytes / sizeof(u32);
  const std::size_t in_word = sizeof(u32) / static_cast<std::size_t>(size_bytes(product.shape.a));
  std::vector<float> elements(kRows * kWords * in_word);
  for (std::size_t lane = 0; lane < kWarpgroupThreads; ++lane) {
    const u32* const registers = product.rows[lane / kLanes][lane % kLanes];
    const std::size_t g = lane % kLanes / 4, t = lane % 4;
    for (std::size_t r = 0; r < WgmmaShape::kRegistersOfA; ++r) {
      const std::size_t row = lane / kLanes * kWarpRows + g + 8 * (r % 2), word = t + 4 * (r / 2);
      std::uint8_t bytes[sizeof(u32)];
      std::memcpy(bytes, registers + r, sizeof bytes);
      for (std::size_t i = 0; i < in_word; ++i)
        elements[(row * kWords + word) * in_word + i] = element(bytes, static_cast<u32>(i), product.shape.a);
    }
  }
  return elements;
}

void Warpgroup::execute(const Product& product) {
  const WgmmaShape& shape = product.shape;
  const WgmmaOperand operand_of_a = operand_a(shape, product.a), operand_of_b = operand_b(shape, product.b);
  const std::vector<float> a =
      shape.a_in_registers ? rows_of(product) : fetch(block_.shared(), operand_of_a, kRows, shape.a);
  const std::vector<float> b = fetch(block_.shared(), operand_of_b, shape.n, shape.b);
  const auto n = static_cast<std::size_t>(shape.n), depth = static_cast<std::size_t>(operand_of_a.depth());
  std::vector<double> summands(depth + 1);
  for (std::size_t i = 0; i < kRows; ++i) {
    double* const values = product.sums[i / kWarpRows]->values.data() + i % kWarpRows * n;
    for (std::size_t j = 0; j < n; ++j) {
      summands[0] = product.accumulate ? values[j] : 0;
      for (std::size_t k = 0; k < depth; ++k) {
        summands[k + 1] = static_cast<double>(a[i * depth + k]) * static_cast<double>(b[j * depth + k]);
      }
      values[j] = rounded_sum(shape, summands);
    }
  }
}

void Warpgroup::give_back(const Thread& thread, Sum& sum) {
  const bool was_touched = std::ranges::any_of(sum.registers, [&](const void* all) {
    const auto* const registers = static_cast<const u32*>(all);
    return std::any_of(registers, registers + sum.shape.registers(), [](u32 bits) { return bits != kPoison; });
  });
  if (was_touched) {
    report(thread, {.hazard = Hazard::in_flight,
                    .instruction = Instruction::wgmma_wait_group,
                    .other = Instruction::wgmma_mma_async,
                    .detail = "accumulators were written before the wait for them"});
  }
  for_each_element(sum.shape, sum.values, [&](double& value, std::size_t lane, int r, bool is_upper) {
    put_sum(static_cast<u32*>(sum.registers[lane])[r], value, sum.shape.sum, is_upper);
  });
}

void Warpgroup::fence(Thread& thread) {
  state_of(thread).is_fenced = true;
  state_of(thread).unfenced_rows.clear();
}

void Warpgroup::commit(Thread& thread) { ++state_of(thread).committed; }

void Warpgroup::await(Thread& thread, std::size_t pending) {
  WarpState& warp = state_of(thread);
  if (warp.committed <= pending) return;
  const std::size_t groups = warp.committed - pending;
  await_issue(warp, groups);
  complete(groups);
  std::erase_if(warp.sums, [&](const auto& sum) {
    if (sum->group >= groups) return false;
    give_back(thread, *sum);
    warp.is_fenced = false;
    return true;
  });
  // Other warps may have waited for later groups: this one knows nothing of those.
  View waited_for = block_.cluster().nothing_seen();
  waited_for.seen = advanced(*waited_for.seen, agent_, static_cast<u32>(groups));
  for (Thread* const lane : thread.warp->lanes) lane->view = block_.cluster().join_views(lane->view, waited_for);
}

/// Suspends the running thread until all warps have executed the products of the warp's first `groups` groups.
void Warpgroup::await_issue(const WarpState& warp, std::size_t groups) {
  while (!warp.calls.empty() && warp.calls.front().group < groups) {
    waiting_.push_back(&this_thread());
    block_.cluster().suspend(this_thread(), Instruction::wgmma_wait_group);
  }
}

// ---- instructions ----

namespace {

constexpr int kFewestRegisters = 24, kMostRegisters = 256;

/// The warpgroup of the running thread. If it is not complete, reports that and returns nullptr.
Warpgroup* warpgroup(Instruction instruction) {
  Thread& thread = this_thread();
  const auto index = static_cast<std::size_t>(thread.index / kWarpgroupThreads);
  auto& warpgroups = thread.block->warpgroups();
  if (index < warpgroups.size()) return &warpgroups[index];
  report(thread, {.hazard = Hazard::bad_operand,
                  .instruction = instruction,
                  .detail = fmt::format("thread {} of {} is not in a complete warpgroup", thread.index,
                                        thread.block->threads().size())});
  return nullptr;
}

/// Waits for all lanes of the warp, then calls `act(warpgroup, thread)` once for the warp.
template <class Act>
void act_for_warp(Instruction instruction, Act act) {
  if (warpgroup(instruction) == nullptr) return;
  Thread& thread = this_thread();
  thread.warp->meet(thread, instruction, ~0u, &act, [](Warp& warp, const WarpCall& call) {
    Thread& first = *warp.lanes.front();
    const auto index = static_cast<std::size_t>(first.index / kWarpgroupThreads);
    (*static_cast<Act*>(call.operands[0]))(first.block->warpgroups()[index], first);
  });
}

}  // namespace

void wgmma_mma_async(const WgmmaOperands& operands) {
  if (warpgroup(Instruction::wgmma_mma_async) == nullptr) return;
  WgmmaOperands own = operands;
  meet_all_lanes(Instruction::wgmma_mma_async, &own, [](Warp& warp, const WarpCall& call) {
    Thread& first = *warp.lanes.front();
    const auto index = static_cast<std::size_t>(first.index / kWarpgroupThreads);
    first.block->warpgroups()[index].multiply(warp, call.operands);
  });
}
void wgmma_fence() {
  act_for_warp(Instruction::wgmma_fence, [](Warpgroup& group, Thread& thread) { group.fence(thread); });
}
void wgmma_commit_group() {
  act_for_warp(Instruction::wgmma_commit_group, [](Warpgroup& group, Thread& thread) { group.commit(thread); });
}
void wgmma_wait_group(std::size_t pending) {
  act_for_warp(Instruction::wgmma_wait_group,
               [pending](Warpgroup& group, Thread& thread) { group.await(thread, pending); });
}

void setmaxnreg(int registers) {
  if (registers % 8 != 0 || registers < kFewestRegisters || registers > kMostRegisters) {
    report(this_thread(), {.hazard = Hazard::bad_operand,
                           .instruction = Instruction::setmaxnreg,
                           .detail = fmt::format("{} registers: the number must be a multiple of 8 from {} to {}",
                                                 registers, kFewestRegisters, kMostRegisters)});
  }
  act_for_warp(Instruction::setmaxnreg, [](Warpgroup&, Thread&) {});
}

}  // namespace hotgemm::emulate
