"""What a decoder of this reference says when it refuses bytes: a name of spec/protocol/error.x."""


class Refused(Exception):
    def __init__(self, error, why):
        super().__init__(f"{error}: {why}")
        self.error = error


def malformed(why):
    return Refused("MALFORMED", why)


def require(condition, why):
    if not condition:
        raise malformed(why)
