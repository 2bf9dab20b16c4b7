// Benchmarks of IMB-MT and IMB-MPI4 as their threads run them, with the calls of MPI that they use replaced
// by thread-safe ones: built with ThreadSanitizer by tests/test_thread_race.py. The replacements synchronize
// no more than MPI must: MPI_Pready orders nothing, so what races with a mark is found.
#include <mpi.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "benchmarks/parallel_transfer.h"
#include "benchmarks/partitioned.h"
#include "engine/marking_batch.h"
#include "engine/team_batch.h"
#include "engine/thread_batch.h"
#include "thread_mail.h"

using namespace openimb;

namespace {

constexpr int threads = 3, batches = 20, repetitions = 10, bytes = 64;
Mail mail;
Meeting ranks;
std::atomic<int> wrong{0};
thread_local int this_rank = 0;

// As an MPI with MPI_THREAD_SERIALIZED may do in each call.
struct Serialized {
  bool on = false;
  int calls = 0;
};
std::array<Serialized, 2> serialized;
void enter() {
  Serialized& mine = serialized[static_cast<std::size_t>(this_rank)];
  if (mine.on) ++mine.calls;
}

struct Message {
  char* data = nullptr;
  int parts = 0;  ///< of a send; 0: a receive
  int part_bytes = 0;
  int tag = 0;
  std::vector<char> sent = {};
  std::atomic<int> ready{0};
};
std::array<Message*, 1000> messages{};
std::atomic<int> made{0};

MPI_Request handle_of(int index) {
  MPI_Request request{};
  std::memcpy(&request, &index, sizeof index);
  return request;
}
Message* message_of(const MPI_Request& request) {
  int index = 0;
  std::memcpy(&index, &request, sizeof index);
  return messages[static_cast<std::size_t>(index)];
}
int add(MPI_Request* request, char* data, int parts, int part_bytes, int tag) {
  const int index = ++made;
  messages[static_cast<std::size_t>(index)] =
      new Message{.data = data, .parts = parts, .part_bytes = part_bytes, .tag = tag};
  *request = handle_of(index);
  return MPI_SUCCESS;
}
void receive(char* data, int count, int tag) {
  std::vector<char> arrived;
  mail.receive(this_rank, tag, arrived);
  std::memcpy(data, arrived.data(), static_cast<std::size_t>(count));
}

}  // namespace

extern "C" {

double MPI_Wtime() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
int MPI_Isend(const void* data, int count, MPI_Datatype, int to, int tag, MPI_Comm, MPI_Request* request) {
  enter();
  const auto* const from = static_cast<const char*>(data);
  mail.send(to, tag, {from, from + count});
  *request = handle_of(0);
  return MPI_SUCCESS;
}
int MPI_Recv(void* data, int count, MPI_Datatype, int, int tag, MPI_Comm, MPI_Status*) {
  enter();
  receive(static_cast<char*>(data), count, tag);
  return MPI_SUCCESS;
}
int MPI_Psend_init(const void* data, int parts, MPI_Count count, MPI_Datatype, int, int tag, MPI_Comm,
                   MPI_Info, MPI_Request* request) {
  return add(request, static_cast<char*>(const_cast<void*>(data)), parts, static_cast<int>(count), tag);
}
int MPI_Precv_init(void* data, int, MPI_Count, MPI_Datatype, int, int tag, MPI_Comm, MPI_Info,
                   MPI_Request* request) {
  return add(request, static_cast<char*>(data), 0, bytes, tag);
}
int MPI_Start(MPI_Request* request) {
  Message& message = *message_of(*request);
  message.ready.store(0, std::memory_order_relaxed);
  message.sent.assign(bytes, 0);
  return MPI_SUCCESS;
}
int MPI_Startall(int count, MPI_Request requests[]) {
  for (int i = 0; i < count; ++i) MPI_Start(&requests[i]);
  return MPI_SUCCESS;
}
int MPI_Pready(int part, MPI_Request request) {
  Message& message = *message_of(request);
  const int at = part * message.part_bytes;
  std::memcpy(message.sent.data() + at, message.data + at, static_cast<std::size_t>(message.part_bytes));
  message.ready.fetch_add(1, std::memory_order_relaxed);
  return MPI_SUCCESS;
}
// Sends are complete when they are waited for: no part may be missing.
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status*) {
  enter();
  for (const bool sends : {true, false}) {
    for (int i = 0; i < count; ++i) {
      Message* const message = message_of(requests[i]);
      if (message == nullptr || (message->parts > 0) != sends) continue;
      if (!sends) {
        receive(message->data, bytes, message->tag);
        continue;
      }
      wrong += message->ready.load(std::memory_order_relaxed) == message->parts ? 0 : 1;
      mail.send(1 - this_rank, message->tag, message->sent);
    }
  }
  return MPI_SUCCESS;
}
int MPI_Wait(MPI_Request* request, MPI_Status*) { return MPI_Waitall(1, request, MPI_STATUSES_IGNORE); }
int MPI_Request_free(MPI_Request* request) {
  delete message_of(*request);
  return MPI_SUCCESS;
}

}  // extern "C"

namespace {

/// The loop of a pattern on the context of a thread, two messages each way.
template <class Pattern, class Context>
class Loop final : public Batch {
 public:
  Loop(const Context& context, int number) : context_(context), number_(static_cast<char>(number)) {
    context_.rank = this_rank;
    context_.ranks = 2;
    context_.peer = context_.left = context_.right = 1 - this_rank;
    context_.count = context_.message_stride = bytes;
    rank_.partitions = 8;
    context_.me = &rank_;
  }
  double run(std::int64_t count, Timing, std::span<double>) override {
    out_.assign(2 * bytes, number_);
    const IterationPlan plan{.first = {.send = out_.data(), .receive = in_.data()}};
    const Iterations<false, false> iterations(plan);
    double seconds = 0;
    if constexpr (Pattern::spec.partitioned) {
      auto requests = Pattern::prepare(context_, plan);
      seconds = drive<Pattern, WallClock>(context_, iterations, count, TotalTimer{}, requests.view());
    } else {
      seconds = drive<Pattern, WallClock>(context_, iterations, count, TotalTimer{});
    }
    wrong += in_[0] == number_ && in_[bytes - 1] == number_ ? 0 : 1;
    return seconds;
  }
  double run_with_load(std::int64_t, Timing, std::span<double>, LoadUse&) override { return 0; }
  std::int64_t check(std::int64_t) override { return 0; }
  bool takes_part() const override { return true; }

 private:
  Context context_;
  GroupRank rank_;
  const char number_;
  std::vector<char> out_, in_ = std::vector<char>(2 * bytes);
};

/// Exchange in the loop of a thread that takes turns.
struct ExchangeInTurns : TurnLoop<Exchange> {
  static constexpr Spec spec = Exchange::spec;
};

template <class Pattern>
void run_team(ThreadTeam& team, bool in_turns, int number) {
  auto turn = in_turns ? std::make_unique<Turn>(threads) : nullptr;
  std::vector<std::unique_ptr<Batch>> members;
  for (int thread = 0; thread < threads; ++thread) {
    ThreadContext<int> context;
    context.tag = 2 * thread;
    context.thread = thread;
    context.turn = turn.get();
    context.waiting = turn ? &turn->waiting(thread) : nullptr;
    members.push_back(std::make_unique<Loop<Pattern, ThreadContext<int>>>(context, number + thread));
  }
  Serialized& mine = serialized[static_cast<std::size_t>(this_rank)];
  mine = {.on = in_turns};
  TeamBatch batch(team, std::move(members), std::move(turn), [] { ranks.meet(); });
  batch.run(repetitions, Timing::total, {});
  mine.on = false;
  // Two MPI_Isend, two MPI_Recv, MPI_Waitall.
  wrong += mine.calls == (in_turns ? 5 * threads * repetitions : 0) ? 0 : 1;
}

template <class Pattern>
void run_marked(ThreadTeam& team, int number) {
  auto marking = std::make_unique<Marking>(threads);
  MarkingContext<int> context;
  context.marking = marking.get();
  auto loop = std::make_unique<Loop<TeamMarkedPattern<Pattern>, MarkingContext<int>>>(context, number);
  MarkingBatch batch(team, std::move(marking), std::move(loop), [] { ranks.meet(); });
  batch.run(repetitions, Timing::total, {});
}

void run_rank(int rank) {
  this_rank = rank;
  ThreadTeam team(threads, [rank](int) { this_rank = rank; });
  for (int number = 1; number <= batches; ++number) {
    run_team<Exchange>(team, false, number);
    run_team<ExchangeInTurns>(team, true, number);
    run_marked<Partitioned_PingPong>(team, number);
    run_marked<Partitioned_Exchange>(team, number);
  }
}

}  // namespace

int main() {
  std::thread other(run_rank, 1);
  run_rank(0);
  other.join();
  std::printf("%d wrong\n", wrong.load());
  return wrong;
}
