import { isObject, parseJson } from '../../model/strict-json.ts';
import { MAIN_BRANCH, locationUri } from '../../model/table.ts';
import type { ManifestAddress, RefFile } from '../storage.ts';
import { manifestName, readManifestName } from './manifest.ts';

/** The folder for manifests of a table or branch. */
export const VERSIONS = '_versions';
/** What a version may refer to. A clone does not copy tags, branches and other versions. */
export const DATA_FOLDERS = ['data', '_deletions', '_indices', '_transactions'] as const;

/** Below the location of the table; an address if the location is one. */
export function manifestPath({ location, branch, version, isCountedDown }: ManifestAddress): string {
  const isMain = branch === undefined || branch === MAIN_BRANCH;
  const folder = `${locationUri(location)}/${isMain ? '' : `tree/${branch}/`}${VERSIONS}`;
  return `${folder}/${isCountedDown ? manifestName(version) : `${version}.manifest`}`;
}

/** Relative to a table or branch, in both naming schemes. */
export function manifestPaths(version: number): readonly string[] {
  return [manifestName(version), `${version}.manifest`].map((name) => `${VERSIONS}/${name}`);
}

/** The path of another version, in the naming scheme of an existing manifest. */
export function manifestPathLike(path: string, version: number): string {
  const [countedDown = '', plain = ''] = manifestPaths(version);
  return /\/\d{20}\.manifest$/.test(path) ? countedDown : plain;
}

/**
 * The path of a branch below its table; empty for the main branch. `undefined` for a name that leads out of the folder
 * of branches: callers choose the name, and it becomes a path here.
 */
export function branchPath(branch: string | undefined): string | undefined {
  if (branch === undefined || branch === MAIN_BRANCH) return '';
  const isPlain = branch.split('/').every((segment) => SEGMENT.test(segment) && segment !== '.' && segment !== '..');
  return isPlain ? `tree/${branch}` : undefined;
}

/**
 * The folders of one branch, without those of branches below it. The versions come first: without them it is not a
 * table.
 */
export function branchFolders(branch: string, others: readonly string[]): readonly string[] {
  const folder = branchPath(branch);
  const isOfOther = (name: string) => others.some((other) => `${other}/`.startsWith(`${branch}/${name}/`));
  if (folder === undefined || folder === '') return [];
  return [VERSIONS, ...DATA_FOLDERS].filter((name) => !isOfOther(name)).map((name) => `${folder}/${name}`);
}

/** Joins the result of `branchPath` with the path of a file. */
export function joinPath(folder: string, path: string): string {
  return folder === '' ? path : `${folder}/${path}`;
}

const SEGMENT = /^[A-Za-z0-9._-]{1,200}$/;

/** The file of a tag or branch, relative to its table. */
export function refPath(kind: 'tags' | 'branches', name: string): string {
  return `_refs/${kind}/${encodeURIComponent(name)}.json`;
}

/** What the engine stores for a tag or branch; the native API returns only a part of it. */
export function readRef(text: string): RefFile | undefined {
  const content = parseJson(text);
  return isObject(content) ? content : undefined;
}

export interface NamedManifest {
  readonly name: string;
  readonly version: number;
}

/** The manifests among the names in a folder of versions. */
export function toManifests(names: readonly string[]): readonly NamedManifest[] {
  return names.flatMap((name) => {
    const version = readManifestName(name);
    return version === undefined ? [] : [{ name, version }];
  });
}

/** More commits than this are not made at once. */
const COMMITS_MAX = 1000;

/** The manifests after a version, oldest first. */
export function toManifestsAfter(names: readonly string[], version: number): readonly NamedManifest[] {
  return toManifests(names)
    .filter((manifest) => manifest.version > version)
    .toSorted((one, other) => one.version - other.version)
    .slice(0, COMMITS_MAX);
}
