import type { HttpClient, Reply } from '../../http.ts';
import { Known } from '../../model/known.ts';
import { expectElsewhere, judge, write } from './exchange.ts';
import type { WriteRequest, Writer, WriterContext, Written } from './exchange.ts';

const KEPT = 3;

/** Objects that are created once under a name, and removed a few steps later. */
export interface Things {
  readonly name: string;
  readonly prepare?: () => Promise<void>;
  readonly make: (serial: number) => WriteRequest | Promise<Written>;
  readonly remove?: (serial: number) => WriteRequest;
  /** `absent`, `whole`, or what is wrong with it. */
  readonly look: (client: HttpClient, serial: number) => Promise<string | undefined>;
  /** All that are not absent. */
  readonly lookAll: (client: HttpClient) => Promise<ReadonlyMap<number, string>>;
}

export function writeThings(context: WriterContext, things: Things): Writer {
  const { name, make, remove, look, lookAll } = things;
  const known = new Map<number, Known>();
  const refused = new Map<number, Written>();
  const expect = async (serial: number, { node, attempts }: Written, value: string): Promise<void> =>
    expectElsewhere(context, {
      what: `${name} ${serial}`,
      writtenAt: node,
      value,
      attempts,
      read: async (client) => look(client, serial),
    });
  return {
    name,
    ...(things.prepare === undefined ? {} : { prepare: things.prepare }),
    async step(serial) {
      const thing = new Known('absent');
      known.set(serial, thing);
      const made = make(serial);
      const written = await (made instanceof Promise ? made : write(context, made));
      settle(thing, written.outcome, 'whole');
      if (written.outcome === 'refused') refused.set(serial, written);
      if (written.outcome === 'done') await expect(serial, written, 'whole');
      const old = serial - KEPT;
      if (remove === undefined || known.get(old)?.describe() !== 'whole') return;
      const removed = await write(context, remove(old));
      settle(known.get(old), removed.outcome, 'absent');
      if (removed.outcome === 'done') await expect(old, removed, 'absent');
    },
    async check() {
      const found = await lookAll(context.nodes.at(context.nodes.pick()));
      for (const [serial, each] of known) {
        const seen = found.get(serial) ?? 'absent';
        const attempts = refused.get(serial)?.attempts;
        if (attempts === undefined || seen === 'absent') {
          judge(context.tally, `${name} ${serial}`, each, seen);
          continue;
        }
        context.tally.refusedAndApplied += 1;
        context.tally.blame('refused and applied', `${name} ${serial} is ${seen}: ${attempts.join(' | ')}`);
      }
    },
  };
}

/** A value that is written repeatedly; after an unknown outcome, another register replaces it. */
export interface Registers {
  readonly name: string;
  readonly prepare?: () => Promise<void>;
  /** Creates a register with the value 0. */
  readonly open: (id: number) => WriteRequest;
  readonly set: (id: number, value: number) => WriteRequest | Promise<Written>;
  /** The value, or what is wrong with it. */
  readonly look: (client: HttpClient, id: number, value: number) => Promise<string | undefined>;
}

export function writeRegisters(context: WriterContext, registers: Registers): Writer {
  const { name, open, set, look } = registers;
  const known = new Map<number, { readonly known: Known; value: number }>();
  let id = -1;
  let isOpen = false;
  return {
    name,
    ...(registers.prepare === undefined ? {} : { prepare: registers.prepare }),
    async step() {
      if (!isOpen) {
        id += 1;
        const opened = await write(context, open(id));
        if (opened.outcome !== 'done') return;
        known.set(id, { known: new Known('0'), value: 0 });
        isOpen = true;
      }
      const register = known.get(id);
      if (register === undefined) return;
      const value = register.value + 1;
      const request = set(id, value);
      const { outcome, node, attempts } = await (request instanceof Promise ? request : write(context, request));
      settle(register.known, outcome, String(value));
      isOpen = outcome !== 'unknown';
      if (outcome !== 'done') return;
      register.value = value;
      await expectElsewhere(context, {
        what: `${name} ${id}`,
        writtenAt: node,
        value: String(value),
        attempts,
        read: async (client) => look(client, id, value),
      });
    },
    async check() {
      for (const [each, register] of known) {
        const seen = await look(context.nodes.at(context.nodes.pick()), each, register.value);
        if (seen === undefined) throw new Error(`${name} ${each} could not be read`);
        judge(context.tally, `${name} ${each}`, register.known, seen);
      }
    },
  };
}

/** An upload may be lost with its node; the reply then says so. */
function isGone({ text }: Reply): boolean {
  return text.includes('no such upload');
}

interface Upload {
  readonly mode: 'append' | 'overwrite';
  readonly parts: readonly Uint8Array[];
}

/** The parts go to any node. If a step before the last one fails, nothing may have been written. */
export async function writeInParts(context: WriterContext, at: string, { mode, parts }: Upload): Promise<Written> {
  const { tally } = context;
  const started = await write(context, { path: `${at}/multipart_write/create`, body: {}, isStep: true });
  if (started.outcome !== 'done') return { ...started, outcome: 'refused' };
  const query = `upload_id=${encodeURIComponent(started.reply?.json.upload_id)}`;
  for (const [part, body] of parts.entries()) {
    const path = `${at}/insert?mode=${mode}&${query}&upload_part_id=part-${part}`;
    const sent = await write(context, { path, body, refusals: isGone, isStep: true });
    if (sent.outcome === 'refused') tally.uploadsGone += 1;
    if (sent.outcome !== 'done') return { ...sent, outcome: 'refused' };
  }
  const path = `${at}/multipart_write/complete?${query}`;
  const ended = await write(context, { path, body: {}, refusals: isGone });
  if (ended.outcome === 'refused') tally.uploadsGone += 1;
  if (ended.outcome === 'done') tally.uploads += 1;
  return ended;
}

function settle(known: Known | undefined, outcome: Written['outcome'], value: string): void {
  if (outcome === 'done') known?.acknowledged(value);
  if (outcome === 'unknown') known?.unknown(value);
}
