// How reporters write: all of a call's text at once, and one complaint when that fails.
#pragma once

#include <cstdio>
#include <string>

namespace openimb {

/// Writes and flushes `text`. The first failure on this output is told on stderr and clears `ok`; later calls
/// go on trying, as a full disk may have room again. `name`: "standard output", or the file in quotes.
void write_and_flush(std::FILE* out, const std::string& text, const std::string& name, bool& ok);

}  // namespace openimb
