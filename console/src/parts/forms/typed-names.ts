/** Existing names in a field may begin or end with a space: only typed names are trimmed. */
export function readName(typed: string, given = ''): string {
  return isKept(typed, given) ? given : typed.trim();
}

export function isKept(typed: string, given: string): boolean {
  return typed === given || typed.trim() === given;
}

/** Names joined by slashes, which no name contains. */
export function readPath(typed: string, given: readonly string[] = []): string[] {
  return typed
    .split('/')
    .map((name) => (given.includes(name) ? name : name.trim()))
    .filter((name) => name !== '');
}
