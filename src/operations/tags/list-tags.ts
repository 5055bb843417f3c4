import type { Tag } from '../../engine/engine.ts';
import { ListTagsBody, ListTagsQuery, ListTagsReply } from '../../wire/tags.ts';
import type { TagShape } from '../../wire/tags.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import { cutPage, limitWithNext, readPage } from '../page.ts';
import type { Services } from '../services.ts';

export const listTags = defineTableOperation({
  id: 'list_table_tags',
  methods: ['POST', 'GET'],
  path: '/v1/table/:id/tags/list',
  summary: 'List the tags of a table',
  permission: 'read',
  body: { kind: 'json', shape: ListTagsBody },
  query: ListTagsQuery,
  replies: [{ mediaType: 'application/json', shape: ListTagsReply, description: 'The tags by name.' }],
  statuses: [],
  run: list,
});

async function list(request: TableRequest<ListTagsBody>, services: Services): Promise<Reply> {
  const page = readPage(request, request.body, services);
  const window = { after: page.after, limit: limitWithNext(page) };
  const found = await services.engine.versions.listTags(request.table.location, window);
  const { entries, token } = cutPage(found, page, ({ name }) => name);
  const tags = Object.fromEntries(entries.map((tag) => [tag.name, toTagShape(tag)]));
  // The LanceDB client reads the map itself; whatever stands around it would be a tag to it.
  if (request.dialect === 'lancedb') return { kind: 'value', value: tags };
  const reply: ListTagsReply = { tags, ...token };
  return { kind: 'object', body: reply };
}

function toTagShape({ version, branch, manifestBytes, createdAt }: Tag): TagShape {
  return {
    version,
    ...(branch === undefined ? {} : { branch }),
    manifestSize: manifestBytes,
    ...(createdAt === undefined ? {} : { createdAt }),
  };
}
