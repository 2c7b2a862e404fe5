#include "tuning_control.hpp"

#include "base/moment.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <string>

namespace hotgemm {
namespace {

constexpr double kMostSeconds = 1e6;  // of a tuning: set apart and given back, it leaves the sums exact enough

double checked_total(double seconds) {
  if (seconds >= 0) return seconds;
  throw Error(ErrorCode::invalid_argument,
              "tuning_total_s is " + std::to_string(seconds) + " s; it must be a number from 0");
}

}  // namespace

TuningControl::Share::~Share() {
  if (control_ == nullptr) return;
  control_->end(seconds_, seconds_since(start_));
}

TuningControl::TuningControl(double total_s) : total_s_(checked_total(total_s)), may_begin_(total_s > 0) {}

TuningControl::Share TuningControl::begin(double most_s) {
  const std::lock_guard lock(mutex_);
  if (is_paused_ || !(left() > 0)) return {nullptr, 0, generation()};
  const double seconds = most_s > 0 ? std::min({most_s, left(), kMostSeconds}) : 0;
  set_apart_s_ += seconds;
  changed();
  return {this, seconds, generation()};
}

void TuningControl::add_used(double seconds) { end(0, seconds); }

void TuningControl::end(double set_apart_s, double used_s) {
  const std::lock_guard lock(mutex_);
  set_apart_s_ = std::max(set_apart_s_ - set_apart_s, 0.0);
  used_s_ += used_s;
  changed();
}

double TuningControl::used_s() const {
  const std::lock_guard lock(mutex_);
  return used_s_;
}

double TuningControl::left_s() const {
  const std::lock_guard lock(mutex_);
  return left();
}

double TuningControl::left() const { return std::max(total_s_ - used_s_ - set_apart_s_, 0.0); }

void TuningControl::changed() { may_begin_.store(!is_paused_ && left() > 0, std::memory_order_release); }

void TuningControl::pause() {
  const std::lock_guard lock(mutex_);
  is_paused_ = true;
  changed();
}

void TuningControl::resume() {
  const std::lock_guard lock(mutex_);
  is_paused_ = false;
  changed();
}

bool TuningControl::is_paused() const {
  const std::lock_guard lock(mutex_);
  return is_paused_;
}

void TuningControl::cancel() {
  const std::lock_guard lock(mutex_);
  generation_.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace hotgemm
