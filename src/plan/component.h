// What a component is, apart from its benchmarks: names, standard settings, requirements, quirks of layout.
#pragma once

#include <span>
#include <string_view>

#include "plan/options.h"
#include "plan/spec.h"

namespace openimb {

/// Where the banners of the reference outputs differ without a reason.
struct BannerQuirks {
  bool blank_after_command = false;  ///< a blank at the end of the calling sequence,
  bool blank_comments = false;       ///< of the empty comment lines behind the settings,
  bool blank_after_type = false;     ///< and behind the data type of reductions
};

/// Banners and heads of tables. Those of IMB-P2P and IMB-MT have no blanks at the ends of lines; IMB-P2P has
/// another order, IMB-MT tables of one width with the number of threads. rounds: as pairs; no table of IMB's.
enum class Heads { classic, pairs, threads, rounds };

struct ComponentFacts {
  std::string_view name;   ///< "MPI1"; the executable is IMB-MPI1
  std::string_view title;  ///< "MPI-1 part", as in the banner
  Standard standard = {};
  bool uses_files = false;  ///< makes files: needs a folder, a guardian, room
  BannerQuirks quirks = {};
  Heads heads = Heads::classic;
};

/// A component with what its benchmarks are, in the order in which they run.
struct ComponentList {
  ComponentFacts facts;
  std::span<const Spec> benchmarks;
};

}  // namespace openimb
