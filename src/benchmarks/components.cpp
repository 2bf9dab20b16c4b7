#include "benchmarks/components.h"

#include "benchmarks/ext.h"
#include "benchmarks/fabric.h"
#include "benchmarks/io.h"
#include "benchmarks/mpi1.h"
#include "benchmarks/mpi4.h"
#include "benchmarks/mt.h"
#include "benchmarks/nbc.h"
#include "benchmarks/p2p.h"
#include "benchmarks/rma.h"
#include "mpi/optional.h"

namespace openimb {

namespace {

/// The specs of a catalog. If this MPI lacks a benchmark's call, `unavailable` has the reason.
template <class Catalogue>
std::span<const Spec> specs_of() {
  static const auto specs = [] {
    auto all = Catalogue::specs;
    for (Spec& spec : all) {
      if (spec.unavailable.empty()) spec.unavailable = call::why_unusable(spec.needs);
    }
    return all;
  }();
  return specs;
}

}  // namespace

std::span<const ComponentList> all_components() {
  static const ComponentList components[] = {
      {{.name = "MPI1",
        .title = "MPI-1 part",
        .quirks = {.blank_after_command = true, .blank_comments = true, .blank_after_type = true}},
       specs_of<Mpi1>()},
      {{.name = "EXT", .title = "MPI-2 part"}, specs_of<Ext>()},
      {{.name = "RMA",
        .title = "MPI-RMA part",
        .quirks = {.blank_after_command = true, .blank_comments = true}},
       specs_of<Rma>()},
      {{.name = "NBC", .title = "MPI-NBC part"}, specs_of<Nbc>()},
      {{.name = "IO", .title = "MPI-IO part", .standard = standard_of_files, .uses_files = true},
       specs_of<Io>()},
      {{.name = "MPI4", .title = "MPI-4 part", .quirks = {.blank_comments = true}}, specs_of<Mpi4>()},
      {{.name = "P2P", .title = "IMB-P2P part", .standard = standard_of_pairs, .heads = Heads::pairs},
       specs_of<P2p>()},
      {{.name = "MT", .title = "MT part", .standard = standard_of_threads, .heads = Heads::threads},
       specs_of<Mt>()},
      {{.name = "FABRIC",
        .title = "IMB-FABRIC part",
        .standard = standard_of_fabrics,
        .heads = Heads::rounds},
       specs_of<Fabric>()},
  };
  return components;
}

}  // namespace openimb
