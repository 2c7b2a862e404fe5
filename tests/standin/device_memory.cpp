#include "standin/device_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace hotgemm::standin {
namespace {

constexpr std::size_t kAlignment = 512;
constexpr std::size_t kGuardBytes = 512;
constexpr std::byte kGuard{0xa5};
constexpr std::byte kPoison{0xff};  // a NaN in f16, bf16 and f32
constexpr std::size_t kPoisonedBytes = std::size_t{16} << 20;

bool intact(const std::byte* guard) {
  return std::all_of(guard, guard + kGuardBytes, [](std::byte value) { return value == kGuard; });
}

}  // namespace

void DeviceMemory::FreeHost::operator()(std::byte* memory) const { std::free(memory); }

std::optional<std::uint64_t> DeviceMemory::allocate(std::uint64_t context, int device, std::size_t bytes) {
  constexpr std::size_t kOverhead = 2 * kGuardBytes + kAlignment;
  if (bytes > std::numeric_limits<std::size_t>::max() - kOverhead) return std::nullopt;
  // calloc, not aligned_alloc: the kernel gives untouched zero pages for large blocks.
  std::unique_ptr<std::byte, FreeHost> memory(static_cast<std::byte*>(std::calloc(1, bytes + kOverhead)));
  if (!memory) return std::nullopt;
  const auto raw = reinterpret_cast<std::uint64_t>(memory.get());
  const std::uint64_t address = (raw + kGuardBytes + kAlignment - 1) / kAlignment * kAlignment;
  auto* data = reinterpret_cast<std::byte*>(address);
  std::fill_n(data - kGuardBytes, kGuardBytes, kGuard);
  std::fill_n(data + bytes, kGuardBytes, kGuard);
  if (bytes <= kPoisonedBytes) std::fill_n(data, bytes, kPoison);
  allocations_.emplace(address, Allocation{context, device, bytes, std::move(memory)});
  return address;
}

DeviceMemory::FreeResult DeviceMemory::free(std::uint64_t address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return FreeResult::not_alive;
  const auto* data = reinterpret_cast<const std::byte*>(address);
  const bool good = intact(data - kGuardBytes) && intact(data + found->second.bytes);
  allocations_.erase(found);
  return good ? FreeResult::good : FreeResult::guard_damaged;
}

void DeviceMemory::free_all_of(std::uint64_t context) {
  std::erase_if(allocations_, [&](const auto& entry) { return entry.second.context == context; });
}

DeviceMemory::Allocations::const_iterator DeviceMemory::holding(std::uint64_t address) const {
  auto next = allocations_.upper_bound(address);
  if (next == allocations_.begin()) return allocations_.end();
  const auto found = std::prev(next);
  return address - found->first < found->second.bytes ? found : allocations_.end();
}

bool DeviceMemory::contains(std::uint64_t context, std::uint64_t address, std::uint64_t bytes) const {
  if (bytes == 0) return true;
  const auto found = holding(address);
  if (found == allocations_.end() || found->second.context != context) return false;
  return bytes <= found->second.bytes - (address - found->first);
}

std::optional<std::uint64_t> DeviceMemory::context_of(std::uint64_t address) const {
  const auto found = holding(address);
  if (found == allocations_.end()) return std::nullopt;
  return found->second.context;
}

std::size_t DeviceMemory::used_bytes(int device) const {
  std::size_t used = 0;
  for (const auto& [address, allocation] : allocations_) {
    if (allocation.device == device) used += allocation.bytes;
  }
  return used;
}

}  // namespace hotgemm::standin
