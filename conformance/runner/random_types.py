"""Random types of every kind, and random values of them, as the agent protocol writes both.

A value is its list of units (README: Values); an array of uchar is one item of it. The random
numbers come from the generator's caller, so that one seed gives the same types and values again.
"""

NUMBERS = {  # name: least, largest
    "char": (0, 255), "uchar": (0, 255), "short": (-2**15, 2**15 - 1), "ushort": (0, 2**16 - 1),
    "int": (-2**31, 2**31 - 1), "uint": (0, 2**32 - 1),
    "hyper": (-2**63, 2**63 - 1), "uhyper": (0, 2**64 - 1),
    "bool": (0, 1),
}
FLOATS = {"float": 32, "double": 64}
# Infinities, quiet and signalling NaN with a payload, negative zero, the least denormal.
SPECIAL_BITS = {
    32: [0x7f800000, 0xff800000, 0x7fc00001, 0x7f800001, 0x80000000, 0x00000001],
    64: [
        0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000001, 0x7ff0000000000001, 1 << 63, 1
    ],
}


def integer(value):
    return value if abs(value) < 2**53 else str(value)


def bits(value, width):
    return f"0x{value:0{width // 4}x}"


class Type:
    """`name` is "" or the declared one, `body` the description by parts; `parts`
    and `count` by kind."""

    def __init__(self, kind, body, name="", parts=(), count=0):
        self.kind = kind
        self.body = body
        self.name = name
        self.parts = list(parts)
        self.count = count
        self.cases = []  # of a union: (discriminant, arm or None)
        self.units = self.count_units()
        self.items = self.list_items()

    @property
    def reference(self):
        return self.name or self.body

    def is_bytes(self):
        return self.kind == "array" and self.parts[0].name == "uchar"

    def count_units(self):
        if self.kind == "array":
            return self.count * self.parts[0].units
        return sum(part.units for part in self.parts) if self.kind == "record" else 1

    def list_items(self):
        """(first unit, type) of each item in the list of units of one value."""
        if self.kind not in ("array", "record") or self.is_bytes():
            return [(0, self)]
        found = []
        base = 0
        for part in self.parts if self.kind == "record" else self.parts * self.count:
            found += [(base + unit, item) for unit, item in part.items]
            base += part.units
        return found

    def places(self):
        """(unit, type) for every type that begins at a unit: where pointers may lead."""
        yield 0, self
        if self.kind in ("array", "record"):
            base = 0
            for part in self.parts if self.kind == "record" else self.parts * self.count:
                for unit, found in part.places():
                    yield base + unit, found
                base += part.units


PRIMITIVES = {name: Type("primitive", name, name) for name in [*NUMBERS, *FLOATS]}


class TypeMaker:
    """Types of one world. `prefix` keeps their names apart from other worlds'."""

    def __init__(self, random, prefix):
        self.random = random
        self.prefix = prefix
        self.named = []
        self.names = [f"{prefix}_{i}" for i in range(random.randint(3, 7))]
        self.unresolved = []  # sequences of types that are not made yet, or are being made

    def make_all(self):
        for name in self.names:
            maker = self.random.choice(
                [self.record, self.record, self.record, self.union, self.enum])
            made = maker(2)
            made.name = name
            self.named.append(made)
        for sequence, name in self.unresolved:
            sequence.parts.append(self.named[self.names.index(name)])
        return self.named

    def any(self, depth):
        random = self.random
        simple = [
            self.primitive, self.primitive, self.string, self.pointer, self.text, self.earlier,
            self.octets
        ]
        if depth == 0:
            return random.choice(simple)(0)
        return random.choice([*simple, self.array, self.record, self.union,
                              self.sequence])(depth - 1)

    def primitive(self, _depth):
        return self.random.choice(list(PRIMITIVES.values()))

    def earlier(self, depth):
        return self.random.choice(self.named) if self.named else self.primitive(depth)

    def octets(self, _depth):
        count = self.random.randint(1, 9)
        if self.random.random() < 0.5:
            return Type("sequence", {"sequence": ["uchar", 0]}, parts=[PRIMITIVES["uchar"]])
        return Type("array", {"array": ["uchar", count]}, parts=[PRIMITIVES["uchar"]], count=count)

    def string(self, _depth):
        bound = self.random.choice([1, 3, 15, 16, 17, 40, 300])
        return Type("string", {"string": bound}, count=bound)

    def text(self, _depth):
        return Type("text", {"text": 0})

    def pointer(self, _depth):
        target = self.random.choice([None, "int", "double", *self.names])
        made = Type("pointer", {"pointer": target})
        made.target = target
        return made

    def array(self, depth):
        element = self.any(depth)
        count = self.random.randint(1, 4)
        return Type("array", {"array": [element.reference, count]}, parts=[element], count=count)

    def sequence(self, depth):
        bound = self.random.choice([0, 0, 5])
        if self.random.random() < 0.3:
            name = self.random.choice(self.names)  # perhaps the type that this is a part of
            made = Type("sequence", {"sequence": [name, bound]}, count=bound)
            self.unresolved.append((made, name))
            return made
        element = self.any(depth)
        return Type("sequence", {"sequence": [element.reference, bound]}, parts=[element],
                    count=bound)

    def enum(self, _depth):
        values = self.random.sample(range(-5, 100), self.random.randint(1, 5))
        made = Type("enum", {"enum": [[f"m{i}", value] for i, value in enumerate(values)]})
        made.values = values
        return made

    def record(self, depth):
        parts = [self.any(depth) for _ in range(self.random.randint(1, 6))]
        return Type("record",
                    {"record": [[f"f{i}", part.reference] for i, part in enumerate(parts)]},
                    parts=parts)

    def union(self, depth):
        random = self.random
        arms = [
            None if random.random() < 0.2 else self.any(depth) for _ in range(random.randint(1, 4))
        ]
        body = {
            "on": ["on", "int"],
            "arms": [[f"a{i}", arm.reference, [i]] if arm else ["", None, [i]]
                     for i, arm in enumerate(arms)]
        }
        made = Type("union", {"union": body})
        made.cases = list(enumerate(arms))
        if random.random() < 0.4:
            other = self.any(depth)
            body["default"] = ["other", other.reference]
            made.cases.append((-7, other))
        return made


def zero(kind):
    """The units of a value that was never written."""
    if kind.kind == "primitive":
        return [bits(0, FLOATS[kind.name]) if kind.name in FLOATS else 0]
    if kind.is_bytes():
        return ["00" * kind.count]
    if kind.kind in ("array", "record"):
        return [unit for _, item in kind.items for unit in zero(item)]
    if kind.kind == "union":
        arm = dict(kind.cases)[0]  # every random union has an arm for 0
        return [{"case": 0, "units": zero(arm) if arm else []}]
    if kind.kind == "sequence":
        return ["" if kind.parts[0].name == "uchar" else []]
    return [{"enum": 0, "string": "", "text": "", "pointer": None}[kind.kind]]


class ValueMaker:
    """Random units. `pick_target(name)` gives the MIP of a place where a type begins, or None.

    The deeper a sequence lies in others, the shorter it is: types may
    contain sequences of themselves.
    """

    def __init__(self, random, pick_target):
        self.random = random
        self.depth = 0
        self.pick_target = pick_target

    def units(self, kind):
        return [self.unit(item) for _, item in kind.items]

    def unit(self, kind):
        """One item of the list of units."""
        return getattr(self, kind.kind)(kind)

    def primitive(self, kind):
        random = self.random
        if kind.name in FLOATS:
            width = FLOATS[kind.name]
            is_special = random.random() < 0.3
            chosen = random.choice(SPECIAL_BITS[width]) if is_special else random.getrandbits(width)
            return bits(chosen, width)
        least, largest = NUMBERS[kind.name]
        drawn = random.randint(least, largest)
        return integer(random.choice([least, largest, drawn, random.randint(0, 1)]))

    def hexadecimal(self, count):
        return self.random.randbytes(count).hex()

    def characters(self, most):
        count = self.random.choice([0, 1, most, self.random.randint(0, most)])
        return "".join(chr(self.random.randint(1, 255)) for _ in range(count))

    def array(self, kind):  # of uchar: the others are no items
        return self.hexadecimal(kind.count)

    def enum(self, kind):
        return self.random.choice(kind.values)

    def string(self, kind):
        return self.characters(kind.count)

    def text(self, _kind):
        return self.characters(60)

    def pointer(self, kind):
        return None if self.random.random() < 0.2 else self.pick_target(kind.target)

    def sequence(self, kind):
        count = self.random.randint(0, max(0, (kind.count or 4) - 2 * self.depth))
        if kind.parts[0].name == "uchar":
            return self.hexadecimal(count * 5 if kind.count == 0 else count)
        self.depth += 1
        units = [unit for _ in range(count) for unit in self.units(kind.parts[0])]
        self.depth -= 1
        return units

    def union(self, kind):
        case, arm = self.random.choice(kind.cases)
        return {"case": case, "units": self.units(arm) if arm else []}
