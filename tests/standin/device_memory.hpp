#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

namespace hotgemm::standin {

/// The allocations of all devices. They are in host memory, each between two guard zones. Not thread-safe.
class DeviceMemory {
 public:
  /// Returns the address, aligned as by cuMemAlloc, or nullopt if the host has no memory. Small allocations are filled
  /// with NaN, or -1 of integers, so that a read of unwritten memory shows. Large ones are zero and cost nothing until
  /// they are touched.
  std::optional<std::uint64_t> allocate(std::uint64_t context, int device, std::size_t bytes);

  enum class FreeResult { good, guard_damaged, not_alive };
  FreeResult free(std::uint64_t address);
  void free_all_of(std::uint64_t context);

  /// True if [address, address + bytes) lies in one live allocation of `context`.
  bool contains(std::uint64_t context, std::uint64_t address, std::uint64_t bytes) const;
  /// The context whose allocation contains `address`.
  std::optional<std::uint64_t> context_of(std::uint64_t address) const;
  std::size_t used_bytes(int device) const;
  std::size_t count() const { return allocations_.size(); }

 private:
  struct FreeHost {
    void operator()(std::byte* memory) const;
  };
  struct Allocation {
    std::uint64_t context;
    int device;
    std::size_t bytes;
    std::unique_ptr<std::byte, FreeHost> memory;  // guard zone, the bytes, guard zone
  };
  using Allocations = std::map<std::uint64_t, Allocation>;  // keyed by address
  Allocations::const_iterator holding(std::uint64_t address) const;

  Allocations allocations_;
};

}  // namespace hotgemm::standin
