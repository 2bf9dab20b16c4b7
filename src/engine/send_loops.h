// -send_mode: sends a benchmark's messages in another mode than standard. Each mode has a separate loop.
// Source: MPI 4.1, sections 3.4 and 3.6.
//
// A ready send requires that the matching receive is posted. A benchmark whose messages go both ways posts
// the receives of a repetition before it sends its messages of the previous repetition. A rank that has
// received those messages therefore knows that the next receives are posted. The receives of the first
// repetition are posted before the clock starts; those that remain at the end receive empty messages.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/pattern.h"
#include "plan/spec.h"

namespace openimb {

/// A message that this rank sends in a repetition, and the corresponding one that it receives. MPI_PROC_NULL:
/// no message whose receive is posted ahead.
struct Route {
  int to = MPI_PROC_NULL;
  int from = MPI_PROC_NULL;
  int tag = 1;
};

/// The receives that are posted ahead, one for each route.
class PostedReceives {
 public:
  /// `requests`: those of the repetition's receives, its sends, and the next repetition's receives, in this
  /// order. `next`: for each slot, the receive buffer of the following slot.
  struct View {
    MPI_Request* requests;
    char* const* next;
  };

  /// Collective over the ranks that communicate. `post`: posts the receives of a repetition; `control`: for
  /// the messages that report that they are posted.
  template <class Post>
  PostedReceives(MPI_Comm comm, MPI_Comm control, std::vector<Route> routes, const LapPlan& plan,
                 const Lap& first, const Post& post)
      : comm_(comm), routes_(std::move(routes)), requests_(3 * routes_.size(), MPI_REQUEST_NULL) {
    for (std::int64_t slot = 1; slot <= plan.slots; ++slot) {
      next_.push_back(plan.at(slot % plan.slots).receive);
    }
    post(first.receive, requests_.data());
    constexpr int tag = 1;
    for (const Route& route : routes_) {
      MPI_Sendrecv(nullptr, 0, MPI_BYTE, route.from, tag, nullptr, 0, MPI_BYTE, route.to, tag, control,
                   MPI_STATUS_IGNORE);
    }
  }
  ~PostedReceives() {
    for (const Route& route : routes_) MPI_Send(nullptr, 0, MPI_BYTE, route.to, route.tag, comm_);
    MPI_Waitall(static_cast<int>(routes_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }
  PostedReceives(const PostedReceives&) = delete;
  PostedReceives& operator=(const PostedReceives&) = delete;

  View view() { return {requests_.data(), next_.data()}; }

 private:
  MPI_Comm comm_;
  std::vector<Route> routes_;
  std::vector<MPI_Request> requests_;
  std::vector<char*> next_;
};

/// Number of messages that a repetition has in flight at once.
template <class Pattern, class C>
int messages_of(const C& c) {
  if constexpr (Pattern::spec.message_rate) return c.in_flight;
  return Pattern::spec.send == Messages::two ? 2 : 1;
}

template <class Pattern, SendMode mode>
struct InSendMode : LoopBase {
  template <class C>
  static void step(const C& c, const Lap& lap) {
    Pattern::template step<mode>(c, lap);
  }
};

template <class Pattern>
struct InSendMode<Pattern, SendMode::ready> : LoopBase {
  template <class C>
  static void step(const C& c, const Lap& lap, PostedReceives::View posted) {
    if constexpr (Defines_step_ready<Pattern>) {
      Pattern::step_ready(c, lap, posted);
    } else {
      const int messages = messages_of<Pattern>(c);
      MPI_Request* const next = posted.requests + 2 * messages;
      Pattern::post(c, posted.next[lap.slot], next);
      Pattern::start_ready(c, lap, posted.requests + messages);
      MPI_Waitall(2 * messages, posted.requests, MPI_STATUSES_IGNORE);
      for (int i = 0; i < messages; ++i) posted.requests[i] = next[i];
    }
  }
};

/// Calls `use` with the loop for a mode and with what its steps need besides the context. `first`: the lap
/// that the run begins with.
template <class Pattern, class C, class Use>
auto with_send_mode(SendMode mode, const C& c, MPI_Comm control, const LapPlan& plan, const Lap& first,
                    const Use& use) {
  if constexpr (Pattern::spec.send_modes.not_ready.empty()) {
    if (mode == SendMode::ready) {
      PostedReceives posted(
          c.comm, control, Pattern::routes(c), plan, first,
          [&](char* receive, MPI_Request* requests) { Pattern::post(c, receive, requests); });
      return use(InSendMode<Pattern, SendMode::ready>{}, posted.view());
    }
  }
  if constexpr (Pattern::spec.send_modes.not_buffered.empty()) {
    if (mode == SendMode::buffered) return use(InSendMode<Pattern, SendMode::buffered>{});
  }
  return use(InSendMode<Pattern, SendMode::synchronous>{});
}

}  // namespace openimb
