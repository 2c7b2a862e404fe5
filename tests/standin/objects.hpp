#pragma once

#include "shared/check_data.hpp"
#include "shared/gemm_args.hpp"
#include "shared/repack_args.hpp"
#include "shared/workspace_args.hpp"
#include "standin/elf_symbols.hpp"
#include "standin/kernel_symbol.hpp"

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

// The objects behind the stand-in's handles. `context` is always the id of a context. Ids are never reused.

namespace hotgemm::standin {

struct Module {
  std::uint64_t context;
  ElfSymbols symbols;
  std::map<std::string, CUfunction> functions;  // the functions that were requested
};

struct Function {
  std::uint64_t context;
  CUmodule module;
  std::string name;
  KernelSymbol kernel;
  int max_dynamic_smem_bytes;
};

struct Grid {
  unsigned x, y, z;
};

// The operations that a stream executes and a graph contains.
struct KernelNode {
  CUfunction function;
  std::variant<GemmArgs, RepackArgs, FillArgs, CheckArgs, DigestArgs, PointwiseArgs> args;
  WorkspaceArgs workspace{};  // of a kernel that takes one
  EpilogueArgs epilogue{};    // of a fused kernel
  ExtraArgs extras{};         // of a fused kernel with some of them
  BatchArgs batch{.count = 1};
  std::uint64_t workspace_user =
      0;           // the stream's id, or the capture's serial; kernels of another user may run at the same time
  int splits = 0;  // blocks that share a tile, of a kernel with workspace
  bool programmatic = false;
};
struct MemsetNode {
  CUdeviceptr to;
  unsigned value;
  unsigned element_bytes;
  std::size_t count;
};
struct CopyNode {
  CUdeviceptr device;
  void* host;
  std::size_t bytes;
  bool to_device;
};
using Node = std::variant<KernelNode, MemsetNode, CopyNode>;

/// An object that a graph keeps alive. When nobody needs it any more, its function `destroy` is called, under the
/// ledger's lock, where it cannot call the driver.
class UserObject {
 public:
  UserObject(void* value, CUhostFn destroy) : value_(value), destroy_(destroy) {}
  ~UserObject() { destroy_(value_); }
  UserObject(const UserObject&) = delete;
  UserObject& operator=(const UserObject&) = delete;

 private:
  void* value_;
  CUhostFn destroy_;
};
using UserObjects = std::vector<std::shared_ptr<UserObject>>;

struct Capture {
  std::uint64_t serial;
  CUstreamCaptureMode mode;
  std::thread::id thread;  // the thread that began the capture
  bool invalidated = false;
  std::vector<Node> nodes;
  CUgraph graph = nullptr;  // the handle that the graph will have
  UserObjects objects{};
};

struct StreamState {
  std::uint64_t context;
  bool blocking;  // a blocking stream, ordered with the legacy stream
  double clock_us = 0;
  CUfunction last_kernel = nullptr;  // that ran here
  std::optional<Capture> capture;
  std::uint64_t id = 0;  // never used twice; 0 until it is asked for
};

struct Event {
  std::uint64_t context;
  bool has_time;
  bool recorded = false;
  std::uint64_t capture = 0;  // serial of the capture in which it was last recorded; 0 outside of captures
  double time_us = 0;
};

struct Graph {
  std::uint64_t context;
  std::vector<Node> nodes;
  std::uint64_t capture = 0;  // serial
  UserObjects objects{};
};
using GraphExec = Graph;

/// The primary context of a device. It exists while it is retained. Each time it is made again, it gets a new id but
/// keeps its handle.
struct Context {
  int device;
  std::uint64_t id = 0;
  unsigned retained = 0;
  bool was_reset = false;        // ended, although it has owners
  CUresult lost = CUDA_SUCCESS;  // the result of every call after a fatal error
  bool hung = false;             // true if waiting calls do not return
  StreamState legacy{};
  std::map<std::thread::id, StreamState> per_thread{};
};

}  // namespace hotgemm::standin
