#include "benchmarks/components.h"

#include "benchmarks/ext.h"
#include "benchmarks/io.h"
#include "benchmarks/mpi1.h"
#include "benchmarks/nbc.h"
#include "benchmarks/rma.h"

namespace openimb {

std::span<const ComponentList> all_components() {
  static constexpr ComponentList components[] = {
      {{.name = "MPI1", .title = "MPI-1 part", .quirks = {.blank_ends = true, .blank_after_type = true}},
       Mpi1::specs},
      {{.name = "EXT", .title = "MPI-2 part"}, Ext::specs},
      {{.name = "RMA", .title = "MPI-RMA part", .quirks = {.blank_ends = true}}, Rma::specs},
      {{.name = "NBC", .title = "MPI-NBC part"}, Nbc::specs},
      {{.name = "IO", .title = "MPI-IO part", .standard = standard_of_files, .uses_files = true}, Io::specs},
  };
  return components;
}

}  // namespace openimb
