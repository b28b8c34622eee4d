//===- JsonReader.h - Fields of the manifest --------------------*- C++ -*-===//
//
// Licensed under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MAMBA_LIB_RUNTIME_JSONREADER_H
#define MAMBA_LIB_RUNTIME_JSONREADER_H

#include "Error.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace mamba::runtime {

/// A value of the manifest that knows where it is, for messages.
class JsonReader {
public:
  using Json = nlohmann::json;

  JsonReader(const Json &value, std::string place)
      : value(&value), place(std::move(place)) {}

  [[noreturn]] void fail(const std::string &message) const {
    throw Error(MAMBA_STATUS_BUNDLE, place + ": " + message);
  }

  /// Says where a failure of `read` was.
  template <typename Function> auto annotate(const Function &read) const {
    try {
      return read();
    } catch (const Error &error) {
      fail(error.what());
    }
  }

  bool has(const char *key) const {
    return value->is_object() && value->contains(key);
  }

  JsonReader get(const char *key) const {
    if (!value->is_object())
      fail("expected an object");
    auto it = value->find(key);
    if (it == value->end())
      fail(std::string("expected a field '") + key + "'");
    return {*it, place + "." + key};
  }

  std::vector<JsonReader> elements() const {
    if (!value->is_array())
      fail("expected an array");
    std::vector<JsonReader> result;
    for (const Json &element : *value)
      result.emplace_back(element,
                          place + "[" + std::to_string(result.size()) + "]");
    return result;
  }

  /// The elements of an array, none if there is no field `key`.
  std::vector<JsonReader> elementsOf(const char *key) const {
    return has(key) ? get(key).elements() : std::vector<JsonReader>();
  }

  std::vector<std::pair<std::string, JsonReader>> members() const {
    if (!value->is_object())
      fail("expected an object");
    std::vector<std::pair<std::string, JsonReader>> result;
    for (auto it = value->begin(); it != value->end(); ++it)
      result.push_back({it.key(), {it.value(), place + "." + it.key()}});
    return result;
  }

  std::string string() const {
    if (!value->is_string())
      fail("expected a string");
    // C strings end at a 0.
    std::string text = value->get<std::string>();
    if (text.find('\0') != std::string::npos)
      fail("expected a string without zero bytes");
    return text;
  }

  int64_t integer(int64_t least, int64_t most) const {
    bool fits = value->is_number_integer() &&
                !(value->is_number_unsigned() &&
                  value->get<uint64_t>() > uint64_t(INT64_MAX));
    int64_t number = fits ? value->get<int64_t>() : 0;
    if (!fits || number < least || number > most)
      fail("expected an integer from " + std::to_string(least) + " to " +
           std::to_string(most) + ", got " + value->dump());
    return number;
  }

  bool isInteger() const { return value->is_number_integer(); }
  std::string dump() const { return value->dump(); }

private:
  const Json *value;
  std::string place;
};

} // namespace mamba::runtime

#endif // MAMBA_LIB_RUNTIME_JSONREADER_H
