// Exchanges messages with all neighbors in a periodic grid of ranks, like a program with domain
// decomposition. model/torus.h has the grid.
#pragma once

#include <vector>

#include "engine/pattern.h"
#include "model/torus.h"

namespace openimb {

/// The neighbors of a rank, and the requests of its messages.
class StencilExchange {
 public:
  StencilExchange(const GroupRank& e, const Stencil& stencil)
      : neighbors_(Torus(e.ranks, stencil.dimensions).neighbors(e.rank, stencil.corners)),
        requests_(2 * neighbors_.size(), MPI_REQUEST_NULL) {}

  struct View {
    const int* neighbors;
    MPI_Request* requests;
    int count;
  };
  View view() { return {neighbors_.data(), requests_.data(), static_cast<int>(neighbors_.size())}; }

 private:
  std::vector<int> neighbors_;
  std::vector<MPI_Request> requests_;
};

/// Exchanges one message with each neighbor. The buffers hold the messages in the order of the neighbors. The
/// tag of a message is the number of its direction, because a rank may be a neighbor more than once.
struct StencilLoop : PatternBase {
  template <class C>
  static void step(const C& c, const Iteration& it, StencilExchange::View view) {
    for (int i = 0; i < view.count; ++i) {
      call::irecv(it.receive + i * c.message_stride, c.count, c.type, view.neighbors[i],
                  Torus::opposite(i, view.count), c.comm, view.requests + i);
    }
    for (int i = 0; i < view.count; ++i) {
      call::isend(it.send + i * c.message_stride, c.count, c.type, view.neighbors[i], i, c.comm,
                  view.requests + view.count + i);
    }
    MPI_Waitall(2 * view.count, view.requests, MPI_STATUSES_IGNORE);
  }
};

inline ExpectedContents neighbor_contents(const GroupRank& e, const Stencil& stencil) {
  const std::vector<int> neighbors = Torus(e.ranks, stencil.dimensions).neighbors(e.rank, stencil.corners);
  const int count = static_cast<int>(neighbors.size());
  ExpectedContents all;
  for (int i = 0; i < count; ++i) {
    all.push_back({.rank = neighbors[static_cast<std::size_t>(i)],
                   .send_at = Torus::opposite(i, count) * e.elements,
                   .receive_at = i * e.elements,
                   .count = e.elements});
  }
  return all;
}

constexpr Spec torus_spec(std::string_view name, int dimensions) {
  const Stencil stencil{.dimensions = dimensions};
  return {.name = name,
          .kind = Kind::parallel_transfer,
          .table = &tables::mean_and_rate,
          .send = Messages::per_stencil,
          .receive = Messages::per_stencil,
          .min_processes = 2,
          .sent = static_cast<double>(stencil.neighbors()),
          .stencil = stencil};
}

template <int dimensions>
struct TorusPattern : PatternBase {
  using Loop = StencilLoop;
  template <class C>
  static auto prepare(const C& c, const IterationPlan&) {
    return StencilExchange(*c.me, {.dimensions = dimensions});
  }
  static ExpectedContents expects(const GroupRank& e) {
    return neighbor_contents(e, {.dimensions = dimensions});
  }
};

struct Stencil2D : TorusPattern<2> {
  static constexpr Spec spec = torus_spec("Stencil2D", 2);
};
struct Stencil3D : TorusPattern<3> {
  static constexpr Spec spec = torus_spec("Stencil3D", 3);
};

/// An exchange in as many dimensions as -halo sets. With its value "corners", ranks also exchange across
/// edges and corners.
struct Halo : PatternBase {
  using Loop = StencilLoop;
  static constexpr Spec spec = [] {
    Spec spec = torus_spec("Halo", PairOptions{}.halo.dimensions);
    spec.min_processes = 1;
    spec.any_torus = true;
    spec.measures = "Time of an exchange with all neighbors in a periodic grid of -halo dimensions.";
    spec.in_default_list = false;
    return spec;
  }();
  template <class C>
  static auto prepare(const C& c, const IterationPlan&) {
    return StencilExchange(*c.me, c.me->stencil);
  }
  static ExpectedContents expects(const GroupRank& e) { return neighbor_contents(e, e.stencil); }
};

/// Halo under the name of IMB-HALO's benchmark, printed in IMB-HALO's lines.
struct SimpleHalo : Halo {
  static constexpr Spec spec = [] {
    Spec spec = Halo::spec;
    spec.name = "simple_halo";
    spec.measures = "Like Halo, with the output format of IMB-HALO 2021. Shows the time of the slowest rank.";
    spec.table = &tables::labeled;
    return spec;
  }();
};

}  // namespace openimb
