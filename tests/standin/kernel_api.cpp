// Modules, functions and launches.

#include "standin/api.hpp"
#include "standin/expected_grid.hpp"
#include "standin/mapped_matrix.hpp"
#include "standin/node.hpp"

#include "shared/arch_limits.hpp"
#include "shared/wgmma_config.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

namespace hotgemm::standin::api {
namespace {

constexpr int kSmemBytesWithoutOptIn = 48 << 10;
constexpr int kRegisters = 128;            // for every function: the ledger does not read the compiler's number
constexpr unsigned kServiceThreads = 256;  // threads per block of check.cuh's kernels (kCheckThreads)

const ArchLimits& limits_of(const Ledger& ledger) {
  const ArchLimits* limits = find_arch_limits(ledger.sm());
  return limits != nullptr ? *limits : *find_arch_limits(90);
}

struct LaunchShape {
  Grid grid;
  Grid block;
  unsigned smem_bytes;
  bool programmatic = false;  ///< may start before the preceding kernel has ended

  unsigned long long threads() const { return 1ull * block.x * block.y * block.z; }
};

void expect_matrix(Ledger& ledger, const Function& function, const char* name, long long ld, int rows, long long cols) {
  expect(ledger, rows <= 1 || ld >= cols, function, std::string("rows of ") + name + " overlap");
}

/// Checks that the grid stays within the SM limit that a test has set. A GPU gives each block an SM while it has one.
void expect_within_limit(Ledger& ledger, const Function& function, const LaunchShape& shape) {
  const int limit = ledger.script.sm_limit;
  if (limit == 0) return;
  expect(ledger, shape.grid.x <= static_cast<unsigned>(limit), function,
         std::to_string(shape.grid.x) + " blocks under a limit of " + std::to_string(limit) + " SMs");
  expect(ledger, !shape.programmatic, function, "occupies SMs beside the preceding kernel");
}

/// A launch that may start early prefetches small operands into L2, in whole chunks of 16 bytes. Other launches
/// prefetch nothing, nor do those that read what has just been repacked, or rows that threads load.
void expect_prefetch(Ledger& ledger, const Function& function, const LaunchShape& shape, const WgmmaArgs& args,
                     const MapContents& a, const MapContents& b) {
  const bool is_small = a.bytes + b.bytes <= 64 << 10;
  const bool batched = function.kernel.gemm.traits.batched;
  const auto [of_a, of_b] = args.prefetch;
  const auto is_copy = [&](const MapContents& matrix) {
    return matrix.address != 0 && std::ranges::find(ledger.copies, matrix.address) != ledger.copies.end();
  };
  const ExpectedBoxes& boxes = *function.kernel.gemm.boxes;
  const bool has_maps = boxes.copies_a && boxes.copies_b;
  const bool brings =
      !batched && shape.programmatic && has_maps && !is_copy(a) && !is_copy(b) && (of_a > 0 || of_b > 0 || is_small);
  expect(ledger, of_a == (brings ? a.bytes / 16 * 16 : 0) && of_b == (brings ? b.bytes / 16 * 16 : 0), function,
         "prefetches " + std::to_string(of_a) + " and " + std::to_string(of_b) + " bytes");
}

/// Reads the arguments of a kernel that gets A and B as tensor maps (unused if k = 0) unless its threads load them, and
/// D as an address and perhaps as a tensor map.
GemmArgs read_wgmma(Ledger& ledger, const Function& function, const LaunchShape& shape, const WgmmaArgs& args,
                    const BatchArgs& batch) {
  const GemmKernel& kernel = function.kernel.gemm;
  GemmArgs gemm = args.gemm;
  const GemmTraits& traits = kernel.traits;
  const bool pointers = traits.pointers;
  const unsigned batched = pointers ? 4 : traits.batched ? 3 : 2, rank_of_d = traits.divides_rows() ? 2 : batched;
  const unsigned rank_of_a = traits.along_k ? 4 : rank_of_d, rank_of_b = traits.along_k ? 4 : batched;
  ExpectedBox box_of_a = kernel.boxes->a;
  if (traits.divides_rows()) box_of_a.leaves_rest = false;
  MapContents a, b;
  if (gemm.k > 0) {
    const bool a_as_is = kernel.traits.op_a == Op::n, b_as_is = kernel.traits.op_b == Op::n;
    if (kernel.boxes->copies_a) {
      a = read_maps(ledger, function, "A", args.a, args.a_rest, kernel.traits.element, box_of_a,
                    a_as_is ? gemm.m : gemm.k, a_as_is ? gemm.k : gemm.m,
                    {batch.count, batch.stride_a, rank_of_a, pointers});
    } else {
      a = {gemm.a, gemm.lda, 0};
    }
    if (kernel.boxes->copies_b) {
      b = read_maps(ledger, function, "B", args.b, args.b_rest, kernel.traits.element_b, kernel.boxes->b,
                    b_as_is ? gemm.k : gemm.n, b_as_is ? gemm.n : gemm.k,
                    {batch.count, batch.stride_b, rank_of_b, pointers});
    } else {
      b = {gemm.b, gemm.ldb, 0};
    }
    gemm.lda = a.ld;
    gemm.ldb = b.ld;
    if (pointers) a.address = gemm.a, b.address = gemm.b;
    expect(ledger, args.gemm.a == a.address && args.gemm.b == b.address, function, "the tensor maps are of others");
  }
  expect_prefetch(ledger, function, shape, args, a, b);
  gemm.a = a.address;
  gemm.b = b.address;
  if (kernel.boxes->d) {
    const MapContents d =
        read_map(ledger, function, "D", args.d, kernel.traits.element_d, *kernel.boxes->d, gemm.m,
                 kernel.traits.epilogue.columns_of_d(gemm.n), {batch.count, batch.stride_d, rank_of_d, pointers});
    expect(ledger, (pointers || d.address == gemm.d) && d.ld == gemm.ldd, function,
           "the tensor map of D is of another matrix");
  }
  return gemm;
}

void examine_gemm(Ledger& ledger, const Function& function, const LaunchShape& shape, const GemmArgs& args,
                  const BatchArgs& batch) {
  const GemmKernel& kernel = function.kernel.gemm;
  const GemmTraits& traits = kernel.traits;
  if (!kernel.legal) return expect(ledger, false, function, "no architecture runs this config");
  expect(ledger, args.m > 0 && args.n > 0 && args.k >= 0, function, "negative or empty extents");
  const long long blocks = expected_blocks(ledger, kernel, shape.grid.x, args, batch.count);
  expect(ledger, shape.grid.x == blocks && shape.grid.y == 1 && shape.grid.z == 1, function,
         "the grid has " + std::to_string(shape.grid.x) + " blocks for " + std::to_string(blocks) + " tiles");
  expect(ledger, !shape.programmatic || kernel.boxes, function, "does not wait for what precedes it");
  expect_within_limit(ledger, function, shape);
  expect(ledger, args.raster_width >= 1, function, "raster_width " + std::to_string(args.raster_width));
  if (kernel.threads > 0) {
    expect(ledger, shape.block.x == static_cast<unsigned>(kernel.threads) && shape.threads() == shape.block.x, function,
           "a block has " + std::to_string(shape.threads()) + " threads for " + std::to_string(kernel.threads));
  }
  expect(ledger, shape.smem_bytes >= static_cast<unsigned>(kernel.smem_bytes), function,
         std::to_string(shape.smem_bytes) + " bytes of shared memory for " + std::to_string(kernel.smem_bytes));
  const bool a_as_is = traits.op_a == Op::n, b_as_is = traits.op_b == Op::n;
  expect_matrix(ledger, function, "A", args.lda, a_as_is ? args.m : args.k, a_as_is ? args.k : args.m);
  expect_matrix(ledger, function, "B", args.ldb, b_as_is ? args.k : args.n, b_as_is ? args.n : args.k);
  if (traits.reads_c) expect_matrix(ledger, function, "C", args.ldc, args.m, args.n);
  expect_matrix(ledger, function, "D", args.ldd, args.m, traits.epilogue.columns_of_d(args.n));
}

KernelNode read_digest(Ledger& ledger, CUfunction handle, const Function& function, const void* param) {
  const auto& args = *static_cast<const DigestArgs*>(param);
  expect(ledger, args.bytes % kDigestChunkBytes == 0, function, "bytes beyond the last chunk");
  expect(ledger, args.pitch_bytes >= args.row_bytes && args.pitch_bytes > 0, function, "rows of D overlap");
  return {handle, args};
}

KernelNode read_repack(Ledger& ledger, CUfunction handle, const Function& function, const LaunchShape& shape,
                       const void* param) {
  const auto& args = *static_cast<const RepackArgs*>(param);
  expect(ledger, shape.block.x == kRepackThreads && shape.threads() == kRepackThreads, function,
         "a block has " + std::to_string(shape.threads()) + " threads");
  expect(ledger, shape.grid.x <= kRepackBlocksPerSm * Ledger::kSmCount, function, "more blocks than are resident");
  expect(ledger, (args.prefetches != 0) == shape.programmatic, function, "prefetches without an early start, or not");
  expect_within_limit(ledger, function, shape);
  ledger.copies.clear();
  for (const RepackMatrix& matrix : {args.first, args.second}) {
    if (matrix.rows == 0) continue;
    const bool is_transposed = matrix.transposed_bytes > 0;
    expect_matrix(ledger, function, "the operand", matrix.pitch, is_transposed ? matrix.depth() : matrix.rows,
                  is_transposed ? static_cast<long long>(matrix.rows) * matrix.transposed_bytes : matrix.row_bytes);
    expect(ledger, matrix.row_chunks * kRepackChunkBytes == repacked_pitch(matrix.row_bytes), function,
           "rows of the copy have another length");
    ledger.copies.push_back(matrix.to);
  }
  expect(ledger, !ledger.copies.empty(), function, "nothing to copy");
  return {handle, args};
}

/// A part of the parameter at `param`, with tensor maps in front of it or not.
template <template <class> class Parameter, class Get>
auto part_of(const GemmKernel& gemm, const void* param, Get get) {
  if (gemm.boxes) return get(*static_cast<const Parameter<WgmmaArgs>*>(param));
  return get(*static_cast<const Parameter<GemmArgs>*>(param));
}

/// Reads the parameters at `params`, as the driver does at the launch, and notes errors of the launch.
std::optional<KernelNode> read_launch(Ledger& ledger, CUfunction handle, const Function& function,
                                      const LaunchShape& shape, void** params) {
  const bool is_known = function.kernel.kind != KernelKind::unknown;
  if (!is_known || params == nullptr || params[0] == nullptr) {
    ledger.violations.push_back(is_known ? function.name + ": launched without its parameter"
                                         : "unknown kernel " + function.name);
    return std::nullopt;
  }
  if (function.kernel.kind == KernelKind::gemm) {
    const GemmKernel& gemm = function.kernel.gemm;
    BatchArgs batch{.count = 1};
    GroupArgs groups{};
    if (gemm.traits.grouped) groups = part_of<Grouped>(gemm, params[0], [](const auto& p) { return p.groups; });
    if (gemm.traits.batched) batch = part_of<Batched>(gemm, params[0], [](const auto& p) { return p.batch; });
    const auto* mapped = static_cast<const WgmmaArgs*>(params[0]);
    const GemmArgs args =
        gemm.boxes ? read_wgmma(ledger, function, shape, *mapped, batch) : *static_cast<const GemmArgs*>(params[0]);
    examine_gemm(ledger, function, shape, args, batch);
    KernelNode node{.function = handle, .args = args, .batch = batch, .groups = groups};
    if (gemm.traits.is_fused())
      node.epilogue = part_of<Fused>(gemm, params[0], [](const auto& p) { return p.epilogue; });
    if (gemm.traits.epilogue.takes_extras()) {
      node.extras = part_of<WithExtras>(gemm, params[0], [](const auto& p) { return p.extras; });
      expect(ledger, node.extras.product == 0, function, "launched with the number of a product");
    }
    if (!gemm.takes_workspace()) return node;
    expect(ledger, params[1] != nullptr, function, "launched without a workspace");
    node.workspace = *static_cast<const WorkspaceArgs*>(params[1]);
    node.splits = parts_of_tile(gemm, shape.grid.x, args, batch.count);
    return node;
  }
  if (function.kernel.kind == KernelKind::repack) return read_repack(ledger, handle, function, shape, params[0]);
  expect(ledger, shape.block.x == kServiceThreads && shape.threads() == kServiceThreads, function,
         "a block has " + std::to_string(shape.threads()) + " threads");
  expect(ledger, shape.grid.y == 1 && shape.grid.z == 1, function, "the grid has more than one dimension");
  if (function.kernel.kind == KernelKind::check) return KernelNode{handle, *static_cast<const CheckArgs*>(params[0])};
  if (function.kernel.kind == KernelKind::digest) return read_digest(ledger, handle, function, params[0]);
  if (function.kernel.kind == KernelKind::pointwise) {
    return KernelNode{handle, *static_cast<const PointwiseArgs*>(params[0])};
  }
  const auto& args = *static_cast<const FillArgs*>(params[0]);
  expect(ledger, args.pattern != FillPattern::check_a || args.k_extent > 0, function, "check_a without its k_extent");
  expect_matrix(ledger, function, "the matrix", args.ld, args.rows, args.cols);
  ledger.fill_seed = args.seed;
  return KernelNode{handle, args};
}

CUresult launch(Ledger& ledger, CUfunction handle, const LaunchShape& shape, CUstream stream_handle, void** params,
                unsigned* slow_us) {
  if (thread_state().current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  Function* function = nullptr;
  if (const CUresult result = ledger.find(ledger.functions, handle, "function", &function)) return result;
  StreamState* stream = nullptr;
  if (const CUresult result = ledger.find_stream(stream_handle, &stream)) return result;
  if (stream->context != function->context) {
    return ledger.violate(CUDA_ERROR_INVALID_HANDLE, function->name + " belongs to another context than its stream");
  }
  const unsigned long long blocks = 1ull * shape.grid.x * shape.grid.y * shape.grid.z;
  if (blocks == 0 || shape.grid.x > 0x7fffffffu || shape.grid.y > 65535 || shape.grid.z > 65535) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const GemmKernel& gemm = function->kernel.gemm;
  if (shape.grid.x % static_cast<unsigned>(gemm.cluster_m * gemm.cluster_n) != 0) {
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  if (shape.threads() == 0 || shape.threads() > kMaxThreadsPerBlock) return CUDA_ERROR_INVALID_VALUE;
  if (shape.smem_bytes > static_cast<unsigned>(function->max_dynamic_smem_bytes)) return CUDA_ERROR_INVALID_VALUE;
  auto node = read_launch(ledger, handle, *function, shape, params);
  if (!node || (function->kernel.kind == KernelKind::gemm && !function->kernel.gemm.legal)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (function->kernel.gemm.takes_workspace()) {
    if (stream->id == 0) stream->id = ledger.new_serial();
    node->workspace_user = stream->capture ? stream->capture->serial : stream->id;
  }
  node->programmatic = shape.programmatic;
  *slow_us = Script::latest(ledger.script.slow_launches_us, function->name).value_or(0);
  return submit(ledger, stream_handle, *node);
}

/// Counts down the rule that refuses an image with these kernels. False if there is none.
bool is_refused(Script& script, const ElfSymbols& symbols) {
  for (auto& [part, loads_left] : script.refused_loads) {
    const auto has_part = [&part = part](const std::string& name) { return name.find(part) != name.npos; };
    if (loads_left == 0 || std::ranges::none_of(symbols.functions, has_part)) continue;
    --loads_left;
    return true;
  }
  return false;
}

/// Sleeps without the lock, so that other threads continue.
void sleep(unsigned microseconds) {
  if (microseconds > 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

}  // namespace

CUresult module_load_data(CUmodule* handle, const void* image) {
  return call("cuModuleLoadData", Scope::context_call, [&](Ledger& ledger) {
    Context* context = nullptr;
    if (const CUresult result = ledger.current(&context)) return result;
    if (handle == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto symbols = read_elf_symbols(image);
    if (!symbols) return CUDA_ERROR_INVALID_IMAGE;
    // Machine code runs on the same major version, if the minor version is at least its own.
    if (symbols->sm / 10 != ledger.sm() / 10 || symbols->sm > ledger.sm()) return CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (is_refused(ledger.script, *symbols)) return CUDA_ERROR_NO_BINARY_FOR_GPU;
    *handle = ledger.new_handle<CUmodule>();
    ledger.modules.emplace(*handle, Module{context->id, std::move(*symbols), {}});
    return CUDA_SUCCESS;
  });
}

CUresult module_unload(CUmodule handle) {
  const auto body = [&](Ledger& ledger) {
    Module* module = nullptr;
    const CUresult result = ledger.find(ledger.modules, handle, "module", &module);
    ledger.discard_module(handle);
    return result;
  };
  return call("cuModuleUnload", Scope::context_call, body, [&](Ledger& ledger) { ledger.discard_module(handle); });
}

CUresult module_get_function(CUfunction* function, CUmodule handle, const char* name) {
  return call("cuModuleGetFunction", Scope::context_call, [&](Ledger& ledger) {
    Module* module = nullptr;
    if (const CUresult result = ledger.find(ledger.modules, handle, "module", &module)) return result;
    if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!module->symbols.functions.contains(name)) return CUDA_ERROR_NOT_FOUND;
    const auto [found, is_new] = module->functions.try_emplace(name, nullptr);
    if (is_new) {
      found->second = ledger.new_handle<CUfunction>();
      ledger.functions.emplace(
          found->second, Function{module->context, handle, name, parse_kernel_symbol(name), kSmemBytesWithoutOptIn});
    }
    *function = found->second;
    return CUDA_SUCCESS;
  });
}

CUresult func_get_attribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  return call("cuFuncGetAttribute", Scope::context_call, [&](Ledger& ledger) {
    Function* function = nullptr;
    if (const CUresult result = ledger.find(ledger.functions, handle, "function", &function)) return result;
    if (value == nullptr || attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
      case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = kMaxThreadsPerBlock; break;
      case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = kRegisters; break;
      case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = ledger.sm(); break;
      case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = function->max_dynamic_smem_bytes; break;
      default: *value = 0;
    }
    return CUDA_SUCCESS;
  });
}

CUresult func_set_attribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  return call("cuFuncSetAttribute", Scope::context_call, [&](Ledger& ledger) {
    Function* function = nullptr;
    if (const CUresult result = ledger.find(ledger.functions, handle, "function", &function)) return result;
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) return CUDA_SUCCESS;
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_ERROR_INVALID_VALUE;
    if (value < 0 || value > limits_of(ledger).smem_per_block_bytes) return CUDA_ERROR_INVALID_VALUE;
    function->max_dynamic_smem_bytes = value;
    return CUDA_SUCCESS;
  });
}

CUresult occupancy_max_active_blocks(int* blocks, CUfunction handle, int block_size, std::size_t smem_bytes) {
  return call("cuOccupancyMaxActiveBlocksPerMultiprocessor", Scope::context_call, [&](Ledger& ledger) {
    Function* function = nullptr;
    if (const CUresult result = ledger.find(ledger.functions, handle, "function", &function)) return result;
    if (blocks == nullptr || block_size < 1) return CUDA_ERROR_INVALID_VALUE;
    *blocks = 0;
    if (block_size > kMaxThreadsPerBlock) return CUDA_SUCCESS;
    if (smem_bytes > static_cast<std::size_t>(function->max_dynamic_smem_bytes)) return CUDA_SUCCESS;
    const ArchLimits& limits = limits_of(ledger);
    const int by_smem = limits.smem_per_sm_bytes / (static_cast<int>(smem_bytes) + kReservedSmemPerBlockBytes);
    const int by_registers = limits.registers_per_sm / (kRegisters * block_size);
    *blocks = std::min({32, limits.threads_per_sm / block_size, by_smem, by_registers});
    return CUDA_SUCCESS;
  });
}

CUresult launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                       unsigned block_y, unsigned block_z, unsigned smem_bytes, CUstream stream, void** params,
                       void** extra) {
  unsigned slow_us = 0;
  const CUresult result = call("cuLaunchKernel", Scope::context_call, [&](Ledger& ledger) {
    if (extra != nullptr) return ledger.violate(CUDA_ERROR_NOT_SUPPORTED, "a launch with `extra`");
    const LaunchShape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, smem_bytes};
    return launch(ledger, function, shape, stream, params, &slow_us);
  });
  sleep(slow_us);
  return result;
}

/// The stand-in accepts exactly one of the attributes that the driver knows.
CUresult launch_kernel_ex(const CUlaunchConfig* config, CUfunction function, void** params, void** extra) {
  unsigned slow_us = 0;
  const CUresult result = call("cuLaunchKernelEx", Scope::context_call, [&](Ledger& ledger) {
    if (config == nullptr || extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
    LaunchShape shape{{config->gridDimX, config->gridDimY, config->gridDimZ},
                      {config->blockDimX, config->blockDimY, config->blockDimZ},
                      config->sharedMemBytes};
    for (unsigned i = 0; i < config->numAttrs; ++i) {
      const CUlaunchAttribute& attribute = config->attrs[i];
      if (attribute.id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
        return ledger.violate(CUDA_ERROR_NOT_SUPPORTED, "a launch with attribute " + std::to_string(attribute.id));
      }
      shape.programmatic = attribute.value.programmaticStreamSerializationAllowed != 0;
    }
    if (!shape.programmatic) ledger.violations.emplace_back("cuLaunchKernelEx with nothing that cuLaunchKernel lacks");
    return launch(ledger, function, shape, config->hStream, params, &slow_us);
  });
  sleep(slow_us);
  return result;
}

}  // namespace hotgemm::standin::api
