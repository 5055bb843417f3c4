import type { Catalog, GivenGrant } from '../../catalog/catalog.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { ROLES, administeredDatabases, mayGive } from '../../model/access.ts';
import type { Caller } from '../../model/access.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { GrantBody, GrantReply, ListGrantsBody, ListGrantsReply } from '../../wire/access.ts';
import { defineServerOperation, json, objectReply } from '../operation.ts';
import { collectVisible, cutPage, readPageSize, readPageToken, toPageToken } from '../shared/pages.ts';
import { requireChangeable } from './credentials.ts';
import { readGrant, requireGivable, toGrantShape } from './read-grant.ts';

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
    return objectReply<GrantReply>({ principal, ...toGrantShape(grant) });
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
    const isRemoved = await services.catalog.grants.remove(principal, grant, { keepAdministrator: true });
    if (!isRemoved) throw new ServiceError('GrantNotFound', 'There is no such grant.');
    services.telemetry.emit({ kind: 'access-changed', caller: caller.id, action: 'delete_grant', principal });
    return objectReply<GrantReply>({ principal, ...toGrantShape(grant) });
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
    const limit = readPageSize(body.limit, services);
    const { principal, page_token: token } = body;
    const databases = chooseDatabases(caller, body.database);
    const filter = {
      ...(principal === undefined ? {} : { principal }),
      ...(databases === undefined ? {} : { databases }),
    };
    const start = token === undefined ? undefined : readToken(token);
    const found = await collectVisible<GivenGrant>(
      { count: limit + 1, pageSize: limit + 1 },
      async (last, size) => {
        const after = last ?? start;
        return services.catalog.grants.list({ limit: size, ...filter, ...(after === undefined ? {} : { after }) });
      },
      (grant) => mayGive(caller, grant),
    );
    const { entries, page_token } = cutPage(found, limit, toToken);
    const grants = entries.map((grant) => ({ principal: grant.principal, ...toGrantShape(grant) }));
    return objectReply<ListGrantsReply>({ grants, page_token });
  },
});

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
 * Checks who gets a grant. A key or a client must exist, and the caller must be allowed to change it: otherwise an
 * administrator could tie another's key to its own database, and the owner could no longer revoke the key. Only the issuer
 * knows who holds a token.
 */
async function requirePrincipal(principal: string, caller: Caller, catalog: Catalog): Promise<void> {
  const [kind, rest = ''] = principal.split(/:(.*)/s, 2);
  if ((kind === 'key' || kind === 'client') && rest !== '') {
    return requireChangeable(kind, { id: rest, caller }, catalog);
  }
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
