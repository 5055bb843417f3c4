import { randomBytes } from 'node:crypto';
import { rmSync, statSync, writeFileSync } from 'node:fs';

const RESERVE_BYTES = 256 * 1024;

/**
 * Space that is given up when the disk is full, so that the catalog can be opened: SQLite needs 32 KiB for the index of
 * its write-ahead log, and removes that file whenever the last connection is closed. Random bytes, because some file
 * systems store no zeros. That there is no space for it is no failure.
 */
export function keepReserve(catalogFile: string): void {
  const file = reserveFile(catalogFile);
  try {
    if (statSync(file, { throwIfNoEntry: false })?.size === RESERVE_BYTES) return;
    writeFileSync(file, randomBytes(RESERVE_BYTES), { mode: 0o600 });
  } catch {
    rmSync(file, { force: true });
  }
}

/** Whether there was one. */
export function releaseReserve(catalogFile: string): boolean {
  const file = reserveFile(catalogFile);
  const isThere = statSync(file, { throwIfNoEntry: false }) !== undefined;
  rmSync(file, { force: true });
  return isThere;
}

function reserveFile(catalogFile: string): string {
  return `${catalogFile}-reserve`;
}
