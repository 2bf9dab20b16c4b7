// IMB-FABRIC: pairs of endpoints communicate, with different partners in each round. A hub has all other
// endpoints as partners at once, and its messages to all of them are in flight together.
#pragma once

#include <vector>

#include "benchmarks/catalog.h"
#include "engine/pattern.h"
#include "mpi/calls.h"

namespace openimb {

/// The messages of this rank in one repetition: their partners and their requests.
class RoundMessages {
 public:
  struct View {
    const int* partners = nullptr;  ///< the partner of each message
    MPI_Request* requests = nullptr;
    int count = 0;             ///< number of messages in one direction
    bool sends_first = false;  ///< this rank sends before it receives
  };
  RoundMessages(const GroupRank& e, int in_flight) {
    if (e.round_partners == nullptr) return;
    for (int i = 0; i < in_flight; ++i) {
      partners_.insert(partners_.end(), e.round_partners->partners.begin(), e.round_partners->partners.end());
    }
    requests_.assign(2 * partners_.size(), MPI_REQUEST_NULL);
    sends_first_ = e.round_partners->sends_first;
  }
  View view() {
    return {partners_.data(), requests_.data(), static_cast<int>(partners_.size()), sends_first_};
  }

 private:
  std::vector<int> partners_;
  std::vector<MPI_Request> requests_;
  bool sends_first_ = false;
};

constexpr Spec rounds_spec(std::string_view name, std::string_view measures) {
  return {.name = name,
          .kind = Kind::parallel_transfer,
          .table = &tables::time_and_bandwidth,
          .min_processes = 2,
          .in_rounds = true,
          .measures = measures};
}
constexpr Spec rounds_in_flight_spec(std::string_view name, std::string_view measures) {
  Spec spec = rounds_spec(name, measures);
  spec.receive = Messages::in_flight;
  spec.message_rate = true;
  spec.table = &tables::message;
  return spec;
}

/// The base of the benchmarks of IMB-FABRIC.
struct RoundPattern : PatternBase {
  static bool takes_part(const GroupRank& e) {
    return e.round_partners != nullptr && !e.round_partners->partners.empty();
  }
  template <class C>
  static auto prepare(const C& c, const IterationPlan&) {
    return RoundMessages(*c.me, c.in_flight);
  }
  /// The partner of a rank that is not a hub. -check does not look at the messages that a hub receives.
  static int partner_of(const GroupRank& e) { return e.round_partners->partners.front(); }

  template <class C>
  static void start_sends(const C& c, const Iteration& it, const RoundMessages::View& v,
                          MPI_Request* requests) {
    for (int i = 0; i < v.count; ++i) {
      call::isend(it.send, c.count, c.type, v.partners[i], message_tag, c.comm, &requests[i]);
    }
  }
  template <class C>
  static void start_receives(const C& c, const Iteration& it, const RoundMessages::View& v) {
    for (int i = 0; i < v.count; ++i) {
      call::irecv(it.receive + i * c.message_stride, c.count, c.type, v.partners[i], message_tag, c.comm,
                  &v.requests[i]);
    }
  }
  template <class C>
  static void send_all(const C& c, const Iteration& it, const RoundMessages::View& v) {
    for (int i = 0; i < v.count; ++i) {
      call::send(it.send, c.count, c.type, v.partners[i], message_tag, c.comm);
    }
  }
  template <class C>
  static void receive_all(const C& c, const Iteration& it, const RoundMessages::View& v) {
    for (int i = 0; i < v.count; ++i) {
      call::recv(it.receive, c.count, c.type, v.partners[i], message_tag, c.comm);
    }
  }
};

struct Pair_Latency : RoundPattern {
  static constexpr Spec spec = [] {
    Spec spec = rounds_spec("Pair_Latency",
                            "Half of the round-trip time of each pair of endpoints: MPI_Send, MPI_Recv.");
    spec.time_factor = 0.5;
    return spec;
  }();
  template <class C>
  static void step(const C& c, const Iteration& it, RoundMessages::View v) {
    if (v.sends_first) {
      send_all(c, it, v);
      receive_all(c, it, v);
    } else {
      receive_all(c, it, v);
      send_all(c, it, v);
    }
  }
  static ExpectedContents expects(const GroupRank& e) { return message_of(e, partner_of(e)); }
};

struct Pair_Bandwidth : RoundPattern {
  static constexpr Spec spec = rounds_in_flight_spec(
      "Pair_Bandwidth",
      "Time per message while -window_size messages go one way in each pair of endpoints: MPI_Isend, "
      "MPI_Irecv, MPI_Waitall.");
  template <class C>
  static void step(const C& c, const Iteration& it, RoundMessages::View v) {
    if (v.sends_first) {
      start_sends(c, it, v, v.requests);
    } else {
      start_receives(c, it, v);
    }
    MPI_Waitall(v.count, v.requests, MPI_STATUSES_IGNORE);
  }
  static ExpectedContents expects(const GroupRank& e) {
    return e.round_partners->sends_first ? ExpectedContents{} : messages_in_flight(e, partner_of(e));
  }
};

struct Pair_Bidirectional : RoundPattern {
  static constexpr Spec spec = rounds_in_flight_spec(
      "Pair_Bidirectional",
      "Time per message while -window_size messages go both ways at once in each pair of endpoints: "
      "MPI_Isend, MPI_Irecv, MPI_Waitall.");
  template <class C>
  static void step(const C& c, const Iteration& it, RoundMessages::View v) {
    start_receives(c, it, v);
    start_sends(c, it, v, v.requests + v.count);
    MPI_Waitall(2 * v.count, v.requests, MPI_STATUSES_IGNORE);
  }
  static ExpectedContents expects(const GroupRank& e) { return messages_in_flight(e, partner_of(e)); }
};

inline constexpr ComponentFacts fabric_facts{
    .name = "FABRIC", .title = "IMB-FABRIC part", .defaults = fabric_defaults, .style = OutputStyle::rounds};

using Fabric = Catalog<Pair_Latency, Pair_Bandwidth, Pair_Bidirectional>;

}  // namespace openimb
