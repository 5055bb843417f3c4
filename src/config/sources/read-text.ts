/** A file that an operator named, or the rest of a sentence that says why it cannot be read. */
export function readText(
  file: string,
  readFile: (path: string) => string,
): { readonly text: string } | { readonly fault: string } {
  try {
    return { text: readFile(file) };
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    const reason = error instanceof Error ? error.message : 'unknown reason';
    return { fault: `cannot be read: ${isMissing ? 'it does not exist' : reason}.` };
  }
}
