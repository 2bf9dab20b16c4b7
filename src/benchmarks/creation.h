// Time to create a communicator or a session, and to free it. No message: one row. Source: MPI 4.0,
// sections 7.4.2 and 11.3.
#pragma once

#include <string_view>

#include "engine/pattern.h"
#include "mpi/errors.h"
#include "mpi/group.h"

namespace openimb {

/// The parts of a Spec that all have. `name` is the call's.
constexpr Spec creates(std::string_view name, std::string_view measures, std::string_view unavailable = {}) {
  return {.name = name,
          .kind = Kind::synchronization,
          .send = Extent::none,
          .receive = Extent::none,
          .in_default_list = false,
          .needs = name,
          .unavailable = unavailable,
          .measures = measures};
}

/// A communicator of all ranks, from their group.
struct Comm_create : PatternBase {
  static constexpr Spec spec =
      creates("Comm_create",
              "Time of MPI_Comm_create and MPI_Comm_free of a communicator of all processes of the group.");
  static constexpr Members members{.prepare = true};
  template <class C>
  static auto prepare(const C& c, const LapPlan&) {
    return Group(c.comm);
  }
  template <class C>
  static void step(const C& c, const Lap&, MPI_Group group) {
    MPI_Comm made;
    MPI_Comm_create(c.comm, group, &made);
    MPI_Comm_free(&made);
  }
  static Expected expects(const Endpoint&) { return {}; }
};

/// Even and odd ranks.
struct Comm_split : PatternBase {
  static constexpr Spec spec = creates(
      "Comm_split", "Time of MPI_Comm_split and MPI_Comm_free; processes split into even and odd ranks.");
  template <class C>
  static void step(const C& c, const Lap&) {
    MPI_Comm made;
    MPI_Comm_split(c.comm, c.rank % 2, c.rank, &made);
    MPI_Comm_free(&made);
  }
  static Expected expects(const Endpoint&) { return {}; }
};

/// A session of MPI, beside what MPI_Init began.
struct Session_init : PatternBase {
  static constexpr Spec spec = creates(
      "Session_init",
      "Time of MPI_Session_init and MPI_Session_finalize of a session beside what MPI_Init began, so MPI is "
      "already initialized. imb startup measures MPI_Init.",
      call::why_no_sessions);
#ifdef OPENIMB_SESSIONS
  static constexpr Members members{.prepare = true};
  template <class C>
  static SessionErrors prepare(const C&, const LapPlan&) {
    return {};
  }
  template <class C>
  static void step(const C&, const Lap&, MPI_Errhandler errors) {
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, errors, &session);
    MPI_Session_finalize(&session);
  }
#endif
  static Expected expects(const Endpoint&) { return {}; }
};

}  // namespace openimb
