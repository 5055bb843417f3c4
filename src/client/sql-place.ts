/** Where the server found a fault in a SQL text. */
export interface SqlPlace {
  /** What the text is, such as `filter`, `predicate` or `updates[0] expression`. */
  readonly text: string;
  /** Counted from 1 in characters as people see them. */
  readonly character: number;
}

/** Read from the sentence of a refusal; `undefined` when it is about something else. */
export function findSqlPlace(message: string): SqlPlace | undefined {
  const match = /^In (.+?) at character (\d+)[,:]/.exec(message);
  if (match === null) return undefined;
  return { text: match[1] ?? '', character: Number(match[2]) };
}
