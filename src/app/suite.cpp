// main() of an executable with all components. The name under which it is started, such as IMB-MPI1, selects
// one. Wheels use it: one file per binary interface takes a third of the space.
#include <cstdio>
#include <string>
#include <string_view>

#include "app/run.h"
#include "benchmarks/components.h"
#include "model/exit_status.h"

int main(int argc, char** argv) {
  using namespace openimb;
  const Component& (*const components[])() = {
#define OPENIMB_FOR_COMPONENT(name, Catalog) name,
#include "benchmarks/components.inc"
#undef OPENIMB_FOR_COMPONENT
  };
  std::string_view name = argv[0];
  name.remove_prefix(name.rfind('/') + 1);
  for (const auto component : components) {
    if (name == executable_of(component().list.facts.name)) return run(component(), argc, argv);
  }
  std::fprintf(stderr, "%s: start it as IMB-MPI1 or another component\n", argv[0]);
  return exit_usage;
}
