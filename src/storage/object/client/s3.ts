import { storeMisconfigured } from '../object-store.ts';
import type { ObjectStore } from '../object-store.ts';
import { findAwsCredentials } from './aws-credentials.ts';
import { signAws } from './aws-signature.ts';
import type { AwsCredentials } from './aws-signature.ts';
import { BucketStore } from './bucket-store.ts';
import type { Dialect } from './bucket-store.ts';
import { StoreHttp } from './http.ts';
import type { HttpSettings, Sign } from './http.ts';
import type { OptionReader } from './options.ts';

const GiB = 2 ** 30;

const DIALECT: Dialect = {
  headerPrefix: 'x-amz-',
  ifAbsent: { 'if-none-match': '*' },
  identityHeader: 'etag',
  conditionHeader: 'if-match',
  hasBulkRemoval: true,
  copyBytesMax: 5 * GiB,
};

/** For compatible stores, most of which have no regions. */
const DEFAULT_REGION = 'us-east-1';

/** How to reach S3 or a compatible store. */
export interface S3Connection {
  readonly region: string;
  /** `undefined` for the AWS endpoint of the region. */
  readonly endpoint: string | undefined;
  readonly allowsHttp: boolean;
  /** Whether the bucket is part of the host name. */
  readonly isVirtual: boolean;
  /** `undefined` if requests are not signed. */
  readonly credentials: (() => Promise<AwsCredentials>) | undefined;
}

/** Reads the engine's options. */
export function readS3Connection(options: OptionReader): S3Connection {
  const region = options.find('aws_region', 'region') ?? options.find('aws_default_region', 'default_region');
  const isVirtual = options.isTrue('aws_virtual_hosted_style_request', 'virtual_hosted_style_request');
  const given = options.find('aws_endpoint_url_s3', 'aws_endpoint', 'aws_endpoint_url', 'endpoint_url', 'endpoint');
  const allowsHttp = options.isTrue('aws_allow_http', 'allow_http');
  const endpoint = given === undefined ? undefined : options.readEndpoint(given, allowsHttp);
  if (region === undefined && endpoint === undefined) {
    throw storeMisconfigured('An s3:// address needs a region.', 'Set the storage option aws_region, or AWS_REGION.');
  }
  const isPublic = options.isTrue('aws_skip_signature', 'skip_signature');
  const credentials = isPublic ? undefined : findAwsCredentials(options);
  return { region: region ?? DEFAULT_REGION, endpoint, allowsHttp, isVirtual, credentials };
}

/** Opens buckets of S3 or a compatible store, with the engine's options. */
export function createS3(
  options: OptionReader,
  settings: HttpSettings & Partial<Pick<Dialect, 'copyBytesMax'>>,
): (bucket: string) => ObjectStore {
  if (options.find('aws_conditional_put', 'conditional_put')?.toLowerCase() === 'disabled') {
    throw storeMisconfigured('The storage option aws_conditional_put=disabled loses writes.', 'Remove it.');
  }
  const { region, endpoint, isVirtual, credentials } = readS3Connection(options);
  const dialect = { ...DIALECT, copyBytesMax: settings.copyBytesMax ?? DIALECT.copyBytesMax };
  const sign: Sign = async (request) => {
    if (credentials === undefined) return request.headers ?? {};
    return signAws(request, await credentials(), { region, now: new Date() });
  };
  const toUrl = (bucket: string): string => {
    // With a host for each bucket, an endpoint is that of the bucket, as for the engine.
    if (endpoint !== undefined) return isVirtual ? endpoint : `${endpoint}/${bucket}`;
    const host = `s3.${region}.amazonaws.com`;
    return isVirtual ? `https://${bucket}.${host}` : `https://${host}/${bucket}`;
  };
  const http = new StoreHttp(sign, settings);
  return (bucket) => new BucketStore({ name: `s3://${bucket}`, bucket, url: toUrl(bucket), dialect, http });
}
