# The nine shapes for Cap'n Proto.
@0xab2242110ea0e31f;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("cp");

struct Ints { x @0 :List(Int32); }
struct Doubles { x @0 :List(Float64); }
struct IntDouble { i @0 :Int32; d @1 :Float64; }
struct Int { value @0 :Int32; }
struct Mixed { i @0 :Int32; d @1 :Float64; text @2 :Text; word @3 :Text; pointer @4 :Int; }
struct Pointer { to @0 :Int; }

struct Message {
  intArray @0 :List(Int32);
  doubleArray @1 :List(Float64);
  intStruct @2 :List(Ints);
  doubleStruct @3 :List(Doubles);
  strings @4 :List(Text);
  pointers @5 :List(Pointer);
  intDouble @6 :List(IntDouble);
  mix @7 :List(Mixed);
}
