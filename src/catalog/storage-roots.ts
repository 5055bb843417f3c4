/**
 * Roots below the configured storage root are kept relative to it, so that a data folder can be moved or copied and its
 * tables are found at the new location.
 */
export interface StorageRoots {
  toStored(root: string): string;
  fromStored(text: string): string;
}

const HERE = '.';
const BELOW = './';

export function createStorageRoots(storageRoot: string): StorageRoots {
  const base = storageRoot.replace(/\/+$/, '');
  return {
    toStored(root) {
      const trimmed = root.replace(/\/+$/, '');
      if (trimmed === base) return HERE;
      return trimmed.startsWith(`${base}/`) ? `${BELOW}${trimmed.slice(base.length + 1)}` : trimmed;
    },
    fromStored(text) {
      if (text === HERE) return base;
      return text.startsWith(BELOW) ? `${base}/${text.slice(BELOW.length)}` : text;
    },
  };
}
