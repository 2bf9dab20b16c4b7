// Threads of a team that exchange messages through a stand-in for MPI which takes calls of several threads:
// built with ThreadSanitizer by tests/test_thread_race.py. What races here races in the team, its batch, its
// turns or its rounds.
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "engine/team_batch.h"
#include "thread_mail.h"

using namespace openimb;

namespace {

class PingPong final : public Batch {
 public:
  PingPong(Mail& mail, int rank, int thread, Turn* turn)
      : mail_(mail), rank_(rank), thread_(thread), turn_(turn) {}
  double run(std::int64_t repetitions, Timing, std::span<double> repetition_seconds) override {
    for (std::int64_t i = 0; i < repetitions; ++i) {
      if (turn_ != nullptr) turn_->await(thread_);
      if (rank_ == 0) mail_.send(1, thread_, out_);
      mail_.receive(rank_, thread_, in_);
      if (rank_ == 1) mail_.send(0, thread_, out_);
      if (turn_ != nullptr) turn_->pass(thread_);
    }
    for (double& seconds : repetition_seconds) seconds = thread_;
    return thread_ + 1;
  }
  double run_with_load(std::int64_t, Timing, std::span<double>, LoadUse&) override { return 0; }
  std::int64_t check(std::int64_t repetitions) override {
    run(repetitions, Timing::total, {});
    return in_ == out_ ? 0 : 1;
  }
  bool takes_part() const override { return true; }

 private:
  Mail& mail_;
  const int rank_, thread_;
  Turn* const turn_;
  const std::vector<char> out_ = std::vector<char>(64, static_cast<char>(thread_));
  std::vector<char> in_;
};

int run_rank(Mail& mail, Meeting& ranks, int rank, bool in_turns) {
  constexpr int threads = 4, batches = 30;
  ThreadTeam team(threads);
  int wrong = 0;
  for (int i = 0; i < batches; ++i) {
    auto turn = in_turns ? std::make_unique<Turn>(threads) : nullptr;
    std::vector<std::unique_ptr<Batch>> members;
    for (int thread = 0; thread < threads; ++thread) {
      members.push_back(std::make_unique<PingPong>(mail, rank, thread, turn.get()));
    }
    TeamBatch batch(team, std::move(members), std::move(turn), [&] { ranks.meet(); });
    std::vector<double> samples(5);
    wrong += batch.run(5, Timing::every_repetition, samples) == threads ? 0 : 1;
    wrong += samples.front() == threads - 1 && batch.thread_seconds().size() == threads ? 0 : 1;
    wrong += static_cast<int>(batch.check(3));
  }
  return wrong;
}

// Thread 0 gives out work in rounds and reads what the others made of it, as partitions are marked.
int run_rounds() {
  constexpr int threads = 4, batches = 30, rounds_each = 50;
  ThreadTeam team(threads);
  Rounds rounds(threads);
  int given = 0, wrong = 0;
  std::vector<int> made(threads);
  for (int i = 0; i < batches; ++i) {
    rounds.reset();
    team.run([&](int thread) {
      const auto index = static_cast<std::size_t>(thread);
      if (thread > 0) return rounds.serve([&] { made[index] = given + thread; });
      for (int round = 0; round < rounds_each; ++round) {
        given = round;
        rounds.begin();
        made[index] = given;
        rounds.await();
        for (int other = 0; other < threads; ++other) {
          wrong += made[static_cast<std::size_t>(other)] == round + other ? 0 : 1;
        }
      }
      rounds.end();
    });
  }
  return wrong;
}

}  // namespace

int main() {
  int wrong = run_rounds();
  for (const bool in_turns : {false, true}) {
    Mail mail;
    Meeting ranks;
    int others = 0;
    std::thread other([&] { others = run_rank(mail, ranks, 1, in_turns); });
    wrong += run_rank(mail, ranks, 0, in_turns);
    other.join();
    wrong += others;
  }
  std::printf("%d wrong\n", wrong);
  return wrong;
}
