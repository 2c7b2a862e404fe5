#include "emulate/gemm_run.hpp"

#include "config/launch_shape.hpp"
#include "config/matrix_map.hpp"
#include "config/traits.hpp"
#include "config/work.hpp"
#include "config/workspace.hpp"
#include "emulate/tensor_map.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace hotgemm::emulate {
namespace {

constexpr int kSmCount = 2;  // so few that persistent blocks have several tiles to compute

Allocation& place(Device& device, const char* name, const HostMatrix& matrix, bool is_writable, bool has_values) {
  Allocation& allocation = device.memory().add({.name = name,
                                                .rows = matrix.rows,
                                                .row_bytes = matrix.row_bytes(),
                                                .pitch_bytes = matrix.pitch_bytes(),
                                                .offset_bytes = matrix.offset_bytes,
                                                .cell_bytes = std::min(matrix.element_bytes, kCellBytes),
                                                .is_writable = is_writable});
  for (std::int64_t row = 0; has_values && row < matrix.rows; ++row) {
    allocation.store(row, 0, matrix.bytes.data() + row * matrix.pitch_bytes(),
                     static_cast<std::size_t>(matrix.row_bytes()));
  }
  return allocation;
}

/// The workspace of a launch: scratch without values, and counters that are zero.
struct Workspace {
  const Allocation* scratch = nullptr;
  const Allocation* counters = nullptr;

  WorkspaceArgs args() const {
    return scratch == nullptr ? WorkspaceArgs{}
                              : WorkspaceArgs{.scratch = scratch->address(), .counters = counters->address()};
  }
};

Workspace make_workspace(Device& device, const WorkspaceSize& size) {
  if (size.is_empty()) return {};
  const auto add = [&](const char* name, std::size_t bytes) -> Allocation& {
    const auto row_bytes = static_cast<std::int64_t>(bytes);
    return device.memory().add(
        {.name = name, .rows = 1, .row_bytes = row_bytes, .pitch_bytes = row_bytes, .is_writable = true});
  };
  Allocation& counters = add("counters", size.counters * sizeof(std::uint32_t));
  const std::vector<std::uint8_t> zeros(size.counters * sizeof(std::uint32_t));
  counters.store(0, 0, zeros.data(), zeros.size());
  return {.scratch = &add("scratch", size.scratch_bytes), .counters = &counters};
}

/// The next launch on a stream uses the same counters, so a kernel must leave them zero.
void check_counters(const Workspace& workspace, std::uint64_t seed, std::vector<Finding>& findings) {
  if (workspace.counters == nullptr) return;
  const auto count = static_cast<std::size_t>(workspace.counters->shape().row_bytes) / sizeof(std::uint32_t);
  std::vector<std::uint32_t> values(count);
  workspace.counters->load(0, 0, values.data(), count * sizeof(std::uint32_t));
  for (std::size_t i = 0; i < count; ++i) {
    if (values[i] == 0) continue;
    findings.push_back({.hazard = Hazard::bad_operand,
                        .place = "counters",
                        .address = workspace.counters->address() + i * sizeof(std::uint32_t),
                        .bytes = sizeof(std::uint32_t),
                        .detail = fmt::format("counter {} is {} when the launch has ended", i, values[i]),
                        .seed = seed});
    return;
  }
}

void require_possible(const GemmKernel& kernel, const GemmCase& c) {
  if (!computes(kernel.traits, traits_of(c.problem))) {
    throw Error(ErrorCode::not_supported, fmt::format("{} for {} does not compute {}", to_string(kernel.config),
                                                      to_string(kernel.traits), to_string(c)));
  }
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("fma")) {
    throw Error(ErrorCode::not_supported,
                "kernels are emulated with fused multiply-adds, as a GPU has them, and this CPU has none");
  }
#endif
}

/// The function that each thread of a launch with `args` runs.
std::function<void()> thread_body(const GemmKernel& kernel, const WithExtras<GemmArgs>& args,
                                  const WorkspaceArgs& workspace, std::int64_t blocks) {
  if (const auto* run = std::get_if<void (*)(const GemmArgs&)>(&kernel.run)) {
    return [args, run = *run] { run(args); };
  }
  const MatrixMaps maps = matrix_maps(kernel.config, kernel.traits).value();
  const auto pointer = [](unsigned long long address) { return reinterpret_cast<const void*>(address); };
  WithExtras<WgmmaArgs> with_maps{
      {{{{.a = {}, .a_rest = {}, .b = {}, .b_rest = {}, .d = {}, .gemm = args, .prefetch = {}}, args.epilogue},
        args.batch},
       args.groups},
      args.extras};
  const auto batch = [&](long long stride) { return MatrixBatch{args.batch.count, stride}; };
  if (args.k > 0) {  // an empty tensor has no map and no copy
    const TensorMapSpec a = maps.of_a(pointer(args.a), args.m, args.k, args.lda, batch(args.batch.stride_a));
    const TensorMapSpec b = maps.of_b(pointer(args.b), args.n, args.k, args.ldb, batch(args.batch.stride_b));
    const BoxMaps boxes_a = box_maps(a, maps.a_is_k_major && maps.cuts_a);
    const BoxMaps boxes_b = box_maps(b, maps.b_is_k_major && maps.cuts_b);
    if (maps.copies_a && boxes_a.whole) with_maps.a = encode(*boxes_a.whole);
    if (maps.copies_a && boxes_a.rest) with_maps.a_rest = encode(*boxes_a.rest);
    if (maps.copies_b && boxes_b.whole) with_maps.b = encode(*boxes_b.whole);
    if (maps.copies_b && boxes_b.rest) with_maps.b_rest = encode(*boxes_b.rest);
    if (maps.copies_a && maps.copies_b && !kernel.traits.grouped)
      with_maps.prefetch = prefetch_bytes(a, b, blocks);  // as a programmatic launch
  }
  if (maps.d) {
    const int columns = kernel.traits.epilogue.columns_of_d(args.n);
    with_maps.d = encode(maps.d->of(pointer(args.d), args.m, columns, args.ldd, batch(args.batch.stride_d)));
  }
  if (const auto* run = std::get_if<void (*)(const WgmmaArgs&, const WorkspaceArgs&)>(&kernel.run)) {
    return [with_maps, workspace, run = *run] { run(with_maps, workspace); };
  }
  return [with_maps, run = std::get<void (*)(const WgmmaArgs&)>(kernel.run)] { run(with_maps); };
}

/// The operands of an epilogue in the memory of the device.
struct PlacedEpilogue {
  EpilogueArgs args{};
  ExtraArgs extras{};
  const Allocation* auxiliary = nullptr;
  const Allocation* amax = nullptr;
  const Allocation* bias_gradient = nullptr;
};

PlacedEpilogue place_epilogue(Device& device, const GemmMatrices& m, const GemmCase& c, const Allocation& d) {
  const Epilogue& e = c.problem.epilogue;
  PlacedEpilogue placed;
  const auto put = [&](bool is_read, const char* name, const HostMatrix& matrix) {
    return is_read ? place(device, name, matrix, false, true).address() : 0;
  };
  placed.args.scale_a = put(e.scale_a != Scaling::none, "scale_a", m.scale_a);
  placed.args.scale_b = put(e.scale_b != Scaling::none, "scale_b", m.scale_b);
  if (e.has_block_scales()) {
    placed.extras.ld_scale_a = m.scale_a.ld, placed.extras.ld_scale_b = m.scale_b.ld;
    placed.extras.stride_scale_a = m.scale_a.stride, placed.extras.stride_scale_b = m.scale_b.stride;
  }
  placed.args.scale_d = put(e.scale_d, "scale_d", m.scale_d);
  placed.args.bias = put(e.bias != Bias::none, "bias", m.bias);
  for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
    placed.extras.operands[i] =
        put(e.function.operand(i) != FunctionOperand::none, "function_operands", m.function_operands[i]);
    placed.extras.ld[i] = m.function_operands[i].ld;
    placed.extras.stride[i] = m.function_operands[i].stride;
  }
  placed.extras.low = c.clamp_low, placed.extras.high = c.clamp_high;
  if (e.amax) {
    Allocation& amax = device.memory().add(
        {.name = "amax", .rows = 1, .row_bytes = sizeof(float), .pitch_bytes = sizeof(float), .is_writable = true});
    const float zero = 0;
    amax.store(0, 0, &zero, sizeof zero);
    placed.amax = &amax;
    placed.extras.amax = amax.address();
  }
  if (e.scalars) {
    placed.args.alpha = put(true, "scalars", m.scalars);
    placed.args.beta = placed.args.alpha + sizeof(float);
  }
  if (e.residual) {
    placed.args.residual = c.residual_in_place ? d.address() : put(true, "residual", m.residual);
    placed.args.ld_residual = c.residual_in_place ? m.d.ld : m.residual.ld;
  }
  if (e.aux) {
    placed.auxiliary = &place(device, "auxiliary", m.auxiliary, true, e.bits);
    placed.args.auxiliary = placed.auxiliary->address();
  }
  if (e.reads_auxiliary()) placed.args.auxiliary = put(true, "auxiliary", m.auxiliary);
  placed.args.ld_auxiliary = m.auxiliary.ld * (e.bits ? 8 : 1);
  if (e.bias_gradient != Bias::none) {
    placed.bias_gradient = &place(device, "bias_gradient", m.bias_gradient, true, true);
    placed.extras.bias_gradient = placed.bias_gradient->address();
  }
  return placed;
}

/// The distances of the matrices. Those of a matrix in place are those of D.
BatchArgs batch_args(const GemmCase& c, const GemmMatrices& m) {
  return {.stride_a = m.a.stride,
          .stride_b = m.b.stride,
          .stride_c = c.in_place ? m.d.stride : m.c.stride,
          .stride_d = m.d.stride,
          .stride_residual = c.residual_in_place ? m.d.stride : m.residual.stride,
          .stride_auxiliary = m.auxiliary.stride * (c.problem.epilogue.bits ? 8 : 1),
          .count = static_cast<unsigned>(c.problem.groups != 0 ? c.problem.groups : c.problem.batch)};
}

/// An array in the device's memory with the addresses of an operand's matrices. `first` holds all matrices.
unsigned long long place_pointers(Device& device, const char* name, const Allocation& first, const HostMatrix& matrix,
                                  std::int64_t batch) {
  HostMatrix array{.rows = 1, .cols = batch, .ld = batch, .element_bytes = sizeof(std::uint64_t), .bytes = {}};
  for (std::int64_t product = 0; product < batch; ++product) {
    const std::uint64_t address =
        first.address() + static_cast<std::uint64_t>(product * matrix.stride * matrix.element_bytes);
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&address);
    array.bytes.insert(array.bytes.end(), bytes, bytes + sizeof address);
  }
  return place(device, name, array, false, true).address();
}

/// Replaces the addresses and distances of a batch's matrices by arrays of addresses.
void use_pointers(Device& device, const GemmCase& c, const GemmMatrices& m, const Allocation& a, const Allocation& b,
                  const Allocation& addend, const Allocation& d, WithExtras<GemmArgs>& args) {
  const std::int64_t batch = c.problem.batch;
  args.a = args.k == 0 ? 0 : place_pointers(device, "batch_a", a, m.a, batch);
  args.b = args.k == 0 ? 0 : place_pointers(device, "batch_b", b, m.b, batch);
  if (args.c != 0) args.c = place_pointers(device, "batch_c", addend, c.in_place ? m.d : m.c, batch);
  args.d = place_pointers(device, "batch_d", d, m.d, batch);
  args.batch.stride_a = args.batch.stride_b = args.batch.stride_c = args.batch.stride_d = 0;
}

void load(const Allocation& allocation, HostMatrix& matrix) {
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    allocation.load(row, 0, matrix.bytes.data() + row * matrix.pitch_bytes(),
                    static_cast<std::size_t>(matrix.row_bytes()));
  }
}

}  // namespace

GemmRun run_gemm(const GemmKernel& kernel, const GemmCase& c, const GemmMatrices& matrices, std::uint64_t seed) {
  require_possible(kernel, c);
  const Workload& p = c.problem;
  GemmRun run{.d = matrices.d,
              .auxiliary = matrices.auxiliary,
              .bias_gradient = matrices.bias_gradient,
              .amax = 0,
              .report = {}};
  if (is_empty(p)) return run;
  Device device;
  const Allocation& a = place(device, "A", matrices.a, false, true);
  const Allocation& b = place(device, "B", matrices.b, false, true);
  const Allocation& d = place(device, "D", matrices.d, true, c.in_place || c.residual_in_place);
  const Allocation& addend = c.in_place ? d : place(device, "C", matrices.c, false, true);
  const bool is_empty = p.k == 0 || c.alpha == 0;  // as the library launches it
  const PlacedEpilogue epilogue = place_epilogue(device, matrices, c, d);
  const bool has_scalars = p.epilogue.scalars;  // those in the arguments are wrong then
  const unsigned long long numbers =
      p.groups == 0 ? 0 : place(device, "group_numbers", matrices.group_numbers, false, true).address();
  const bool masked = p.group_kind == GroupKind::masked_rows;
  WithExtras<GemmArgs> args{
      {{{{.a = a.address(),
          .b = b.address(),
          .c = kernel.traits.reads_c ? addend.address() : 0,
          .d = d.address(),
          .lda = matrices.a.ld,
          .ldb = matrices.b.ld,
          .ldc = c.in_place ? matrices.d.ld : matrices.c.ld,
          .ldd = matrices.d.ld,
          .m = static_cast<int>(p.m),
          .n = static_cast<int>(p.n),
          .k = is_empty ? 0 : static_cast<int>(p.k),
          .alpha = has_scalars ? 77.0f
                   : is_empty  ? empty_alpha(c.beta)
                               : c.alpha,
          .beta = has_scalars ? 77.0f : c.beta,
          .raster_width = c.launch.raster_width,
          .raster_along_n = c.launch.raster_along_n ? 1 : 0},
         epilogue.args},
        batch_args(c, matrices)},
       {.offsets = masked ? 0 : numbers, .counts = masked ? numbers : 0, .stride_bias = matrices.bias.stride}},
      epilogue.extras};
  if (kernel.traits.pointers) use_pointers(device, c, matrices, a, b, addend, d, args);
  const hotgemm::LaunchShape shape = launch_shape(kernel.config, kernel.traits);
  const std::int64_t blocks = shape.blocks(p.m, p.n, kSmCount, c.launch.splits, p.sm_limit, p.batch, p.groups);
  const Workspace workspace = make_workspace(device, workspace_size(kernel.config, c.launch, p));
  const std::function<void()> run_thread = thread_body(kernel, args, workspace.args(), blocks);
  run.report = device.launch({.blocks = static_cast<std::uint32_t>(blocks),
                              .threads_per_block = shape.threads,
                              .shared_bytes = shape.smem_bytes,
                              .blocks_per_cluster = static_cast<std::uint32_t>(shape.cluster),
                              .seed = seed,
                              .counts_accesses = c.counts_accesses},
                             run_thread);
  check_counters(workspace, seed, run.report.findings);
  load(d, run.d);
  if (epilogue.auxiliary != nullptr) load(*epilogue.auxiliary, run.auxiliary);
  if (epilogue.bias_gradient != nullptr) load(*epilogue.bias_gradient, run.bias_gradient);
  if (epilogue.amax != nullptr) epilogue.amax->load(0, 0, &run.amax, sizeof run.amax);
  return run;
}

}  // namespace hotgemm::emulate
