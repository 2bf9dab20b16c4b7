#include "benchmarks/components.h"

#include <algorithm>

#include "benchmarks/headers.inc"
#include "mpi/optional.h"

namespace openimb {

namespace {

/// The specs of a catalog. If this MPI lacks a benchmark's call, `unavailable` has the reason.
template <class Catalog>
std::span<const Spec> specs_of() {
  static const auto specs = [] {
    auto all = Catalog::specs;
    for (Spec& spec : all) {
      if (spec.unavailable.empty()) spec.unavailable = call::unusable_reason(spec.needs);
    }
    return all;
  }();
  return specs;
}

}  // namespace

std::span<const ComponentList> all_components() {
  static const ComponentList components[] = {
#define OPENIMB_FOR_COMPONENT(name, Catalog) {name##_facts, specs_of<Catalog>()},
#include "benchmarks/components.inc"
#undef OPENIMB_FOR_COMPONENT
  };
  return components;
}

const ComponentList& component_list(std::string_view name) {
  return *std::ranges::find(all_components(), name,
                            [](const ComponentList& component) { return component.facts.name; });
}

}  // namespace openimb
