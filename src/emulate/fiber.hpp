#pragma once

#include <boost/context/fiber.hpp>

#include <cstddef>
#include <vector>

namespace hotgemm::emulate {

/// Stacks for fibers, with a page below each that faults.
class StackPool {
 public:
  /// That of the host thread that calls, kept until it ends: mapping stacks anew would take longer than most launches.
  static StackPool& of_this_thread();

  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  boost::context::stack_context take();
  void give_back(boost::context::stack_context stack) { free_.push_back(stack); }

 private:
  StackPool() = default;

  std::vector<boost::context::stack_context> free_, all_;
};

/// Thrown from `suspend` into a fiber that will not be resumed: it unwinds the fiber's stack.
struct FiberAbandoned {};

/// A function on a stack of its own, that runs until it suspends itself.
class Fiber {
 public:
  using Body = void (*)(void* argument);

  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// The body will run `body(argument)`. An exception that leaves it ends the program.
  void start(StackPool& stacks, Body body, void* argument);
  /// Runs the fiber until it suspends or ends.
  void resume();
  /// To be called by the body: back to who resumed it.
  void suspend();
  /// Unwinds a suspended fiber.
  void abandon();

  bool has_ended() const { return has_ended_; }

 private:
  friend struct FiberEntry;

  boost::context::fiber inside_, outside_;
  Body body_ = nullptr;
  void* argument_ = nullptr;
  bool has_ended_ = false;
  bool is_abandoned_ = false;
  const void* stack_ = nullptr;  // lowest address
  std::size_t stack_bytes_ = 0;
  const void* outside_stack_ = nullptr;  // for AddressSanitizer
  std::size_t outside_stack_bytes_ = 0;
};

}  // namespace hotgemm::emulate
