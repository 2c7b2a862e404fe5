#include "emulate/warpgroup.hpp"

#include "emulate/block.hpp"
#include "emulate/number.hpp"
#include "emulate/wgmma_operand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace hotgemm::emulate {
namespace {

using u32 = std::uint32_t;

constexpr int kRows = 64;
constexpr u32 kPoison = 0x7fffdeadu;  // a NaN in f32, and in both halves of an f16 pair

float low(u32 pair) { return widen_f16(static_cast<std::uint16_t>(pair)); }
float high(u32 pair) { return widen_f16(static_cast<std::uint16_t>(pair >> 16)); }

/// Calls use(value in `values`, thread, register, is_upper_half) for each element. For an f32 sum, register r of thread
/// 32w + 4g + t holds row 16w + g + 8 (r / 2 % 2) and column 8 (r / 4) + 2t + r % 2. For f16, register r holds the
/// elements 2r and 2r + 1 of that order.
template <class Use>
void for_each_element(const WgmmaShape& shape, std::vector<float>& values, int first_thread, int threads,
                      const Use& use) {
  for (int thread = first_thread; thread < first_thread + threads; ++thread) {
    const int warp = thread / 32, g = thread % 32 / 4, t = thread % 4;
    for (int i = 0; i < shape.n / 2; ++i) {
      const int row = 16 * warp + g + 8 * (i / 2 % 2), col = 8 * (i / 4) + 2 * t + i % 2;
      float& value = values[static_cast<std::size_t>(row * shape.n + col)];
      use(value, thread, shape.has_f32_sum ? i : i / 2, !shape.has_f32_sum && i % 2 == 1);
    }
  }
}

/// Reads the `outers` × 16 elements of the operand.
std::vector<float> fetch(const SharedMemory& shared, const WgmmaOperand& operand, int outers, bool is_bf16) {
  constexpr u32 kPerChunk = WgmmaOperand::kElementsPerChunk, kK = WgmmaOperand::kK;
  std::vector<float> elements(static_cast<std::size_t>(outers) * kK);
  const u32 step_outer = operand.is_k_major() ? 1 : kPerChunk, step_k = operand.is_k_major() ? kPerChunk : 1;
  for (u32 outer = 0; outer < static_cast<u32>(outers); outer += step_outer) {
    for (u32 k = 0; k < kK; k += step_k) {
      std::uint16_t chunk[kPerChunk];
      shared.fetch(operand.chunk(outer, k), chunk);
      for (u32 i = 0; i < kPerChunk; ++i) {
        const u32 o = operand.is_k_major() ? outer : outer + i, l = operand.is_k_major() ? k + i : k;
        elements[o * kK + l] = is_bf16 ? widen_bf16(chunk[i]) : widen_f16(chunk[i]);
      }
    }
  }
  return elements;
}

}  // namespace

Warpgroup::Warpgroup(Block& block, int index)
    : block_(block),
      index_(index),
      agent_(block.cluster().add_agent(fmt::format("warpgroup {} of block {}", index, block.index()))),
      completed_(block.cluster().nothing_seen()) {}

Thread& Warpgroup::thread(int i) const {
  return block_.threads()[static_cast<std::size_t>(index_ * kWarpgroupThreads + i)];
}

void Warpgroup::multiply(Thread& thread, const WgmmaOperands& operands) {
  calls_[slot(thread)] = &operands;
  if (++arrived_ < kWarpgroupThreads) {
    block_.cluster().suspend(thread, Instruction::wgmma_mma_async);
    return;
  }
  for (int warp = 0; warp < kWarpgroupWarps; ++warp) count(thread, Instruction::wgmma_mma_async);
  if (agrees(thread)) issue(thread);
  arrived_ = 0;
  calls_.fill(nullptr);
  for (int i = 0; i < kWarpgroupThreads; ++i) {
    if (Thread& other = this->thread(i); &other != &thread) block_.cluster().wake(other);
  }
}

bool Warpgroup::agrees(Thread& thread) const {
  const WgmmaOperands& first = *calls_[0];
  const auto complain = [&](std::string detail) {
    report(thread,
           {.hazard = Hazard::bad_operand, .instruction = Instruction::wgmma_mma_async, .detail = std::move(detail)});
    return false;
  };
  for (int i = 0; i < kWarpgroupThreads; ++i) {
    WgmmaOperands same = *calls_[static_cast<std::size_t>(i)];
    same.accumulators = first.accumulators;
    if (same != first) return complain(fmt::format("threads 0 and {} of the warpgroup give different operands", i));
    if (warps_[static_cast<std::size_t>(i / 32)].committed != warps_[0].committed) {
      return complain("the warps have committed different numbers of groups");
    }
  }
  for (const std::uint64_t descriptor : {first.a, first.b}) {
    if (WgmmaOperand(descriptor, true).base_offset() != 0) return complain("the emulated device knows no base offset");
  }
  return true;
}

void Warpgroup::issue(Thread& thread) {
  const WgmmaOperands& first = *calls_[0];
  const std::size_t group = warps_[0].committed;
  const std::shared_ptr<Sum> sum = sum_of(thread, first);
  sum->group = group;
  begin_reads(thread, first, group);
  products_.push_back({first.shape, first.a, first.b, first.accumulate, group, sum});
}

std::shared_ptr<Warpgroup::Sum> Warpgroup::sum_of(Thread& thread, const WgmmaOperands& first) {
  const auto found = std::ranges::find_if(
      sums_, [&](const auto& sum) { return sum->registers[0] == first.accumulators && sum->shape == first.shape; });
  const bool is_known = found != sums_.end();
  if (is_known && std::ranges::none_of((*found)->has, [](bool has) { return has; })) return *found;
  for (const WarpState& warp : warps_) {
    if (warp.is_fenced) continue;
    report(thread, {.hazard = Hazard::conflict,
                    .instruction = Instruction::wgmma_mma_async,
                    .detail = "no wgmma.fence orders it after accesses to the accumulators' registers"});
    break;
  }
  if (is_known) sums_.erase(found);
  auto sum = std::make_shared<Sum>();
  sum->shape = first.shape;
  sum->values.resize(static_cast<std::size_t>(kRows * first.shape.n));
  for (std::size_t i = 0; i < kWarpgroupThreads; ++i) sum->registers[i] = calls_[i]->accumulators;
  for_each_element(sum->shape, sum->values, 0, kWarpgroupThreads, [&](float& value, int owner, int r, bool is_upper) {
    const u32 bits = static_cast<const u32*>(sum->registers[static_cast<std::size_t>(owner)])[r];
    value = sum->shape.has_f32_sum ? std::bit_cast<float>(bits) : is_upper ? high(bits) : low(bits);
  });
  for (void* const registers : sum->registers) {
    std::fill_n(static_cast<u32*>(registers), first.shape.registers(), kPoison);
  }
  return sums_.emplace_back(std::move(sum));
}

void Warpgroup::begin_reads(Thread& thread, const WgmmaOperands& first, std::size_t group) {
  Clock seen = *this->thread(0).view.seen, fenced = *this->thread(0).view.fenced;
  const View* last = &this->thread(0).view;
  for (int i = 1; i < kWarpgroupThreads; ++i) {
    const View& view = this->thread(i).view;
    if (view == *last) continue;
    last = &view;
    seen = meet(seen, *view.seen);
    fenced = meet(fenced, *view.fenced);
  }
  const AsyncSight sight{seen, fenced, agent_, agent_};
  const Access access{static_cast<u32>(group + 1), agent_, Instruction::wgmma_mma_async};
  const auto begin = [&](const WgmmaOperand& operand, int outers) {
    const u32 step_outer = operand.is_k_major() ? 1 : WgmmaOperand::kElementsPerChunk;
    const u32 step_k = operand.is_k_major() ? WgmmaOperand::kElementsPerChunk : 1;
    for (u32 outer = 0; outer < static_cast<u32>(outers); outer += step_outer) {
      for (u32 k = 0; k < WgmmaOperand::kK; k += step_k) {
        // Copies may leave out rows beyond the matrix. If other rows were left out, NaNs in D show it.
        block_.shared().begin_async_read(thread, operand.chunk(outer, k), sight, access,
                                         SharedMemory::Unwritten::is_nan);
      }
    }
  };
  begin(WgmmaOperand(first.a, first.shape.a_is_k_major), kRows);
  begin(WgmmaOperand(first.b, first.shape.b_is_k_major), first.shape.n);
}

void Warpgroup::complete(std::size_t groups) {
  if (groups <= completed_groups_) return;
  completed_groups_ = groups;
  std::size_t done = 0;
  for (; done < products_.size() && products_[done].group < groups; ++done) execute(products_[done]);
  products_.erase(products_.begin(), products_.begin() + static_cast<std::ptrdiff_t>(done));
  completed_.seen = advanced(*completed_.seen, agent_, static_cast<u32>(groups));
}

/// Adds sixteen exact products and the accumulator in f64 and rounds once, as in mma.
void Warpgroup::execute(const Product& product) {
  const WgmmaShape& shape = product.shape;
  const std::vector<float> a = fetch(block_.shared(), {product.a, shape.a_is_k_major}, kRows, shape.is_bf16);
  const std::vector<float> b = fetch(block_.shared(), {product.b, shape.b_is_k_major}, shape.n, shape.is_bf16);
  const auto n = static_cast<std::size_t>(shape.n);
  std::vector<double> row(n);
  for (std::size_t i = 0; i < kRows; ++i) {
    float* const values = product.sum->values.data() + i * n;
    for (std::size_t j = 0; j < n; ++j) {
      double sum = product.accumulate ? static_cast<double>(values[j]) : 0;
      for (std::size_t k = 0; k < WgmmaOperand::kK; ++k) {
        sum += static_cast<double>(a[i * WgmmaOperand::kK + k]) * static_cast<double>(b[j * WgmmaOperand::kK + k]);
      }
      values[j] = shape.has_f32_sum ? narrow_f32(sum) : widen_f16(narrow_f16(sum));
    }
  }
}

void Warpgroup::give_back(Sum& sum, std::size_t warp) {
  sum.has[warp] = true;
  bool was_touched = false;
  const int first = static_cast<int>(warp) * 32;
  for (int i = first; i < first + 32; ++i) {
    const auto* const registers = static_cast<const u32*>(sum.registers[static_cast<std::size_t>(i)]);
    was_touched = was_touched ||
                  std::any_of(registers, registers + sum.shape.registers(), [](u32 bits) { return bits != kPoison; });
  }
  if (was_touched) {
    report(thread(first), {.hazard = Hazard::in_flight,
                           .instruction = Instruction::wgmma_wait_group,
                           .other = Instruction::wgmma_mma_async,
                           .detail = "accumulators were written before the wait for them"});
  }
  for_each_element(sum.shape, sum.values, first, 32, [&](float& value, int owner, int r, bool is_upper) {
    u32& bits = static_cast<u32*>(sum.registers[static_cast<std::size_t>(owner)])[r];
    if (sum.shape.has_f32_sum) {
      bits = std::bit_cast<u32>(value);
    } else if (is_upper) {
      bits = (bits & 0xffffu) | u32{narrow_f16(value)} << 16;
    } else {
      bits = (bits & 0xffff0000u) | narrow_f16(value);
    }
  });
}

void Warpgroup::fence(Thread& thread) { state_of(thread).is_fenced = true; }

void Warpgroup::commit(Thread& thread) { ++state_of(thread).committed; }

void Warpgroup::await(Thread& thread, std::size_t pending) {
  WarpState& warp = state_of(thread);
  const auto index = static_cast<std::size_t>(&warp - warps_.data());
  if (warp.committed <= pending) return;
  const std::size_t groups = warp.committed - pending;
  complete(groups);
  for (const auto& sum : sums_) {
    if (sum->group >= groups || sum->has[index]) continue;
    give_back(*sum, index);
    warp.is_fenced = false;
  }
  std::erase_if(sums_, [](const auto& sum) { return std::ranges::all_of(sum->has, [](bool has) { return has; }); });
  for (Thread* const lane : thread.warp->lanes) lane->view = block_.cluster().join_views(lane->view, completed_);
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
  Warpgroup* const group = warpgroup(Instruction::wgmma_mma_async);
  if (group != nullptr) group->multiply(this_thread(), operands);
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
