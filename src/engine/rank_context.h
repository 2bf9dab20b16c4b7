// A context, with the arrays to which it points.
#pragma once

#include <type_traits>
#include <vector>

#include "engine/context.h"
#include "engine/setup.h"
#include "engine/thread_team.h"

namespace openimb {

template <Access access, class Count>
using ContextOf =
    std::conditional_t<access == Access::two_sided, MessageContext<Count>, WindowContext<Count>>;

/// The type of a pattern's context. Threads have other contexts (engine/thread_batch.h,
/// engine/marking_batch.h).
template <class Pattern, class Count>
struct ContextForPattern {
  using Type = ContextOf<Pattern::spec.access, Count>;
};
template <class Pattern, class Count>
  requires requires { Pattern::among_threads; }
struct ContextForPattern<Pattern, Count> {
  using Type = ThreadContext<Count>;
};

template <class Pattern, class Count>
  requires requires { Pattern::marked_by_team; }
struct ContextForPattern<Pattern, Count> {
  using Type = MarkingContext<Count>;
};

/// Fills in a context from Spec and Setup, and owns the arrays to which it points.
template <class Context, class Count>
class RankContext {
 public:
  RankContext(const Spec& spec, const Setup& setup, int peer) {
    add_group(setup, peer);
    add_messages(spec, setup);
    if (spec.displacements != Displacements::none) add_counts();
    if (spec.is_divided()) add_shares(spec, setup.group.me.elements);
    if (spec.message_rate) add_requests(setup.group.me.in_flight);
    if constexpr (std::is_same_v<Context, WindowContext<Count>>) add_window(spec, setup);
    if constexpr (std::is_same_v<Context, ThreadContext<Count>>) add_thread(setup);
    if constexpr (std::is_same_v<Context, MarkingContext<Count>>) context_.marking = setup.team.marking;
  }
  RankContext(const RankContext&) = delete;
  RankContext& operator=(const RankContext&) = delete;

  const Context& context() const { return context_; }

 private:
  void add_group(const Setup& setup, int peer) {
    context_.comm = setup.group.comm;
    context_.rank = setup.group.me.rank;
    context_.ranks = setup.group.me.ranks;
    context_.peer = peer;
    context_.left = setup.group.me.left();
    context_.right = setup.group.me.right();
    context_.me = &setup.group.me;
  }
  void add_messages(const Spec& spec, const Setup& setup) {
    context_.count = static_cast<Count>(setup.group.me.elements / setup.buffers.type.covers());
    context_.message_stride = setup.buffers.geometry.message_extent;
    context_.type = spec.is_divided() ? setup.buffers.single.handle() : setup.buffers.type.handle();
    context_.element = setup.buffers.single.handle();
    context_.op = setup.op;
  }
  void add_counts() {
    counts_.assign(static_cast<std::size_t>(context_.ranks), context_.count);
    for (int rank = 0; rank < context_.ranks; ++rank) {
      displacements_.push_back(static_cast<call::Displacement<Count>>(rank * std::int64_t{context_.count}));
    }
    context_.counts = counts_.data();
    context_.displacements = displacements_.data();
  }
  void add_shares(const Spec& spec, std::int64_t elements) {
    for (int rank = 0; rank < context_.ranks; ++rank) {
      shares_.push_back(static_cast<Count>(share(spec.receive, elements, context_.ranks, rank)));
    }
    context_.shares = shares_.data();
    context_.share = shares_.front();
  }
  void add_requests(int in_flight) {
    requests_.assign(2 * static_cast<std::size_t>(in_flight), MPI_REQUEST_NULL);
    context_.requests = requests_.data();
    context_.in_flight = in_flight;
  }
  void add_thread(const Setup& setup) {
    constexpr int tags_per_benchmark = 2;
    context_.tag = setup.team.tagged ? tags_per_benchmark * setup.team.thread : 0;
    context_.thread = setup.team.thread;
    context_.turn = setup.team.turn;
    if (setup.team.turn != nullptr) context_.waiting = &setup.team.turn->waiting(setup.team.thread);
  }
  void add_window(const Spec& spec, const Setup& setup) {
    for (int step = 1; step < context_.ranks; ++step) {
      others_.push_back((context_.rank + step) % context_.ranks);
    }
    context_.others = others_.data();
    context_.window_kind = setup.window.kind;
    context_.info = setup.info;
    context_.window_bytes = setup.buffers.geometry.receive.footprint;
    context_.win = setup.window.win.handle();
    context_.bases = setup.window.win.bases().data();
    if (spec.one_sided.exposed != ExposedBuffer::nothing) {
      context_.peer_base = context_.bases[context_.peer];
    }
  }

  Context context_;
  std::vector<Count> counts_;
  std::vector<Count> shares_;
  std::vector<call::Displacement<Count>> displacements_;
  std::vector<MPI_Request> requests_;
  std::vector<int> others_;
};

}  // namespace openimb
