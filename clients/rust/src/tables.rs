//! Tables that the checks make, and what they compare.

use std::sync::Arc;

use arrow_array::types::Float32Type;
use arrow_array::{Array, FixedSizeListArray, Int32Array, RecordBatch, RecordBatchIterator, RecordBatchReader, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use futures::TryStreamExt;
use lancedb::query::{ExecutableQuery, QueryBase};
use lancedb::{Connection, Table};

pub const ROWS: i32 = 300;
const DIMENSIONS: i32 = 8;

pub fn schema() -> SchemaRef {
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int32, true),
        Field::new("text", DataType::Utf8, true),
        Field::new("vector", DataType::FixedSizeList(item, DIMENSIONS), true),
    ]))
}

/// Row n has the word n % 7, and no two rows with one word are equally long.
pub fn rows(from: i32, count: i32) -> RecordBatch {
    let ids = Int32Array::from_iter_values(from..from + count);
    let text = |id: i32| format!("word{} item{id} {}", id % 7, "zebra ".repeat(1 + id as usize / 7));
    let texts = StringArray::from_iter_values((from..from + count).map(text));
    let vectors = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(
        (from..from + count).map(|id| Some((0..DIMENSIONS).map(|at| Some((id + at) as f32)).collect::<Vec<_>>())),
        DIMENSIONS,
    );
    RecordBatch::try_new(schema(), vec![Arc::new(ids), Arc::new(texts), Arc::new(vectors)]).expect("rows")
}

pub fn reader(from: i32, count: i32) -> Box<dyn RecordBatchReader + Send> {
    Box::new(RecordBatchIterator::new([Ok(rows(from, count))], schema()))
}

pub fn query_vector() -> Vec<f32> {
    (0..DIMENSIONS).map(|at| at as f32 + 0.25).collect()
}

pub async fn create(db: &Connection, name: &str) -> lancedb::Result<Table> {
    db.create_table(name, rows(0, ROWS)).execute().await
}

/// The ids that a query finds, in its order.
pub async fn ids(query: impl ExecutableQuery) -> lancedb::Result<Vec<i32>> {
    let batches: Vec<RecordBatch> = query.execute().await?.try_collect().await?;
    let ids = batches.iter().flat_map(|batch| {
        let column = batch.column_by_name("id").expect("a column id").clone();
        let ids = column.as_any().downcast_ref::<Int32Array>().expect("integers").clone();
        (0..ids.len()).map(move |at| ids.value(at))
    });
    Ok(ids.collect())
}

/// Id and text of every row, by id.
pub async fn contents(table: &Table) -> lancedb::Result<String> {
    let batches: Vec<RecordBatch> = table.query().limit(10_000).execute().await?.try_collect().await?;
    let mut found: Vec<(i32, String)> = Vec::new();
    for batch in &batches {
        let ids = batch.column_by_name("id").expect("a column id").as_any().downcast_ref::<Int32Array>().expect("integers");
        let texts = batch.column_by_name("text").and_then(|column| column.as_any().downcast_ref::<StringArray>());
        found.extend((0..ids.len()).map(|at| (ids.value(at), texts.map_or("", |texts| texts.value(at)).to_string())));
    }
    found.sort();
    let first: Vec<_> = found.iter().take(20).collect();
    let hash = found.iter().fold(0_u64, |sum, row| format!("{row:?}").bytes().fold(sum, |sum, byte| sum.wrapping_mul(31) + u64::from(byte)));
    Ok(format!("{} rows, {hash:x}, {first:?}", found.len()))
}
