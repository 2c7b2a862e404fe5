#pragma once

// The products of a k-tile. `wgmma` reads the columns of an instruction from shared memory, and its rows too. But where
// rows of 8 or 32 bits lie along m (or n), `wgmma` cannot read them: lanes load them into registers.

#include "ptx/convert.hpp"
#include "ptx/math.hpp"
#include "ptx/memory.hpp"
#include "ptx/mma.hpp"
#include "ptx/warp.hpp"
#include "ptx/wgmma.hpp"
#include "shared/fragment.hpp"
#include "shared/wgmma_config.hpp"

namespace hotgemm {

/// The parts of the tiles of A and B in a stage that one consumer multiplies.
template <GemmTraits kTraits, WgmmaConfig kConfig>
class StagedOperands {
  static constexpr WgmmaTile kTileA = kConfig.a_tile(kTraits), kTileB = kConfig.b_tile(kTraits);

 protected:
  static constexpr WgmmaTile kRowTile = kConfig.row_tile(kTraits);        // an instruction reads 64 rows of this tile,
  static constexpr WgmmaTile kColumnTile = kConfig.column_tile(kTraits);  // and the consumer's whole part of this one
  static constexpr int kInstructions = kConfig.instructions();            // per k-step
  static constexpr int kKSteps = kTileA.k_steps();
  static constexpr int kPromotedSteps = kPromotedK / kTileA.step_elements();
  static constexpr u32 kStageBytes = kConfig.stage_bytes(kTraits);

  /// The descriptors of the consumer's part of A, and of B, in the first stage.
  static HOTGEMM_DEVICE u64 part_of_a(u32 shared, int consumer) {
    return kTileA.descriptor(shared) + descriptor_step(kTileA.offset_bytes(kConfig.first_row(consumer), 0));
  }
  static HOTGEMM_DEVICE u64 part_of_b(u32 shared, int consumer) {
    return kTileB.descriptor(shared + kTileA.bytes()) +
           descriptor_step(kTileB.offset_bytes(kConfig.first_col(consumer), 0));
  }
  /// The address of the consumer's rows in the first stage.
  static HOTGEMM_DEVICE u32 first_row(u32 shared, int consumer) {
    const int first = kConfig.transposed ? kConfig.first_col(consumer) : kConfig.first_row(consumer);
    return shared + (kConfig.transposed ? kTileA.bytes() : 0) + kRowTile.offset_bytes(first, 0);
  }
};

/// Products of rows and columns that `wgmma` reads from shared memory.
template <class Instruction, GemmTraits kTraits, WgmmaConfig kConfig>
class SharedProducts : StagedOperands<kTraits, kConfig> {
  using Base = StagedOperands<kTraits, kConfig>;
  static constexpr int kInstructions = Base::kInstructions;

 public:
  /// `shared` is the address of the first stage, `thread` the number in the consumer.
  HOTGEMM_DEVICE SharedProducts(u32 shared, int consumer, int /*thread*/)
      : SharedProducts(Base::part_of_a(shared, consumer), Base::part_of_b(shared, consumer)) {}

  /// Called in front of an item's first products.
  template <class Accumulator>
  HOTGEMM_DEVICE void begin(Accumulator (&)[kInstructions], bool /*has_products*/) const {}

  /// Begins products of a k-tile, which are added to the sums if `continues`. Those of the k-tile before have ended
  /// when it returns.
  template <class Accumulator>
  HOTGEMM_DEVICE void begin_k_tile(Accumulator (&sums)[kInstructions], u32 stage, bool continues) const {
    const u64 distance = descriptor_step(Base::kStageBytes) * stage;
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < Base::kKSteps; ++step) {
#pragma unroll
      for (int i = 0; i < kInstructions; ++i)
        Instruction::mma_async(sums[i].d, row(distance, i, step), column(distance, step), continues || step > 0);
    }
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();
  }
  /// Begins the products of the k-tile that are left.
  template <class Accumulator>
  HOTGEMM_DEVICE void continue_k_tile(Accumulator (&)[kInstructions], u32 /*stage*/, bool /*continues*/) const {}

  /// Begins the products of an interval of a k-tile by instruction `i` alone, which overwrite `part`.
  template <class Accumulator>
  HOTGEMM_DEVICE void multiply_part(Accumulator& part, int i, int interval, u32 stage) const {
    const u64 distance = descriptor_step(Base::kStageBytes) * stage;
    ptx::wgmma_fence();  // before, `part` was read
    const int first = interval * Base::kPromotedSteps;
#pragma unroll
    for (int step = first; step < first + Base::kPromotedSteps; ++step)
      Instruction::mma_async(part.d, row(distance, i, step), column(distance, step), step > first);
    ptx::wgmma_commit_group();
  }

  /// Called before a stage is given back, all of whose products have ended, and whose scales have been added.
  HOTGEMM_DEVICE void meet() const {
    if constexpr (kTraits.epilogue.has_block_scales()) ptx::bar_warp_sync(~0u);
  }

  /// Puts the sums of an item into the places of `accumulator_element`. Called when all products have ended.
  template <class Accumulator>
  HOTGEMM_DEVICE void finish(Accumulator (&)[kInstructions]) const {}

 private:
  HOTGEMM_DEVICE SharedProducts(u64 a, u64 b)
      : rows_(kConfig.transposed ? b : a), columns_(kConfig.transposed ? a : b) {}

  HOTGEMM_DEVICE u64 row(u64 distance, int i, int step) const {
    return rows_ + distance + descriptor_step(Base::kRowTile.offset_bytes(i * kWgmmaM, step));
  }
  HOTGEMM_DEVICE u64 column(u64 distance, int step) const {
    return columns_ + distance + descriptor_step(Base::kColumnTile.offset_bytes(0, step));
  }

  u64 rows_, columns_;
};

/// Products of rows that lanes load into registers. While a product is in flight, lanes load the rows of the next one.
///
/// Bytes come in pairs that lie beside each other along m (or n), and a lane takes both: rows 2g and 2g + 1 of each 16,
/// where an instruction has rows g and g + 8. `finish` mends that.
template <class Instruction, GemmTraits kTraits, WgmmaConfig kConfig>
class LoadedProducts : StagedOperands<kTraits, kConfig> {
  using Base = StagedOperands<kTraits, kConfig>;
  using Fragment = u32[4];
  static constexpr WgmmaTile kRowTile = Base::kRowTile;
  static constexpr int kInstructions = Base::kInstructions, kKSteps = Base::kKSteps;
  static constexpr bool kOfBytes = kConfig.exchanges_sums(kTraits);
  static constexpr int kStepBytes = kRowTile.step_elements() * kRowTile.swizzle_bytes;  // from a k-step to the next one
  // While lanes load a fragment, the products of two others are in flight. With `promote` each k-step has a fragment.
  static constexpr int kFragments = 4, kProducts = kInstructions * kKSteps;
  static_assert(kKSteps % kFragments == 0 && (!kConfig.promote || kKSteps == kFragments));

  // From a lane's first word of a k-step to that of its other row, and to its second word along k, as bits of swizzled
  // addresses: eight words to the right, and four rows below.
  static constexpr u32 kOtherRow = 8 * 4, kOtherWord = 4 * 128 | 4 * 16;

 public:
  HOTGEMM_DEVICE LoadedProducts(u32 shared, int consumer, int thread)
      : first_row_(Base::first_row(shared, consumer)),
        columns_(kConfig.transposed ? Base::part_of_a(shared, consumer) : Base::part_of_b(shared, consumer)),
        lane_(thread % kWarpSize),
        place_(kOfBytes ? place_of_bytes(thread) : place_of_words(thread)) {}

  // As in SharedProducts.

  template <class Accumulator>
  HOTGEMM_DEVICE void begin(Accumulator (&sums)[kInstructions], bool has_products) const {
#pragma unroll
    for (Accumulator& sum : sums) {
#pragma unroll
      for (auto& d : sum.d) ptx::forget(d);
    }
    if (has_products) return;
#pragma unroll
    for (Accumulator& sum : sums) sum = {};
  }

  template <class Accumulator>
  HOTGEMM_DEVICE void begin_k_tile(Accumulator (&sums)[kInstructions], u32 stage, bool continues) {
    meet();  // the stage of the k-tile before is given back next
    load_product(0, stage);
    multiply(sums, 0, stage, continues);
  }
  template <class Accumulator>
  HOTGEMM_DEVICE void continue_k_tile(Accumulator (&sums)[kInstructions], u32 stage, bool continues) {
#pragma unroll
    for (int product = 1; product < kProducts; ++product) multiply(sums, product, stage, continues);
  }

  template <class Accumulator>
  HOTGEMM_DEVICE void multiply_part(Accumulator& part, int i, int /*interval*/, u32 stage) {
#pragma unroll
    for (int step = 0; step < kKSteps; ++step) {
      load(fragments_[step], i, stage, step);
      ptx::wgmma_fence();
      Instruction::mma_async(part.d, fragments_[step], column(stage, step), step > 0);
    }
    ptx::wgmma_commit_group();
  }

  /// All lanes have loaded their rows. Where products are in flight, a barrier right before the thread that gives a
  /// stage back would make the compiler serialise them (C7513).
  HOTGEMM_DEVICE void meet() const { ptx::bar_warp_sync(~0u); }

  template <class Accumulator>
  HOTGEMM_DEVICE void finish(Accumulator (&sums)[kInstructions]) const {
    if constexpr (kOfBytes) {
#pragma unroll
      for (Accumulator& sum : sums) {
#pragma unroll
        for (int pair = 0; pair < static_cast<int>(sizeof sum.d / sizeof sum.d[0]); pair += 4) {
          exchange(sum.d[pair], sum.d[pair + 2]);
          exchange(sum.d[pair + 1], sum.d[pair + 3]);
        }
      }
    }
  }

 private:
  HOTGEMM_DEVICE u64 column(u32 stage, int step) const {
    return columns_ + descriptor_step(Base::kStageBytes) * stage +
           descriptor_step(Base::kColumnTile.offset_bytes(0, step));
  }

  /// The place of a lane's row address, or of its first word, from the first row and k of an instruction on.
  static HOTGEMM_DEVICE u32 place_of_bytes(int thread) {
    const int row = ldmatrix_swizzled_bytes_lane(thread % kWarpSize).row;
    return swizzled(row * kRowTile.swizzle_bytes + thread / kWarpSize * kMmaM);
  }
  static HOTGEMM_DEVICE u32 place_of_words(int thread) {
    const int row = swizzled_words_row(thread % kWarpSize), warp = thread / kWarpSize, words = kMmaM * 4;
    const int slab = warp * words / kRowTile.swizzle_bytes, column = warp * words % kRowTile.swizzle_bytes;
    return slab * kRowTile.slab_bytes() + swizzled(row * kRowTile.swizzle_bytes + column + thread % kWarpSize / 4 * 4);
  }
  static HOTGEMM_DEVICE u32 swizzled(int place) {
    return static_cast<u32>(swizzled_offset(place, kRowTile.swizzle_bytes));
  }

  /// Begins a product of a k-tile, loads the rows of the next one, and waits for the product before.
  template <class Accumulator>
  HOTGEMM_DEVICE void multiply(Accumulator (&sums)[kInstructions], int product, u32 stage, bool continues) {
    const int step = product / kInstructions;
    ptx::wgmma_fence();
    Instruction::mma_async(sums[product % kInstructions].d, fragments_[product % kFragments], column(stage, step),
                           continues || step > 0);
    ptx::wgmma_commit_group();
    if (product + 1 < kProducts) load_product(product + 1, stage);
    ptx::wgmma_wait_group<1>();
  }
  HOTGEMM_DEVICE void load_product(int product, u32 stage) {
    load(fragments_[product % kFragments], product % kInstructions, stage, product / kInstructions);
  }
  /// Loads the 64 rows of instruction `i` at a k-step.
  HOTGEMM_DEVICE void load(Fragment& fragment, int i, u32 stage, int step) const {
    const int first = i * kWgmmaM;
    const u32 slab = first_row_ + stage * Base::kStageBytes + first / kRowTile.slab_elements() * kRowTile.slab_bytes() +
                     step * kStepBytes;
    const u32 in_slab = place_ ^ first % kRowTile.slab_elements() * kRowTile.element_bytes;
    kOfBytes ? load_bytes(fragment, slab, in_slab) : load_words(fragment, slab, in_slab);
  }
  HOTGEMM_DEVICE void load_bytes(Fragment& fragment, u32 slab, u32 place) const {
    const bool is_exchanged = lane_ % 4 >= 2;
    const u32 first_bytes = is_exchanged ? 0x2064 : 0x6420, second_bytes = is_exchanged ? 0x3175 : 0x7531;
    u32 pairs[4];
    ptx::ldmatrix_x4_trans(pairs, slab + place);
#pragma unroll
    for (int k_half = 0; k_half < 2; ++k_half) {
      const u32 low = pairs[2 * k_half], high = pairs[2 * k_half + 1];
      fragment[fragment_register(true, 0, k_half)] = ptx::prmt_b32(low, high, first_bytes);
      fragment[fragment_register(true, 1, k_half)] = ptx::prmt_b32(low, high, second_bytes);
    }
  }
  HOTGEMM_DEVICE void load_words(Fragment& fragment, u32 slab, u32 place) const {
    const bool is_exchanged = lane_ % 2 != 0;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const u32 row = place ^ half * kOtherRow;
      const u32 first = ptx::ld_shared_b32(slab + row), second = ptx::ld_shared_b32(slab + (row ^ kOtherWord));
      fragment[fragment_register(true, half, 0)] = is_exchanged ? second : first;
      fragment[fragment_register(true, half, 1)] = is_exchanged ? first : second;
    }
  }

  /// Takes the sums of rows 2g and 2g + 1 of a column, and returns those of rows g and g + 8.
  HOTGEMM_DEVICE void exchange(float& low, float& high) const {
    u32 low_bits = ptx::bits_of(low), high_bits = ptx::bits_of(high);
    exchange(low_bits, high_bits);
    low = ptx::float_of(low_bits);
    high = ptx::float_of(high_bits);
  }
  HOTGEMM_DEVICE void exchange(u32& low, u32& high) const {
    // Each lane sends one of its sums to each of two lanes: those that want rows 2g and 2g + 1, or g + 8 of these.
    const int g = lane_ / 4, t = lane_ % 4;
    const bool is_upper = g >= 4, is_odd = g % 2 != 0;
    const u32 first = is_upper ? high : low, second = is_upper ? low : high;
    const u32 from = static_cast<u32>(g / 2 * 4 + t), from_upper = from + 16;
    const u32 one = ptx::shfl_sync_idx_b32(first, is_odd ? from_upper : from, 31, ~0u);
    const u32 other = ptx::shfl_sync_idx_b32(second, is_odd ? from : from_upper, 31, ~0u);
    low = is_odd ? other : one;
    high = is_odd ? one : other;
  }

  u32 first_row_;
  u64 columns_;
  int lane_;
  u32 place_;
  Fragment fragments_[kFragments];
};

template <class Instruction, GemmTraits kTraits, WgmmaConfig kConfig, bool kLoads = kConfig.loads_rows(kTraits)>
struct ProductsOf {
  using Type = SharedProducts<Instruction, kTraits, kConfig>;
};
template <class Instruction, GemmTraits kTraits, WgmmaConfig kConfig>
struct ProductsOf<Instruction, kTraits, kConfig, true> {
  using Type = LoadedProducts<Instruction, kTraits, kConfig>;
};

}  // namespace hotgemm
