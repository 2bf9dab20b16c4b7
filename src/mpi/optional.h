// Calls that the MPI library in use may lack. A program for a binary interface (OPENIMB_PORTABLE) runs with
// any library that has this interface: it refers to all calls weakly, so that it starts without some of them,
// and checks which exist. CMake then includes this file before all others. Other programs have the calls that
// their MPI had when they were built. Source: ELF gABI, "Symbol Table" (weak symbols).
#pragma once

#include <mpi.h>

#include <string_view>
#include <type_traits>

#include "model/attributes.h"

namespace openimb::call {

/// The binary interface of this program, such as "MPICH ABI"; empty if it was built for one MPI.
#ifdef OPENIMB_PORTABLE
inline constexpr std::string_view binary_interface = OPENIMB_PORTABLE;
#else
inline constexpr std::string_view binary_interface = {};
#endif

/// Whether the library has calls with MPI_Count.
bool has_large_counts();

/// Returns why a call cannot be used: "this MPI library has no MPI_Ibcast", or "this MPI, Open MPI 5.0, hangs
/// in ..." (docs/known-mpi-issues.md). Empty if it can be used. The answer comes from the library, which may
/// be newer than mpi.h. `call`: name without "MPI_"; may be empty.
std::string_view unusable_reason(std::string_view call);

}  // namespace openimb::call

#ifdef OPENIMB_PORTABLE

// OPENIMB_MPI_CALLS(macro) applies `macro` to all calls that mpi.h declares; cmake/mpi_calls.cmake writes it.
#include "mpi/mpi_calls.inc"

#ifdef OPENIMB_LARGE_COUNT_UNDECLARED
namespace openimb::call {

/// Derives an argument of the _c form from the arguments of the int form. An int is a count if a type
/// follows, a size if a pointer to int follows or nothing does.
template <class Before, class Argument, class After>
struct LargeArgument {
  static constexpr bool counts =
      std::is_same_v<After, MPI_Datatype> || std::is_same_v<After, int*> || std::is_void_v<After>;
  using Type = std::conditional_t<std::is_same_v<Argument, int> && counts, MPI_Count, Argument>;
};
template <class Before, class After>
struct LargeArgument<Before, const int*, After> {  // counts, and then displacements
  using Type = std::conditional_t<std::is_same_v<Before, const int*>, const MPI_Aint*, const MPI_Count*>;
};
template <class Before, class After>
struct LargeArgument<Before, int*, After> {
  using Type = MPI_Count*;
};

template <class Done, class Before, class... Left>
struct LargeCall;
template <class... Done, class Before, class Argument, class After, class... Left>
struct LargeCall<int(Done...), Before, Argument, After, Left...>
    : LargeCall<int(Done..., typename LargeArgument<Before, Argument, After>::Type), Argument, After,
                Left...> {};
template <class... Done, class Before>
struct LargeCall<int(Done...), Before, void> {
  using Type = int(Done...);
};

/// Type of a call's _c form.
template <class Call>
struct LargeForm;
template <class... Arguments>
struct LargeForm<int(Arguments...)> : LargeCall<int(), void, Arguments..., void> {};
template <>
struct LargeForm<decltype(MPI_Type_vector)> {
  using Type = int(MPI_Count, MPI_Count, MPI_Count, MPI_Datatype, MPI_Datatype*);
};

}  // namespace openimb::call
#endif

extern "C" {
#define OPENIMB_DECLARE(name) OPENIMB_WEAK decltype(MPI_##name) MPI_##name;
OPENIMB_MPI_CALLS(OPENIMB_DECLARE)
#undef OPENIMB_DECLARE
#ifdef OPENIMB_LARGE_COUNT_UNDECLARED  // in this mpi.h, which may be older than the library
#define OPENIMB_DECLARE(name) \
  OPENIMB_WEAK openimb::call::LargeForm<decltype(MPI_##name)>::Type MPI_##name##_c;
OPENIMB_MPI_CALLS(OPENIMB_DECLARE)
#undef OPENIMB_DECLARE
#endif
}

#endif
