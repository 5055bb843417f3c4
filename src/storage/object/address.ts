import { storeMisconfigured } from './object-store.ts';

const SCHEMES = ['s3', 'gs', 'az'] as const;

export type Scheme = (typeof SCHEMES)[number];

/** A location in an object store. */
export interface ObjectAddress {
  readonly scheme: Scheme;
  readonly bucket: string;
  /** Without leading or trailing slashes; empty for the bucket itself. */
  readonly path: string;
}

export function parseAddress(text: string): ObjectAddress {
  const [, given, bucket, path = ''] = /^([a-z0-9+]+):\/\/([^/]+)(?:\/(.*))?$/s.exec(text) ?? [];
  const scheme = SCHEMES.find((each) => each === given);
  if (scheme === undefined || bucket === undefined) {
    throw storeMisconfigured(
      'The storage root has an unknown kind.',
      'Use a local folder, or an s3://, gs:// or az:// address.',
    );
  }
  return { scheme, bucket, path: path.replace(/^\/+|\/+$/g, '') };
}

/** The key of something below a path. */
export function joinKey(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('/');
}
