// The paper's aString, as printed, in a program outside the tree: a writer ships one to a reader.
#include "paper_string.h"

#include <cstdio>

using namespace iw::containers_test;
using Strings = Vector<Ref>;

int main() {
  register_object<aString>("aString");
  Factory factory;
  auto writer = factory.make_writer<Strings>("strings");
  auto reader = factory.make_reader<Strings>("strings");
  writer->call<&Strings::push_back>(std::make_shared<aString>("as printed"));
  writer.reset();
  const auto copy = std::dynamic_pointer_cast<aString>(reader->read()->value().at(0));
  std::printf("%s\n", copy->text().c_str());
}
