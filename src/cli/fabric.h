// What the options of IMB-FABRIC exclude, and what they leave open.
#pragma once

#include <span>
#include <string_view>

#include "cli/draft.h"

namespace openimb {

/// `given`: names of all options on the command line. Throws UsageError.
void settle_fabric(Draft& draft, std::span<const std::string_view> given);

}  // namespace openimb
