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

// What passes between a process that tunes and the worker that measures for it. Both are the same program, so numbers
// travel as they lie in memory.

namespace hotgemm {

enum class RequestKind : std::uint32_t { hello, begin, cubin, check, race, end };

/// Goes before each request; its body follows. Every request is answered by replies up to `done`, except cubin, which
/// is not answered.
struct RequestHeader {
  static constexpr std::uint32_t kMagic = 0x31574748;  // "HGW1"
  std::uint32_t magic = kMagic;
  RequestKind kind = RequestKind::end;
  std::uint64_t body_bytes = 0;
};

enum class ReplyKind : std::uint32_t {
  facts,    ///< to hello: text holds the GPU's facts
  step,     ///< the worker is about to run `trial`, or what is no single trial's
  verdict,  ///< on `trial`: its stage, and in text the reason, if it is not sound
  sample,   ///< row `trial` of the race took `us` in `round`
  failure,  ///< row `trial` of the race was not, or no longer, timed; why is in text
  done,     ///< the end of the answer; text names the baseline; of a race: `trial` rows, `round` rounds
  error,    ///< instead of done: the request failed with `code`, and text says why; the worker goes on
  fatal,    ///< the same, and the worker ends
};

/// What the worker answers with: all of one size.
struct Reply {
  static constexpr std::uint32_t kMagic = 0x31525748;  // "HWR1"
  static constexpr std::int32_t kNoTrial = -1;

  std::uint32_t magic = kMagic;
  ReplyKind kind = ReplyKind::done;
  std::int32_t trial = kNoTrial;  ///< its place in the request
  std::int32_t stage = 0;
  std::int32_t round = 0;
  std::int32_t code = 0;
  double us = 0;
  std::uint32_t text_bytes = 0;
  std::array<char, 988> text_buffer{};

  /// Cut where it is too long.
  void set_text(std::string_view text);
  std::string_view text() const;
  bool is_intact() const;
};
static_assert(std::is_trivially_copyable_v<Reply> && sizeof(Reply) == 1024);

/// Puts numbers and texts one after the other.
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

/// Reads them in the order in which they were written. Throws Error{internal} where the bytes end too early.
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

/// The cubins that a worker holds, by symbol, from begin to begin.
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

Request encode_begin(const Workload& problem, const MeasureOptions& options);
Request encode_cubin(const Cubin& cubin);
Request encode_check(std::span<const Trial> trials, unsigned seed);
Request encode_race(std::span<const Trial> trials, const RaceOptions& options, bool with_baseline);

// The inverses. Throw Error for what no encoder writes, and for a trial whose cubin is not among `cubins`.
BeginRequest decode_begin(std::span<const std::byte> body);
Cubin decode_cubin(std::span<const std::byte> body);
CheckRequest decode_check(std::span<const std::byte> body, const Cubins& cubins);
RaceRequest decode_race(std::span<const std::byte> body, const Cubins& cubins);

Reply encode_facts(const GpuFacts& facts);
GpuFacts decode_facts(const Reply& reply);

Reply encode_error(ReplyKind kind, ErrorCode code, std::string_view message);
Error decode_error(const Reply& reply);

}  // namespace hotgemm
