#include "emulate/bank_counter.hpp"

#include <algorithm>
#include <utility>

namespace hotgemm::emulate {

int wavefronts(std::span<const std::uint32_t> addresses, int bytes) {
  std::array<std::array<std::uint32_t, kBanks>, kBanks> words;  // the different words accessed in each bank
  std::array<int, kBanks> found{};
  for (const std::uint32_t address : addresses) {
    for (std::uint32_t at = address; at < address + static_cast<unsigned>(bytes); at += kBankBytes) {
      const std::uint32_t word = at / kBankBytes;
      auto& of_bank = words[word % kBanks];
      int& n = found[word % kBanks];
      if (std::find(of_bank.begin(), of_bank.begin() + n, word) == of_bank.begin() + n) {
        of_bank[static_cast<std::size_t>(n++)] = word;
      }
    }
  }
  return *std::ranges::max_element(found);
}

void count_banks(Counters& counters, Instruction instruction, std::span<const std::uint32_t> addresses, int bytes) {
  const auto per_phase = static_cast<std::size_t>(kBanks * kBankBytes / bytes);
  for (std::size_t first = 0; first < addresses.size(); first += per_phase) {
    const auto phase = addresses.subspan(first, std::min(per_phase, addresses.size() - first));
    ++counters[instruction].phases;
    counters[instruction].conflicts += static_cast<std::uint64_t>(wavefronts(phase, bytes) - 1);
  }
}

void AccessBanks::commit(Counters& counters, std::uint64_t& uneven, int lane, std::size_t lanes, std::size_t group,
                         std::vector<BankAccess> accesses) {
  while (groups_.size() <= group - first_) groups_.emplace_back();
  Group& g = groups_[group - first_];
  g.accesses[static_cast<std::size_t>(lane)] = std::move(accesses);
  if (++g.committed < lanes) return;
  if (is_even(lanes, g)) {
    evaluate(counters, lanes, g);
  } else {
    ++uneven;
  }
  while (!groups_.empty() && groups_.front().committed == lanes) {
    groups_.pop_front();
    ++first_;
  }
}

bool AccessBanks::is_even(std::size_t lanes, const Group& group) {
  const auto is_same = [](const BankAccess& x, const BankAccess& y) { return x.instruction == y.instruction; };
  for (std::size_t lane = 1; lane < lanes; ++lane) {
    if (!std::ranges::equal(group.accesses[lane], group.accesses[0], is_same)) return false;
  }
  return true;
}

void AccessBanks::evaluate(Counters& counters, std::size_t lanes, const Group& group) {
  std::vector<std::uint32_t> addresses(lanes);
  for (std::size_t i = 0; i < group.accesses[0].size(); ++i) {
    for (std::size_t lane = 0; lane < lanes; ++lane) addresses[lane] = group.accesses[lane][i].shared;
    count_banks(counters, group.accesses[0][i].instruction, addresses, group.accesses[0][i].bytes);
  }
}

}  // namespace hotgemm::emulate
