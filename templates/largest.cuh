#pragma once

// The amax of an epilogue.

#include "ptx/atomic.hpp"
#include "ptx/element.hpp"
#include "ptx/memory.hpp"

namespace hotgemm {

/// The largest absolute value that a thread has met in a tile, as bits, which order NaN behind all numbers. It goes to
/// memory with this object. Most threads see there that it would change nothing.
template <bool kIsKept>
class Largest {
 public:
  HOTGEMM_DEVICE explicit Largest(u64 /*address*/) {}
  HOTGEMM_DEVICE void add(float /*value*/) const {}
};
template <>
class Largest<true> {
 public:
  HOTGEMM_DEVICE explicit Largest(u64 address) : address_(address) {}
  HOTGEMM_DEVICE ~Largest() {
    if (bits_ > ptx::ld_relaxed_gpu_b32(address_)) ptx::red_global_max_u32(address_, bits_);
  }
  HOTGEMM_DEVICE void add(float value) const {
    const u32 bits = ptx::bits_of(value) & 0x7fffffffu;
    if (bits > bits_) bits_ = bits;
  }

 private:
  u64 address_;
  mutable u32 bits_ = 0;
};

}  // namespace hotgemm
