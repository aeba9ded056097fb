// cli/wisdom_file.h: reading a file of wisdom (rafter/wisdom.h) into the process. Writing is that of
// every other output.
#ifndef RAFTER_CLI_WISDOM_FILE_H_
#define RAFTER_CLI_WISDOM_FILE_H_

#include <string>

#include "rafter/status.h"

namespace rafter::cli {

// Imports the content; an empty file has none. kInvalidArgument names `--wisdom`, the path, and the
// line that is wrong or the system's reason; nothing is imported then.
Status LoadWisdom(const std::string& path);

}  // namespace rafter::cli

#endif  // RAFTER_CLI_WISDOM_FILE_H_
