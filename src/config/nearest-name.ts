/** The known name that a misspelt one most likely means, if any is near enough. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  const limit = Math.max(2, Math.floor(given.length / 4));
  let nearest: string | undefined;
  let least = limit + 1;
  for (const name of known) {
    if (Math.abs(name.length - given.length) >= least) continue;
    const distance = editDistance(given.toLowerCase(), name.toLowerCase());
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

/** Insertions, deletions and replacements that turn one text into the other (Levenshtein). */
export function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let line = 1; line <= from.length; line += 1) {
    const current = [line];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = cell(previous, column - 1) + (from[line - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, cell(previous, column) + 1, cell(current, column - 1) + 1));
    }
    previous = current;
  }
  return cell(previous, to.length);
}

function cell(cells: readonly number[], index: number): number {
  return cells[index] ?? Number.POSITIVE_INFINITY;
}
