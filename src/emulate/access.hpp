#pragma once

#include "emulate/block.hpp"
#include "emulate/grid_dependency.hpp"

#include <cstdint>

// The loads and stores of src/emulate/ptx, executed for the running thread. The width of an access is that of T, and
// its address is aligned to its size.

namespace hotgemm::emulate {

template <class T>
T load_global(Instruction instruction, std::uint64_t address) {
  Thread& thread = this_thread();
  count(thread, instruction);
  touch_global(thread, instruction);
  T value;
  thread.block->grid().memory.read(thread, instruction, address, &value, sizeof value, sizeof value);
  return value;
}

template <class T>
void store_global(Instruction instruction, std::uint64_t address, const T& value) {
  Thread& thread = this_thread();
  count(thread, instruction);
  touch_global(thread, instruction);
  thread.block->grid().memory.write(thread, instruction, address, &value, sizeof value);
}

/// A prefetch reads nothing, so it need not wait for the previous kernel.
inline void prefetch_global(Instruction instruction, std::uint64_t address, std::uint32_t bytes) {
  Thread& thread = this_thread();
  count(thread, instruction);
  thread.block->grid().memory.prefetch(thread, instruction, address, bytes);
}

/// red.global: new = combine(old, value), atomic for all threads.
template <class T, class Combine>
void reduce_global(Instruction instruction, std::uint64_t address, T value, const Combine& combine) {
  const T old = load_global<T>(instruction, address);
  GlobalMemory& memory = this_thread().block->grid().memory;
  const T combined = combine(old, value);
  memory.write(this_thread(), instruction, address, &combined, sizeof combined);
}

template <class T>
T load_shared(Instruction instruction, std::uint32_t address) {
  Thread& thread = this_thread();
  count(thread, instruction);
  note_banks(thread, {instruction, address, sizeof(T)});
  T value;
  thread.block->shared().read(thread, instruction, address, &value, sizeof value);
  return value;
}

template <class T>
void store_shared(Instruction instruction, std::uint32_t address, const T& value) {
  Thread& thread = this_thread();
  count(thread, instruction);
  note_banks(thread, {instruction, address, sizeof(T)});
  thread.block->shared().write(thread, instruction, address, &value, sizeof value);
}

}  // namespace hotgemm::emulate
