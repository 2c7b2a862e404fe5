#include "command/matrix_corners.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstring>

namespace hotgemm::command {
namespace {

template <class T>
T number_at(const std::byte* bytes, std::size_t index) {
  T value{};
  std::memcpy(&value, bytes + index * sizeof value, sizeof value);
  return value;
}

/// 0, 1, 2 and the last three of `count`, each once.
std::vector<std::int64_t> edges(std::int64_t count) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < std::min(MatrixCorners::kEdge, count); ++i) all.push_back(i);
  for (std::int64_t i = std::max(MatrixCorners::kEdge, count - MatrixCorners::kEdge); i < count; ++i) all.push_back(i);
  return all;
}

/// True if an index is left out before the one at `i`.
bool is_after_gap(const std::vector<std::int64_t>& indices, std::size_t i) {
  return i > 0 && indices[i] != indices[i - 1] + 1;
}

}  // namespace

double number_at(const std::byte* bytes, std::size_t index, DType type) {
  switch (type) {
    case DType::f16: return __half2float(number_at<__half>(bytes, index));
    case DType::bf16: return __bfloat162float(number_at<__nv_bfloat16>(bytes, index));
    case DType::f32: return number_at<float>(bytes, index);
    case DType::s8: return number_at<std::int8_t>(bytes, index);
    case DType::s32: return number_at<std::int32_t>(bytes, index);
    case DType::e4m3:
    case DType::e5m2:
    case DType::tf32: break;
  }
  throw Error(ErrorCode::not_supported, "no rung has results of " + std::string(to_string(type)));
}

MatrixCorners fetch_corners(const Driver& driver, CUstream stream, const OperandSet& set, const Problem& problem) {
  MatrixCorners corners{edges(problem.m), edges(problem.n), {}};
  const auto element_bytes = static_cast<std::size_t>(size_bytes(problem.types.d));
  std::vector<std::byte> bytes(corners.rows.size() * corners.columns.size() * element_bytes);
  std::byte* to = bytes.data();
  for (const std::int64_t row : corners.rows) {
    for (const std::int64_t column : corners.columns) {
      const auto offset = static_cast<std::size_t>(row * set.ldd + column) * element_bytes;
      driver.check(driver.cuMemcpyDtoHAsync(to, set.d + offset, element_bytes, stream), "fetch an element of D");
      to += element_bytes;
    }
  }
  driver.check(driver.cuStreamSynchronize(stream), "wait for elements of D");
  for (std::size_t i = 0; i < corners.rows.size(); ++i) {
    std::vector<double>& row = corners.values.emplace_back();
    for (std::size_t j = 0; j < corners.columns.size(); ++j)
      row.push_back(number_at(bytes.data(), i * corners.columns.size() + j, problem.types.d));
  }
  return corners;
}

std::string to_text(const MatrixCorners& corners) {
  std::string text;
  for (std::size_t i = 0; i < corners.rows.size(); ++i) {
    if (i > 0) text += "\n";
    if (is_after_gap(corners.rows, i)) text += "  ...\n";
    text += " ";
    for (std::size_t j = 0; j < corners.columns.size(); ++j) {
      if (is_after_gap(corners.columns, j)) text += "  ...";
      text += fmt::format(" {:>10.5g}", corners.values[i][j]);
    }
  }
  return text;
}

}  // namespace hotgemm::command
