// The concept Benchmark, which every entry of a catalog must satisfy. It consists of one concept per member,
// named after the member, so that the compiler's message names a member that is missing, is misspelled or
// takes other arguments.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "engine/pattern.h"
#include "engine/rank_context.h"
#include "engine/sync_loops.h"

namespace openimb {

template <class Pattern>
concept Has_spec = requires {
  { Pattern::spec } -> std::same_as<const Spec&>;
};
template <class Pattern>
concept Has_expects = Pattern::spec.uses_files() || requires(const GroupRank& e) {
  { Pattern::expects(e) } -> std::same_as<ExpectedContents>;
};
template <class Pattern>
concept Has_takes_part = requires(const GroupRank& e) {
  { Pattern::takes_part(e) } -> std::same_as<bool>;
};
template <class Pattern>
concept Has_peer_of = requires(const GroupRank& e) {
  { Pattern::peer_of(e) } -> std::same_as<int>;
};
template <class Pattern>
concept Has_updates = requires(const GroupRank& e) {
  { Pattern::updates(e) } -> std::same_as<bool>;
};
template <class Pattern>
concept Has_traffic = !Pattern::spec.one_sided.any_sync || requires(const GroupRank& e) {
  typename Pattern::Move;
  { Pattern::traffic(e) } -> std::same_as<Traffic>;
};
template <class Pattern>
concept Has_LocalLoop = !Pattern::spec.one_sided.any_sync || Pattern::spec.access != Access::passive_target ||
                        requires { typename Pattern::LocalLoop; };

template <class Pattern, class C>
concept Has_prepare = !Prepares<Pattern> ||
                      requires(const C& c, const IterationPlan& plan) { Pattern::prepare(c, plan).view(); };
/// Number of persistent requests that `prepare` makes for each slot. It must equal Spec::requests_per_slot,
/// which -mem counts.
template <class Made>
inline constexpr int requests_made = 0;
template <class Made>
  requires requires { Made::requests_per_slot; }
inline constexpr int requests_made<Made> = Made::requests_per_slot;
template <class Pattern, class C>
concept States_requests_per_slot =
    requests_made<decltype(Pattern::prepare(
        std::declval<const C&>(), std::declval<const IterationPlan&>()))> == Pattern::spec.requests_per_slot;
template <class Pattern, class C>
concept Has_epoch = requires(const C& c) { Pattern::epoch(c); };

/// The view of what `prepare` makes, or Nothing.
template <class Pattern, class C>
struct ViewOfPrepared {
  using Type = PatternBase::Nothing;
};
template <class Pattern, class C>
  requires Prepares<Pattern>
struct ViewOfPrepared<Pattern, C> {
  using Type =
      decltype(Pattern::prepare(std::declval<const C&>(), std::declval<const IterationPlan&>()).view());
};
template <class View>
concept NoView = std::same_as<View, PatternBase::Nothing>;

// Concepts of the members of a benchmark's Loop.
template <class Loop, class C, class View>
concept Has_step =
    (NoView<View> && requires(const C& c, const Iteration& it) { Loop::step(c, it); }) ||
    (!NoView<View> && requires(const C& c, const Iteration& it, View view) { Loop::step(c, it, view); });
template <class Loop, class C>
concept Has_open = requires(const C& c) { Loop::open(c); };
template <class Loop, class C, class View>
concept Has_close = (NoView<View> && requires(const C& c) { Loop::close(c); }) ||
                    (!NoView<View> && requires(const C& c, View view) { Loop::close(c, view); });
template <class Loop, class C, class View, bool overlaps>
concept Has_post =
    !overlaps || (NoView<View> && requires(const C& c, const Iteration& it, MPI_Request* request) {
      Loop::post(c, it, request);
    }) || (!NoView<View> && requires(const C& c, const Iteration& it, View view, MPI_Request* request) {
      Loop::post(c, it, view, request);
    });
template <class Loop, class C, class View>
concept Has_finish =
    (NoView<View> && requires(const C& c, const Iteration& it, MPI_Request* request) {
      Loop::finish(c, it, request);
    }) || (!NoView<View> && requires(const C& c, const Iteration& it, View view, MPI_Request* request) {
      Loop::finish(c, it, view, request);
    });
template <class Loop, class C, class View>
concept HasLoop =
    Has_step<Loop, C, View> && Has_open<Loop, C> && Has_close<Loop, C, View> && Has_finish<Loop, C, View>;

/// The context of a step of the pattern, with int counts.
template <class Pattern>
using StepContextOf = std::conditional_t<Pattern::spec.uses_files(), FileContext<int>,
                                         typename ContextForPattern<Pattern, int>::Type>;

template <class Pattern>
using ViewOf = typename ViewOfPrepared<Pattern, StepContextOf<Pattern>>::Type;

/// A type that a catalog may list.
template <class Pattern>
concept Benchmark =
    std::derived_from<Pattern, PatternBase> && Has_spec<Pattern> && Has_expects<Pattern> &&
    Has_takes_part<Pattern> && Has_peer_of<Pattern> && Has_updates<Pattern> && Has_traffic<Pattern> &&
    Has_LocalLoop<Pattern> && Has_prepare<Pattern, StepContextOf<Pattern>> &&
    States_requests_per_slot<Pattern, StepContextOf<Pattern>> && Has_epoch<Pattern, StepContextOf<Pattern>> &&
    HasLoop<LoopOf<Pattern>, StepContextOf<Pattern>, ViewOf<Pattern>> &&
    Has_post<LoopOf<Pattern>, StepContextOf<Pattern>, ViewOf<Pattern>, Pattern::spec.overlaps()>;

}  // namespace openimb
