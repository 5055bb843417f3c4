import { open, rename, rm } from 'node:fs/promises';

/** Writes a file that is there whole or not at all. */
export async function writeWhole(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const draft = `${path}.${process.pid}.part`;
  const handle = await open(draft, 'w');
  try {
    for await (const piece of pieces) await handle.write(piece);
    await handle.sync();
  } catch (error) {
    await handle.close();
    await rm(draft, { force: true });
    throw error;
  }
  await handle.close();
  await rename(draft, path);
}
