/**
 * Of the C library's allocator, which reads them when a process starts. By itself it maps every large block anew and gives
 * it back at once: the pages of each scan are then cleared by the kernel again, a fifth of what a search of 10,000 vectors
 * costs. Blocks of up to 16 MiB are taken from memory that the process has; each of its pools keeps up to 64 MiB. Fewer
 * pools than there are by itself would save memory, and make searches wait for each other.
 */
const ALLOCATOR = {
  MALLOC_MMAP_THRESHOLD_: String(16 * 2 ** 20),
  MALLOC_TRIM_THRESHOLD_: String(64 * 2 ** 20),
};

/** What the operator has set stays. */
export function toWorkerEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...ALLOCATOR, ...environment };
}
