"""What all of InterWeave's exceptions are. Their classes are generated: errors.py."""


class Error(Exception):
    """InterWeave could not do it. The text says what was asked, what was found and what to do."""

    code: int = 0
    """The negative number that programs in other languages see (IW_E... in interweave.h)."""
    code_name: str = ""
    """Its name there, without IW_E: "NO_BLOCK"."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""
