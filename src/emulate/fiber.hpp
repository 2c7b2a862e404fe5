#pragma once

#include <boost/context/fiber.hpp>

#include <cstddef>
#include <vector>

namespace hotgemm::emulate {

/// Stacks for fibers. Below each stack is a page that faults.
class StackPool {
 public:
  /// The pool of the calling host thread. It is kept until that thread ends, because mapping new stacks would take
  /// longer than most launches.
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

/// Thrown from `suspend` into a fiber that will not be resumed. It unwinds the fiber's stack.
struct FiberAbandoned {};

/// A function with its own stack that runs until it suspends itself.
class Fiber {
 public:
  using Body = void (*)(void* argument);

  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Prepares the fiber to run `body(argument)`. An exception that leaves the body ends the program.
  void start(StackPool& stacks, Body body, void* argument);
  /// Runs the fiber until it suspends or ends.
  void resume();
  /// Called by the body: returns to the caller of resume.
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
