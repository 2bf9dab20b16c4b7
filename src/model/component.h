// Facts about a component (one executable): its names, default settings, requirements and output style.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/options.h"
#include "model/spec.h"

namespace openimb {

/// Irregularities in the banners of IMB's reference outputs. We reproduce them because parsers rely on them.
struct BannerQuirks {
  bool blank_after_command = false;  ///< the line with the calling sequence ends with a blank
  bool blank_comments = false;       ///< the empty comment lines after the settings end with a blank
  bool blank_after_type = false;     ///< the line with the data type of reductions ends with a blank
};

/// The style of banners and table heads. pairs (IMB-P2P) and threads (IMB-MT) have no blanks at the ends of
/// lines. pairs orders the banner differently. In threads, all tables have the same width and state the
/// number of threads. rounds (IMB-FABRIC) is like pairs, and has tables that IMB does not have.
enum class OutputStyle { classic, pairs, threads, rounds };

/// Returns the name of a component's executable.
inline std::string executable_of(std::string_view component) { return "IMB-" + std::string(component); }

/// Facts about a component, without its benchmarks.
struct ComponentFacts {
  std::string_view name;   ///< "MPI1"
  std::string_view title;  ///< "MPI-1 part", as in the banner
  Defaults defaults = {};
  bool uses_files = false;  ///< creates files, so it needs a folder, free space and a system::Guardian
  BannerQuirks quirks = {};
  OutputStyle style = OutputStyle::classic;
};

/// A component with the Specs of its benchmarks, in the order in which they run.
struct ComponentList {
  ComponentFacts facts;
  std::span<const Spec> benchmarks;
};

}  // namespace openimb
