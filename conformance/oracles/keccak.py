"""Keccak-256, the hash of EVM chains: SHA3-256 (FIPS 202) with the padding of the original submission.

The standard library has the permutation behind SHA-3 only, and libraries that offer this hash bring ten megabytes of
other ciphers along.
"""

from __future__ import annotations

from typing import Final

_RATE: Final = 136  # bytes of the state that a block of input goes into, where 256 bits come out
_LANE: Final = (1 << 64) - 1
_ROUNDS: Final = 24


def keccak256(data: bytes) -> bytes:
    """Return the 32 bytes of Keccak-256."""
    return sponge(data, 0x01)


def sponge(data: bytes, suffix: int) -> bytes:
    """Return 32 bytes of the sponge with a capacity of 512 bits.

    Args:
        data: The message.
        suffix: First byte of the padding: 0x01 as submitted, 0x06 for SHA3-256 (FIPS 202, section 6.1 and B.2).
    """
    padded_message = bytearray(data) + bytes([suffix]) + bytes(-(len(data) + 1) % _RATE)
    # The padding ends with a one bit in the last byte of the block (pad10*1).
    padded_message[-1] |= 0x80
    state = [0] * 25
    for start in range(0, len(padded_message), _RATE):
        for place in range(_RATE // 8):
            state[place] ^= int.from_bytes(padded_message[start + 8 * place : start + 8 * place + 8], "little")
        _permute(state)
    return b"".join(lane.to_bytes(8, "little") for lane in state[:4])


def _permute(state: list[int]) -> None:
    """Do Keccak-f[1600] (FIPS 202, section 3.3); the lane of (x, y) stands at x + 5 y."""
    # The five steps of a round: theta, rho and pi together, chi, iota.
    for constant in _CONSTANTS:
        columns = [state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20] for x in range(5)]
        ahead = [(neighbour << 1 | neighbour >> 63) & _LANE for neighbour in columns]
        theta = [columns[x - 1] ^ ahead[(x + 1) % 5] for x in range(5)]
        lanes = [
            ((neighbour := state[place] ^ theta[x]) << turn | neighbour >> (64 - turn)) & _LANE
            for place, x, turn in _MOVES
        ]
        state[:] = [lanes[place] ^ (~lanes[neighbour] & lanes[two]) for place, neighbour, two in _NEIGHBOURS]
        state[0] ^= constant


def _moves() -> list[tuple[int, int, int]]:
    """Return for each place which lane rho and pi bring there, its x, and how far they turn it (3.2.2 and 3.2.3)."""
    turns = [0] * 25
    x, y = 1, 0
    for step in range(24):
        turns[x + 5 * y] = (step + 1) * (step + 2) // 2 % 64
        x, y = y, (2 * x + 3 * y) % 5
    places = [((x + 3 * y) % 5, x) for y in range(5) for x in range(5)]
    return [(x + 5 * y, x, turns[x + 5 * y]) for x, y in places]


def _constants() -> list[int]:
    """Return the constants of iota, one a round (section 3.2.5): bits of a shift register."""
    register, constants = 1, []
    for _ in range(_ROUNDS):
        constant = 0
        for power in range(7):
            if register & 1:
                constant |= 1 << ((1 << power) - 1)
            # The feedback polynomial of the shift register is x^8 + x^6 + x^5 + x^4 + 1.
            register = register << 1 ^ (0x171 if register & 0x80 else 0)
        constants.append(constant)
    return constants


_MOVES: Final = _moves()
# For each lane the two behind it in its row, which chi mixes into it (section 3.2.4).
_NEIGHBOURS: Final = [(x + y, (x + 1) % 5 + y, (x + 2) % 5 + y) for y in range(0, 25, 5) for x in range(5)]
_CONSTANTS: Final = _constants()
