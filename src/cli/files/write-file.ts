import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CommandFault } from '../command.ts';

/** Writes a file that is there whole or not at all. */
export async function writeWhole(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const draft = `${path}.${process.pid}.part`;
  await requireFolder(dirname(path));
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

async function requireFolder(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() !== true) throw new CommandFault([`There is no folder ${path}: make it first.`]);
}
