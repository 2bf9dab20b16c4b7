#include "benchmarks/components.h"

#include <algorithm>

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
      {mpi1_facts, specs_of<Mpi1>()}, {ext_facts, specs_of<Ext>()}, {rma_facts, specs_of<Rma>()},
      {nbc_facts, specs_of<Nbc>()},   {io_facts, specs_of<Io>()},   {mpi4_facts, specs_of<Mpi4>()},
      {p2p_facts, specs_of<P2p>()},   {mt_facts, specs_of<Mt>()},   {fabric_facts, specs_of<Fabric>()},
  };
  return components;
}

const ComponentList& component_list(std::string_view name) {
  return *std::ranges::find(all_components(), name,
                            [](const ComponentList& component) { return component.facts.name; });
}

}  // namespace openimb
