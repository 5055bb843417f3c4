/** A write as its sender saw it. Times are seconds of the machine's clock. */
export interface TracedWrite {
  readonly serial: number;
  readonly operation: string;
  /** The table that it wrote to: its folder is named after it. */
  readonly table: string;
  readonly startedAt: number;
  readonly endedAt: number;
  /** The version that it made, if it made one. */
  readonly version: number | undefined;
}

export interface TraceEvent {
  readonly at: number;
  /** `made`: a file or folder has this name from now on. `synced`: what has this name is on the disk. */
  readonly kind: 'made' | 'synced';
  readonly path: string;
  /** Of what got its name by a rename or a link: the name before. */
  readonly from?: string;
}

export interface Unsynced {
  readonly serial: number;
  readonly operation: string;
  readonly path: string;
}

/** What the service leaves unsynced, because the engine does without it: transactions stand in the manifests too. */
const EXPENDABLE = /\/_transactions(?:\/|$)|\/_versions\/latest_version_hint\.json$/;

/** The catalog syncs itself, file by file, as its own journal demands. */
const CATALOG = /tiltyard\.db(?:-wal|-shm|-journal)?$/;

/** What `strace -f -y -ttt` wrote, as far as it is about the folder. Calls that were interrupted are joined first. */
export function readTrace(text: string, folder: string): readonly TraceEvent[] {
  const events: TraceEvent[] = [];
  for (const { at, call } of joinCalls(text)) {
    const event = readCall(at, call);
    if (event !== undefined && event.path.startsWith(folder) && !CATALOG.test(event.path)) events.push(event);
  }
  return events;
}

function* joinCalls(text: string): Generator<{ readonly at: number; readonly call: string }> {
  const open = new Map<string, string>();
  for (const line of text.split('\n')) {
    const match = /^(?:(\d+)\s+)?(\d+\.\d+) (.*)$/.exec(line);
    if (match === null) continue;
    const [, pid = '', time = '', call = ''] = match;
    if (call.endsWith('<unfinished ...>')) {
      open.set(pid, call.slice(0, -'<unfinished ...>'.length));
      continue;
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(call);
    // A call counts from its end: only then it has done what it says.
    yield { at: Number(time), call: resumed === null ? call : `${open.get(pid) ?? ''}${resumed[1]}` };
  }
}

function readCall(at: number, call: string): TraceEvent | undefined {
  if (/= -1 /.test(call)) return undefined;
  const synced = /^(?:fsync|fdatasync)\(\d+<([^>]+)>/.exec(call);
  if (synced !== null) return { at, kind: 'synced', path: synced[1] ?? '' };
  const opened = /^openat\(.*O_CREAT.*= \d+<([^>]+)>/.exec(call);
  if (opened !== null) return { at, kind: 'made', path: opened[1] ?? '' };
  const folder = /^mkdir(?:at)?\((?:[^,"]*, )?"([^"]+)"/.exec(call);
  if (folder !== null) return { at, kind: 'made', path: folder[1] ?? '' };
  const moved = /^(?:rename|renameat|renameat2|link|linkat)\([^"]*"([^"]+)"[^"]*"([^"]+)"/.exec(call);
  return moved === null ? undefined : { at, kind: 'made', path: moved[2] ?? '', from: moved[1] ?? '' };
}

/**
 * What was made in the folder of a write's table since the commit before it and up to its own, and was neither synced itself
 * nor in its folder when the answer was there. So what the server made of itself between two writes counts too, for the
 * write that stands on it; a merge that begins after the commit and before the answer counts for the next one.
 */
export function findUnsynced(
  events: readonly TraceEvent[],
  writes: readonly TracedWrite[],
  isThere: (path: string) => boolean,
): readonly Unsynced[] & { readonly made: number } {
  const unsynced: Unsynced[] = [];
  let made = 0;
  const lastCommitAt = new Map<string, number>();
  for (const { serial, operation, table, startedAt, endedAt, version } of writes) {
    const since = lastCommitAt.get(table) ?? startedAt;
    const during = events.filter(({ at }) => at >= since && at <= endedAt);
    const isOwn = ({ kind, path }: TraceEvent): boolean =>
      kind === 'made' && path.includes(`/${table}-`) && !EXPENDABLE.test(path);
    const commit = during.find((event) => isOwn(event) && event.path.endsWith(manifestName(version)));
    if (commit !== undefined) lastCommitAt.set(table, commit.at);
    else if (version !== undefined)
      unsynced.push({ serial, operation, path: `version ${version}, which was not seen` });
    const standsOn = ({ at, path }: TraceEvent): boolean =>
      commit === undefined ? at >= startedAt && path.includes('/_refs/') : at <= commit.at;
    for (const event of during) {
      if (!isOwn(event) || !standsOn(event) || !isThere(event.path)) continue;
      made += 1;
      const names = [event.path, event.from];
      const folder = event.path.slice(0, event.path.lastIndexOf('/'));
      const isSynced = during.some(({ kind, path }) => kind === 'synced' && names.includes(path));
      const isFolderSynced = during.some(
        ({ kind, path, at }) => kind === 'synced' && path === folder && at >= event.at,
      );
      if (!isSynced || !isFolderSynced) unsynced.push({ serial, operation, path: event.path });
    }
  }
  return Object.assign(unsynced, { made });
}

/** Newer versions come first in the order of their names. */
function manifestName(version: number | undefined): string {
  return version === undefined ? '/no version' : `/_versions/${2n ** 64n - 1n - BigInt(version)}.manifest`;
}
