import { ServiceError } from '../../../errors/service-error.ts';
import { signAws } from '../client/aws-signature.ts';
import type { AwsCredentials } from '../client/aws-signature.ts';
import { StoreHttp, encodeQuery } from '../client/http.ts';
import type { HttpSettings, StoreReply } from '../client/http.ts';
import { findText, requireText } from '../client/xml.ts';

export interface StsConnection {
  readonly endpoint: string;
  readonly region: string;
  /** The server's own credentials. */
  readonly credentials: () => Promise<AwsCredentials>;
}

export interface RoleSession {
  readonly role: string | undefined;
  /** Shown in the logs of the store. */
  readonly sessionName: string;
  readonly policy: string;
  readonly seconds: number;
}

export type SessionCredentials = Required<AwsCredentials>;

/** https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html */
export function createAssumeRole({ endpoint, region, credentials }: StsConnection, settings: HttpSettings) {
  const http = new StoreHttp(
    async (request) => signAws(request, await credentials(), { region, service: 'sts', now: new Date() }),
    settings,
  );
  return async (session: RoleSession): Promise<SessionCredentials> => {
    const reply = await send(http, endpoint, session);
    if (reply.status !== 200) throw toRefusal(reply);
    const received = readReply(reply);
    if (received.expiresAtMilliseconds <= Date.now()) throw stsExpired();
    return received;
  };
}

/** STS refuses with 400 or 403; compatible stores without STS with 404 or 405. */
const ANSWERED = [200, 400, 403, 404, 405];

async function send(http: StoreHttp, endpoint: string, session: RoleSession): Promise<StoreReply> {
  const form = encodeQuery({
    Action: 'AssumeRole',
    Version: '2011-06-15',
    ...(session.role === undefined ? {} : { RoleArn: session.role }),
    RoleSessionName: session.sessionName,
    DurationSeconds: String(session.seconds),
    Policy: session.policy,
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const body = Buffer.from(form.slice(1));
  try {
    return await http.send({ method: 'POST', url: `${endpoint}/`, headers, body }, ANSWERED);
  } catch (error) {
    throw stsUnavailable(error);
  }
}

function readReply({ body }: StoreReply): SessionCredentials {
  try {
    return readCredentials(body.toString('utf8'));
  } catch (cause) {
    throw stsRefused(cause);
  }
}

function readCredentials(reply: string): SessionCredentials {
  const expiresAtMilliseconds = Date.parse(requireText(reply, 'Expiration'));
  if (!Number.isFinite(expiresAtMilliseconds)) throw new TypeError('The expiration of the credentials is not a time.');
  return {
    accessKeyId: requireText(reply, 'AccessKeyId'),
    secretAccessKey: requireText(reply, 'SecretAccessKey'),
    // Credentials without a token belong to a user, and would not expire.
    sessionToken: requireText(reply, 'SessionToken'),
    expiresAtMilliseconds,
  };
}

const REASON_CHARACTERS_MAX = 1000;
const BUSY_CODES = ['Throttling', 'ThrottlingException', 'RequestLimitExceeded', 'SlowDown'];

/** The reply of STS is for the log only: it names roles and accounts. */
function toRefusal({ status, body }: StoreReply): ServiceError {
  const text = body.toString('utf8');
  const code = findText(text, 'Code') ?? 'no code';
  const reason = (findText(text, 'Message') ?? '').slice(0, REASON_CHARACTERS_MAX);
  const cause = new Error(`AssumeRole: status ${status} (${code}) ${reason}`);
  return BUSY_CODES.includes(code) ? stsUnavailable(cause) : stsRefused(cause);
}

function stsUnavailable(cause: unknown): ServiceError {
  return new ServiceError(
    'ServiceUnavailable',
    'Storage credentials cannot be issued: the STS service does not respond.',
    {
      hint: 'Try again, or read through the server.',
      cause,
      retryAfterSeconds: 5,
    },
  );
}

function stsExpired(): ServiceError {
  return new ServiceError('Internal', 'Storage credentials cannot be issued: those of the STS service have expired.', {
    hint: 'Compare the clocks of this server and of the STS service.',
  });
}

function stsRefused(cause: unknown): ServiceError {
  return new ServiceError('Internal', 'Storage credentials cannot be issued: the STS service refuses this server.', {
    hint: 'See the server log for the reason.',
    cause,
  });
}
