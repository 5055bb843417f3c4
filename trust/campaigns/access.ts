import { FINITE_OPERATIONS } from '../model/finite-operations.ts';
import type { Operation } from '../../src/operations/operation.ts';
import type { Permission } from '../../src/model/access.ts';
import { sampleStream } from '../../test/support/arrow-tables.ts';
import type { Campaign, Figure, Trust } from '../campaign.ts';
import { none, info } from '../campaign.ts';
import type { HttpClient, Reply } from '../http.ts';
import { leastBody } from '../model/json-bodies.ts';
import { requireOk } from '../rows.ts';
import { tryTokens } from './tokens.ts';

const ROLES = ['reader', 'writer', 'owner', 'admin'] as const;
const RANK: Readonly<Record<Permission, number>> = { see: 0, read: 0, write: 1, manage: 2, administer: 3 };

/** Names of equal length, because replies about them must have equal lengths too. */
const PLACES = { own: 'mine', foreign: 'them', absent: 'none' } as const;
type TableLocation = keyof typeof PLACES;

/** Every operation, called by every role on its own, foreign and missing objects. */
export const access: Campaign = {
  name: 'access',
  promise: 'everybody may do what their role says, and learns nothing of what is not theirs',
  async run(trust: Trust): Promise<readonly Figure[]> {
    const server = await trust.startServer(['--http-renamed-seconds=0', '--http-uploads-max=64']);
    const admin = server.admin.patient();
    await requireOk(admin.post('/v1/namespace/them/create', {}));
    await requireOk(admin.arrow('/v1/table/them$t/create', sampleStream(3)));
    const callers = await makeCallers(admin, trust);
    let asked = 0;
    let wrong = 0;
    for (const [serial, operation] of FINITE_OPERATIONS.entries()) {
      trust.progress(serial, FINITE_OPERATIONS.length);
      for (const [role, caller] of callers) {
        await renewOwn(admin);
        const replies = new Map<TableLocation, Reply>();
        for (const place of ['absent', 'foreign', 'own'] as const) {
          const reply = await ask(caller, operation, PLACES[place]);
          replies.set(place, reply);
          asked += 1;
          const fault = findFault(operation, role, place, reply);
          if (fault === undefined) continue;
          wrong += 1;
          trust.blame(
            'wrong',
            `${operation.id} by ${role} on ${place}: ${fault}; ${reply.status} ${reply.text.slice(0, 300)}`,
          );
        }
        if (!isToldApart(operation, replies)) continue;
        wrong += 1;
        trust.blame(
          'told apart',
          `${operation.id} by ${role}: ${replies.get('foreign')?.text} and ${replies.get('absent')?.text}`,
        );
      }
    }
    const accepted = await sendStorageSecrets(admin, trust);
    const tokens = await tryTokens(trust);
    return [
      info('operations', FINITE_OPERATIONS.length),
      info('roles', callers.size),
      info('questions', asked),
      none('wrong answers, or foreign told from absent', wrong),
      none('storage credentials of callers accepted', accepted),
      ...tokens,
      none('worker crashes', server.crashes()),
    ];
  },
};

const STORAGE_SECRETS = {
  aws_secret_access_key: 'planted-storage-secret-5b1c77e0',
  aws_session_token: 'planted-session-token-91d2aa43',
  azure_storage_account_key: 'planted-account-key-c07f12be',
  google_service_account_key: 'planted-service-key-6e90d1f8',
};

/** These are refused, and the refusal must not repeat them. */
async function sendStorageSecrets(admin: HttpClient, trust: Trust): Promise<number> {
  trust.scanner.plant(...Object.values(STORAGE_SECRETS));
  let accepted = 0;
  for (const [name, value] of Object.entries(STORAGE_SECRETS)) {
    const options = encodeURIComponent(JSON.stringify({ [name]: value }));
    const reply = await admin.arrow(`/v1/table/mine$secret/create?storage_options=${options}`, sampleStream(1));
    if (reply.status !== 400) accepted += 1;
  }
  return accepted;
}

type RoleOrNone = (typeof ROLES)[number] | 'none';

async function makeCallers(admin: HttpClient, trust: Trust): Promise<ReadonlyMap<RoleOrNone, HttpClient>> {
  const callers = new Map<RoleOrNone, HttpClient>([['none', admin.as({})]]);
  for (const role of ROLES) {
    const grants = [{ role, database: 'default', path: ['mine'] }];
    const { json, text } = await admin.post('/v1/access/key/create', { name: role, grants });
    if (typeof json?.key !== 'string') throw new Error(text);
    trust.scanner.plant(json.key);
    callers.set(role, admin.as({ 'x-api-key': json.key }));
  }
  return callers;
}

/** Restores what an earlier operation may have dropped or renamed. */
async function renewOwn(admin: HttpClient): Promise<void> {
  await admin.post('/v1/namespace/mine/create', { mode: 'exist_ok' });
  await requireOk(admin.arrow('/v1/table/mine$t/create?mode=exist_ok', sampleStream(3)));
}

async function ask(caller: HttpClient, operation: Operation, place: string): Promise<Reply> {
  const isTable = operation.target === 'table' || operation.target === 'new-table';
  const id = isTable ? `${place}$t` : place;
  const query = operation.reportsAccess === true ? `?table=${place}$t` : '';
  const path = operation.path.replace(':id', id).replaceAll(/:\w+/g, 'some_idx') + query;
  const headers = { 'x-request-id': 'same' };
  if (operation.methods[0] === 'GET') return caller.get(path, headers);
  if (operation.body.kind === 'arrow') return caller.arrow(path, sampleStream(1), headers);
  // Bodies are validated before the target is looked up, so only a valid one gets that far.
  const body = operation.body.kind === 'json' ? leastBody(operation.body.shape) : {};
  return caller.post(path, body, headers);
}

/** The expected outcome follows from the operation's target and its declared permission. */
function findFault(
  operation: Operation,
  role: RoleOrNone,
  place: TableLocation,
  { status, json }: Reply,
): string | undefined {
  if (role === 'none') return status === 401 ? undefined : 'should be 401';
  const isEnough = ROLES.indexOf(role) >= RANK[operation.permission];
  switch (operation.target) {
    case 'table':
    case 'new-table':
    case 'namespace':
    case 'new-namespace': {
      if (operation.identifier === 'name')
        return status === 403 || status === 400 ? undefined : 'should be 403: the root is not theirs';
      if (place !== 'own') return isHidden(operation, status) ? undefined : 'should be hidden';
      if (!isEnough) return status === 403 ? undefined : 'should be 403';
      return status === 401 || status === 403 || isMissing(operation, status, json) ? 'should be permitted' : undefined;
    }
    case 'database':
      if (operation.reportsAccess === true)
        return status === (place === 'own' ? 200 : 404) ? undefined : 'should be hidden';
      // Its body names tables of the root, which these callers cannot see, or none.
      if (operation.authorizesTables === true)
        return [400, 403, 404].includes(status) || isEmptyList(json) ? undefined : 'should be hidden';
      return operation.permission === 'see' || status === 403 ? undefined : 'should be 403: the database is not theirs';
    case 'server':
      if (operation.permission === 'see') return undefined;
      if (isEnough) return status === 401 ? 'should be permitted' : undefined;
      return status === 403 ? undefined : 'should be 403';
  }
}

function isEmptyList(json: object): boolean {
  const lists = Object.values(json).filter((value) => Array.isArray(value));
  return lists.length > 0 && lists.every((list) => list.length === 0);
}

/** A new namespace at the top level is in the root, which the caller may see but not change. */
function isHidden(operation: Operation, status: number): boolean {
  return status === 404 || (operation.target === 'new-namespace' && status === 403);
}

const TABLE_NOT_FOUND = 4;
const NAMESPACE_NOT_FOUND = 1;

/**
 * For a new table, the namespace must exist; a missing table is then a different one, such as the source of a clone.
 */
function isMissing({ target }: Operation, status: number, json: { code?: number } | undefined): boolean {
  if (status !== 404) return false;
  return json?.code === NAMESPACE_NOT_FOUND || (target === 'table' && json?.code === TABLE_NOT_FOUND);
}

function isToldApart(operation: Operation, replies: ReadonlyMap<TableLocation, Reply>): boolean {
  const [foreign, absent] = [replies.get('foreign'), replies.get('absent')];
  const namesNothing = operation.target === 'server' || operation.target === 'database';
  if ((namesNothing && operation.reportsAccess === undefined) || foreign === undefined || absent === undefined)
    return false;
  const steady = ({ status, headers, text }: Reply): string =>
    JSON.stringify([status, { ...headers, date: '' }, text]).replaceAll('them', 'none');
  return steady(foreign) !== steady(absent);
}
