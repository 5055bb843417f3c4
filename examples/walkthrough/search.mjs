// JavaScript searches what Python loaded and Spark enriched.
import { Index, connect } from '@lancedb/lancedb';

const db = await connect('db://default', {
  apiKey: process.env.TILTYARD_KEY,
  hostOverride: process.env.TILTYARD_URL ?? 'http://127.0.0.1:2333',
});
const articles = await db.openTable('articles');
await articles.createIndex('title', { config: Index.fts(), replace: true });

const near = await articles.search([4, 7, 0, 1]).where('words >= 5').limit(1).toArray();
console.log('JavaScript found near', near.map(({ id }) => Number(id)).join(' '));
const words = await articles.query().fullTextSearch('spark').limit(100).toArray();
console.log('JavaScript found by words', words.length, 'rows of Spark');
