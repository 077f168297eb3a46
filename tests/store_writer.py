"""A process that stores versions of documents until it is done or killed; for test_lance.py.

Prints a line after each acknowledged write.
"""

import asyncio
import sys
from pathlib import Path

from anabranch.stores.lance import LanceStore
from store_samples import DIMENSIONS, indexed


def version_of(source: str, writer: str, number: int) -> list[str]:
    """Passages that tell their version, in a number that changes from version to version."""
    return [f"apple {writer} version{number} part{part}" for part in range(1 + number % 4)]


async def write(folder: Path, writer: str, count: int) -> None:
    store = await LanceStore.open(folder, dimensions=DIMENSIONS)
    for number in range(count):
        await store.replace(
            [
                indexed("shared.txt", *version_of("shared.txt", writer, number)),
                indexed(f"{writer}{number % 5}.txt", f"pear {writer} {number}"),
            ]
        )
        print(number, flush=True)
    await store.close()


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
