#include "meeting.h"

#include <algorithm>
#include <utility>

namespace openimb::fake {

void Verdict::disagree(const std::string& what) {
  const std::scoped_lock lock(mutex_);
  if (text_.empty()) text_ = what;
  changed_.notify_all();
}

std::string Verdict::text() const {
  const std::scoped_lock lock(mutex_);
  return text_;
}

Meeting::Meeting(std::string name, int ranks, Verdict& verdict, std::chrono::milliseconds patience)
    : name_(std::move(name)),
      verdict_(verdict),
      patience_(patience),
      calls_(static_cast<std::size_t>(ranks)),
      left_(static_cast<std::size_t>(ranks)),
      arrived_(static_cast<std::size_t>(ranks)) {}

// All meetings of a launch share one lock, because a test has few ranks and a disagreement wakes them all.
std::vector<Value> Meeting::exchange(int rank, const std::string& call, Value mine) {
  std::unique_lock lock(verdict_.mutex_);
  if (!verdict_.text_.empty()) throw Disagreement(verdict_.text_);
  const std::int64_t generation = generation_;
  arrive(rank, call, std::move(mine));
  const auto decided = [&] { return generation_ != generation || !verdict_.text_.empty(); };
  if (!verdict_.changed_.wait_for(lock, patience_, decided)) report_missing("did not come");
  if (generation_ == generation) throw Disagreement(verdict_.text_);
  return complete_;
}

void Meeting::arrive(int rank, const std::string& call, Value mine) {
  calls_[static_cast<std::size_t>(rank)].push_back(call);
  const bool first = std::ranges::none_of(arrived_, [](const auto& value) { return value.has_value(); });
  if (first) call_ = call;
  if (call != call_ && verdict_.text_.empty()) {
    verdict_.text_ = name_ + ": rank " + std::to_string(rank) + " calls " + call + ", others " + call_;
    verdict_.changed_.notify_all();
    return;
  }
  arrived_[static_cast<std::size_t>(rank)] = std::move(mine);
  if (std::ranges::all_of(arrived_, [](const auto& value) { return value.has_value(); })) {
    complete_.clear();
    for (std::optional<Value>& value : arrived_) complete_.push_back(*std::exchange(value, std::nullopt));
    ++generation_;
    verdict_.changed_.notify_all();
    return;
  }
  for (std::size_t i = 0; i < left_.size(); ++i) {
    if (left_[i]) return report_missing("have ended");
  }
}

void Meeting::leave(int rank) {
  const std::scoped_lock lock(verdict_.mutex_);
  left_[static_cast<std::size_t>(rank)] = true;
  const bool waiting = std::ranges::any_of(arrived_, [](const auto& value) { return value.has_value(); });
  if (waiting) report_missing("have ended");
}

void Meeting::report_missing(const char* why) {
  if (!verdict_.text_.empty()) return;
  verdict_.text_ = name_ + ": " + call_ + ": these ranks " + why + ":";
  for (std::size_t i = 0; i < arrived_.size(); ++i) {
    if (!arrived_[i]) verdict_.text_ += " " + std::to_string(i);
  }
  verdict_.changed_.notify_all();
}

namespace {

template <class T>
std::vector<T> at_root(int rank, const std::vector<Value>& values) {
  std::vector<T> all;
  for (const Value& value : values) {
    if (rank == 0) all.push_back(std::get<T>(value));
  }
  return all;
}

}  // namespace

double ThreadProcessGroup::allreduce_max(double mine) {
  double largest = mine;
  for (const Value& value : meeting_.exchange(rank_, "largest", mine)) {
    largest = std::max(largest, std::get<double>(value));
  }
  return largest;
}

std::vector<double> ThreadProcessGroup::gather(double mine) {
  return at_root<double>(rank_, meeting_.exchange(rank_, "gather a number", mine));
}

std::vector<std::string> ThreadProcessGroup::gather(const std::string& mine) {
  return at_root<std::string>(rank_, meeting_.exchange(rank_, "gather text", mine));
}

std::vector<double> ThreadProcessGroup::reduce_max(std::span<const double> mine) {
  const std::string call = "slowest of " + std::to_string(mine.size());
  std::vector<double> slowest(mine.begin(), mine.end());
  for (const Value& value : meeting_.exchange(rank_, call, slowest)) {
    const auto& theirs = std::get<std::vector<double>>(value);
    for (std::size_t i = 0; i < slowest.size(); ++i) slowest[i] = std::max(slowest[i], theirs[i]);
  }
  if (rank_ != 0) slowest.clear();
  return slowest;
}

void ThreadProcessGroup::broadcast(std::span<std::byte> bytes) {
  const std::string call = "broadcast of " + std::to_string(bytes.size());
  std::string mine(bytes.size(), '\0');
  std::ranges::copy(bytes, std::as_writable_bytes(std::span(mine)).begin());
  std::string all = std::get<std::string>(meeting_.exchange(rank_, call, mine).front());
  std::ranges::copy(std::as_bytes(std::span(all)), bytes.begin());
}

}  // namespace openimb::fake
