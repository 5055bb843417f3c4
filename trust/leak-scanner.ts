import type { IncomingHttpHeaders } from 'node:http';

export interface Leak {
  readonly where: string;
  readonly what: string;
}

/** What was scanned, and what was found. */
export interface Scanned {
  readonly replies: number;
  readonly logLines: number;
  readonly planted: number;
  readonly secretHits: number;
  readonly pathHits: number;
  readonly engineHits: number;
  readonly leaks: readonly Leak[];
}

const LEAKS_KEPT = 20;

/** Build folders, data folders and homes; and the engine's own texts. */
const MACHINE_PATH = /\/(?:tmp|home|root|var|usr|private|rustc|Users)\/[\w.+-]+|\.cargo|node_modules/;
const ENGINE_TEXT =
  /lance::|lancedb::|lance_\w+::|\.rs:\d+|datafusion::|DataFusion error|panicked at|GenericFailure|tokio::|object_store::|arrow_\w+::/;

/** Fields whose purpose is to show where data is. */
const PATH_FIELDS = new Set(['location', 'manifest_path', 'table_uri', 'root']);

/** Scans everything that the server sends or logs for what it must never reveal. */
export class LeakScanner {
  readonly #secrets: string[] = [];
  readonly #leaks: Leak[] = [];
  #replies = 0;
  #logLines = 0;
  #secretHits = 0;
  #pathHits = 0;
  #engineHits = 0;

  /** These must not appear from now on. Replies that legitimately return one for the first time are scanned before. */
  plant(...secrets: readonly string[]): void {
    this.#secrets.push(...secrets);
  }

  seen(): Scanned {
    return {
      replies: this.#replies,
      logLines: this.#logLines,
      planted: this.#secrets.length,
      secretHits: this.#secretHits,
      pathHits: this.#pathHits,
      engineHits: this.#engineHits,
      leaks: [...this.#leaks],
    };
  }

  scanReply(where: string, headers: IncomingHttpHeaders, body: string | Buffer): void {
    this.#replies += 1;
    this.#scanSecrets(where, body);
    this.#scanText(`${where} (headers)`, Object.values(headers).join('\n'));
    if (typeof body === 'string' && (MACHINE_PATH.test(body) || ENGINE_TEXT.test(body))) {
      this.#scanText(where, withoutPathFields(body));
    }
  }

  /** The log is for operators, who know the machine: it may contain folders and causes, but never a secret. */
  scanLog(line: string): void {
    this.#logLines += 1;
    this.#scanSecrets('log', line);
  }

  #scanSecrets(where: string, body: string | Buffer): void {
    for (const secret of this.#secrets) {
      if (!body.includes(secret)) continue;
      this.#secretHits += 1;
      this.#keep(where, `the secret ${secret.slice(0, 6)}…`);
    }
  }

  #scanText(where: string, text: string): void {
    const path = MACHINE_PATH.exec(text);
    if (path !== null) {
      this.#pathHits += 1;
      this.#keep(where, path[0]);
    }
    const engine = ENGINE_TEXT.exec(text);
    if (engine !== null) {
      this.#engineHits += 1;
      this.#keep(where, engine[0]);
    }
  }

  #keep(where: string, what: string): void {
    if (this.#leaks.length < LEAKS_KEPT) this.#leaks.push({ where, what });
  }
}

export function addScanned(one: Scanned | undefined, other: Scanned): Scanned {
  if (one === undefined) return other;
  return {
    replies: one.replies + other.replies,
    logLines: one.logLines + other.logLines,
    // The administrator's key is planted in each.
    planted: one.planted + other.planted - 1,
    secretHits: one.secretHits + other.secretHits,
    pathHits: one.pathHits + other.pathHits,
    engineHits: one.engineHits + other.engineHits,
    leaks: [...one.leaks, ...other.leaks].slice(0, LEAKS_KEPT),
  };
}

function withoutPathFields(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), (key, value: unknown) => (PATH_FIELDS.has(key) ? undefined : value));
  } catch {
    return text;
  }
}
