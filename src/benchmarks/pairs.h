// Pairs of ranks that communicate at the same time: fixed pairs, and pairs drawn at random for each
// repetition. The calls follow the public user guide of IMB 2021, "IMB-P2P Benchmarks"; docs/methodology.md
// defines the values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "benchmarks/parallel_transfer.h"
#include "benchmarks/single_transfer.h"
#include "model/random.h"

namespace openimb {

/// The Spec of a benchmark in which all ranks transfer. `sent`: mean number of messages that each rank sends
/// in the time shown.
constexpr Spec all_ranks_spec(std::string_view name, double sent) {
  return {.name = name,
          .kind = Kind::parallel_transfer,
          .table = &tables::mean_and_rate,
          .min_processes = 2,
          .sent = sent};
}
constexpr Spec all_pairs_spec(std::string_view name, double sent) {
  Spec spec = all_ranks_spec(name, sent);
  spec.in_pairs = true;
  return spec;
}
constexpr Spec random_partner_spec(Spec spec) {
  spec.random_partners = true;
  return spec;
}

/// Sends a message and receives one at the same time.
template <class C>
void exchange(const C& c, const Iteration& it, int to, int from) {
  MPI_Request request;
  call::irecv(it.receive, c.count, c.type, from, message_tag, c.comm, &request);
  call::send(it.send, c.count, c.type, to, message_tag, c.comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/// PingPong between rank i of the first half and rank i of the second half. With an odd number of ranks, the
/// last rank is idle.
struct PairsPingPong : PairsInFlight {
  static constexpr Spec spec = [] {
    Spec spec = all_pairs_spec("PingPong", 0.5);
    spec.time_factor = 0.5;
    return spec;
  }();
  template <class C>
  static void step(const C& c, const Iteration& it) {
    if (c.rank < c.peer) {
      send_message(c, it);
      receive_message(c, it, c.peer);
    } else {
      receive_message(c, it, c.peer);
      send_message(c, it);
    }
  }
  static ExpectedContents expects(const GroupRank& e) { return message_of(e, peer_of(e)); }
};

/// In each pair, both ranks send at the same time.
struct PairsPingPing : PairsInFlight {
  static constexpr Spec spec = all_pairs_spec("PingPing", 1);
  template <class C>
  static void step(const C& c, const Iteration& it) {
    exchange(c, it, c.peer, c.peer);
  }
  static ExpectedContents expects(const GroupRank& e) { return message_of(e, peer_of(e)); }
};

/// The partner of this rank in a round.
struct Partner {
  int rank = 0;
  bool sends_first = false;  ///< this rank sends first, not the partner
};
inline Partner partner_in(const GroupRank& e, int round) {
  const int count = e.ranks / 2 * 2;
  if (e.rank >= count) return {};  // idle
  const std::vector<int> order = random_order(e.seed, round, count);
  const auto at = static_cast<std::size_t>(std::ranges::find(order, e.rank) - order.begin());
  return {order[at ^ 1], at % 2 == 0};
}

/// The ranks to which this rank sends and from which it receives in a round.
struct Neighbors {
  int to = 0;
  int from = 0;
};
inline Neighbors neighbors_in(const GroupRank& e, int round) {
  const std::vector<int> next = random_cycle(e.seed, round, e.ranks);
  return {next[static_cast<std::size_t>(e.rank)],
          static_cast<int>(std::ranges::find(next, e.rank) - next.begin())};
}

/// The partners of all rounds, drawn before the clock starts. The table keeps them for the whole launch,
/// because passes prepare a benchmark again for each sample, and at 1,000 ranks a draw takes longer than a
/// sample.
template <class Value>
class PartnerTable {
 public:
  PartnerTable(const GroupRank& e, Value (*draw)(const GroupRank&, int))
      : rounds_(drawn[{e.seed, e.ranks, e.rank}]) {
    for (int round = static_cast<int>(rounds_.size()); round < partner_rounds; ++round) {
      rounds_.push_back(draw(e, round));
    }
  }
  const Value* view() { return rounds_.data(); }

 private:
  static inline std::map<std::tuple<std::uint64_t, int, int>, std::vector<Value>> drawn;
  std::vector<Value>& rounds_;
};

struct RandomPairs : PatternBase {
  static bool takes_part(const GroupRank& e) { return PairsInFlight::takes_part(e); }
  template <class C>
  static auto prepare(const C& c, const IterationPlan&) {
    return PartnerTable<Partner>(*c.me, partner_in);
  }
};

/// In each random pair, one rank sends one message to the other.
struct Unirandom : RandomPairs {
  static constexpr Spec spec = random_partner_spec(all_pairs_spec("Unirandom", 0.5));
  template <class C>
  static void step(const C& c, const Iteration& it, const Partner* partners) {
    const Partner& partner = partners[it.root];
    if (partner.sends_first) {
      call::send(it.send, c.count, c.type, partner.rank, message_tag, c.comm);
    } else {
      call::recv(it.receive, c.count, c.type, partner.rank, message_tag, c.comm);
    }
  }
  static ExpectedContents expects(const GroupRank& e) {
    const Partner partner = partner_in(e, e.root);
    return partner.sends_first ? ExpectedContents{} : message_of(e, partner.rank);
  }
};

/// In each random pair, both ranks send one message.
struct Birandom : RandomPairs {
  static constexpr Spec spec = random_partner_spec(all_pairs_spec("Birandom", 1));
  template <class C>
  static void step(const C& c, const Iteration& it, const Partner* partners) {
    const int partner = partners[it.root].rank;
    exchange(c, it, partner, partner);
  }
  static ExpectedContents expects(const GroupRank& e) { return message_of(e, partner_in(e, e.root).rank); }
};

/// Every rank sends to the next one on a random cycle through all ranks.
struct Corandom : PatternBase {
  static constexpr Spec spec = random_partner_spec(all_ranks_spec("Corandom", 1));
  template <class C>
  static auto prepare(const C& c, const IterationPlan&) {
    return PartnerTable<Neighbors>(*c.me, neighbors_in);
  }
  template <class C>
  static void step(const C& c, const Iteration& it, const Neighbors* rounds) {
    exchange(c, it, rounds[it.root].to, rounds[it.root].from);
  }
  static ExpectedContents expects(const GroupRank& e) { return message_of(e, neighbors_in(e, e.root).from); }
};

/// In a ring, every rank sends its buffer to its right neighbor, and the message of its left neighbor
/// replaces the contents.
struct SendRecv_Replace : PatternBase {
  static constexpr Spec spec = [] {
    Spec spec = all_ranks_spec("SendRecv_Replace", 1);
    spec.send = Messages::none;
    spec.replaces = true;
    return spec;
  }();
  template <class C>
  static void step(const C& c, const Iteration& it) {
    call::sendrecv_replace(it.receive, c.count, c.type, c.right, c.left, message_tag, c.comm);
  }
  static ExpectedContents expects(const GroupRank& e) { return message_of(e, e.left()); }
};

constexpr Spec multi_pair_spec(std::string_view name) {
  Spec spec = all_pairs_spec(name, 0.5);
  spec.receive = Messages::in_flight;
  spec.message_rate = true;
  spec.measures =
      "Time in which each of -pairs pairs moves -window_size messages one way: MPI_Isend, MPI_Irecv, "
      "MPI_Waitall.";
  return off_by_default(spec);
}

/// Uniband between the first -pairs pairs.
struct Multi_pair : PairsInFlight {
  static constexpr Spec spec = multi_pair_spec("Multi_pair");
  static bool takes_part(const GroupRank& e) {
    const int half = e.ranks / 2, most = e.max_pairs;
    return e.rank < 2 * half && (most == 0 || e.rank % half < most);
  }
  template <class C>
  static void step(const C& c, const Iteration& it) {
    Uniband::step(c, it);
  }
  static ExpectedContents expects(const GroupRank& e) { return Uniband::expects(e); }
};

}  // namespace openimb
