import { BlockList, isIP, isIPv4 } from 'node:net';

/** Addresses that are not on the public internet (RFC 6890 and its registry), or that embed another address. */
const PRIVATE_NETWORKS: readonly string[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/96',
  '::ffff:0:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];

export type MayReach = (address: string) => boolean;

/** Allows public addresses, and the networks that an operator configured. */
export function createReach(allowedNetworks: readonly string[]): MayReach {
  const refused = toBlockList(PRIVATE_NETWORKS);
  const allowed = toBlockList(allowedNetworks);
  return (address) => {
    if (isIP(address) === 0) return false;
    const plain = unmapped(address);
    const family = isIPv4(plain) ? 'ipv4' : 'ipv6';
    return allowed.check(plain, family) || !refused.check(plain, family);
  };
}

function toBlockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    list.addSubnet(address, bits === undefined ? (family === 'ipv4' ? 32 : 128) : Number(bits), family);
  }
  return list;
}

/** `::ffff:10.0.0.1`, also in hexadecimal form, is `10.0.0.1`. */
function unmapped(address: string): string {
  const [bare = ''] = address.toLowerCase().split('%');
  const dotted = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(bare)?.[1];
  if (dotted !== undefined) return dotted;
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(bare) ?? [];
  if (high === undefined || low === undefined) return bare;
  const bytes = [high, low].flatMap((part) => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 255]);
  return bytes.join('.');
}
