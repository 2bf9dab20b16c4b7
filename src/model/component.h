// What a component is, apart from its benchmarks: names, standard settings, requirements, quirks of output.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/options.h"
#include "model/spec.h"

namespace openimb {

/// Differences between the banners of the reference outputs that have no reason.
struct BannerQuirks {
  bool blank_after_command = false;  ///< the calling sequence ends with a blank
  bool blank_comments = false;       ///< so do the empty comment lines after the settings
  bool blank_after_type = false;     ///< so does the line with the data type of reductions
};

/// How banners and table heads look. pairs (IMB-P2P) and threads (IMB-MT) have no blanks at the ends of
/// lines. pairs orders the banner differently; tables of threads all have the same width and state the number
/// of threads. rounds (IMB-FABRIC) is like pairs, with tables that IMB does not have.
enum class OutputStyle { classic, pairs, threads, rounds };

/// The name of the executable of a component.
inline std::string executable_of(std::string_view component) { return "IMB-" + std::string(component); }

struct ComponentFacts {
  std::string_view name;   ///< "MPI1"
  std::string_view title;  ///< "MPI-1 part", as in the banner
  Defaults defaults = {};
  bool uses_files = false;  ///< creates files: needs a folder, free space and a guardian
  BannerQuirks quirks = {};
  OutputStyle style = OutputStyle::classic;
};

/// A component with the Specs of its benchmarks, in the order in which they run.
struct ComponentList {
  ComponentFacts facts;
  std::span<const Spec> benchmarks;
};

}  // namespace openimb
