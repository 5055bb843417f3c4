/** A write as its sender saw it. Times are in seconds of the machine's clock. */
export interface TracedWrite {
  readonly serial: number;
  readonly operation: string;
  /** The table that it wrote to, after which its folder is named. */
  readonly table: string;
  readonly startedAt: number;
  readonly endedAt: number;
  /** The version that it created, if any. */
  readonly version: number | undefined;
}

export interface TraceEvent {
  readonly at: number;
  /** `made`: a file or folder has this name from now on. `synced`: the file or folder with this name is on disk. */
  readonly kind: 'made' | 'synced';
  readonly path: string;
  /** After a rename or a link: the previous name. */
  readonly from?: string;
}

export interface Unsynced {
  readonly serial: number;
  readonly operation: string;
  readonly path: string;
}

/** What the service does not sync, because the engine does not need it: manifests contain the transactions too. */
const EXPENDABLE = /\/_transactions(?:\/|$)|\/_versions\/latest_version_hint\.json$/;

/** The catalog syncs its own files, as its journal requires. */
const CATALOG = /tiltyard\.db(?:-wal|-shm|-journal)?$/;

/** Parses the output of `strace -f -y -ttt` for one folder. Interrupted calls are joined first. */
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
    // A call counts from its end, because only then has it taken effect.
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
 * What was created in the folder of a write's table between the previous commit and its own, but was not synced when
 * the reply arrived, neither itself nor in its folder. So what the server itself created between two writes also counts
 * for the write that builds on it; a merge that begins between commit and reply counts for the next one.
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

/** Newer versions sort first by name. */
function manifestName(version: number | undefined): string {
  return version === undefined ? '/no version' : `/_versions/${2n ** 64n - 1n - BigInt(version)}.manifest`;
}
