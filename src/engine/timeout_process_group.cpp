#include "engine/timeout_process_group.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "engine/mpi_process_group.h"
#include "mpi/errors.h"
#include "mpi/optional.h"

namespace openimb {

namespace {

constexpr int request_tag = 1, answer_tag = 2, verdict_tag = 3, group_tag = 4, heartbeat_tag = 5;
// Multiple of TimeoutProcessGroup's `seconds`. It is above 1 because rank 0 may be waiting for ranks that do
// not respond.
constexpr double rank_0_timeout_factor = 4;

/// Measures seconds of waiting. Time in which this process does not run hardly counts, because the whole job
/// may be suspended.
class WaitTimer {
 public:
  double seconds() {
    constexpr double max_between_calls = 0.5;
    const Clock::time_point now = Clock::now();
    sum_ += std::min(max_between_calls, std::chrono::duration<double>(now - last_).count());
    last_ = now;
    return sum_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
  double sum_ = 0;
};

MPI_Comm duplicate_of(const Communicator& world) {
  MPI_Comm duplicate = MPI_COMM_NULL;
  MPI_Comm_dup(world.handle(), &duplicate);
  make_errors_fatal_on_comm(duplicate);
  return duplicate;
}

[[noreturn]] void sleep_until_job_ends() {
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
}

}  // namespace

/// A pending collective call and its buffers.
struct TimeoutProcessGroup::Call {
  std::vector<double> out, in;
  std::string text_out, text_in;
  int length = 0;
  std::vector<int> lengths, offsets;
  MPI_Request request = MPI_REQUEST_NULL;
};

/// A message of a liveness check that is being sent.
struct TimeoutProcessGroup::Message {
  std::vector<int> numbers;
  MPI_Request request = MPI_REQUEST_NULL;
};

/// Exists while this rank is within a polled call.
class TimeoutProcessGroup::Polling {
 public:
  explicit Polling(const TimeoutProcessGroup& owner) : owner_(owner) { owner_.set_watchdog_(false); }
  ~Polling() { owner_.set_watchdog_(true); }
  Polling(const Polling&) = delete;
  Polling& operator=(const Polling&) = delete;

 private:
  const TimeoutProcessGroup& owner_;
};

TimeoutProcessGroup::TimeoutProcessGroup(const Communicator& world, double seconds,
                                         std::function<void(bool)> set_watchdog)
    : check_comm_(duplicate_of(world)),
      rank_(world.rank()),
      ranks_(world.size()),
      seconds_(seconds),
      set_watchdog_(std::move(set_watchdog)),
      comm_(duplicate_of(world)),
      present_(static_cast<std::size_t>(ranks_)) {
  std::iota(present_.begin(), present_.end(), 0);
  set_watchdog_(true);
}

// If ranks are lost, it frees nothing, because the collective calls would wait for these ranks.
TimeoutProcessGroup::~TimeoutProcessGroup() {
  set_watchdog_(false);
  if (!is_whole()) return;
  for (const auto& message : sent_) MPI_Wait(&message->request, MPI_STATUS_IGNORE);
  MPI_Comm comm = check_comm_;
  MPI_Comm_free(&comm);
  MPI_Comm_free(&comm_);
}

std::unique_ptr<TimeoutProcessGroup::Call> TimeoutProcessGroup::complete(std::unique_ptr<Call> call,
                                                                         const Start& start) {
  const Polling polling(*this);
  start(*call, comm_);
  try {
    finish(*call);
  } catch (const UnresponsiveRanks&) {
    abandoned_.push_back(std::move(call));
    throw;
  }
  return call;
}

// Polls until the call is complete. A rank that waits long sleeps between polls, to leave the CPU to ranks
// that measure. The last barrier before a timed loop is never such a long wait, because another barrier
// precedes it (N_BARR).
void TimeoutProcessGroup::finish(Call& call) {
  constexpr int tests_between_looks = 100;
  constexpr double long_seconds = 0.01;
  constexpr std::chrono::microseconds pause(50);
  WaitTimer waiting;
  for (int tests = 1;; ++tests) {
    int done = 0;
    MPI_Test(&call.request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    if (tests % tests_between_looks != 0) continue;
    const double waited = waiting.seconds();
    if (waited < long_seconds) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(pause);
    if (rank_ == 0 && waited > seconds_) {
      check_liveness();
    } else if (rank_ != 0 && check_is_requested()) {
      answer_check();
    } else if (rank_ != 0 && rank_0_responds()) {
      // Rank 0 responds: it only waits for its output, in wait_for().
    } else if (waited > rank_0_timeout_factor * seconds_) {
      throw std::runtime_error("rank 0 does not answer (-pair_timeout)");
    } else {
      continue;
    }
    waiting = {};
  }
}

void TimeoutProcessGroup::wait_for(const std::function<bool(double seconds)>& is_over) {
  const Polling polling(*this);
  while (!is_over(seconds_)) {
    free_sent_messages();
    for (const int rank : present_) {
      if (rank != 0) send(rank, heartbeat_tag, {});
    }
  }
}

// Receives the heartbeats that wait_for() sends. Returns whether there was one.
bool TimeoutProcessGroup::rank_0_responds() {
  bool responds = false;
  for (; has_arrived(0, heartbeat_tag); responds = true) receive(0, heartbeat_tag);
  return responds;
}

// Frees the messages that are sent. Rank 0 may wait for hours and send many heartbeats.
void TimeoutProcessGroup::free_sent_messages() {
  std::erase_if(sent_, [](const auto& message) {
    int done = 0;
    MPI_Test(&message->request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
}

// The liveness check, which rank 0 runs. Throws unless all ranks answer.
void TimeoutProcessGroup::check_liveness() {
  ++check_;
  for (const int rank : present_) {
    if (rank != 0) send(rank, request_tag, {check_});
  }
  const std::vector<int> unresponsive = unresponsive_ranks();
  const bool in_step = std::ranges::all_of(steps_, [this](int step) { return step == step_; });
  std::vector<int> verdict = {in_step ? 1 : 0};
  verdict.insert(verdict.end(), unresponsive.begin(), unresponsive.end());
  for (const int rank : present_) {
    if (rank != 0) send(rank, verdict_tag, verdict);
  }
  if (unresponsive.empty()) return;
  if (!in_step) throw std::runtime_error("a rank stopped responding during a collective call");
  exclude(unresponsive);
}

// Waits for answers, and returns the ranks that do not answer within seconds_.
std::vector<int> TimeoutProcessGroup::unresponsive_ranks() {
  std::vector<int> unresponsive(present_.begin() + 1, present_.end());
  steps_.clear();
  for (WaitTimer waiting; !unresponsive.empty() && waiting.seconds() < seconds_;) {
    std::erase_if(unresponsive, [this](int rank) {
      while (has_arrived(rank, answer_tag)) {
        const std::vector<int> answer = receive(rank, answer_tag);
        if (answer.front() != check_) continue;
        steps_.push_back(answer.back());
        return true;
      }
      return false;
    });
    std::this_thread::yield();
  }
  return unresponsive;
}

bool TimeoutProcessGroup::check_is_requested() const { return has_arrived(0, request_tag); }

// Answers the liveness check of rank 0. Throws if other ranks do not answer. Rank 0 ends each check with one
// verdict, and verdicts arrive in order.
void TimeoutProcessGroup::answer_check() {
  const int check = receive(0, request_tag).front();
  send(0, answer_tag, {check, step_});
  for (WaitTimer waiting; !has_arrived(0, verdict_tag);) {
    if (waiting.seconds() > rank_0_timeout_factor * seconds_) {
      throw std::runtime_error("rank 0 does not answer (-pair_timeout)");
    }
    std::this_thread::yield();
  }
  const std::vector<int> verdict = receive(0, verdict_tag);
  const std::span unresponsive = std::span(verdict).subspan(1);
  if (unresponsive.empty()) return;
  // Rank 0 reports the reason and ends the job.
  if (verdict.front() == 0 || std::ranges::count(unresponsive, rank_) > 0) sleep_until_job_ends();
  exclude(unresponsive);
}

void TimeoutProcessGroup::exclude(std::span<const int> unresponsive) {
  std::erase_if(present_, [&](int rank) { return std::ranges::count(unresponsive, rank) > 0; });
  MPI_Group all = MPI_GROUP_NULL, present = MPI_GROUP_NULL;
  MPI_Comm_group(check_comm_, &all);
  MPI_Group_incl(all, static_cast<int>(present_.size()), present_.data(), &present);
  set_watchdog_(true);
  MPI_Comm_create_group(check_comm_, present, group_tag, &comm_);
  make_errors_fatal_on_comm(comm_);
  set_watchdog_(false);
  MPI_Group_free(&all);
  MPI_Group_free(&present);
  throw UnresponsiveRanks{{unresponsive.begin(), unresponsive.end()}};
}

void TimeoutProcessGroup::send(int to, int tag, std::vector<int> numbers) {
  Message& message = *sent_.emplace_back(std::make_unique<Message>());
  message.numbers = std::move(numbers);
  MPI_Isend(message.numbers.data(), static_cast<int>(message.numbers.size()), MPI_INT, to, tag, check_comm_,
            &message.request);
}

bool TimeoutProcessGroup::has_arrived(int from, int tag) const {
  int arrived = 0;
  MPI_Iprobe(from, tag, check_comm_, &arrived, MPI_STATUS_IGNORE);
  return arrived != 0;
}

std::vector<int> TimeoutProcessGroup::receive(int from, int tag) const {
  MPI_Status status;
  MPI_Probe(from, tag, check_comm_, &status);
  int count = 0;
  MPI_Get_count(&status, MPI_INT, &count);
  std::vector<int> numbers(static_cast<std::size_t>(count));
  MPI_Recv(numbers.data(), count, MPI_INT, from, tag, check_comm_, MPI_STATUS_IGNORE);
  return numbers;
}

void TimeoutProcessGroup::barrier() {
  complete(std::make_unique<Call>(), [](Call& call, MPI_Comm comm) { MPI_Ibarrier(comm, &call.request); });
  ++step_;
}

std::vector<double> TimeoutProcessGroup::reduce(std::span<const double> mine) {
  auto call = std::make_unique<Call>();
  call->out.assign(mine.begin(), mine.end());
  call->in = call->out;
  call = complete(std::move(call), [](Call& pending, MPI_Comm comm) {
    MPI_Iallreduce(pending.out.data(), pending.in.data(), static_cast<int>(pending.out.size()), MPI_DOUBLE,
                   MPI_MAX, comm, &pending.request);
  });
  ++step_;
  return call->in;
}

double TimeoutProcessGroup::allreduce_max(double mine) { return reduce({&mine, 1}).front(); }

std::vector<double> TimeoutProcessGroup::reduce_max(std::span<const double> mine) {
  const std::vector<double> all = reduce(mine);
  return rank_ == 0 ? all : std::vector<double>();
}

// Returns the texts by world rank, at rank 0. The barrier keeps ranks in step: a call that has ended on one
// rank has begun on all.
std::vector<std::string> TimeoutProcessGroup::gather(const std::string& mine) {
  auto call = std::make_unique<Call>();
  call->text_out = mine;
  call->length = static_cast<int>(mine.size());
  call->lengths.resize(rank_ == 0 ? present_.size() : 0);
  call = complete(std::move(call), [](Call& pending, MPI_Comm comm) {
    MPI_Igather(&pending.length, 1, MPI_INT, pending.lengths.data(), 1, MPI_INT, 0, comm, &pending.request);
  });
  call->offsets = offsets_of(call->lengths);
  if (rank_ == 0) call->text_in.resize(static_cast<std::size_t>(call->offsets.back() + call->lengths.back()));
  call = complete(std::move(call), [](Call& pending, MPI_Comm comm) {
    MPI_Igatherv(pending.text_out.data(), pending.length, MPI_CHAR, pending.text_in.data(),
                 pending.lengths.data(), pending.offsets.data(), MPI_CHAR, 0, comm, &pending.request);
  });
  barrier();
  std::vector<std::string> all(rank_ == 0 ? static_cast<std::size_t>(ranks_) : 0);
  for (std::size_t i = 0; i < call->lengths.size(); ++i) {
    all[static_cast<std::size_t>(present_[i])] = call->text_in.substr(call->offsets[i], call->lengths[i]);
  }
  return all;
}

void TimeoutProcessGroup::broadcast(std::span<std::byte> bytes) {
  auto call = std::make_unique<Call>();
  call->text_in.resize(bytes.size());
  std::ranges::copy(std::as_bytes(std::span(bytes)),
                    std::as_writable_bytes(std::span(call->text_in)).begin());
  call = complete(std::move(call), [](Call& pending, MPI_Comm comm) {
    MPI_Ibcast(pending.text_in.data(), static_cast<int>(pending.text_in.size()), MPI_CHAR, 0, comm,
               &pending.request);
  });
  barrier();
  std::ranges::copy(std::as_bytes(std::span(call->text_in)), bytes.begin());
}

}  // namespace openimb
