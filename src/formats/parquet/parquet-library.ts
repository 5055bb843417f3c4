import type * as parquet from 'parquet-wasm';

/**
 * The Parquet library is Arrow's reader and writer as 5 MB of WebAssembly: loaded with the first file that needs it.
 */
export async function loadParquet(): Promise<typeof parquet> {
  const library = await import('parquet-wasm');
  // The browser build fetches its WebAssembly only on request; the Node build has already read it.
  const start: unknown = Reflect.get(library, 'default');
  if (typeof start === 'function') await start();
  return library;
}
