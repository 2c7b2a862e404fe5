#pragma once

#include "tune/measurer.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// The messages between a process that tunes and the worker that measures for it. Both run the same program, so numbers
// are sent in their memory representation.

namespace hotgemm {

enum class RequestKind : std::uint32_t { hello, begin, cubin, check, race, compare, end };

/// Precedes each request; the body follows. Every request is answered by replies that end with `done`; only a cubin is
/// not answered.
struct RequestHeader {
  static constexpr std::uint32_t kMagic = 0x31574748;  // "HGW1"
  std::uint32_t magic = kMagic;
  RequestKind kind = RequestKind::end;
  std::uint64_t body_bytes = 0;
};

enum class ReplyKind : std::uint32_t {
  facts,     ///< answers hello: text holds the facts about the GPU
  step,      ///< the worker is about to run `trial`, or a step that belongs to no single trial
  verdict,   ///< for `trial`: its stage, and the reason in text if it is not sound
  sample,    ///< row `trial` of the race took `us` in `round`
  failure,   ///< row `trial` of the race was not timed, or its timing was stopped; text says why
  blocks,    ///< what the GPU did during the blocks of row `trial`; text has the numbers
  compared,  ///< answers compare: text has the comparison
  done,      ///< ends the answer; text names the baseline; after a race, there are `trial` rows and `round` rounds
  error,     ///< replaces done: the request failed with `code`, and text says why; the worker continues
  fatal,     ///< like error, but the worker ends
};

/// A reply of the worker. All replies have the same size.
struct Reply {
  static constexpr std::uint32_t kMagic = 0x31525748;  // "HWR1"
  static constexpr std::int32_t kNoTrial = -1;

  std::uint32_t magic = kMagic;
  ReplyKind kind = ReplyKind::done;
  std::int32_t trial = kNoTrial;  ///< index in the request
  std::int32_t stage = 0;
  std::int32_t round = 0;
  std::int32_t code = 0;
  double us = 0;
  std::uint32_t text_bytes = 0;
  std::array<char, 988> text_buffer{};

  /// Cuts `text` if it is too long.
  void set_text(std::string_view text);
  std::string_view text() const;
  bool is_intact() const;
};
static_assert(std::is_trivially_copyable_v<Reply> && sizeof(Reply) == 1024);

/// Appends numbers and texts to a byte string.
class FieldWriter {
 public:
  template <class Number>
  FieldWriter& add_number(Number value) {
    static_assert(std::is_arithmetic_v<Number>);
    return add_bytes(std::as_bytes(std::span(&value, 1)));
  }
  FieldWriter& add_text(std::string_view text) {
    add_number(static_cast<std::uint64_t>(text.size()));
    return add_bytes(std::as_bytes(std::span(text)));
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  FieldWriter& add_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  std::vector<std::byte> bytes_;
};

/// Reads numbers and texts in the order in which they were written. Throws Error{internal} if the bytes end too early.
class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class Number>
  Number number() {
    static_assert(std::is_arithmetic_v<Number>);
    Number value{};
    std::ranges::copy(take(sizeof value), std::as_writable_bytes(std::span(&value, 1)).begin());
    return value;
  }
  std::string text();

 private:
  std::span<const std::byte> take(std::size_t bytes);
  std::span<const std::byte> rest_;
};

struct Request {
  RequestKind kind = RequestKind::hello;
  std::vector<std::byte> body;
};

/// The cubins that a worker holds, keyed by symbol. A begin request empties them.
using Cubins = std::map<std::string, std::shared_ptr<const Cubin>>;

struct BeginRequest {
  Workload problem;
  MeasureOptions options;
};
struct CheckRequest {
  std::vector<Trial> trials;
  unsigned seed = 0;
};
struct RaceRequest {
  std::vector<Trial> trials;
  RaceOptions options;
  bool with_baseline = false;
};

struct CompareRequest {
  Trial pick;
  CublasQuestion question;
};

Request encode_begin(const Workload& problem, const MeasureOptions& options);
Request encode_cubin(const Cubin& cubin);
Request encode_check(std::span<const Trial> trials, unsigned seed);
Request encode_race(std::span<const Trial> trials, const RaceOptions& options, bool with_baseline);
Request encode_compare(const Trial& pick, const CublasQuestion& question);

// The inverse functions. They throw Error for bytes that no encoder writes, and for a trial whose cubin is not in
// `cubins`.
BeginRequest decode_begin(std::span<const std::byte> body);
Cubin decode_cubin(std::span<const std::byte> body);
CheckRequest decode_check(std::span<const std::byte> body, const Cubins& cubins);
RaceRequest decode_race(std::span<const std::byte> body, const Cubins& cubins);
CompareRequest decode_compare(std::span<const std::byte> body, const Cubins& cubins);

Reply encode_facts(const GpuFacts& facts);
GpuFacts decode_facts(const Reply& reply);

/// The report of row `row`, and the power limit of the race.
Reply encode_blocks(std::size_t row, const BlockReport& report, double power_limit_w);
void decode_blocks(const Reply& reply, BlockReport& report, double& power_limit_w);

Reply encode_comparison(const CublasComparison& comparison);
CublasComparison decode_comparison(const Reply& reply);

Reply encode_error(ReplyKind kind, ErrorCode code, std::string_view message);
Error decode_error(const Reply& reply);

}  // namespace hotgemm
