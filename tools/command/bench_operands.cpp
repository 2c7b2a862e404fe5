#include "command/bench_operands.hpp"

#include "config/prepacked.hpp"

namespace hotgemm::command {
namespace {

/// The part of the memory that is for the sets: prepacked copies may take as much again.
std::int64_t bytes_of_sets(const Problem& problem, std::int64_t max_bytes) {
  return is_prepacked(problem) ? max_bytes / 2 : max_bytes;
}

void* to_pointer(const DeviceBuffer& memory) { return reinterpret_cast<void*>(memory.get()); }

}  // namespace

BenchOperands::BenchOperands(const Driver& driver, Context& context, const Workload& problem, std::int64_t l2_bytes,
                             std::int64_t max_bytes)
    : context_(context),
      problem_(problem),
      pool_(driver, before_packing(problem), l2_bytes, bytes_of_sets(problem, max_bytes)) {
  for (std::size_t i = 0; i < sets().size(); ++i) {
    OperandSet bare = sets()[i];
    bare.epilogue = {};
    operands_.push_back(OperandPool::operands(bare, 1, 0));
    copies_.emplace_back();
    if (problem.prepacked_a) add_copy(driver, Operand::a, operands_[i].a, operands_[i].lda);
    if (problem.prepacked_b) add_copy(driver, Operand::b, operands_[i].b, operands_[i].ldb);
  }
}

void BenchOperands::add_copy(const Driver& driver, Operand operand, const void*& address, std::int64_t& ld) {
  const PrepackedSize size = prepacked_size(problem_, operand);
  copies_.back().push_back({operand, DeviceBuffer(driver, size.bytes)});
  address = to_pointer(copies_.back().back().memory);
  ld = size.ld;
}

void BenchOperands::pack(std::size_t index, Stream stream) {
  const Operands from = OperandPool::operands(sets()[index], 1, 0);
  for (const Copy& copy : copies_[index]) {
    const bool is_a = copy.operand == Operand::a;
    context_.pack(stream, problem_, copy.operand, is_a ? from.a : from.b, is_a ? from.lda : from.ldb,
                  to_pointer(copy.memory));
  }
}

Operands BenchOperands::operands(std::size_t index, float alpha, float beta) const {
  Operands operands = bare_operands(index, alpha, beta);
  OperandPool::add_epilogue(sets()[index].epilogue, operands);
  return operands;
}

Operands BenchOperands::bare_operands(std::size_t index, float alpha, float beta) const {
  Operands operands = operands_[index];
  operands.alpha = alpha;
  operands.beta = beta;
  return operands;
}

}  // namespace hotgemm::command
