export type StorageRoots = ReturnType<typeof createStorageRoots>;

/** The storage root itself, as stored. */
export const STORAGE_ROOT = '.';
const BELOW = './';

/** Roots below the configured storage root are stored relative to it, so that a data folder can be moved or copied. */
export function createStorageRoots(storageRoot: string) {
  const base = storageRoot.replace(/\/+$/, '');
  return {
    toStored(root: string): string {
      const trimmed = root.replace(/\/+$/, '');
      if (trimmed === base) return STORAGE_ROOT;
      return trimmed.startsWith(`${base}/`) ? `${BELOW}${trimmed.slice(base.length + 1)}` : trimmed;
    },
    fromStored(text: string): string {
      if (text === STORAGE_ROOT) return base;
      return text.startsWith(BELOW) ? `${base}/${text.slice(BELOW.length)}` : text;
    },
  };
}

const SLUG_CHARACTERS_MAX = 40;

/**
 * A directory name that people recognize. The id makes it unique and is never chosen by a caller, so no name leads to
 * an existing directory.
 */
export function toStorageDirectory(name: string, id: string): string {
  return `${toSlug(name)}-${id}`;
}

function toSlug(name: string): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{Mn}/gu, '');
  const words = plain.match(/[a-z0-9]+/g) ?? [];
  return words.join('-').slice(0, SLUG_CHARACTERS_MAX).replace(/-$/, '') || 'table';
}
