#include "gpu/gemm_launch.hpp"

#include "gpu/tensor_map.hpp"

namespace hotgemm {
namespace {

unsigned long long address(const void* pointer) { return reinterpret_cast<unsigned long long>(pointer); }

/// What a thread encoded last. Who calls again with the same matrix, as with weights, is served from it.
struct EncodedMap {
  TensorMapSpec spec;
  TensorMap map;
};
thread_local constinit EncodedMap last_a;
thread_local constinit EncodedMap last_a_rest;
thread_local constinit EncodedMap last_b;
thread_local constinit EncodedMap last_b_rest;
thread_local constinit EncodedMap last_d;

CUresult find_or_encode(const Driver& driver, const TensorMapSpec& spec, EncodedMap& last, TensorMap& map) noexcept {
  if (spec == last.spec) {
    map = last.map;
    return CUDA_SUCCESS;
  }
  const CUresult result = encode_tensor_map(driver, spec, map);
  if (result == CUDA_SUCCESS) last = {spec, map};
  return result;
}

CUresult enqueue(const Driver& driver, const GemmKernel& kernel, bool programmatic, unsigned blocks, void* args,
                 CUstream stream) noexcept {
  void* parameters[] = {args};
  const CUfunction function = kernel.kernel.function();
  const auto threads = static_cast<unsigned>(kernel.shape.threads);
  const auto smem_bytes = static_cast<unsigned>(kernel.shape.smem_bytes);
  if (!programmatic) {
    return driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, smem_bytes, stream, parameters, nullptr);
  }
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  const CUlaunchConfig config{.gridDimX = blocks,
                              .gridDimY = 1,
                              .gridDimZ = 1,
                              .blockDimX = threads,
                              .blockDimY = 1,
                              .blockDimZ = 1,
                              .sharedMemBytes = smem_bytes,
                              .hStream = stream,
                              .attrs = &attribute,
                              .numAttrs = 1};
  return driver.cuLaunchKernelEx(&config, function, parameters, nullptr);
}

}  // namespace

GemmKernel load_gemm_kernel(const Driver& driver, const KernelConfig& config, const GemmTraits& traits,
                            const Cubin& cubin, int sm_count) {
  const LaunchShape shape = launch_shape(config, traits);
  const std::optional<MatrixMaps> maps = matrix_maps(config, traits);
  if (maps) {  // what launches add has been checked with the operands
    validate(maps->a.of(nullptr, 1, 1, 8));
    validate(maps->b.of(nullptr, 1, 1, 8));
    if (maps->d) validate(maps->d->of(nullptr, 1, 1, 8));
  }
  return {.kernel = LoadedKernel(driver, cubin, shape.smem_bytes), .shape = shape, .maps = maps, .sm_count = sm_count};
}

CUresult launch_gemm(const Driver& driver, const GemmKernel& kernel, const LaunchConfig& launch, std::int64_t m,
                     std::int64_t n, std::int64_t k, const Operands& o, CUstream stream) noexcept {
  GemmArgs args{.a = address(o.a),
                .b = address(o.b),
                .c = address(o.c),
                .d = address(o.d),
                .lda = o.lda,
                .ldb = o.ldb,
                .ldc = o.ldc,
                .ldd = o.ldd,
                .m = static_cast<int>(m),
                .n = static_cast<int>(n),
                .k = o.alpha == 0 ? 0 : static_cast<int>(k),  // BLAS: with alpha zero, A and B are not read
                .alpha = o.alpha,
                .beta = o.beta,
                .raster_width = launch.raster_width,
                .raster_along_n = launch.raster_along_n ? 1 : 0};
  const auto blocks = static_cast<unsigned>(kernel.shape.blocks(m, n, kernel.sm_count));
  if (!kernel.maps) return enqueue(driver, kernel, launch.programmatic, blocks, &args, stream);
  WgmmaArgs with_maps{.a = {}, .a_rest = {}, .b = {}, .b_rest = {}, .d = {}, .gemm = args, .prefetch = {}};
  const MatrixMaps& maps = *kernel.maps;
  CUresult result = CUDA_SUCCESS;
  const auto add = [&](const std::optional<TensorMapSpec>& spec, EncodedMap& last, TensorMap& map) {
    if (spec && result == CUDA_SUCCESS) result = find_or_encode(driver, *spec, last, map);
  };
  if (args.k > 0) {  // there is no map of an empty tensor, and no copy of one
    const TensorMapSpec a = maps.of_a(o.a, m, k, o.lda), b = maps.of_b(o.b, n, k, o.ldb);
    const BoxMaps boxes_a = maps.box_maps_a(a), boxes_b = maps.box_maps_b(b);
    add(boxes_a.whole, last_a, with_maps.a);
    add(boxes_a.rest, last_a_rest, with_maps.a_rest);
    add(boxes_b.whole, last_b, with_maps.b);
    add(boxes_b.rest, last_b_rest, with_maps.b_rest);
    if (launch.programmatic) with_maps.prefetch = prefetch_bytes(a, b, blocks);  // while the kernel ahead ends
  }
  if (maps.d) add(maps.d->of(o.d, m, n, o.ldd), last_d, with_maps.d);
  if (result != CUDA_SUCCESS) return result;
  return enqueue(driver, kernel, launch.programmatic, blocks, &with_maps, stream);
}

}  // namespace hotgemm
