import { availableParallelism } from 'node:os';

/**
 * Of the C library's allocator, which reads them when a process starts. By itself it gives the memory of large blocks back
 * soon after: the pages of each scan are then cleared by the kernel again, a fifth of what a search of 10,000 vectors
 * costs. Blocks of up to 32 MiB are taken from memory that the process has, and each of its pools keeps up to 128 MiB.
 * There are two pools for each processor, where it would have eight: 200 uploads at once then take 1.4 instead of 1.6 GiB.
 * With fewer, threads wait for one another, and searches of small tables are slower by a tenth.
 */
const ALLOCATOR = {
  MALLOC_MMAP_THRESHOLD_: String(32 * 2 ** 20),
  MALLOC_TRIM_THRESHOLD_: String(128 * 2 ** 20),
  MALLOC_ARENA_MAX: String(Math.max(4, 2 * availableParallelism())),
};

/** What the operator has set stays. */
export function toWorkerEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...ALLOCATOR, ...environment };
}
