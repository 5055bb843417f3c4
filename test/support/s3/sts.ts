import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { S3Reply } from './s3-operations.ts';
import { findSignatureFault } from './verify-signature.ts';
import type { Credentials } from './verify-signature.ts';

export interface Session extends Credentials {
  readonly sessionToken: string;
  readonly policy: string;
  readonly role: string | null;
  readonly name: string | null;
  readonly expiresAt: Date;
}

const POLICY_CHARACTERS_MAX = 2048;
const SESSION_NAME = /^[\w+=,.@-]{2,64}$/;

/** The STS of the emulator: sessions whose policies the store keeps to. */
export class SecurityTokens {
  readonly sessions: Session[] = [];
  /** When set, the only role that can be assumed. */
  role: string | undefined;
  /** However long the life that is asked for; below 0, sessions have expired. */
  lifeSecondsMax = Infinity;

  answer(request: IncomingMessage, body: Buffer, owner: Credentials): S3Reply {
    const fault = findSignatureFault(request, body, owner, 'sts');
    if (fault !== undefined) return error(403, fault, `The signature of ${owner.accessKeyId} is wrong.`);
    const form = new URLSearchParams(body.toString());
    const seconds = Number(form.get('DurationSeconds'));
    const [policy, role, name] = ['Policy', 'RoleArn', 'RoleSessionName'].map((field) => form.get(field));
    if (form.get('Action') !== 'AssumeRole' || form.get('Version') !== '2011-06-15')
      return error(400, 'InvalidAction', 'Unknown action.');
    if (!(seconds >= 900 && seconds <= 43_200))
      return error(400, 'ValidationError', 'DurationSeconds is out of range.');
    if (typeof policy !== 'string' || policy.length > POLICY_CHARACTERS_MAX)
      return error(400, 'MalformedPolicyDocument', 'The policy is missing or too long.');
    if (!SESSION_NAME.test(name ?? '')) return error(400, 'ValidationError', 'RoleSessionName is not valid.');
    if (this.role !== undefined && role !== this.role)
      return error(403, 'AccessDenied', `User arn:aws:iam::1:user/server is not authorized to assume ${role}.`);
    const session: Session = {
      accessKeyId: `ASIA${randomBytes(8).toString('hex')}`,
      secretAccessKey: `secret-${randomBytes(16).toString('hex')}`,
      sessionToken: `token-${randomBytes(16).toString('hex')}`,
      policy,
      role: role ?? null,
      name: name ?? null,
      expiresAt: new Date(Date.now() + Math.min(seconds, this.lifeSecondsMax) * 1000),
    };
    this.sessions.push(session);
    return xml(200, toResult(session));
  }

  /** The session whose key and token a request carries, unless it has expired. */
  find({ headers }: IncomingMessage): Session | undefined {
    const id = /Credential=([^/]+)\//.exec(headers.authorization ?? '')?.[1];
    return this.sessions.find(
      ({ accessKeyId, sessionToken, expiresAt }) =>
        accessKeyId === id && sessionToken === headers['x-amz-security-token'] && expiresAt > new Date(),
    );
  }
}

function toResult({ accessKeyId, secretAccessKey, sessionToken, expiresAt }: Session): string {
  const fields = `<AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${secretAccessKey}</SecretAccessKey><SessionToken>${sessionToken}</SessionToken><Expiration>${expiresAt.toISOString()}</Expiration>`;
  return `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>${fields}</Credentials></AssumeRoleResult></AssumeRoleResponse>`;
}

function error(status: number, code: string, message: string): S3Reply {
  return xml(status, `<ErrorResponse><Error><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`);
}

function xml(status: number, content: string): S3Reply {
  return { status, headers: { 'content-type': 'text/xml' }, body: Buffer.from(content) };
}
