import { encodeEmptyManifest, encodeOverwriteTransaction } from './format/empty-manifest.ts';
import { branchPath, joinPath, manifestPathLike, manifestPaths } from './format/layout.ts';
import {
  encodeSchemaMetadataManifest,
  encodeSchemaMetadataTransaction,
  transactionFileName,
} from './format/next-manifest.ts';
import type { NextCommit } from './format/next-manifest.ts';
import type { EmptyVersion, NextVersion, SchemaMetadataUpdate } from './storage.ts';
import type { SubmissionFiles } from './submitted/submitted-manifest.ts';

/** Commits the next version with other schema metadata and no other change. The engine can only add keys. */
export async function replaceSchemaMetadata(
  files: SubmissionFiles,
  branch: string | undefined,
  update: SchemaMetadataUpdate,
): Promise<boolean> {
  return commitNext(files, branch, update, (commit) => {
    const change = { ...commit, metadata: update.metadata };
    return { transaction: encodeSchemaMetadataTransaction(change), manifest: encodeSchemaMetadataManifest(change) };
  });
}

/** Commits the next version without rows, and with another schema. The engine's overwrite replaces whatever exists. */
export async function commitEmpty(
  files: SubmissionFiles,
  branch: string | undefined,
  update: EmptyVersion,
): Promise<boolean> {
  return commitNext(files, branch, update, (commit) => {
    const change = { ...commit, ...update };
    return { transaction: encodeOverwriteTransaction(change), manifest: encodeEmptyManifest(change) };
  });
}

/** Commits the version right after the base, or nothing. False if another commit came first. */
async function commitNext(
  files: SubmissionFiles,
  branch: string | undefined,
  { baseVersion, transactionId }: NextVersion,
  encode: (commit: NextCommit) => { readonly transaction: Buffer; readonly manifest: Buffer },
): Promise<boolean> {
  const below = branchPath(branch);
  if (below === undefined) throw new Error('The name of the branch is no path.');
  for (const path of manifestPaths(baseVersion)) {
    const base = await files.read(joinPath(below, path));
    if (base === undefined) continue;
    const commit = { base, baseVersion, uuid: transactionId, nowMilliseconds: Date.now() };
    const { transaction, manifest } = encode(commit);
    await files.putIfAbsent(joinPath(below, `_transactions/${transactionFileName(commit)}`), transaction);
    return files.putIfAbsent(joinPath(below, manifestPathLike(path, baseVersion + 1)), manifest);
  }
  throw new Error(`The manifest of version ${baseVersion} was not found.`);
}
