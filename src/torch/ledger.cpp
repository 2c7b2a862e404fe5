#include "torch/ledger.hpp"

#include "torch/export.hpp"
#include "torch/shim.hpp"
#include "torch/tensor.hpp"

#include <bit>
#include <string_view>

namespace hotgemm::torch {
namespace {

constexpr char kOperators[] = "mm\nbmm\naddmm\nlinear\n";
constexpr char kOutcomes[] =
    "served\nnot prepared, or not as fast by record\nnot supported by hotgemm\nan error of hotgemm\nelement type\n"
    "f32 while TF32 is allowed\nstrides\nthe output's form\nan empty operand\na bias, residual or scalar\n";

constexpr std::size_t lines(std::string_view text) {
  std::size_t count = 0;
  for (const char letter : text) count += letter == '\n' ? 1 : 0;
  return count;
}
static_assert(lines(kOperators) == static_cast<std::size_t>(Operator::count));
static_assert(lines(kOutcomes) == static_cast<std::size_t>(Outcome::count));

/// log2 of the largest power of two, at most 16, that divides address, row and distance in bytes.
std::int64_t alignment(const void* data, std::int64_t ld, std::int64_t distance, hotgemm_type type) {
  const auto bits = reinterpret_cast<std::uintptr_t>(data) |
                    static_cast<std::uintptr_t>((ld | distance) * element_bytes(type)) | std::uintptr_t{16};
  return std::countr_zero(bits);
}

/// The key of a problem: equal keys have equal texts.
Ledger::Key key_of(const Product& product) {
  const hotgemm_problem& p = product.problem;
  const hotgemm_operands& o = product.operands;
  std::int64_t rest = p.op_a | p.op_b << 1;
  const auto append = [&rest](std::int64_t value, int bits) { rest = rest << bits | value; };
  append(p.type_a, 3);
  append(p.order, 2);
  append(p.bias, 2);
  append(p.activation, 3);
  append(p.aux, 1);
  append(p.residual, 1);
  append(o.beta != 0.0f, 1);
  append(alignment(o.a, o.lda, o.batch_stride_a, p.type_a), 3);
  append(alignment(o.b, o.ldb, o.batch_stride_b, p.type_b), 3);
  append(o.c != nullptr ? alignment(o.c, o.ldc, o.batch_stride_c, p.type_c) : 0, 3);
  append(alignment(o.d, o.ldd, o.batch_stride_d, p.type_d), 3);
  append(o.residual != nullptr ? alignment(o.residual, o.ld_residual, 0, p.type_d) : 0, 3);
  append(o.auxiliary != nullptr ? alignment(o.auxiliary, o.ld_auxiliary, 0, p.type_d) : 0, 3);
  append(product.device, 8);
  return {p.m, p.n, p.k, p.batch, rest};
}

std::size_t hash(const Ledger::Key& key) {
  std::uint64_t sum = 0;
  for (const std::int64_t part : key) {
    sum = (sum ^ static_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15u;
    sum ^= sum >> 29;
  }
  return static_cast<std::size_t>(sum);
}

}  // namespace

Ledger& Ledger::get() {
  static Ledger* const ledger = new Ledger;
  return *ledger;
}

Ledger::Entry* Ledger::find(const Product& product) {
  const auto key = key_of(product);
  const std::size_t start = hash(key);
  for (std::size_t i = 0; i < kSlots; ++i) {
    std::atomic<Entry*>& slot = slots_[(start + i) % kSlots];
    Entry* entry = slot.load(std::memory_order_acquire);
    if (entry == nullptr) {
      const std::lock_guard lock(mutex_);
      entry = slot.load(std::memory_order_acquire);
      if (entry == nullptr) {
        const std::size_t count = entry_count_.load();
        if (count == kMaxEntries) return nullptr;
        entry = entries_[count] = new Entry{.key = key, .product = product};
        slot.store(entry, std::memory_order_release);
        entry_count_.store(count + 1, std::memory_order_release);
      }
    }
    if (entry->key == key) return entry;
  }
  return nullptr;
}

void Ledger::count(Operator op, Outcome outcome, const Product& product) {
  count(op, outcome);
  Entry* entry = find(product);
  if (entry == nullptr) return;
  if (outcome == Outcome::served) {
    entry->served.fetch_add(1, std::memory_order_relaxed);
  } else if (outcome == Outcome::declined) {
    entry->declined.fetch_add(1, std::memory_order_relaxed);
  } else {
    entry->failed.fetch_add(1, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    if (!entry->failure.empty()) return;
    entry->failure.resize(shim().last_error(nullptr, 0));
    shim().last_error(entry->failure.data(), entry->failure.size() + 1);
  }
}

}  // namespace hotgemm::torch

using namespace hotgemm::torch;

const char* hotgemm_torch_operators() { return kOperators; }
const char* hotgemm_torch_outcomes() { return kOutcomes; }

void hotgemm_torch_counts(std::uint64_t* counts, int reset) {
  for (std::size_t op = 0; op < static_cast<std::size_t>(Operator::count); ++op) {
    for (std::size_t outcome = 0; outcome < static_cast<std::size_t>(Outcome::count); ++outcome) {
      *counts++ = Ledger::get().counted(static_cast<Operator>(op), static_cast<Outcome>(outcome), reset != 0);
    }
  }
}

void hotgemm_torch_visit(void (*visit)(void* user, const hotgemm_torch_problem* problem), void* user, int reset) {
  Ledger::get().visit(reset != 0, [&](const Product& product, const Ledger::Counts& counts) {
    const hotgemm_torch_problem problem{&product.problem, &product.operands, counts.failure.c_str(), product.device, 0,
                                        counts.served,    counts.declined,   counts.failed};
    visit(user, &problem);
  });
}
