// Benchmarks that create and free a communicator or a session. They have no message, so the table has one
// row. Source: MPI 4.0, sections 7.4.2 and 11.3.
#pragma once

#include <string_view>

#include "engine/pattern.h"
#include "mpi/errors.h"
#include "mpi/group.h"

namespace openimb {

/// The Spec of these benchmarks. `name` is also the name of the call.
constexpr Spec creation_spec(std::string_view name, std::string_view measures,
                             std::string_view unavailable = {}) {
  return {.name = name,
          .kind = Kind::synchronization,
          .send = Messages::none,
          .receive = Messages::none,
          .in_default_list = false,
          .needs = name,
          .unavailable = unavailable,
          .measures = measures};
}

/// Creates a communicator of all ranks from their group.
struct Comm_create : PatternBase {
  static constexpr Spec spec =
      creation_spec("Comm_create",
                    "Time of MPI_Comm_create and MPI_Comm_free of a communicator of all ranks of the group.");
  template <class C>
  static auto prepare(const C& c, const IterationPlan&) {
    return Group(c.comm);
  }
  template <class C>
  static void step(const C& c, const Iteration&, MPI_Group group) {
    MPI_Comm comm;
    MPI_Comm_create(c.comm, group, &comm);
    MPI_Comm_free(&comm);
  }
  static ExpectedContents expects(const GroupRank&) { return {}; }
};

/// Splits the ranks into even and odd ones.
struct Comm_split : PatternBase {
  static constexpr Spec spec = creation_spec(
      "Comm_split", "Time of MPI_Comm_split and MPI_Comm_free; the group splits into even and odd ranks.");
  template <class C>
  static void step(const C& c, const Iteration&) {
    MPI_Comm comm;
    MPI_Comm_split(c.comm, c.rank % 2, c.rank, &comm);
    MPI_Comm_free(&comm);
  }
  static ExpectedContents expects(const GroupRank&) { return {}; }
};

/// Creates a session. MPI_Init has run before, so MPI is already initialized.
struct Session_init : PatternBase {
  static constexpr Spec spec = creation_spec(
      "Session_init",
      "Time of MPI_Session_init and MPI_Session_finalize after MPI_Init, when MPI is already initialized. "
      "imb startup measures MPI_Init.",
      call::no_sessions_reason);
#ifdef OPENIMB_SESSIONS
  template <class C>
  static SessionErrors prepare(const C&, const IterationPlan&) {
    return {};
  }
  template <class C>
  static void step(const C&, const Iteration&, MPI_Errhandler errors) {
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, errors, &session);
    MPI_Session_finalize(&session);
  }
#endif
  static ExpectedContents expects(const GroupRank&) { return {}; }
};

}  // namespace openimb
