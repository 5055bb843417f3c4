import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';

/** A request as node hands it over, with these headers; one that comes twice is two pairs. */
export function incomingMessage(pairs: readonly (readonly [name: string, value: string])[]): IncomingMessage {
  const message = new IncomingMessage(new Socket());
  for (const [name, value] of pairs) {
    message.rawHeaders.push(name, value);
    message.headers[name.toLowerCase()] ??= value;
  }
  return message;
}
