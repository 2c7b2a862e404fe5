#pragma once

#include <hotgemm/hotgemm.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

namespace hotgemm::torch {

/// Calls are counted by operator and by outcome.
enum class Operator : std::size_t { mm, bmm, addmm, linear, count };
enum class Outcome : std::size_t {
  served,
  declined,       ///< the flags of the call say no: not prepared, not tuned, or not as fast by record
  not_supported,  ///< by hotgemm
  failed,         ///< with any other status
  type,           ///< no type of ours
  f32,            ///< f32, while TF32 is allowed
  strides,        ///< an operand is no matrix that a leading dimension describes
  out,            ///< the output has other sizes, another type, or shares memory with an operand
  empty,          ///< a size is 0
  operand,        ///< a bias, residual or scalar that no epilogue has
  count
};

/// A problem with the operands of one of its calls.
struct Product {
  hotgemm_problem problem = HOTGEMM_PROBLEM_INIT;
  hotgemm_operands operands = HOTGEMM_OPERANDS_INIT;
  std::int32_t device = 0;
};

/// Counts of calls. Counting takes no lock but at the first call with a problem. It does not end: kernels run until the
/// process does.
class Ledger {
 public:
  using Key = std::array<std::int64_t, 5>;
  struct Entry {
    Key key;
    Product product;
    std::atomic<std::uint64_t> served{0}, declined{0}, failed{0};
    std::string failure;  // guarded by mutex_
  };

  static Ledger& get();

  void count(Operator op, Outcome outcome) { counts_[at(op, outcome)].fetch_add(1, std::memory_order_relaxed); }
  /// Also counts the problem of `product`; `failure` is the message of hotgemm.
  void count(Operator op, Outcome outcome, const Product& product);
  std::uint64_t counted(Operator op, Outcome outcome, bool reset) { return read(counts_[at(op, outcome)], reset); }

  /// The counts of a problem.
  struct Counts {
    std::uint64_t served, declined, failed;
    std::string failure;
  };
  /// Calls `visit(product, counts)` for each problem with a count.
  template <class Visit>
  void visit(bool reset, Visit&& visit) {
    const std::size_t count = entry_count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
      Entry& entry = *entries_[i];
      Counts counts{read(entry.served, reset), read(entry.declined, reset), read(entry.failed, reset), {}};
      if (counts.served + counts.declined + counts.failed == 0) continue;
      {
        const std::lock_guard lock(mutex_);
        counts.failure = reset ? std::exchange(entry.failure, {}) : entry.failure;
      }
      visit(entry.product, counts);
    }
  }

 private:
  static constexpr std::size_t kSlots = 8192;
  static constexpr std::size_t kMaxEntries = 4096;  // further problems are counted by outcome alone

  static constexpr std::size_t at(Operator op, Outcome outcome) {
    return static_cast<std::size_t>(op) * static_cast<std::size_t>(Outcome::count) + static_cast<std::size_t>(outcome);
  }
  /// The count, which `reset` sets to zero.
  static std::uint64_t read(std::atomic<std::uint64_t>& count, bool reset) {
    return reset ? count.exchange(0) : count.load();
  }
  Entry* find(const Product& product);

  std::array<std::atomic<std::uint64_t>,
             static_cast<std::size_t>(Operator::count) * static_cast<std::size_t>(Outcome::count)>
      counts_{};
  std::array<std::atomic<Entry*>, kSlots> slots_{};
  std::mutex mutex_;
  std::array<Entry*, kMaxEntries> entries_{};  // the first entry_count_ of them do not change
  std::atomic<std::size_t> entry_count_{0};
};

}  // namespace hotgemm::torch
