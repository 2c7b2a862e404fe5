#include "gpu/operand_pool.hpp"

#include "config/group_sizes.hpp"
#include "config/work.hpp"
#include "gpu/stream.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

constexpr std::int64_t kMatrixAlignment = 256;
constexpr std::int64_t kRowAlignment = 16;  // the best that a class tells
constexpr std::int64_t kMostSets = 64;
constexpr float kClampLimit = 1;
constexpr unsigned char kPattern = 0xa5;  // byte that fills guards and padding
// A limit for the bytes of a matrix: larger than any memory, and small enough that the sum over all operands does not
// overflow.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 58;

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

struct Matrix {
  std::int64_t ld = 0;
  std::int64_t stride = 0;  // from one matrix of a batch to the next, in elements
  std::int64_t offset = 0;  // of its first element from a multiple of kMatrixAlignment, in bytes
  std::int64_t bytes = 0;   // offset included, padded to kMatrixAlignment
};

Matrix matrix(std::int64_t rows, std::int64_t cols, std::int64_t batch, int align_bytes, DType dtype) {
  const std::int64_t element = size_bytes(dtype);
  const std::int64_t ld = round_up(std::max<std::int64_t>(cols, 1) * element, align_bytes) / element;
  const std::int64_t row_bytes = ld * element;
  // The address has the alignment of the class if the rows have a better one.
  const std::int64_t offset = align_bytes < kRowAlignment && row_bytes % (2 * align_bytes) == 0 ? align_bytes : 0;
  const std::int64_t stride = rows * ld, all_rows = std::max<std::int64_t>(rows, 1) * std::max<std::int64_t>(batch, 1);
  if (all_rows > kMostBytes / row_bytes) return {ld, stride, offset, kMostBytes};
  return {ld, stride, offset, round_up(all_rows * row_bytes + offset, kMatrixAlignment)};
}

/// The matrices and vectors of a problem. Those that it does not have take no bytes. The matrices of a batch lie behind
/// each other. With a gate, D has rows for the whole product, so that the bare product can be computed there too.
struct Matrices {
  Matrix a, b, c, d;
  Matrix scale_a, scale_b, scale_d, scalars, bias, residual, auxiliary, amax, bias_gradient;
  Matrix operands[EpilogueFunction::kMostOperands];
  Matrix group_numbers;
  Matrix pointers_a, pointers_b, pointers_c, pointers_d;
  std::int64_t ld_scale_a = 0, ld_scale_b = 0;  // of blocks

  std::vector<const Matrix*> all() const {
    std::vector<const Matrix*> all{&a,          &b,          &c,          &d,          &scale_a,       &scale_b,
                                   &scale_d,    &scalars,    &bias,       &residual,   &auxiliary,     &amax,
                                   &pointers_a, &pointers_b, &pointers_c, &pointers_d, &bias_gradient, &group_numbers};
    for (const Matrix& operand : operands) all.push_back(&operand);
    return all;
  }
  std::int64_t operand_bytes() const {
    std::int64_t bytes = 0;
    for (const Matrix* one : all()) bytes += one->bytes;
    return bytes;
  }
  /// The bytes of a set, guards included.
  std::int64_t set_bytes() const {
    std::int64_t bytes = 0;
    for (const Matrix* one : all()) bytes += one->bytes > 0 ? one->bytes + OperandPool::kGuardBytes : 0;
    return bytes;
  }
};

/// A vector at a multiple of kMatrixAlignment.
Matrix vector(bool is_there, std::int64_t count, DType dtype) {
  return is_there ? matrix(1, count, 1, kRowAlignment, dtype) : Matrix{};
}

/// A matrix of bits, as one of bytes.
Matrix matrix_of_bits(const Workload& p) {
  const std::int64_t units = (p.n + kBitRowUnit - 1) / kBitRowUnit;
  const std::int64_t products = p.group_kind == GroupKind::rows ? p.batch : p.groups != 0 ? p.groups : p.batch;
  return matrix(p.m, units * (kBitRowUnit / 8), products, kRowAlignment, DType::s8);
}

void add_epilogue(const Workload& p, Matrices& to) {
  const Epilogue& e = p.epilogue;
  const auto factors = [](Scaling scaling, std::int64_t all) {
    return vector(scaling != Scaling::none, scaling == Scaling::tensor ? 1 : all, DType::f32);
  };
  const std::int64_t rows = all_rows(p);
  to.scale_a = factors(e.scale_a, rows);
  to.scale_b = factors(e.scale_b, p.n);
  if (e.has_block_scales()) {  // with rows at multiples of 16 bytes, as cuBLASLt has those of B
    to.scale_a = matrix(scale_blocks(p.k), p.m, scaled_a(p), kRowAlignment, DType::f32);
    to.scale_b = matrix(scale_blocks(p.n), scale_blocks(p.k), scaled_b(p), kRowAlignment, DType::f32);
    to.ld_scale_a = to.scale_a.ld, to.ld_scale_b = to.scale_b.ld;
  }
  to.scale_d = vector(e.scale_d, 1, DType::f32);
  to.scalars = vector(e.scalars, 2, DType::f32);
  to.bias = vector(e.bias != Bias::none, e.bias == Bias::per_row ? rows : p.n, bias_type(p.types.d));
  if (e.residual) to.residual = to.d;
  if (e.has_auxiliary()) to.auxiliary = e.bits ? matrix_of_bits(p) : to.d;
  to.bias_gradient = vector(e.bias_gradient != Bias::none, e.bias_gradient == Bias::per_row ? p.m : p.n, DType::f32);
  to.amax = vector(e.amax, 1, DType::f32);
  for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
    const FunctionOperand kind = e.function.operand(i);
    const std::int64_t count = kind == FunctionOperand::row ? rows : kind == FunctionOperand::column ? p.n : 1;
    to.operands[i] = kind == FunctionOperand::matrix ? to.d : vector(kind != FunctionOperand::none, count, DType::f32);
  }
}

/// The elements of an array of offsets or counts. A set has one for uniform groups, and behind it one for skewed ones.
std::int64_t numbers_of_groups(const Workload& p) { return p.groups + 1; }

Matrices matrices_of(const Workload& p) {
  const Hints& align = p.hints;
  const bool along_k = p.group_kind == GroupKind::along_k;
  const std::int64_t products = p.groups != 0 ? p.groups : p.batch;
  const std::int64_t of_a = p.group_kind == GroupKind::rows || along_k ? p.batch : products;
  const std::int64_t of_b = along_k ? p.batch : products, of_d = p.group_kind == GroupKind::rows ? p.batch : products;
  Matrices all;
  all.a = p.op_a == Op::n ? matrix(p.m, p.k, of_a, align.align_a, p.types.a)
                          : matrix(p.k, p.m, of_a, align.align_a, p.types.a);
  all.b = p.op_b == Op::n ? matrix(p.k, p.n, of_b, align.align_b, p.types.b)
                          : matrix(p.n, p.k, of_b, align.align_b, p.types.b);
  if (!p.hints.beta_is_zero) all.c = matrix(p.m, p.n, of_d, align.align_d, p.types.c);
  all.d = matrix(p.m, p.n, of_d, align.align_d, p.types.d);
  add_epilogue(p, all);
  if (p.batch_kind == BatchKind::pointers) {
    const Matrix pointers = vector(true, 2 * p.batch, DType::f32);  // each has two words
    all.pointers_a = all.pointers_b = all.pointers_d = pointers;
    if (all.c.bytes != 0) all.pointers_c = pointers;
  }
  if (p.groups != 0) {
    all.group_numbers = vector(true, 2 * numbers_of_groups(p), DType::s32);
    const Workload batch = with_uniform_groups(p);
    if (p.group_kind == GroupKind::rows) {
      for (Matrix* one : {&all.a, &all.c, &all.d, &all.residual, &all.auxiliary}) one->stride = batch.m * one->ld;
      for (Matrix& one : all.operands) one.stride = batch.m * one.ld;
    }
    if (along_k) {  // which have rows of A and B as stored
      for (Matrix* one : {&all.a, &all.b}) one->stride = batch.k * one->ld;
    }
  }
  return all;
}

/// The addresses and leading dimensions of a set that begins at `at`.
OperandSet place_set(const Epilogue& epilogue, const Matrices& all, CUdeviceptr at) {
  const auto take = [&](const Matrix& matrix) {
    if (matrix.bytes == 0) return CUdeviceptr{0};
    const CUdeviceptr taken = at + static_cast<CUdeviceptr>(matrix.offset);
    at += static_cast<CUdeviceptr>(matrix.bytes + OperandPool::kGuardBytes);
    return taken;
  };
  const Matrix& of_c = all.c.bytes == 0 ? all.d : all.c;
  OperandSet set{.lda = all.a.ld,
                 .ldb = all.b.ld,
                 .ldc = of_c.ld,
                 .ldd = all.d.ld,
                 .stride_a = all.a.stride,
                 .stride_b = all.b.stride,
                 .stride_c = of_c.stride,
                 .stride_d = all.d.stride};
  for (const auto& [to, from] : {std::pair(&set.a, &all.a), {&set.b, &all.b}, {&set.d, &all.d}, {&set.c, &all.c}}) {
    *to = take(*from);
  }
  EpilogueSet& e = set.epilogue;
  for (const auto& [to, from] : {std::pair(&e.scale_a, &all.scale_a),
                                 {&e.scale_b, &all.scale_b},
                                 {&e.scale_d, &all.scale_d},
                                 {&e.scalars, &all.scalars},
                                 {&e.bias, &all.bias},
                                 {&e.residual, &all.residual},
                                 {&e.auxiliary, &all.auxiliary},
                                 {&e.amax, &all.amax},
                                 {&e.bias_gradient, &all.bias_gradient}}) {
    *to = take(*from);
  }
  set.group_numbers = take(all.group_numbers);
  set.pointers.a = take(all.pointers_a);
  set.pointers.b = take(all.pointers_b);
  set.pointers.c = take(all.pointers_c);
  set.pointers.d = take(all.pointers_d);
  e.ld_scale_a = all.ld_scale_a;
  e.ld_scale_b = all.ld_scale_b;
  e.ld_residual = all.residual.ld;
  e.stride_residual = all.residual.stride;
  const int bits = epilogue.bits ? 8 : 1;  // of an element of the matrix as it is allocated
  e.ld_auxiliary = all.auxiliary.ld * bits;
  e.stride_auxiliary = all.auxiliary.stride * bits;
  for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
    e.operands[i] = take(all.operands[i]);
    if (epilogue.function.operand(i) != FunctionOperand::matrix) continue;
    e.ld_operands[i] = all.operands[i].ld;
    e.stride_operands[i] = all.operands[i].stride;
  }
  if (epilogue.has_clamp()) e.clamp_low = -kClampLimit, e.clamp_high = kClampLimit;
  return set;
}

template <class T>
T* to_pointer(CUdeviceptr address) {
  return reinterpret_cast<T*>(address);
}

/// Writes the arrays of `set`, and notes how the matrices are aligned.
void fill_pointers(const Driver& driver, const Workload& p, OperandSet& set, const OwnedStream& stream) {
  const auto fill = [&](CUdeviceptr array, CUdeviceptr first, std::int64_t stride, DType type) {
    if (array == 0) return;
    std::vector<CUdeviceptr> addresses;
    for (std::int64_t i = 0; i < p.batch; ++i)
      addresses.push_back(first + static_cast<CUdeviceptr>(i * stride * size_bytes(type)));
    driver.check(
        driver.cuMemcpyHtoDAsync(array, addresses.data(), addresses.size() * sizeof(CUdeviceptr), stream.get()),
        "fill the addresses of matrices");
    stream.synchronize();
  };
  PointerSet& pointers = set.pointers;
  fill(pointers.a, set.a, set.stride_a, p.types.a);
  fill(pointers.b, set.b, set.stride_b, p.types.b);
  fill(pointers.c, set.c, set.stride_c, p.types.c);
  fill(pointers.d, set.d, set.stride_d, p.types.d);
  pointers.align_a = p.hints.align_a, pointers.align_b = p.hints.align_b, pointers.align_d = p.hints.align_d;
}

/// Gives `operands` the arrays in place of the matrices.
void use_pointers(const PointerSet& set, Operands& operands) {
  operands.a = operands.b = operands.c = operands.d = nullptr;
  operands.batch_stride_a = operands.batch_stride_b = operands.batch_stride_c = operands.batch_stride_d = 0;
  operands.batch_a = to_pointer<const void*>(set.a);
  operands.batch_b = to_pointer<const void*>(set.b);
  operands.batch_c = to_pointer<const void*>(set.c);
  operands.batch_d = to_pointer<void*>(set.d);
  operands.batch_align_a = static_cast<std::int16_t>(set.align_a);
  operands.batch_align_b = static_cast<std::int16_t>(set.align_b);
  operands.batch_align_c = operands.batch_align_d = static_cast<std::int16_t>(set.align_d);
}

}  // namespace

void OperandPool::check_fits(const Workload& p, std::int64_t max_bytes, std::int64_t free_bytes, double free_share) {
  const std::int64_t bytes = matrices_of(p).set_bytes() + 2 * kEndGuardBytes;
  const std::string need = "operands of " + to_string(p) + " take " + std::to_string(bytes >> 10) + " KiB; ";
  if (bytes > max_bytes) {
    throw Error(ErrorCode::out_of_memory, need + std::to_string(max_bytes >> 10) + " KiB of scratch are allowed");
  }
  if (static_cast<double>(bytes) > free_share * static_cast<double>(free_bytes)) {
    throw Error(ErrorCode::out_of_memory,
                need + std::to_string(free_bytes >> 10) + " KiB of the GPU's memory are free" +
                    (free_share < 1 ? ", of which they may take a share of " + std::to_string(free_share) : ""));
  }
}

OperandPool::OperandPool(const Driver& driver, const Workload& p, std::int64_t l2_bytes, std::int64_t max_bytes) {
  check_fits(p, max_bytes, std::numeric_limits<std::int64_t>::max());
  const Matrices matrices = matrices_of(p);
  const std::int64_t set_bytes = matrices.set_bytes();
  const std::int64_t wanted = std::clamp<std::int64_t>(2 * l2_bytes / matrices.operand_bytes() + 1, 1, kMostSets);
  const std::int64_t count = std::min(wanted, (max_bytes - 2 * kEndGuardBytes) / set_bytes);
  slab_ = DeviceBuffer(driver, static_cast<std::size_t>(count * set_bytes + 2 * kEndGuardBytes));
  const OwnedStream stream(driver);
  driver.check(driver.cuMemsetD8Async(slab_.get(), kPattern, slab_.bytes(), stream.get()), "fill the operands' memory");
  stream.synchronize();
  for (std::int64_t i = 0; i < count; ++i) {
    CUdeviceptr at = slab_.get() + static_cast<CUdeviceptr>(kEndGuardBytes + i * set_bytes);
    sets_.push_back(place_set(p.epilogue, matrices, at));
    sets_.back().group_kind = p.group_kind;
  }
  if (p.batch_kind == BatchKind::pointers) {
    for (OperandSet& set : sets_) fill_pointers(driver, p, set, stream);
  }
  if (p.groups == 0) return;
  timed_sets_ = sets_;
  for (OperandSet skewed : sets_) {
    skewed.group_numbers += static_cast<CUdeviceptr>(numbers_of_groups(p)) * sizeof(std::int32_t);
    timed_sets_.push_back(skewed);
  }
  const std::vector<std::int32_t> uniform = group_numbers(p, GroupShares::uniform);
  const std::vector<std::int32_t> skewed = group_numbers(p, GroupShares::skewed);
  for (std::size_t i = 0; i < timed_sets_.size(); ++i) {
    const std::vector<std::int32_t>& numbers = i < sets_.size() ? uniform : skewed;
    driver.check(driver.cuMemcpyHtoDAsync(timed_sets_[i].group_numbers, numbers.data(),
                                          numbers.size() * sizeof(std::int32_t), stream.get()),
                 "fill the sizes of groups");
  }
  stream.synchronize();
}

Operands OperandPool::operands(const OperandSet& set, float alpha, float beta) {
  Operands operands{.a = to_pointer<void>(set.a),
                    .b = to_pointer<void>(set.b),
                    .c = to_pointer<void>(set.c),
                    .d = to_pointer<void>(set.d),
                    .lda = set.lda,
                    .ldb = set.ldb,
                    .ldc = set.ldc,
                    .ldd = set.ldd,
                    .alpha = alpha,
                    .beta = beta,
                    .batch_stride_a = set.stride_a,
                    .batch_stride_b = set.stride_b,
                    .batch_stride_c = set.stride_c,
                    .batch_stride_d = set.stride_d};
  add_epilogue(set.epilogue, operands);
  if (set.pointers.d != 0) use_pointers(set.pointers, operands);
  switch (set.group_kind) {
    case GroupKind::none: break;
    case GroupKind::masked_rows: operands.group_counts = to_pointer<std::int32_t>(set.group_numbers); break;
    case GroupKind::rows:
      operands.group_offsets = to_pointer<std::int32_t>(set.group_numbers);
      operands.batch_stride_a = operands.batch_stride_c = operands.batch_stride_d = 0;
      operands.batch_stride_residual = operands.batch_stride_auxiliary = 0;
      for (std::int64_t& stride : operands.batch_stride_function_operands) stride = 0;
      break;
    case GroupKind::along_k:
      operands.group_offsets = to_pointer<std::int32_t>(set.group_numbers);
      operands.batch_stride_a = operands.batch_stride_b = 0;
      break;
  }
  return operands;
}

void OperandPool::add_epilogue(const EpilogueSet& set, Operands& operands) {
  operands.scale_a = to_pointer<float>(set.scale_a);
  operands.scale_b = to_pointer<float>(set.scale_b);
  operands.scale_d = to_pointer<float>(set.scale_d);
  operands.ld_scale_a = set.ld_scale_a;
  operands.ld_scale_b = set.ld_scale_b;
  operands.bias = to_pointer<void>(set.bias);
  operands.residual = to_pointer<void>(set.residual);
  operands.ld_residual = set.ld_residual;
  operands.batch_stride_residual = set.stride_residual;
  operands.auxiliary = to_pointer<void>(set.auxiliary);
  operands.ld_auxiliary = set.ld_auxiliary;
  operands.batch_stride_auxiliary = set.stride_auxiliary;
  operands.amax = to_pointer<float>(set.amax);
  operands.bias_gradient = to_pointer<float>(set.bias_gradient);
  for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
    operands.function_operands[i] = to_pointer<void>(set.operands[i]);
    operands.ld_function_operands[i] = set.ld_operands[i];
    operands.batch_stride_function_operands[i] = set.stride_operands[i];
  }
  operands.clamp_low = set.clamp_low, operands.clamp_high = set.clamp_high;
  operands.alpha_device = to_pointer<float>(set.scalars);
  if ((operands.c != nullptr || operands.batch_c != nullptr) && set.scalars != 0)
    operands.beta_device = operands.alpha_device + 1;
}

}  // namespace hotgemm
