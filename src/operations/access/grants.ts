import type { GivenGrant, Catalog } from '../../catalog/catalog.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { administeredDatabases, mayGive, ROLES } from '../../model/access.ts';
import type { Caller } from '../../model/access.ts';
import { GrantBody, GrantReply, ListGrantsBody, ListGrantsReply } from '../../wire/access.ts';
import { defineServerOperation, json } from '../operation.ts';
import type { Services } from '../services.ts';
import { readPageSize, readPageToken, toPageToken } from '../shared/pages.ts';
import { readGrant, requireGivable, showGrant } from './read-grant.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { requireChangeable } from './credentials.ts';

export const createGrant = defineServerOperation({
  id: 'create_grant',
  path: '/v1/access/grant/create',
  summary: 'Give a role on a database, a namespace or a table',
  permission: 'administer',
  body: { kind: 'json', shape: GrantBody },
  replies: [json(GrantReply, 'The grant, also when it was there.')],
  async run({ body, caller }, services) {
    const { principal } = body;
    const grant = readGrant(body);
    requireGivable(caller, grant);
    await requirePrincipal(principal, caller, services.catalog);
    await services.catalog.grants.add(principal, grant, { knownDatabasesOnly: true });
    services.telemetry.emit({ kind: 'access-changed', caller: caller.id, action: 'create_grant', principal });
    return { kind: 'object', body: { principal, ...showGrant(grant) } };
  },
});

export const deleteGrant = defineServerOperation({
  id: 'delete_grant',
  path: '/v1/access/grant/delete',
  summary: 'Take a role away, at once',
  permission: 'administer',
  body: { kind: 'json', shape: GrantBody },
  replies: [json(GrantReply, 'The grant that is no more.')],
  statuses: [409],
  async run({ body, caller }, services) {
    const { principal } = body;
    const grant = readGrant(body);
    requireGivable(caller, grant);
    const isGone = await services.catalog.grants.remove(principal, grant, { keepAdministrator: true });
    if (!isGone) throw new ServiceError('GrantNotFound', 'There is no such grant.');
    services.telemetry.emit({ kind: 'access-changed', caller: caller.id, action: 'delete_grant', principal });
    return { kind: 'object', body: { principal, ...showGrant(grant) } };
  },
});

export const listGrants = defineServerOperation({
  id: 'list_grants',
  path: '/v1/access/grant/list',
  summary: 'List who has which role on what the caller administers',
  permission: 'administer',
  body: { kind: 'json', shape: ListGrantsBody },
  replies: [json(ListGrantsReply, 'By principal, database and path.')],
  async run({ body, caller }, services) {
    const limit = readPageSize(body.limit, services.limits.http.pageSizeMax);
    const found = await findGivable({ body, caller, limit }, services);
    const page = found.slice(0, limit);
    const last = page.at(-1);
    return {
      kind: 'object',
      body: {
        grants: page.map((grant) => ({ principal: grant.principal, ...showGrant(grant) })),
        ...(found.length > limit && last !== undefined ? { page_token: toToken(last) } : {}),
      },
    };
  },
});

interface Search {
  readonly body: ListGrantsBody;
  readonly caller: Caller;
  readonly limit: number;
}

/** One more than the limit, when there are more. */
async function findGivable({ body, caller, limit }: Search, services: Services): Promise<readonly GivenGrant[]> {
  const databases = chooseDatabases(caller, body.database);
  const { principal, page_token: token } = body;
  const size = limit + 1;
  const found: GivenGrant[] = [];
  for (let after = token === undefined ? undefined : readToken(token); found.length < size;) {
    const page = await services.catalog.grants.list({
      limit: size,
      ...(principal === undefined ? {} : { principal }),
      ...(databases === undefined ? {} : { databases }),
      ...(after === undefined ? {} : { after }),
    });
    found.push(...page.filter((grant) => mayGive(caller, grant)));
    after = page.at(-1);
    if (page.length < size) break;
  }
  return found;
}

function chooseDatabases(caller: Caller, wanted: string | undefined): readonly string[] | undefined {
  const administered = administeredDatabases(caller);
  if (wanted === undefined) return administered;
  return administered === undefined || administered.includes(wanted) ? [wanted] : [];
}

function toToken({ principal, role, database, path }: GivenGrant): string {
  return toPageToken([principal, role, database ?? '', ...path]);
}

function readToken(token: string): GivenGrant {
  const [principal = '', roleName = '', database = '', ...path] = readPageToken(token, 3);
  const role = ROLES.find((each) => each === roleName) ?? 'reader';
  return { principal, role, database: database === '' ? undefined : database, path };
}

const PRINCIPAL_CHARACTERS_MAX = 2048;

/**
 * Checks who is to be given something. A key or a client must be there, and be one that the caller may change: otherwise
 * one administrator could tie another's key to a database of its own, where its owner could not revoke it any more. Who
 * holds a token is for its issuer to know.
 */
export async function requirePrincipal(principal: string, caller: Caller, catalog: Catalog): Promise<void> {
  const [kind, rest = ''] = principal.split(/:(.*)/s, 2);
  if (kind === 'key' && rest !== '') return requireChangeable(catalog.keys, kind, { id: rest, caller });
  if (kind === 'client' && rest !== '') return requireChangeable(catalog.clients, kind, { id: rest, caller });
  if (kind === 'token' && isTokenHolder(principal, rest)) return undefined;
  throw new ServiceError('InvalidInput', `The principal ${quoteForMessage(principal)} is not usable.`, {
    hint: 'It is "key:<id>", "client:<id>" or "token:<issuer>#<subject>".',
  });
}

function isTokenHolder(principal: string, rest: string): boolean {
  const [issuer = '', subject = ''] = rest.split(/#(.*)/s, 2);
  const isPlain = principal.length <= PRINCIPAL_CHARACTERS_MAX && !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(principal);
  return isPlain && subject !== '' && URL.canParse(issuer);
}
