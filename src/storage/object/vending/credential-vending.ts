import { ServiceError } from '../../../errors/service-error.ts';
import { locationUri } from '../../../model/table.ts';
import type { TableLocation } from '../../../model/table.ts';
import { parseAddress } from '../address.ts';
import type { HttpSettings } from '../client/http.ts';
import { OptionReader } from '../client/options.ts';
import type { StoreOptions } from '../client/options.ts';
import { readS3Connection } from '../client/s3.ts';
import type { S3Connection } from '../client/s3.ts';
import { storeMisconfigured } from '../object-store.ts';
import { createAssumeRole } from './assume-role.ts';
import type { SessionCredentials, StsConnection } from './assume-role.ts';
import { toSessionPolicy } from './session-policy.ts';
import type { TableAccess } from './session-policy.ts';

export type { TableAccess } from './session-policy.ts';

export interface VendingSettings extends StoreOptions, HttpSettings {
  readonly role: string | undefined;
  readonly endpoint: string | undefined;
  readonly seconds: number;
}

export interface VendRequest {
  readonly location: TableLocation;
  /** The root of the database; the location must be below it. */
  readonly root: string;
  readonly access: TableAccess;
  readonly callerId: string;
}

export interface VendedCredentials {
  /** For a Lance client. They contain secrets: never log them. */
  readonly storageOptions: Readonly<Record<string, string>>;
  readonly expiresAtMilliseconds: number;
}

interface Issuer {
  readonly connection: S3Connection;
  readonly assumeRole: ReturnType<typeof createAssumeRole>;
}

/** Issues short-lived credentials that only reach the files of one table. */
export class CredentialVending {
  readonly #settings: VendingSettings;
  #issuer: Issuer | undefined;

  constructor(settings: VendingSettings) {
    this.#settings = settings;
  }

  /** False for a folder, which needs no credentials. Refuses a root whose store cannot issue any. */
  isNeeded(root: string): boolean {
    if (!root.includes('://') || root.startsWith('file://')) return false;
    if (!root.startsWith('s3://')) {
      const hint = 'Omit vend_credentials, and read the table through the server or with your own credentials.';
      throw storeMisconfigured('Credentials are issued only for tables on s3:// roots.', hint);
    }
    this.#issuer ??= openIssuer(this.#settings);
    return true;
  }

  async vend({ location, root, access, callerId }: VendRequest): Promise<VendedCredentials> {
    const { bucket, path } = requireScope(location, root);
    const { role, seconds } = this.#settings;
    this.#issuer ??= openIssuer(this.#settings);
    const { connection, assumeRole } = this.#issuer;
    const policy = toSessionPolicy({ partition: partitionOf(role), bucket, path }, access);
    const credentials = await assumeRole({ role, seconds, policy, sessionName: toSessionName(callerId) });
    const { expiresAtMilliseconds } = credentials;
    return { storageOptions: toStorageOptions(connection, credentials), expiresAtMilliseconds };
  }
}

function openIssuer(settings: VendingSettings): Issuer {
  const connection = readS3Connection(new OptionReader(settings));
  return { connection, assumeRole: createAssumeRole(toStsConnection(connection, settings), settings) };
}

function toStsConnection(connection: S3Connection, settings: VendingSettings): StsConnection {
  const { region, credentials } = connection;
  if (credentials === undefined) {
    throw storeMisconfigured('storage.vending needs credentials for the server.', 'Remove aws_skip_signature.');
  }
  const endpoint = findStsEndpoint(connection, settings);
  if (settings.role === undefined && isAws(endpoint)) {
    throw storeMisconfigured('storage.vending=sts on AWS needs a role.', 'Set storage.vendingRole to its ARN.');
  }
  return { endpoint, region, credentials };
}

/** Compatible stores, such as MinIO, have STS at the store's address. */
function findStsEndpoint({ region, endpoint, isVirtual, allowsHttp }: S3Connection, settings: VendingSettings): string {
  const options = new OptionReader(settings);
  const given = settings.endpoint ?? options.find('aws_endpoint_url_sts');
  if (given !== undefined) return options.readEndpoint(given, allowsHttp, 'storage.vendingEndpoint');
  if (endpoint === undefined || isAws(endpoint)) return `https://sts.${region}.amazonaws.com`;
  if (!isVirtual) return endpoint;
  throw storeMisconfigured('The address of the STS service is not known.', 'Set storage.vendingEndpoint.');
}

function isAws(endpoint: string): boolean {
  return /\.amazonaws\.com(\.cn)?$/.test(new URL(endpoint).hostname);
}

function partitionOf(role: string | undefined): string {
  return role?.split(':')[1] ?? 'aws';
}

/**
 * Excludes `*`, `?`, `$` and `{`, which are special in policies, and characters that an address or JSON would encode.
 */
const SEGMENT = /^[A-Za-z0-9_.=@+,~-]+$/;

/** The directory of the table. Refuses one that a policy cannot express exactly, or that is not below the root. */
function requireScope(location: TableLocation, root: string): { readonly bucket: string; readonly path: string } {
  const uri = locationUri(location);
  const { bucket, path } = parseAddress(uri);
  const isBelow = uri.startsWith(`${root.replace(/\/+$/, '')}/`);
  const isPlain = [bucket, ...path.split('/')].every((name) => SEGMENT.test(name) && name !== '.' && name !== '..');
  if (isBelow && isPlain) return { bucket, path };
  throw new ServiceError('Unsupported', 'Credentials cannot be limited to the location of this table.', {
    hint: isBelow ? 'Directory names may contain only ASCII letters, digits and _.=@+,~-.' : undefined,
  });
}

const SESSION_NAME_CHARACTERS_MAX = 64;

function toSessionName(callerId: string): string {
  return `tiltyard-${callerId}`.replace(/[^\w+=,.@-]/g, '-').slice(0, SESSION_NAME_CHARACTERS_MAX);
}

function toStorageOptions(
  { region, endpoint, allowsHttp, isVirtual }: S3Connection,
  credentials: SessionCredentials,
): VendedCredentials['storageOptions'] {
  return {
    aws_access_key_id: credentials.accessKeyId,
    aws_secret_access_key: credentials.secretAccessKey,
    aws_session_token: credentials.sessionToken,
    aws_region: region,
    ...(endpoint === undefined ? {} : { aws_endpoint: endpoint }),
    ...(endpoint !== undefined && allowsHttp ? { allow_http: 'true' } : {}),
    ...(isVirtual ? { aws_virtual_hosted_style_request: 'true' } : {}),
    // Lance clients describe the table again before this time.
    expires_at_millis: String(credentials.expiresAtMilliseconds),
  };
}
