import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { AwsCredentials } from './aws-signature.ts';
import { encodeQuery } from './http.ts';
import { fetchText, keepFresh, readTextFile } from './options.ts';
import type { OptionReader } from './options.ts';
import { requireText } from './xml.ts';

/**
 * Finds credentials in the order of AWS's own tools: options and environment, the shared file, a web identity
 * (Kubernetes), the container, the machine.
 */
export function findAwsCredentials(options: OptionReader): () => Promise<AwsCredentials> {
  const accessKeyId = options.find('aws_access_key_id', 'access_key_id');
  const secretAccessKey = options.find('aws_secret_access_key', 'secret_access_key');
  if (accessKeyId !== undefined && secretAccessKey !== undefined) {
    const sessionToken = options.find('aws_session_token', 'aws_token', 'session_token', 'token');
    const given = { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
    return async () => given;
  }
  const shared = options.find('aws_shared_credentials_file') ?? join(homedir(), '.aws', 'credentials');
  if (existsSync(shared)) return async () => readProfile(shared, options.find('aws_profile') ?? 'default');
  if (options.find('aws_web_identity_token_file') !== undefined) return keepFresh(async () => assumeRole(options));
  const container = findContainerAddress(options);
  if (container !== undefined) return keepFresh(async () => fetchContainer(container, options));
  return keepFresh(fetchMachine);
}

/** Lines `key = value` after `[name]`. */
function readProfile(file: string, profile: string): AwsCredentials {
  const lines = readTextFile(file)
    .split('\n')
    .map((line) => line.trim());
  const start = lines.indexOf(`[${profile}]`);
  if (start < 0) throw new Error(`${file} has no profile ${profile}.`);
  const values = new Map<string, string>();
  for (const line of lines.slice(start + 1)) {
    if (line.startsWith('[')) break;
    const [name = '', ...value] = line.split('=');
    values.set(name.trim(), value.join('=').trim());
  }
  return toCredentials({
    AccessKeyId: values.get('aws_access_key_id'),
    SecretAccessKey: values.get('aws_secret_access_key'),
    Token: values.get('aws_session_token'),
  });
}

async function assumeRole(options: OptionReader): Promise<AwsCredentials> {
  const region = options.find('aws_region', 'region', 'aws_default_region', 'default_region');
  const suffix = region === undefined ? '' : `.${region}`;
  const endpoint = options.find('aws_endpoint_url_sts') ?? `https://sts${suffix}.amazonaws.com`;
  const query = encodeQuery({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: options.find('aws_role_arn') ?? '',
    RoleSessionName: options.find('aws_role_session_name') ?? 'tiltyard',
    WebIdentityToken: readTextFile(options.find('aws_web_identity_token_file') ?? ''),
  });
  const reply = await fetchText(`${endpoint}/${query}`, { method: 'POST' });
  return {
    accessKeyId: requireText(reply, 'AccessKeyId'),
    secretAccessKey: requireText(reply, 'SecretAccessKey'),
    sessionToken: requireText(reply, 'SessionToken'),
    expiresAtMilliseconds: Date.parse(requireText(reply, 'Expiration')),
  };
}

function findContainerAddress(options: OptionReader): string | undefined {
  const relative = options.find('aws_container_credentials_relative_uri');
  return relative === undefined
    ? options.find('aws_container_credentials_full_uri')
    : `http://169.254.170.2${relative}`;
}

async function fetchContainer(address: string, options: OptionReader): Promise<AwsCredentials> {
  const file = options.find('aws_container_authorization_token_file');
  const token = file === undefined ? options.find('aws_container_authorization_token') : readTextFile(file);
  return toCredentials(
    JSON.parse(await fetchText(address, token === undefined ? {} : { headers: { authorization: token } })),
  );
}

const METADATA = 'http://169.254.169.254/latest';

/** Version 2 of the EC2 metadata service. */
async function fetchMachine(): Promise<AwsCredentials> {
  const token = await fetchText(`${METADATA}/api/token`, {
    method: 'PUT',
    headers: { 'x-aws-ec2-metadata-token-ttl-seconds': '300' },
  });
  const init = { headers: { 'x-aws-ec2-metadata-token': token } };
  const roles = `${METADATA}/meta-data/iam/security-credentials/`;
  const [role = ''] = (await fetchText(roles, init)).split('\n');
  return toCredentials(JSON.parse(await fetchText(`${roles}${role}`, init)));
}

function toCredentials(reply: unknown): AwsCredentials {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- What is needed is checked in the next lines.
  const found = reply as Readonly<Record<string, string | undefined>>;
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, Token: sessionToken, Expiration: until } = found;
  if (accessKeyId === undefined || secretAccessKey === undefined) throw new TypeError('There are no AWS credentials.');
  return {
    accessKeyId,
    secretAccessKey,
    ...(sessionToken === undefined ? {} : { sessionToken }),
    ...(until === undefined ? {} : { expiresAtMilliseconds: Date.parse(until) }),
  };
}
