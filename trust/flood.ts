import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { FloodOrder, FloodReply, FloodSeen } from './flood-sender.ts';

export type { FloodReply, FloodSeen } from './flood-sender.ts';

/** Sends from a separate process: one that also starts servers, reads logs and scans replies would itself be late. */
export async function sendFlood(order: FloodOrder): Promise<FloodSeen> {
  const child = fork(fileURLToPath(new URL('flood-sender.js', import.meta.url)));
  return new Promise((resolve, reject) => {
    child.once('message', (seen) => resolve(seen as FloodSeen));
    child.once('exit', (code) => reject(new Error(`the sender ended with ${code}`)));
    child.send(order);
  });
}

/** Replies per second with this status, before the end of the flood. */
export function ratePerSecond({ replies }: FloodSeen, status: number, seconds: number): number {
  return replies.filter((reply) => reply[0] === status && reply[3] <= seconds * 1000).length / seconds;
}

/** Measured from the moment when the request was sent. */
export function timesOf({ replies }: FloodSeen, status: number): readonly number[] {
  return toTimes(replies, status, ([, , sentAt]) => sentAt);
}

/** Measured from the moment when the request was due, even if it was sent later. */
export function timesSinceDueOf({ replies }: FloodSeen, status: number): readonly number[] {
  return toTimes(replies, status, ([, dueAt]) => dueAt);
}

/** Of sorted values; 0 if there are none. */
export function percentile(sorted: readonly number[], percent: number): number {
  return sorted[Math.min(Math.floor((sorted.length * percent) / 100), sorted.length - 1)] ?? 0;
}

function toTimes(
  replies: readonly FloodReply[],
  status: number,
  from: (reply: FloodReply) => number,
): readonly number[] {
  const times = replies.filter((reply) => reply[0] === status).map((reply) => reply[3] - from(reply));
  return times.toSorted((one, other) => one - other);
}
