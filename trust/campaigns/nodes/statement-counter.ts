import type { Socket } from 'node:net';
import type { Cluster } from '../../../test/support/cluster.ts';

/** The nodes' own work: heartbeats, and the search for abandoned work of other nodes. */
const OWN_WORK = /\b(?:nodes|leases|journal|removals|jobs|node_id)\b|advisory|^(?:begin|commit|rollback)\b/i;

/** Counts the statements that requests make nodes send to PostgreSQL, from the bytes on the wire. */
export class StatementCounter {
  count = 0;
  readonly #rest = new Map<Socket, Buffer>();

  /** Must be attached between two messages, so preferably while nothing is written. */
  static attach(cluster: Cluster): StatementCounter {
    const counter = new StatementCounter();
    for (const { toCatalog } of cluster.nodes) toCatalog.onSent = (piece, client) => counter.#read(piece, client);
    return counter;
  }

  detach(cluster: Cluster): void {
    for (const { toCatalog } of cluster.nodes) toCatalog.onSent = undefined;
  }

  /**
   * A message is a letter, its length without the letter, and the rest. The first one of a connection has no letter.
   */
  #read(piece: Buffer, client: Socket): void {
    let bytes = Buffer.concat([this.#rest.get(client) ?? Buffer.alloc(0), piece]);
    while (bytes.length >= 5) {
      const start = bytes[0] === 0 ? 0 : 1;
      const end = start + bytes.readInt32BE(start);
      if (bytes.length < end) break;
      const letter = start === 0 ? '' : String.fromCharCode(bytes[0] ?? 0);
      // A query without parameters, or a prepared one, which is sent again for each execution.
      if (letter === 'Q' || letter === 'P') {
        const text = bytes
          .toString('utf8', start + 4, end)
          .replaceAll('\u0000', ' ')
          .trim();
        if (!OWN_WORK.test(text)) this.count += 1;
      }
      bytes = bytes.subarray(end);
    }
    this.#rest.set(client, bytes);
  }
}
