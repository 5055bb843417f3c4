const SLUG_CHARACTERS_MAX = 40;

/**
 * A directory name with something to recognise for people who look. Only the id makes it unique, and no caller chooses
 * an id, so no name leads to a directory that is there already.
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
