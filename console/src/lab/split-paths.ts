/** The parts of a list with commas. */
export function splitPaths(text: string): string[] {
  return text
    .split(',')
    .map((path) => path.trim())
    .filter((path) => path !== '');
}
