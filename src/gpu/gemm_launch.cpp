#include "gpu/gemm_launch.hpp"

#include "config/sm_limit.hpp"
#include "config/work.hpp"
#include "gpu/enqueue.hpp"
#include "gpu/tensor_map.hpp"

namespace hotgemm {
namespace {

unsigned long long address(const void* pointer) { return reinterpret_cast<unsigned long long>(pointer); }

/// The matrix that the maps of an operand in the last arguments describe.
struct MappedMatrix {
  TensorMapSpec spec;
  bool is_k_major = false;
};

/// The arguments of this thread's last launches: the driver copies them when it enqueues a kernel. A part that a kernel
/// has, and does not read, keeps the values of an earlier launch: to clear all of it takes longer than to set the rest.
/// A repeated call with the same matrix, such as weights, reuses its tensor maps where they are.
struct LastLaunches {
  WithExtras<GemmArgs> plain;
  WithExtras<WgmmaArgs> mapped;
  MappedMatrix a, b, d;  // that `mapped` has maps of
};
thread_local constinit LastLaunches last_launches{};  // one, because each look-up of a thread's variable is a call

/// Makes sure that `whole` and `rest` are the maps of `spec`. `last` is the matrix that they map now.
CUresult find_or_encode(const Driver& driver, const TensorMapSpec& spec, bool is_k_major, MappedMatrix& last,
                        TensorMap& whole, TensorMap& rest) noexcept {
  if (spec == last.spec && is_k_major == last.is_k_major) return CUDA_SUCCESS;
  last = {};  // if encoding fails, the maps belong to no matrix
  const BoxMaps boxes = box_maps(spec, is_k_major);
  CUresult result = CUDA_SUCCESS;
  if (boxes.whole) result = encode_tensor_map(driver, *boxes.whole, whole);
  if (boxes.rest && result == CUDA_SUCCESS) result = encode_tensor_map(driver, *boxes.rest, rest);
  if (result == CUDA_SUCCESS) last = {spec, is_k_major};
  return result;
}

CUresult enqueue(const Driver& driver, const GemmKernel& kernel, bool programmatic, unsigned blocks, void* args,
                 const WorkspaceArgs& workspace, CUstream stream) noexcept {
  // The driver reads as many parameters as the kernel has.
  void* parameters[] = {args, const_cast<WorkspaceArgs*>(&workspace)};
  return enqueue(driver, kernel.kernel.function(),
                 {.blocks = blocks,
                  .threads = static_cast<unsigned>(kernel.shape.threads),
                  .smem_bytes = static_cast<unsigned>(kernel.shape.smem_bytes),
                  .programmatic = programmatic},
                 parameters, stream);
}

EpilogueArgs epilogue_args(const Operands& o, bool has_no_product) {
  return {.alpha = has_no_product ? 0 : address(o.alpha_device),  // the sum is zero, as if alpha were
          .beta = address(o.beta_device),
          .scale_a = address(o.scale_a),
          .scale_b = address(o.scale_b),
          .scale_d = address(o.scale_d),
          .bias = address(o.bias),
          .residual = address(o.residual),
          .auxiliary = address(o.auxiliary),
          .ld_residual = o.ld_residual,
          .ld_auxiliary = o.ld_auxiliary};
}

/// The memory from which a kernel reads A and B: the caller's, which may be arrays of addresses, or copies of it.
struct Sources {
  const void* a;
  const void* b;
  std::int64_t lda;
  std::int64_t ldb;
  std::int64_t batch_stride_a;
  std::int64_t batch_stride_b;
};

BatchArgs batch_args(const Operands& o, const Sources& from, std::int64_t count) {
  return {.stride_a = from.batch_stride_a,
          .stride_b = from.batch_stride_b,
          .stride_c = o.batch_stride_c,
          .stride_d = o.batch_stride_d,
          .stride_residual = o.batch_stride_residual,
          .stride_auxiliary = o.batch_stride_auxiliary,
          .count = static_cast<unsigned>(count)};
}

/// `traits` are those of the kernel. Products that share a matrix share its scales.
ExtraArgs extra_args(const Operands& o, const GemmTraits& traits, std::int64_t n, std::int64_t k) {
  const auto scales_of = [&](std::int64_t batch_stride, std::int64_t rows, std::int64_t ld) {
    return batch_stride == 0 && !traits.pointers ? 0 : scale_blocks(rows) * ld;
  };
  ExtraArgs args{.operands = {},
                 .product = 0,
                 .low = o.clamp_low,
                 .high = o.clamp_high,
                 .amax = address(o.amax),
                 .ld = {},
                 .stride = {},
                 .ld_scale_a = o.ld_scale_a,
                 .ld_scale_b = o.ld_scale_b,
                 .stride_scale_b = scales_of(o.batch_stride_b, n, o.ld_scale_b),
                 .stride_scale_a = scales_of(o.batch_stride_a, k, o.ld_scale_a),
                 .bias_gradient = address(o.bias_gradient)};
  for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
    args.operands[i] = address(o.function_operands[i]);
    args.ld[i] = o.ld_function_operands[i];
    args.stride[i] = o.batch_stride_function_operands[i];
  }
  return args;
}

/// Sets those parts of the arguments, behind those of a bare product, that kernels with `traits` read.
template <class Args>
void set_parts(Args& args, const GemmTraits& traits, const Operands& o, const Sources& from, std::int64_t products,
               std::int64_t n, std::int64_t k, bool has_no_product) {
  if (traits.is_fused()) args.epilogue = epilogue_args(o, has_no_product);
  if (traits.batched) args.batch = batch_args(o, from, products);
  if (traits.grouped) {
    args.groups = {
        .offsets = address(o.group_offsets), .counts = address(o.group_counts), .stride_bias = o.batch_stride_bias};
  }
  if (traits.epilogue.takes_extras()) args.extras = extra_args(o, traits, n, k);
}

/// The arguments for the copies that a launch of a kernel with `traits` makes at the beginning of `workspace`. In
/// `from` the copies take the place of the operands; the kernel's own scratch begins behind them. A matrix that all
/// products of a batch share is copied once.
RepackArgs place_copies(const LaunchConfig& launch, const GemmTraits& traits, std::int64_t m, std::int64_t n,
                        std::int64_t k, std::int64_t batch, Sources& from, WorkspaceArgs& workspace) noexcept {
  RepackArgs args;
  const auto place = [&](Repack way, const StoredShape& shape, DType element, const void*& operand, std::int64_t& ld,
                         std::int64_t& stride, RepackMatrix& matrix) {
    if (way == Repack::none) return;
    const OperandCopy copy{.shape = shape,
                           .element_bytes = size_bytes(element),
                           .is_transposed = way == Repack::transposed,
                           .products = stride == 0 ? 1 : batch};
    matrix = repack_matrix(copy, operand, ld, workspace.scratch, stride);
    operand = reinterpret_cast<const void*>(workspace.scratch);
    ld = copy.ld();
    if (stride != 0) stride = copy.stride();
    workspace.scratch += repacked_bytes(copy);
  };
  place(launch.repack_a, stored_a(m, k, traits.a_is_k_major()), traits.element, from.a, from.lda, from.batch_stride_a,
        args.first);
  place(launch.repack_b, stored_b(n, k, traits.b_is_k_major()), traits.element_b, from.b, from.ldb, from.batch_stride_b,
        args.second);
  return args;
}

}  // namespace

GemmKernel load_gemm_kernel(const Driver& driver, const KernelConfig& config, const GemmTraits& traits,
                            const Cubin& cubin, int sm_count) {
  const LaunchShape shape = launch_shape(config, traits);
  const std::optional<MatrixMaps> maps = matrix_maps(config, traits);
  if (maps) {  // address, sizes and strides are not known here; they are validated with the operands of each launch
    constexpr std::int64_t kLeastLd = 16;  // of any type: rows of 16 bytes or more
    validate(maps->a.of(nullptr, 1, 1, kLeastLd));
    validate(maps->b.of(nullptr, 1, 1, kLeastLd));
    if (maps->d) validate(maps->d->of(nullptr, 1, 1, kLeastLd));
  }
  return {.config = config,
          .resources = {.registers = cubin.registers,
                        .spill_bytes = cubin.spill_bytes,
                        .smem_bytes = shape.smem_bytes,
                        .threads = threads(config),
                        .compile_ms = cubin.compile_ms},
          .kernel = LoadedKernel(driver, cubin, shape.smem_bytes),
          .shape = shape,
          .maps = maps,
          .traits = traits,
          .waits_for_predecessor = family_of(config).waits_for_predecessor,
          .sm_count = sm_count};
}

CUresult launch_gemm(const Driver& driver, const GemmKernel& kernel, const LaunchConfig& launch, std::int64_t m,
                     std::int64_t n, std::int64_t k, const Operands& o, CUstream stream, const WorkspaceArgs& given,
                     const RepackKernel* repack, int sm_limit, std::int64_t batch, std::int64_t groups) noexcept {
  const std::int64_t products = kernel.traits.grouped ? groups : batch;
  const bool pointers = kernel.traits.pointers;
  WorkspaceArgs workspace = given;
  // BLAS: with alpha zero, A and B are not read. An alpha in device memory is not known here.
  const bool has_no_product = k == 0 || (o.alpha == 0 && o.alpha_device == nullptr);
  Sources from{.a = pointers ? o.batch_a : o.a,
               .b = pointers ? o.batch_b : o.b,
               .lda = o.lda,
               .ldb = o.ldb,
               .batch_stride_a = o.batch_stride_a,
               .batch_stride_b = o.batch_stride_b};
  if (pointers && has_no_product) from.a = from.b = nullptr;
  const bool copies = repacks(launch) && !has_no_product, is_limited = leaves_out_sms(sm_limit, kernel.sm_count);
  if (copies) {
    const RepackArgs args = place_copies(launch, kernel.traits, m, n, k, batch, from, workspace);
    const CUresult result = launch_repack(driver, *repack, args, launch.programmatic, stream, sm_limit);
    if (result != CUDA_SUCCESS) return result;
  }
  // The driver reads as much of the parameter as the kernel has.
  const GemmArgs args{.a = address(from.a),
                      .b = address(from.b),
                      .c = address(pointers ? o.batch_c : o.c),
                      .d = address(pointers ? o.batch_d : o.d),
                      .lda = from.lda,
                      .ldb = from.ldb,
                      .ldc = o.ldc,
                      .ldd = o.ldd,
                      .m = static_cast<int>(m),
                      .n = static_cast<int>(n),
                      .k = has_no_product ? 0 : static_cast<int>(k),
                      .alpha = has_no_product ? empty_alpha(o.beta_device != nullptr ? 1 : o.beta) : o.alpha,
                      .beta = o.beta,
                      .raster_width = launch.raster_width,
                      .raster_along_n = launch.raster_along_n ? 1 : 0};
  const auto blocks =
      static_cast<unsigned>(kernel.shape.blocks(m, n, kernel.sm_count, launch.splits, sm_limit, batch, groups));
  // The kernel prepares while the copies are made, but it would do so on other SMs than theirs.
  const bool programmatic = launch.programmatic || (copies && kernel.waits_for_predecessor && !is_limited);
  LastLaunches& last = last_launches;
  if (!kernel.maps) {
    static_cast<GemmArgs&>(last.plain) = args;
    set_parts(last.plain, kernel.traits, o, from, products, n, k, has_no_product);
    return enqueue(driver, kernel, programmatic, blocks, &last.plain, workspace, stream);
  }
  last.mapped.gemm = args;
  set_parts(last.mapped, kernel.traits, o, from, products, n, k, has_no_product);
  last.mapped.prefetch = {};
  const MatrixMaps& maps = *kernel.maps;
  if (args.k > 0) {  // a tensor without elements has no map and is not copied
    const TensorMapSpec a = maps.of_a(from.a, m, k, from.lda, {products, from.batch_stride_a}),
                        b = maps.of_b(from.b, n, k, from.ldb, {products, from.batch_stride_b});
    CUresult result = CUDA_SUCCESS;
    if (maps.copies_a)
      result = find_or_encode(driver, a, maps.a_is_k_major && maps.cuts_a, last.a, last.mapped.a, last.mapped.a_rest);
    if (result != CUDA_SUCCESS) return result;
    if (maps.copies_b)
      result = find_or_encode(driver, b, maps.b_is_k_major && maps.cuts_b, last.b, last.mapped.b, last.mapped.b_rest);
    if (result != CUDA_SUCCESS) return result;
    // While the preceding kernel ends. A prefetch begins at a multiple of 16 bytes.
    const bool may_prefetch = programmatic && !copies && !kernel.traits.grouped;
    if (may_prefetch && maps.copies_a && maps.copies_b) last.mapped.prefetch = prefetch_bytes(a, b, blocks);
  }
  if (maps.d) {
    TensorMap no_rest;
    const std::int64_t columns = kernel.traits.epilogue.columns_of_d(n);
    const CUresult result = find_or_encode(driver, maps.d->of(o.d, m, columns, o.ldd, {products, o.batch_stride_d}),
                                           false, last.d, last.mapped.d, no_rest);
    if (result != CUDA_SUCCESS) return result;
  }
  return enqueue(driver, kernel, programmatic, blocks, &last.mapped, workspace, stream);
}

}  // namespace hotgemm
