"""Ids of the keys that this installation has used. They distinguish a lost key file from a first start (P-KY-01)."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, MetaData, String, Table, bindparam, insert, select

from reference.store.database import Database, DuplicateKey

METADATA = MetaData()
known_keys = Table(
    "known_keys",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),
    Column("key_id", String(64), nullable=False),
    Column("since", BigInteger, nullable=False),
)
_ROW = known_keys.c
_IDS = select(_ROW.key_id).where(_ROW.name == bindparam("of_name")).order_by(_ROW.place)
_ADD = insert(known_keys).values({name: bindparam(name) for name in ("name", "place", "key_id", "since")})


class UsedKeyIds:
    """The key ids of one installation, by purpose. An id reveals nothing about its secret."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def prepare(self) -> None:
        """Create the table if it is missing."""
        await self._database.create(METADATA)

    async def ids(self, name: str) -> list[str]:
        """Return the ids of every key that was used under a name, the first one first."""
        return [str(key_id) for (key_id,) in await self._database.rows(_IDS, of_name=name)]

    async def add(self, name: str, key_id: str, *, now: int) -> str:
        """Record that a key is used.

        Returns:
            The id of the first key that was used under this name. Of workers that start at the same time, one is first.
        """
        while True:
            key_ids = await self.ids(name)
            if key_id in key_ids:
                return key_ids[0]
            try:
                await self._database.change(_ADD, name=name, place=len(key_ids), key_id=key_id, since=now)
            # Another worker has added a key at this place meanwhile. The list is read again, as that key may be the
            # same one.
            except DuplicateKey:
                continue
