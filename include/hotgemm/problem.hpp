#pragma once

#include <hotgemm/gemm_types.hpp>  // DType, Op, Epilogue

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hotgemm {

/// The arithmetic of the sum over k.
enum class ComputeType : unsigned char {
  f32,   ///< products are exact, sums are f32
  f16,   ///< sums are f16
  tf32,  ///< elements of f32 are rounded to TF32, which has 10 bits of fraction; products are exact, sums are f32
  s32,   ///< integers; sums wrap
};

/// The accuracy that a compute type may give up for speed. It differs for FP8 elements only.
enum class ComputeMode : unsigned char {
  precise,  ///< FP8: sums lose no more than if they were promoted to f32 after every 128 products
  fast,     ///< FP8: the tensor core sums all of k
};

/// The element types of a problem, and its compute type.
struct Types {
  DType a = DType::f16;                     ///< of A
  DType b = DType::f16;                     ///< of B
  DType c = DType::f16;                     ///< of C
  DType d = DType::f16;                     ///< of D
  ComputeType compute = ComputeType::f32;   ///< of the sum over k
  ComputeMode mode = ComputeMode::precise;  ///< of the sum over k, for FP8

  friend bool operator==(const Types&, const Types&) = default;
};

/// A, B, C and D of one type.
constexpr Types uniform_types(DType element, ComputeType compute = ComputeType::f32) {
  return {.a = element, .b = element, .c = element, .d = element, .compute = compute};
}

/// The presets, as text names them: "f16", "bf16", "f32", "tf32", "s8", "e4m3", "e5m2".
inline constexpr Types kF16 = uniform_types(DType::f16);
inline constexpr Types kBf16 = uniform_types(DType::bf16);                    ///< sums are f32, as of all but kS8
inline constexpr Types kF32 = uniform_types(DType::f32);                      ///< without TF32
inline constexpr Types kTf32 = uniform_types(DType::f32, ComputeType::tf32);  ///< matrices of f32
/// D and the sums are s32.
inline constexpr Types kS8{
    .a = DType::s8, .b = DType::s8, .c = DType::s32, .d = DType::s32, .compute = ComputeType::s32};
/// D is bf16.
inline constexpr Types kE4m3{.a = DType::e4m3, .b = DType::e4m3, .c = DType::bf16, .d = DType::bf16};
/// D is bf16.
inline constexpr Types kE5m2{.a = DType::e5m2, .b = DType::e5m2, .c = DType::bf16, .d = DType::bf16};

/// The order in which a sum over k may be computed.
///
/// Calls are equal if problem, hints, alpha, beta and the elements of A, B and C are. The promises hold for the calls
/// of one Context in one CUDA context. They hold between processes too if GPU model, library, compiler, tuning records
/// and workspace cap are the same, and neither process tunes the problem.
enum class SumOrder : unsigned char {
  any,  ///< two calls may differ in the last bits: another kernel may take over, after tuning or without workspace
  /// Equal calls give equal bits. A problem class keeps its first plan; tune it before its first call, or by that call.
  /// A call that finds no workspace fails with Error{out_of_memory} if no kernel that adds in the same order needs
  /// none.
  deterministic,
  /// Also, a row of D has the same bits whatever m and the alignment are. Kernels that divide k are left out, which
  /// costs time where m and n are small and k is large. Tuning changes no bits. Error{not_supported} for a few problems
  /// of f16 and bf16 on sm_90a, such as groups whose A or B has rows at no multiples of 16 bytes: docs/sums.md.
  batch_invariant,
};

/// The placement of the matrices of a batch in memory.
enum class BatchKind : unsigned char {
  strided,   ///< at equal distances
  pointers,  ///< at any addresses, which are in device memory
};

/// The division of one dimension of A or B among groups.
enum class GroupKind : unsigned char {
  none,
  rows,         ///< rows of A, C and D, one group after another; B has a matrix for each group
  masked_rows,  ///< each group has room for m rows, and a count of those in use on the device
  along_k,      ///< k is divided; D has a matrix for each group
};

/// The computation, without pointers: D = alpha * op(A) * op(B) + beta * C.
///
/// All matrices are row-major. op(A) is m×k, op(B) is k×n, C and D are m×n; a matrix with Op::t is stored transposed
/// (A as k×m, B as n×k). Column-major users swap the operands: a column-major m×n product is the row-major n×m product
/// of B and A.
///
/// The kernels of this version have these types; C and D have the same one:
/// - A and B f16, bf16 or f32; D of the same type, or f32. Sums are f32; if A, B and D are f16, sums may be f16.
/// - A, B and D f32 with compute type tf32. No other compute type multiplies f32 as TF32.
/// - A and B each e4m3 or e5m2; D bf16, f16, f32 or e4m3, or e5m2 if A or B is e5m2. Sums are f32.
/// - A and B s8; D s32, f32, bf16, f16 or s8. Sums are s32. If D is s32, alpha and beta are whole numbers from
///   -2^24 to 2^24, and nothing is rounded: a result is right modulo 2^32.
///
/// alpha is the scale of a D of 8 bits. First alpha * sum is computed in f32, then beta * C is added with one rounding.
/// The result is rounded to the nearest element, to even in a tie. A result beyond the last element, infinity too,
/// becomes that element: -128 or 127 in s8, ±448 in e4m3, ±57344 in e5m2. NaN stays NaN in FP8 and becomes 0 in s8.
///
/// Every order of sums is supported, SM limits as far as `sm_limit` says, batches of both kinds, masked groups, groups
/// of rows of an A that is not transposed, groups along k of matrices that have a stored row for each k (A transposed,
/// B not), prepacked operands of f16 and bf16 that are neither a batch nor groups, and every part of an Epilogue, but
/// with a gate not C, a derivative, bits and the gradient of a bias, and that gradient neither for groups nor in a
/// fixed order of sums. Scales of blocks are those of A in 1x128 with those of B in 128x128, for precise FP8, but not
/// with a gate in halves if n is no multiple of 256. A D of s32 has no epilogue. All other values of these fields are
/// refused with Error{not_supported}, which names the field.
struct Problem {
  std::int64_t m = 0;              ///< rows of D, at most 2147482623
  std::int64_t n = 0;              ///< columns of op(B), at most 2147482623; D has as many, or with a gate half of them
  std::int64_t k = 0;              ///< products of a sum, at most 2147482623
  Op op_a = Op::n;                 ///< how A is stored: m×k, or k×m
  Op op_b = Op::n;                 ///< how B is stored: k×n, or n×k
  Types types = kF16;              ///< of the elements and of the sums
  SumOrder order = SumOrder::any;  ///< what is promised about the bits of D
  /// The most SMs that a kernel may occupy; 0: all. Under a limit no grid has more blocks, and no launch is
  /// programmatic. A limit of at least the number of SMs of the GPU has no effect. Error{not_supported} if no kernel
  /// for the problem stays within the limit: without persistent blocks (only family `wgmma` has them) a kernel has a
  /// block for each tile.
  int sm_limit = 0;
  /// The number of products; 0: nothing is done. The fields batch_stride_… of Operands say where their matrices are, or
  /// batch_a to batch_d for a batch by pointers.
  std::int64_t batch = 1;
  BatchKind batch_kind = BatchKind::strided;  ///< where the matrices of a batch are
  /// For groups of rows, all groups together have at most m rows. For groups along k, they together have at most k.
  /// Kernels read the actual numbers from Operands::group_offsets. Each masked group has at most m rows; kernels read
  /// the actual numbers from Operands::group_counts.
  GroupKind group_kind = GroupKind::none;  ///< which dimension is divided among groups
  std::int64_t groups = 0;                 ///< zero if and only if group_kind is none
  Epilogue epilogue{};                     ///< what is done to a sum before it is stored
  bool prepacked_a = false;  ///< A is passed in the form that Context::pack gives it, and with its leading dimension
  bool prepacked_b = false;  ///< B, likewise

  friend bool operator==(const Problem&, const Problem&) = default;
};

/// The amount of workspace that a kernel may use.
enum class WorkspaceClass : unsigned char {
  none,
  small,  ///< at most kSmallWorkspaceBytes
  full,   ///< at most ContextOptions::workspace_bytes
};
/// The bound of WorkspaceClass::small.
inline constexpr std::size_t kSmallWorkspaceBytes = std::size_t{4} << 20;

/// The properties of a call's operands that a kernel can use: alignment, and whether C is read.
struct Hints {
  /// Alignment class of A, of B, and of C, D and the epilogue's matrices together: the largest of 16, 8, 4, 2, 1
  /// bytes that divides an operand's address, the byte length of its leading dimension and, in a batch, that of its
  /// distance. The default promises nothing. An operand whose rows or matrices are 2^40 bytes or more apart is in class
  /// 8 at most, because a tensor map cannot have such a stride.
  int align_a = 1;
  int align_b = 1;                                  ///< as align_a
  int align_d = 1;                                  ///< as align_a
  bool beta_is_zero = true;                         ///< C is not read
  WorkspaceClass workspace = WorkspaceClass::full;  ///< how much a kernel may use

  friend bool operator==(const Hints&, const Hints&) = default;
};

/// The hints of packed operands: rows as stored have no gaps, addresses are multiples of 16 bytes as every allocator
/// gives them, C is not read, and prepacked operands are in class 16. hotgemm assumes these where no others are given.
Hints packed_hints(const Problem& problem);

/// A problem with the hints of its operands. The library plans, tunes, records and prepares workloads.
///
/// A Workload is a Problem, and can be passed where only the problem matters. A Problem must be converted to a Workload
/// explicitly, so that hints are never lost by accident and replaced by guesses.
///
/// Workloads that differ only in m within a bucket (see `class_m`) are of one problem class: it is planned, tuned and
/// recorded once.
struct Workload : Problem {
  Hints hints;  ///< of the operands

  /// A workload of size zero, with hints that promise nothing.
  Workload();
  /// Alignment classes below one element are raised to it, and those of prepacked operands to 16.
  Workload(const Problem& problem, const Hints& known_hints);
  /// The workload of `problem` with packed operands.
  explicit Workload(const Problem& problem) : Workload(problem, packed_hints(problem)) {}

  friend bool operator==(const Workload&, const Workload&) = default;
};

/// The end of the bucket of m that contains `m`. The ends are 1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, and then eight
/// for each doubling. The last one is 2147482623 = 2^31 - 1025, the largest size.
std::int64_t class_m(std::int64_t m);

// ---- text
//
// A problem is written as `m n k layout type [key=value …]`: "4096 4096 512 nt f16 acc=f16 align=16,8,2". Sizes may
// also be joined: "4096x4096x512". The layout is the ops of A and B. The type is a preset, or the types of A, B and D:
// "bf16*bf16>f32". The keys, each at most once and in any order:
//
//   c=f32              type of C, if it is not the type of D
//   acc=f16            compute type, and mode: f32 (the default except for s8), f16, tf32, s32; "f32,fast"
//   order=deterministic, order=batch_invariant
//   sms=120            SMs that a kernel may occupy
//   batch=4            "batch=4,pointers"
//   groups=8           "groups=8,masked", "groups=8,k"
//   epilogue=bias+relu from the words scale_a, scale_b (each also :vector, :block_1x128, :block_128x128), bias,
//                      bias:row, aux, aux:bits, relu, gelu, gelu_erf, silu, sigmoid, tanh, clamp, drelu, drelu:bits,
//                      dgelu, dgelu_erf, dsilu, dsigmoid, dtanh, gated, gated:interleaved, residual, amax,
//                      bias_gradient, bias_gradient:row, scale_d, scalars, function:0123456789ab0021 (a function by
//                      its number); swiglu, geglu, geglu_erf and glu are silu, gelu, gelu_erf and sigmoid with gated,
//                      and swiglu:interleaved is silu+gated:interleaved
//   prepacked=b        operands in their prepacked form: "a", "b", "ab"
//   align=16,8,2       alignment classes of A, B and D; one number is for all
//   lda=, ldb=, ldd=   leading dimensions, from which alignment classes are found
//   beta=1             C is read
//   workspace=none     "none", "small"
//
// Without align, lda, ldb and ldd, the operands are packed (see `packed_hints`).

/// The name of the enumerator: "f16", "bf16", …
std::string_view to_string(DType type);
/// "n", "t".
std::string_view to_string(Op op);
/// "f32", "f16", "tf32", "s32".
std::string_view to_string(ComputeType type);
/// "f16" or "bf16*bf16>f32", followed by "c=" and "acc=" if they differ from the default of the preset or the types.
std::string to_string(const Types& types);
/// The text of the problem, without hints.
std::string to_string(const Problem& problem);
/// The text of the workload. It always contains "align=", so that different classes have different texts.
std::string to_string(const Workload& workload);

/// The inverse of to_string. This and the other parsers throw Error{invalid_argument} that names the bad word.
DType parse_dtype(std::string_view text);
/// The inverse of to_string.
Op parse_op(std::string_view text);
/// The inverse of to_string.
ComputeType parse_compute_type(std::string_view text);
/// One word: a preset, or "A*B>D".
Types parse_types(std::string_view text);
/// The inverse of to_string. Keys of hints are refused.
Problem parse_problem(std::string_view text);
/// The inverse of to_string.
Workload parse_workload(std::string_view text);

}  // namespace hotgemm
