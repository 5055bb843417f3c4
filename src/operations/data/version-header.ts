/** Tells the LanceDB client which version it has seen; from then on it asks for no older one. */
export const VERSION_HEADER = 'x-lancedb-version';
