import { branchPath, manifestPathLike, manifestPaths } from './format/layout.ts';
import { transactionFileName } from './format/next-manifest.ts';
import { encodeSchemaMetadataManifest, encodeSchemaMetadataTransaction } from './format/schema-metadata.ts';
import type { SchemaMetadataUpdate } from './storage.ts';
import type { SubmissionFiles } from './submitted/submitted-manifest.ts';

/**
 * Commits the version right after the base, with other metadata of the schema and nothing else. The engine can only add
 * keys. False: another commit was faster.
 */
export async function replaceSchemaMetadata(
  files: SubmissionFiles,
  branch: string | undefined,
  { baseVersion, metadata, transactionId, bytesMax }: SchemaMetadataUpdate,
): Promise<boolean> {
  const below = branchPath(branch);
  if (below === undefined) throw new Error('The name of the branch is no path.');
  const inBranch = (path: string): string => (below === '' ? path : `${below}/${path}`);
  for (const path of manifestPaths(baseVersion)) {
    const base = await files.read(inBranch(path), bytesMax);
    if (base === undefined) continue;
    const change = { base, baseVersion, metadata, uuid: transactionId, nowMilliseconds: Date.now() };
    const transaction = encodeSchemaMetadataTransaction(change);
    await files.putIfAbsent(inBranch(`_transactions/${transactionFileName(change)}`), transaction);
    return files.putIfAbsent(inBranch(manifestPathLike(path, baseVersion + 1)), encodeSchemaMetadataManifest(change));
  }
  throw new Error(`The manifest of version ${baseVersion} was not found.`);
}
