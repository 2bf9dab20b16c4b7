// Which of the optional members (engine/pattern.h) a pattern has. The engine looks for them by name, so one
// that is misspelled or takes other arguments would be left out without a word, and with it what it
// completes. So a pattern lists them, and its entry in a catalog compiles only if the list is right and each
// can be called.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "engine/endpoint_context.h"
#include "engine/packing.h"
#include "engine/send_loops.h"
#include "engine/timed_loop.h"

namespace openimb {

/// A pattern's `members`.
struct Members {
  bool prepare = false;
  bool epoch = false;
  bool open = false;
  bool close = false;
  bool finish = false;
  bool takes_part = false;
  bool peer_of = false;
  bool updates = false;
  bool step_ready = false;
  bool step_packed = false;

  constexpr bool operator==(const Members&) const = default;
  constexpr Members operator|(const Members& more) const {
    return {.prepare = prepare || more.prepare,
            .epoch = epoch || more.epoch,
            .open = open || more.open,
            .close = close || more.close,
            .finish = finish || more.finish,
            .takes_part = takes_part || more.takes_part,
            .peer_of = peer_of || more.peer_of,
            .updates = updates || more.updates,
            .step_ready = step_ready || more.step_ready,
            .step_packed = step_packed || more.step_packed};
  }
};

/// What a pattern lists: none, where it has no list.
template <class Pattern>
constexpr Members listed_members() {
  if constexpr (requires {
                  { Pattern::members } -> std::same_as<const Members&>;
                }) {
    return Pattern::members;
  } else {
    return {};
  }
}

// Whether a type has a member of this name, whatever it is: beside another of the name, the name is
// ambiguous.
#define OPENIMB_NAMES(member)                       \
  struct Other_##member {                           \
    void member();                                  \
  };                                                \
  template <class Pattern>                          \
  struct Two_##member : Pattern, Other_##member {}; \
  template <class Pattern>                          \
  concept Names_##member = !requires { &Two_##member<Pattern>::member; };
OPENIMB_NAMES(prepare)
OPENIMB_NAMES(epoch)
OPENIMB_NAMES(open)
OPENIMB_NAMES(close)
OPENIMB_NAMES(finish)
OPENIMB_NAMES(takes_part)
OPENIMB_NAMES(peer_of)
OPENIMB_NAMES(updates)
OPENIMB_NAMES(step_ready)
OPENIMB_NAMES(step_packed)
#undef OPENIMB_NAMES

/// What a pattern has.
template <class Pattern>
constexpr Members named_members() {
  return {.prepare = Names_prepare<Pattern>,
          .epoch = Names_epoch<Pattern>,
          .open = Names_open<Pattern>,
          .close = Names_close<Pattern>,
          .finish = Names_finish<Pattern>,
          .takes_part = Names_takes_part<Pattern>,
          .peer_of = Names_peer_of<Pattern>,
          .updates = Names_updates<Pattern>,
          .step_ready = Names_step_ready<Pattern>,
          .step_packed = Names_step_packed<Pattern>};
}

/// The list of a pattern is that of its members, and so is that of its Loop.
template <class Pattern>
concept ListsItsMembers = listed_members<Pattern>() == named_members<Pattern>() &&
                          listed_members<LoopOf<Pattern>>() == named_members<LoopOf<Pattern>>();

/// Its functions of an endpoint.
template <class Pattern>
concept AnswersForEndpoint = (!Names_takes_part<Pattern> || requires(const Endpoint& e) {
                               { Pattern::takes_part(e) } -> std::same_as<bool>;
                             }) && (!Names_peer_of<Pattern> || requires(const Endpoint& e) {
                               { Pattern::peer_of(e) } -> std::same_as<int>;
                             }) && (!Names_updates<Pattern> || requires(const Endpoint& e) {
                               { Pattern::updates(e) } -> std::same_as<bool>;
                             });

template <class Pattern, class C>
concept Prepares = requires(const C& c, const LapPlan& plan) { Pattern::prepare(c, plan).view(); };

/// The members of its loop; `View`: of what it prepares, if anything.
template <class Pattern, class C, class... View>
concept LoopIsCallable =
    (!Names_open<Pattern> || requires(const C& c) { Pattern::open(c); }) &&
    (!Names_close<Pattern> || requires(const C& c, const View&... view) { Pattern::close(c, view...); } ||
     requires(const C& c) { Pattern::close(c); }) &&
    (!Names_finish<Pattern> ||
     requires(const C& c, const Lap& lap, MPI_Request* request, const View&... view) {
       Pattern::finish(c, lap, view..., request);
     }) &&
    (!Names_step_packed<Pattern> || requires(const C& c, const Lap& lap, PackedMessages::View packed) {
      Pattern::template step_packed<Packer<Packing::hand, int>>(c, lap, packed);
    });

template <class Pattern, class C>
constexpr bool loop_is_callable() {
  if constexpr (Names_prepare<Pattern>) {
    using View = decltype(Pattern::prepare(std::declval<const C&>(), std::declval<const LapPlan&>()).view());
    return LoopIsCallable<LoopOf<Pattern>, C, View>;
  } else {
    return LoopIsCallable<LoopOf<Pattern>, C>;
  }
}

template <class Pattern, class C>
concept MembersAreCallable =
    AnswersForEndpoint<Pattern> && (!Names_prepare<Pattern> || Prepares<Pattern, C>) &&
    (!Names_epoch<Pattern> || requires(const C& c) { Pattern::epoch(c); }) &&
    (!Names_step_ready<Pattern> || requires(const C& c, const Lap& lap, PostedReceives::View posted) {
      Pattern::step_ready(c, lap, posted);
    }) && loop_is_callable<Pattern, C>();

/// What a step of the pattern sees, with int counts.
template <class Pattern>
using SeenBy = std::conditional_t<Pattern::spec.on_files(), FileContext<int>,
                                  typename ContextForPattern<Pattern, int>::Type>;

/// What a catalog takes.
template <class Pattern>
concept Benchmark = requires {
  { Pattern::spec } -> std::same_as<const Spec&>;
} && ListsItsMembers<Pattern> && MembersAreCallable<Pattern, SeenBy<Pattern>>;

}  // namespace openimb
