import type { HeaderProvider } from '@lancedb/lancedb';
import { QUERY_VECTOR, ROWS, asked } from '../side.ts';
import type { Probes, Side } from '../side.ts';

export const QUERY: Probes = {
  useLsm: asked((side) => side.query().useLsm(false).limit(2)),
  where: asked((side) => side.query().where('id < 4')),
  filter: asked((side) => side.query().filter('id < 4')),
  fullTextSearch: asked((side) => side.query().fullTextSearch('word1', { columns: 'text' }).limit(2)),
  limit: asked((side) => side.query().limit(4)),
  offset: asked((side) =>
    side
      .query()
      .limit(ROWS)
      .offset(ROWS - 3),
  ),
  orderBy: asked((side) => side.query().orderBy({ columnName: 'id', ascending: false }).limit(2)),
  fastSearch: asked((side) => side.query().fullTextSearch('word1', { columns: 'text' }).fastSearch().limit(2)),
  nearestTo: asked((side) => side.query().nearestTo(QUERY_VECTOR).limit(2)),
  nearestToText: asked((side) => side.query().nearestToText('word1').limit(2)),
  select: async (side) => [
    await side.query().select({ twice: 'id * 2' }).limit(1).toArrow(),
    await side.query().select(['text', 'id']).limit(1).toArrow(),
  ],
  withRowId: asked((side) => side.query().withRowId().limit(2)),
  execute: async (side) => {
    let rows = 0;
    for await (const batch of side.query()) rows += batch.numRows;
    return rows;
  },
  toArrow: async (side) => side.query().limit(2).toArrow(),
  toArray: asked((side) => side.query()),
  explainPlan: async (side) => /KNN/.test(await side.nearest().explainPlan(true)),
  analyzePlan: async (side) => /output_rows/.test(await side.nearest().analyzePlan()),
  outputSchema: async (side) => side.nearest().select(['id']).outputSchema(),
};

export const VECTOR_QUERY: Probes = {
  nprobes: asked((side) => side.nearest().nprobes(3)),
  minimumNprobes: asked((side) => side.nearest().minimumNprobes(3)),
  maximumNprobes: asked((side) => side.nearest().maximumNprobes(30)),
  distanceRange: asked((side) => side.nearest().distanceRange(0, 10)),
  ef: asked((side) => side.nearest().ef(50)),
  column: asked((side) => side.nearest().column('vector')),
  distanceType: asked((side) => side.nearest().distanceType('dot')),
  refineFactor: asked((side) => side.nearest().refineFactor(2)),
  postfilter: asked((side) => side.nearest().where('id < 2').postfilter()),
  bypassVectorIndex: asked((side) => side.nearest().bypassVectorIndex()),
  addQueryVector: async (side) => {
    const rows = await side
      .nearest()
      .addQueryVector(QUERY_VECTOR.map((each) => each + 9))
      .toArray();
    // The results of the two vectors come in any order.
    return (rows as { query_index: number }[]).toSorted((one, other) => one.query_index - other.query_index);
  },
  rerank: async (side) => {
    const reranker = await side.lancedb.rerankers.RRFReranker.create();
    return side.nearest().fullTextSearch('word1', { columns: 'text' }).rerank(reranker).toArray();
  },
};

const taken = (side: Side) => side.items.takeOffsets([2, 4]);

export const TAKE_QUERY: Probes = {
  useLsm: asked((side) => taken(side).useLsm(false)),
  select: asked((side) => taken(side).select(['id'])),
  withRowId: asked((side) => taken(side).withRowId()),
  execute: async (side) => {
    let rows = 0;
    for await (const batch of taken(side)) rows += batch.numRows;
    return rows;
  },
  toArrow: async (side) => taken(side).toArrow(),
  toArray: asked(taken),
  explainPlan: async (side) => /\w/.test(await taken(side).explainPlan(true)),
  analyzePlan: async (side) => /output_rows/.test(await taken(side).analyzePlan()),
  outputSchema: async (side) => taken(side).select(['id']).outputSchema(),
};

/** By class: each is one kind of full-text query. */
export const FULL_TEXT_QUERIES: Probes = {
  MatchQuery: asked((side) => {
    const { MatchQuery, Operator } = side.lancedb;
    const words = new MatchQuery('word1 zebra', 'text', { operator: Operator.And, fuzziness: 0, boost: 2 });
    return side.query().fullTextSearch(words).limit(3);
  }),
  PhraseQuery: asked((side) =>
    side.query().fullTextSearch(new side.lancedb.PhraseQuery('word1 item8', 'text')).limit(3),
  ),
  BoostQuery: asked((side) => {
    const { BoostQuery, MatchQuery } = side.lancedb;
    const boost = new BoostQuery(new MatchQuery('word1', 'text'), new MatchQuery('item1', 'text'), {
      negativeBoost: 0.2,
    });
    return side.query().fullTextSearch(boost).limit(3);
  }),
  MultiMatchQuery: asked((side) =>
    side
      .query()
      .fullTextSearch(new side.lancedb.MultiMatchQuery('word1', ['text']))
      .limit(3),
  ),
  BooleanQuery: asked((side) => {
    const { BooleanQuery, MatchQuery, Occur } = side.lancedb;
    const words = new BooleanQuery([
      [Occur.Must, new MatchQuery('word1', 'text')],
      [Occur.MustNot, new MatchQuery('item1', 'text')],
    ]);
    return side.query().fullTextSearch(words).limit(3);
  }),
};

/** By class: each gives the headers of every request. */
export const HEADER_PROVIDERS: Probes = {
  StaticHeaderProvider: async (side) => {
    return countWith(side, new side.lancedb.StaticHeaderProvider({ 'x-api-key': side.apiKey }));
  },
  OAuthHeaderProvider: async (side) => {
    const provider = new side.lancedb.OAuthHeaderProvider(() => ({ accessToken: side.apiKey, expiresIn: 3600 }));
    await provider.refreshToken();
    return countWith(side, provider);
  },
};

async function countWith(side: Side, headers: HeaderProvider): Promise<number> {
  return (await (await side.connect(headers)).openTable(side.items.name)).countRows();
}
