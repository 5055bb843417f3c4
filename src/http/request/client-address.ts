import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv4 } from 'node:net';

/** The address of a request's client; empty for a closed connection. */
export type ClientAddress = (message: Pick<IncomingMessage, 'headers' | 'socket'>) => string;

/**
 * Behind trusted proxies, the address that the first of them saw. The list is read from its end, where our own proxy
 * appends: everything before the last untrusted address may be forged by the client.
 */
export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  const trusted = toBlockList(trustedProxies);
  return ({ headers, socket }) => {
    let address = normalize(socket.remoteAddress ?? '');
    if (trusted === undefined || !isTrusted(trusted, address)) return address;
    for (const hop of readHops(headers).toReversed()) {
      const next = normalize(hop);
      if (isIP(next) === 0) return address;
      address = next;
      if (!isTrusted(trusted, address)) return address;
    }
    return address;
  };
}

/** Addresses and networks such as `10.0.0.0/8`, already validated with the settings. */
function toBlockList(entries: readonly string[]): BlockList | undefined {
  if (entries.length === 0) return undefined;
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', prefix] = entry.split('/');
    const family = familyOf(address);
    list.addSubnet(address, prefix === undefined ? ADDRESS_BITS[family] : Number(prefix), family);
  }
  return list;
}

const ADDRESS_BITS = { ipv4: 32, ipv6: 128 } as const;

function isTrusted(list: BlockList, address: string): boolean {
  return isIP(address) !== 0 && list.check(address, familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6';
}

/** Most proxies write `X-Forwarded-For`; `Forwarded` (RFC 7239) is the fallback. */
function readHops(headers: IncomingMessage['headers']): readonly string[] {
  const list = headers['x-forwarded-for'];
  if (list !== undefined) return String(list).split(',');
  return (headers.forwarded ?? '')
    .split(',')
    .map((element) => /(?:^|;)\s*for=("?)([^";]*)\1/i.exec(element)?.[2] ?? '');
}

/** `[2001:db8::1]:4711` and `::ffff:192.0.2.1` become `2001:db8::1` and `192.0.2.1`. */
function normalize(text: string): string {
  const trimmed = text.trim().toLowerCase();
  const address = /^\[([^\]]*)\](?::\d+)?$/.exec(trimmed)?.[1] ?? /^([\d.]+):\d+$/.exec(trimmed)?.[1] ?? trimmed;
  const mapped = /^::ffff:([\d.]+)$/.exec(address)?.[1];
  return mapped !== undefined && isIPv4(mapped) ? mapped : address;
}
