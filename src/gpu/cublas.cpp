#include "gpu/cublas.hpp"

#include "base/library_paths.hpp"
#include "config/supported.hpp"
#include "gpu/cublas_algorithm.hpp"
#include "gpu/cublas_epilogue.hpp"
#include "gpu/cublas_scalars.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/shared_library.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace hotgemm {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{256} << 20;
constexpr int kRequestedAlgorithms = 512;  // more than the heuristics are known to return

// cublas_api.h has overloads of these functions for old callers, so taking their addresses needs types.
using GemmEx = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                                  const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                                  cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
using GemmBatchedEx = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                                         const void*, const void* const*, cudaDataType, int, const void* const*,
                                         cudaDataType, int, const void*, void* const*, cudaDataType, int, int,
                                         cublasComputeType_t, cublasGemmAlgo_t);
using GemmStridedBatchedEx = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                                                const void*, const void*, cudaDataType, int, long long, const void*,
                                                cudaDataType, int, long long, const void*, void*, cudaDataType, int,
                                                long long, int, cublasComputeType_t, cublasGemmAlgo_t);

// clang-format off
// Lists the versioned symbols, because cublas_v2.h maps "cublasCreate" to "cublasCreate_v2".
#define HOTGEMM_CUBLAS_FUNCTIONS(F)                                                                            \
  F(cublasCreate_v2) F(cublasDestroy_v2) F(cublasGetVersion_v2) F(cublasSetStream_v2) F(cublasSetWorkspace_v2) \
  F(cublasGetStatusName)
#define HOTGEMM_CUBLASLT_FUNCTIONS(F)                                                              \
  F(cublasLtCreate) F(cublasLtDestroy) F(cublasLtMatmul) F(cublasLtMatmulAlgoGetHeuristic)         \
  F(cublasLtMatmulAlgoConfigGetAttribute) F(cublasLtMatmulAlgoCheck) F(cublasLtMatmulDescCreate)   \
  F(cublasLtMatmulDescDestroy) F(cublasLtMatmulDescSetAttribute) F(cublasLtMatrixLayoutCreate)     \
  F(cublasLtMatrixLayoutSetAttribute) F(cublasLtMatrixLayoutDestroy) F(cublasLtMatmulPreferenceCreate) \
  F(cublasLtMatmulPreferenceDestroy) F(cublasLtMatmulPreferenceSetAttribute)
// clang-format on

struct Functions {
#define HOTGEMM_DECLARE(name) decltype(&::name) name = nullptr;
  HOTGEMM_CUBLAS_FUNCTIONS(HOTGEMM_DECLARE)
  HOTGEMM_CUBLASLT_FUNCTIONS(HOTGEMM_DECLARE)
#undef HOTGEMM_DECLARE
  GemmEx gemm_ex = nullptr;
  GemmStridedBatchedEx gemm_strided_batched_ex = nullptr;
  GemmBatchedEx gemm_batched_ex = nullptr;

  void check(cublasStatus_t status, const std::string& attempt) const {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    const ErrorCode code = status == CUBLAS_STATUS_ALLOC_FAILED    ? ErrorCode::out_of_memory
                           : status == CUBLAS_STATUS_NOT_SUPPORTED ? ErrorCode::not_supported
                                                                   : ErrorCode::driver_error;
    throw Error(code, attempt + ": " + cublasGetStatusName(status) + " (" + std::to_string(status) + ")");
  }
};

SharedLibrary open(const char* variable, const std::string& stem) {
  return SharedLibrary::open(take_library_path(variable), {stem + ".so.13", stem + ".so.12"}, ErrorCode::not_supported);
}

Functions load() {
  // cuBLASLt is opened first: libcublas depends on it and uses the one that is already loaded.
  const SharedLibrary lt = open("HOTGEMM_LIBCUBLASLT", "libcublasLt");
  const SharedLibrary cublas = open("HOTGEMM_LIBCUBLAS", "libcublas");
  Functions functions;
#define HOTGEMM_RESOLVE(name) functions.name = reinterpret_cast<decltype(functions.name)>(cublas.get(#name));
  HOTGEMM_CUBLAS_FUNCTIONS(HOTGEMM_RESOLVE)
#undef HOTGEMM_RESOLVE
#define HOTGEMM_RESOLVE(name) functions.name = reinterpret_cast<decltype(functions.name)>(lt.get(#name));
  HOTGEMM_CUBLASLT_FUNCTIONS(HOTGEMM_RESOLVE)
#undef HOTGEMM_RESOLVE
  functions.gemm_ex = reinterpret_cast<GemmEx>(cublas.get("cublasGemmEx"));
  functions.gemm_strided_batched_ex = reinterpret_cast<GemmStridedBatchedEx>(cublas.get("cublasGemmStridedBatchedEx"));
  functions.gemm_batched_ex = reinterpret_cast<GemmBatchedEx>(cublas.get("cublasGemmBatchedEx"));
  return functions;
}

const void* pointer(CUdeviceptr address) { return reinterpret_cast<const void*>(address); }
void* mutable_pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }
const void* const* array(CUdeviceptr address) { return reinterpret_cast<const void* const*>(address); }

// The names are in the headers of 13.1 and later.
constexpr auto kLayoutBatchMode = static_cast<cublasLtMatrixLayoutAttribute_t>(8);
constexpr std::uint32_t kPointerArrays = 1;

static_assert(static_cast<int>(CudaType::r_32f) == CUDA_R_32F && static_cast<int>(CudaType::r_16f) == CUDA_R_16F);
static_assert(static_cast<int>(CudaType::r_8i) == CUDA_R_8I && static_cast<int>(CudaType::r_32i) == CUDA_R_32I);
static_assert(static_cast<int>(CudaType::r_16bf) == CUDA_R_16BF);
static_assert(static_cast<int>(CudaType::r_8f_e4m3) == CUDA_R_8F_E4M3);
static_assert(static_cast<int>(CudaType::r_8f_e5m2) == CUDA_R_8F_E5M2);

cudaDataType data_type(DType type) { return static_cast<cudaDataType>(element_type(type).cuda); }

bool are_lt_only(const Types& types) { return is_fp8(types.a) || types.d == DType::s8; }

void require_rival(const Workload& problem) {
  require_supported(problem);
  if (!CublasBaseline::has_rival(problem))
    throw Error(ErrorCode::not_supported, "no product of cuBLAS to compare with: " + to_string(problem));
}

// cuBLAS is column-major, so it reads a row-major matrix as its transpose. It is asked for D' = op(B)' * op(A)', n×m,
// with B as its first operand. An operand that is not transposed for us is then not transposed for cuBLAS.
cublasOperation_t operation(Op op) { return op == Op::n ? CUBLAS_OP_N : CUBLAS_OP_T; }

int to_int(std::int64_t value, const char* what) {
  if (value < 0 || value > std::numeric_limits<int>::max()) {
    throw Error(ErrorCode::not_supported,
                std::string("cublasGemmEx takes ") + what + " as an int; it is " + std::to_string(value));
  }
  return static_cast<int>(value);
}

/// The largest power of two up to 256 that divides every address.
std::uint32_t common_alignment(std::span<const OperandSet> sets, CUdeviceptr OperandSet::*member) {
  CUdeviceptr bits = 256;
  for (const OperandSet& set : sets) bits |= set.*member;
  return static_cast<std::uint32_t>(bits & (~bits + 1));
}

}  // namespace

struct CublasBaseline::Impl {
  Functions functions;
  DeviceBuffer workspace;
  cublasHandle_t handle = nullptr;
  cublasLtHandle_t lt = nullptr;
  std::optional<CUstream> stream;  // the stream that the handle uses now

  explicit Impl(const Driver& driver) : functions(load()) {
    workspace = DeviceBuffer(driver, kWorkspaceBytes);
    functions.check(functions.cublasCreate_v2(&handle), "create a cuBLAS handle");
    const cublasStatus_t status = functions.cublasLtCreate(&lt);
    if (status != CUBLAS_STATUS_SUCCESS) functions.cublasDestroy_v2(handle);  // the destructor will not run
    functions.check(status, "create a cuBLASLt handle");
  }
  ~Impl() {
    functions.cublasLtDestroy(lt);
    functions.cublasDestroy_v2(handle);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void use(CUstream wanted) {
    if (stream == wanted) return;
    stream.reset();
    functions.check(functions.cublasSetStream_v2(handle, wanted), "set cuBLAS's stream");
    // cublasSetStream has restored cuBLAS's own workspace.
    functions.check(functions.cublasSetWorkspace_v2(handle, mutable_pointer(workspace.get()), workspace.bytes()),
                    "set cuBLAS's workspace");
    stream = wanted;
  }
};

/// The description of the problem for cuBLASLt: all arguments of a call except pointers of matrices, algorithm and
/// stream.
struct CublasBaseline::Matmul {
  std::shared_ptr<Impl> baseline;
  std::vector<OperandSet> sets;
  CublasScalars scalars;
  bool reads_c;
  std::int64_t batch = 1;
  bool has_batch_mode = true;                    // false: this cuBLASLt has no batches by pointers
  std::vector<cublasLtMatmulDesc_t> operations;  // one for each set, because it has the addresses of the epilogue
  cublasLtMatrixLayout_t first = nullptr;        // B
  cublasLtMatrixLayout_t second = nullptr;
  cublasLtMatrixLayout_t c = nullptr;
  cublasLtMatrixLayout_t d = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;

  Matmul(std::shared_ptr<Impl> impl, LtOperands operands, const CublasScalars& scale)
      : baseline(std::move(impl)), sets(std::move(operands.sets)), scalars(scale), reads_c(operands.reads_c) {}
  ~Matmul() {
    const Functions& f = baseline->functions;
    if (preference != nullptr) f.cublasLtMatmulPreferenceDestroy(preference);
    for (cublasLtMatrixLayout_t layout : {first, second, c, d}) {
      if (layout != nullptr) f.cublasLtMatrixLayoutDestroy(layout);
    }
    for (cublasLtMatmulDesc_t one : operations) f.cublasLtMatmulDescDestroy(one);
  }
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  template <class T>
  void set_preference(cublasLtMatmulPreferenceAttributes_t attribute, T value) {
    const Functions& f = baseline->functions;
    f.check(f.cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
            "set a preference of cuBLASLt");
  }
  /// Makes the layout of row-major rows×cols matrices as cuBLASLt sees them: column-major, transposed.
  void set_layout(cublasLtMatrixLayout_t& layout, DType dtype, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                  std::int64_t stride) {
    const Functions& f = baseline->functions;
    f.check(f.cublasLtMatrixLayoutCreate(&layout, data_type(dtype), static_cast<std::uint64_t>(cols),
                                         static_cast<std::uint64_t>(rows), ld),
            "describe a matrix to cuBLASLt");
    if (batch == 1 && sets.front().pointers.d == 0) return;
    const auto count = static_cast<std::int32_t>(batch);
    f.check(f.cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
            "describe a batch to cuBLASLt");
    if (sets.front().pointers.d != 0) {
      const cublasStatus_t status =
          f.cublasLtMatrixLayoutSetAttribute(layout, kLayoutBatchMode, &kPointerArrays, sizeof kPointerArrays);
      has_batch_mode = has_batch_mode && status == CUBLAS_STATUS_SUCCESS;
      return;
    }
    f.check(
        f.cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
        "describe the distance of matrices to cuBLASLt");
  }

  void add_operation(const Workload& p, const LtEpilogue& epilogue, const EpilogueSet& operands) {
    const Functions& f = baseline->functions;
    cublasLtMatmulDesc_t made = nullptr;
    f.check(f.cublasLtMatmulDescCreate(&made, scalars.compute(), scalars.scale()), "describe a problem to cuBLASLt");
    operations.push_back(made);
    const auto set_attribute = [&](cublasLtMatmulDescAttributes_t attribute, const void* value, std::size_t bytes) {
      f.check(f.cublasLtMatmulDescSetAttribute(made, attribute, value, bytes), "describe a problem to cuBLASLt");
    };
    const cublasOperation_t op_first = operation(p.op_b), op_second = operation(p.op_a);
    set_attribute(CUBLASLT_MATMUL_DESC_TRANSA, &op_first, sizeof op_first);
    set_attribute(CUBLASLT_MATMUL_DESC_TRANSB, &op_second, sizeof op_second);
    // Sums of FP8 are promoted there too, unless the caller allows fast ones. Scale factors that are not set are 1.
    const std::int8_t is_fast = p.types.mode == ComputeMode::fast ? 1 : 0;
    if (is_fp8(p.types.a)) set_attribute(CUBLASLT_MATMUL_DESC_FAST_ACCUM, &is_fast, sizeof is_fast);
    describe_epilogue(p, epilogue, operands, set_attribute);
  }

  void describe(const Workload& p, const LtEpilogue& epilogue) {
    const Functions& f = baseline->functions;
    for (const OperandSet& set : sets) add_operation(p, epilogue, set.epilogue);
    batch = p.batch;
    const OperandSet& set = sets.front();
    const bool a_is_stored_mk = p.op_a == Op::n;
    const bool b_is_stored_kn = p.op_b == Op::n;
    set_layout(first, p.types.b, b_is_stored_kn ? p.k : p.n, b_is_stored_kn ? p.n : p.k, set.ldb, set.stride_b);
    set_layout(second, p.types.a, a_is_stored_mk ? p.m : p.k, a_is_stored_mk ? p.k : p.m, set.lda, set.stride_a);
    set_layout(c, is_fp8(p.types.d) ? DType::bf16 : p.types.c, p.m, p.n, reads_c ? set.ldc : set.ldd,
               reads_c ? set.stride_c : set.stride_d);
    set_layout(d, p.types.d, p.m, p.n, set.ldd, set.stride_d);
    f.check(f.cublasLtMatmulPreferenceCreate(&preference), "create a preference of cuBLASLt");
    set_preference(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kWorkspaceBytes});
    set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, common_alignment(sets, &OperandSet::b));
    set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, common_alignment(sets, &OperandSet::a));
    set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                   common_alignment(sets, reads_c ? &OperandSet::c : &OperandSet::d));
    set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, common_alignment(sets, &OperandSet::d));
  }

  std::vector<cublasLtMatmulHeuristicResult_t> heuristics() const {
    if (!has_batch_mode) return {};
    const Functions& f = baseline->functions;
    std::vector<cublasLtMatmulHeuristicResult_t> results(kRequestedAlgorithms);
    int returned = 0;
    const cublasStatus_t status =
        f.cublasLtMatmulAlgoGetHeuristic(baseline->lt, operations.front(), first, second, c, d, preference,
                                         kRequestedAlgorithms, results.data(), &returned);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
    f.check(status, "ask cuBLASLt for algorithms");
    results.resize(static_cast<std::size_t>(returned));
    std::erase_if(results, [](const cublasLtMatmulHeuristicResult_t& result) {
      return result.state != CUBLAS_STATUS_SUCCESS || result.workspaceSize > kWorkspaceBytes;
    });
    return results;
  }

  bool accepts(const cublasLtMatmulAlgo_t& algorithm) const {
    cublasLtMatmulHeuristicResult_t result{};
    const cublasStatus_t status = baseline->functions.cublasLtMatmulAlgoCheck(baseline->lt, operations.front(), first,
                                                                              second, c, d, &algorithm, &result);
    return status == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= kWorkspaceBytes;
  }

  void launch(const cublasLtMatmulAlgo_t& algorithm, CUstream stream, int index) const {
    const Functions& f = baseline->functions;
    const auto at = static_cast<std::size_t>(index);
    const OperandSet set = sets[at].with_arrays();
    const cublasStatus_t status =
        f.cublasLtMatmul(baseline->lt, operations[at], scalars.alpha(), pointer(set.b), first, pointer(set.a), second,
                         scalars.beta(), pointer(reads_c ? set.c : set.d), c, mutable_pointer(set.d), d, &algorithm,
                         mutable_pointer(baseline->workspace.get()), kWorkspaceBytes, stream);
    if (status != CUBLAS_STATUS_SUCCESS) f.check(status, "launch cublasLtMatmul");
  }
};

namespace {

/// A name such as "cublasLt[7] algo 66": the index in the list of heuristics and the library's id.
std::string name_of(const Functions& f, std::size_t index, const cublasLtMatmulAlgo_t& algorithm) {
  int id = -1;
  std::size_t written = 0;
  f.cublasLtMatmulAlgoConfigGetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_ID, &id, sizeof id, &written);
  return "cublasLt[" + std::to_string(index) + "] algo " + std::to_string(id);
}

CublasContender contender_of(const std::shared_ptr<const CublasBaseline::Matmul>& matmul, std::string name,
                             const cublasLtMatmulAlgo_t& algorithm) {
  return {
      {std::move(name), [matmul, algorithm](CUstream stream, int index) { matmul->launch(algorithm, stream, index); }},
      to_hex(algorithm)};
}

}  // namespace

CublasBaseline::CublasBaseline(const Driver& driver) {
  try {
    impl_ = std::make_shared<Impl>(driver);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::context_lost) throw;
    why_not_ = error.what();
  }
}

int CublasBaseline::version_number() const {
  int number = 0;
  if (!available() || impl_->functions.cublasGetVersion_v2(impl_->handle, &number) != CUBLAS_STATUS_SUCCESS) return 0;
  return number;
}

std::string CublasBaseline::version() const {
  const int number = version_number();
  if (number == 0) return {};
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
}

bool CublasBaseline::is_lt_only(const Problem& problem) {
  return problem.epilogue != Epilogue{} || are_lt_only(problem.types);
}

bool CublasBaseline::has_rival(const Workload& problem) {
  const Types& t = problem.types;
  if (!lt_epilogue(problem)) return false;
  if (problem.batch_kind == BatchKind::pointers && is_lt_only(problem)) return false;
  // Sums of s8 become s32, f32 or s8 there.
  if (t.a == DType::s8 && size_bytes(t.d) != 1) return t.d == DType::s32 || t.d == DType::f32;
  if (!are_lt_only(t)) return true;
  if (is_fp8(t.d) && !problem.hints.beta_is_zero) return false;  // C has 16 bits there
  const bool has_types = t.a != DType::e5m2 || t.b != DType::e5m2;
  const Hints& hints = problem.hints;
  if (std::min({hints.align_a, hints.align_b, hints.align_d}) < 16) return false;
  return has_types && problem.op_a == Op::n && problem.op_b == Op::t && problem.n % 16 == 0 && problem.k % 16 == 0;
}

Contender CublasBaseline::default_gemm(const Workload& problem, std::span<const OperandSet> sets, float alpha,
                                       float beta) {
  if (!available()) throw Error(ErrorCode::internal, "cuBLAS is not available: " + why_not_);
  require_rival(problem);
  if (is_lt_only(problem)) return first_heuristic(problem, sets, alpha, beta);
  const int m = to_int(problem.m, "m"), n = to_int(problem.n, "n"), k = to_int(problem.k, "k");
  const int batch = to_int(problem.batch, "the batch");
  const bool has_pointers = problem.batch_kind == BatchKind::pointers;
  for (const OperandSet& set : sets) {
    for (const std::int64_t ld : {set.lda, set.ldb, set.ldd}) to_int(ld, "a leading dimension");
  }
  const CublasScalars scalars(problem.types, alpha, problem.hints.beta_is_zero ? 0 : beta);
  auto launch = [impl = impl_, operands = std::vector<OperandSet>(sets.begin(), sets.end()), scalars, m, n, k, batch,
                 has_pointers, op_first = operation(problem.op_b), op_second = operation(problem.op_a),
                 type_first = data_type(problem.types.b), type_second = data_type(problem.types.a),
                 type_d = data_type(problem.types.d)](CUstream stream, int index) {
    impl->use(stream);
    const OperandSet& set = operands[static_cast<std::size_t>(index)];
    const Functions& f = impl->functions;
    const int lda = static_cast<int>(set.lda), ldb = static_cast<int>(set.ldb), ldd = static_cast<int>(set.ldd);
    const PointerSet& arrays = set.pointers;
    const cublasStatus_t status =
        has_pointers ? f.gemm_batched_ex(impl->handle, op_first, op_second, n, m, k, scalars.alpha(), array(arrays.b),
                                         type_first, ldb, array(arrays.a), type_second, lda, scalars.beta(),
                                         reinterpret_cast<void* const*>(arrays.d), type_d, ldd, batch,
                                         scalars.compute(), CUBLAS_GEMM_DEFAULT)
        : batch == 1
            ? f.gemm_ex(impl->handle, op_first, op_second, n, m, k, scalars.alpha(), pointer(set.b), type_first, ldb,
                        pointer(set.a), type_second, lda, scalars.beta(), mutable_pointer(set.d), type_d, ldd,
                        scalars.compute(), CUBLAS_GEMM_DEFAULT)
            : f.gemm_strided_batched_ex(impl->handle, op_first, op_second, n, m, k, scalars.alpha(), pointer(set.b),
                                        type_first, ldb, set.stride_b, pointer(set.a), type_second, lda, set.stride_a,
                                        scalars.beta(), mutable_pointer(set.d), type_d, ldd, set.stride_d, batch,
                                        scalars.compute(), CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS) f.check(status, "launch cuBLAS's default");
  };
  const char* const name = has_pointers ? "cublasGemmBatchedEx"
                           : batch == 1 ? "cublasGemmEx"
                                        : "cublasGemmStridedBatchedEx";
  return {name, std::move(launch)};
}

Contender CublasBaseline::first_heuristic(const Workload& problem, std::span<const OperandSet> sets, float alpha,
                                          float beta) const {
  const std::shared_ptr<const Matmul> matmul = describe(problem, sets, alpha, beta);
  const std::vector<cublasLtMatmulHeuristicResult_t> results = matmul->heuristics();
  if (results.empty()) throw Error(ErrorCode::not_supported, "cuBLASLt has no algorithm for " + to_string(problem));
  return contender_of(matmul, "cublasLtMatmul", results.front().algo).contender;
}

std::shared_ptr<const CublasBaseline::Matmul> CublasBaseline::describe(const Workload& problem,
                                                                       std::span<const OperandSet> sets, float alpha,
                                                                       float beta) const {
  if (!available()) throw Error(ErrorCode::internal, "cuBLAS is not available: " + why_not_);
  require_rival(problem);
  if (sets.empty()) throw Error(ErrorCode::invalid_argument, "cublasLtMatmul needs at least one operand set");
  const LtEpilogue epilogue = lt_epilogue(problem).value();  // it has a rival
  LtOperands operands = lt_operands(problem, epilogue, {sets.begin(), sets.end()}, beta);
  const CublasScalars scalars(problem.types, alpha, operands.beta);
  auto matmul = std::make_shared<Matmul>(impl_, std::move(operands), scalars);
  matmul->describe(problem, epilogue);
  return matmul;
}

std::vector<CublasContender> CublasBaseline::lt_heuristics(const Workload& problem, std::span<const OperandSet> sets,
                                                           float alpha, float beta) {
  constexpr int kFirstWithBlocks = 120900;  // an older cuBLASLt refuses the description of their scales
  if (problem.epilogue.has_block_scales() && available() && version_number() < kFirstWithBlocks) return {};
  const std::shared_ptr<const Matmul> matmul = describe(problem, sets, alpha, beta);
  std::vector<CublasContender> contenders;
  for (const cublasLtMatmulHeuristicResult_t& result : matmul->heuristics()) {
    contenders.push_back(contender_of(matmul, name_of(impl_->functions, contenders.size(), result.algo), result.algo));
  }
  return contenders;
}

std::optional<CublasContender> CublasBaseline::lt_algorithm(const Workload& problem, std::span<const OperandSet> sets,
                                                            float alpha, float beta, const std::string& algorithm,
                                                            const std::string& name) {
  const std::optional<cublasLtMatmulAlgo_t> known = from_hex(algorithm);
  if (!known) return std::nullopt;
  const std::shared_ptr<const Matmul> matmul = describe(problem, sets, alpha, beta);
  if (!matmul->accepts(*known)) return std::nullopt;
  return contender_of(matmul, name, *known);
}

}  // namespace hotgemm
