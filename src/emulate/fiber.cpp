#include "emulate/fiber.hpp"

#include <hotgemm/error.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

// AddressSanitizer must be told of each change of stacks. This file is compiled without it: the code that runs after
// the last announcement of a fiber must have no frame that AddressSanitizer keeps elsewhere.
#if defined(HOTGEMM_ASAN_FIBERS)
#include <sanitizer/common_interface_defs.h>
#endif

namespace hotgemm::emulate {
namespace {

// A kernel's frame holds its accumulators and fragments, at most a few KiB. Sanitizers make frames larger.
#if defined(HOTGEMM_ASAN_FIBERS)
constexpr std::size_t kStackBytes = 256 << 10;
#else
constexpr std::size_t kStackBytes = 64 << 10;
#endif

void announce_switch(void** save, const void* stack, std::size_t bytes) {
#if defined(HOTGEMM_ASAN_FIBERS)
  __sanitizer_start_switch_fiber(save, stack, bytes);
#else
  static_cast<void>(save), static_cast<void>(stack), static_cast<void>(bytes);
#endif
}
void finish_switch(void* saved, const void** old_stack, std::size_t* old_bytes) {
#if defined(HOTGEMM_ASAN_FIBERS)
  __sanitizer_finish_switch_fiber(saved, old_stack, old_bytes);
#else
  static_cast<void>(saved), static_cast<void>(old_stack), static_cast<void>(old_bytes);
#endif
}

/// The stack allocator for Boost.Context.
struct PooledStack {
  StackPool* pool;
  boost::context::stack_context stack;
  boost::context::stack_context allocate() const { return stack; }
  void deallocate(boost::context::stack_context& given) const { pool->give_back(given); }
};

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

StackPool& StackPool::of_this_thread() {
  static thread_local StackPool pool;
  return pool;
}

StackPool::~StackPool() {
  for (const auto& stack : all_) {
    ::munmap(static_cast<std::byte*>(stack.sp) - stack.size - page_bytes(), stack.size + page_bytes());
  }
}

boost::context::stack_context StackPool::take() {
  if (free_.empty()) {
    const std::size_t bytes = kStackBytes + page_bytes();
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || ::mprotect(memory, page_bytes(), PROT_NONE) != 0) {
      throw Error(ErrorCode::internal,
                  "map a stack of " + std::to_string(bytes) + " bytes for an emulated thread: " + std::strerror(errno));
    }
    boost::context::stack_context stack;
    stack.size = kStackBytes;
    stack.sp = static_cast<std::byte*>(memory) + bytes;  // stacks grow downwards
    all_.push_back(stack);
    free_.push_back(stack);
  }
  const boost::context::stack_context stack = free_.back();
  free_.pop_back();
  return stack;
}

struct FiberEntry {
  Fiber* self;
  boost::context::fiber operator()(boost::context::fiber&& outside) const {
    self->outside_ = std::move(outside);
    finish_switch(nullptr, &self->outside_stack_, &self->outside_stack_bytes_);
    try {
      self->body_(self->argument_);
    } catch (const FiberAbandoned&) {  // its stack has been unwound; nothing else to do
    }
    self->has_ended_ = true;
    announce_switch(nullptr, self->outside_stack_, self->outside_stack_bytes_);
    return std::move(self->outside_);
  }
};

void Fiber::start(StackPool& stacks, Body body, void* argument) {
  body_ = body;
  argument_ = argument;
  has_ended_ = false;
  is_abandoned_ = false;
  const boost::context::stack_context stack = stacks.take();
  stack_ = static_cast<std::byte*>(stack.sp) - stack.size;
  stack_bytes_ = stack.size;
  inside_ = boost::context::fiber(std::allocator_arg, PooledStack{&stacks, stack}, FiberEntry{this});
}

void Fiber::resume() {
  void* saved = nullptr;
  announce_switch(&saved, stack_, stack_bytes_);
  inside_ = std::move(inside_).resume();
  finish_switch(saved, nullptr, nullptr);
}

void Fiber::suspend() {
  void* saved = nullptr;
  announce_switch(&saved, outside_stack_, outside_stack_bytes_);
  outside_ = std::move(outside_).resume();
  finish_switch(saved, &outside_stack_, &outside_stack_bytes_);
  if (is_abandoned_) throw FiberAbandoned{};
}

void Fiber::abandon() {
  is_abandoned_ = true;
  resume();
}

}  // namespace hotgemm::emulate
