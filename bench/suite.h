// bench/suite.h: lists of problems: built-in suites ("@resnet_50"), files of descriptors, single
// ones.
//
// A file holds tokens separated by white space; a token that starts with '#' comments out the rest
// of its line; a token that ends with a backslash is joined with the next one. A token that is no
// valid descriptor becomes a case with an error, the others go on.
#ifndef RAFTER_BENCH_SUITE_H_
#define RAFTER_BENCH_SUITE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/descriptor.h"
#include "bench/op_descriptor.h"
#include "rafter/status.h"

namespace rafter::bench {

struct SuiteCase {
  // A memory-bound operator instead of a convolution: then `descriptor` has its text only.
  std::shared_ptr<const OpCase> op;
  Descriptor descriptor;  // valid when status.ok(); otherwise only `text` is set
  Status status;          // why the token is unusable; the message starts with `origin`
  // The values of the sweep that made it (bench/sweep.h), empty otherwise.
  std::vector<std::pair<std::string, int64_t>> sweep;
  std::string origin;     // "resnet_50.txt:3:1" (file, line, column), empty for a single descriptor
};

struct SuiteInfo {
  std::string name;         // without '@'
  std::string description;  // the first comment line of the file
  int cases = 0;
};

// The suites built into the program, by name; the last is "all".
std::vector<SuiteInfo> ListSuites();

// `name` with or without '@'. "all" is the union of all suites of convolutions, equal geometry once.
// kInvalidArgument for an unknown name; the message lists the known ones.
Result<std::vector<SuiteCase>> LoadSuite(std::string_view name);

// kInvalidArgument when the file cannot be read or holds no case.
Result<std::vector<SuiteCase>> LoadSuiteFile(const std::string& path);

// The cases of a text; `origin` is the file name used in positions.
std::vector<SuiteCase> ParseSuite(std::string_view text, std::string_view origin);

// What the user wrote on the command line: "@suite", else the path of an existing file, else a
// descriptor. Errors as above; a bad descriptor is an error here.
Result<std::vector<SuiteCase>> LoadCases(const std::string& argument);

// Sets the batch of every usable case (`mb` >= 0).
void OverrideBatch(std::vector<SuiteCase>& cases, int64_t mb);

// Keeps the first case of each geometry (sizes; names and `g1` do not count) and every unusable
// one.
void RemoveDuplicates(std::vector<SuiteCase>& cases);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_SUITE_H_
