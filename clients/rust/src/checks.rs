//! What each method comes to. A check runs on a new table, and gives back what it saw.

use std::error::Error;
use std::time::Duration;

use arrow_schema::SchemaRef;
use futures::future::BoxFuture;
use futures::{FutureExt, TryStreamExt};
use lancedb::index::Index;
use lancedb::index::scalar::{BTreeIndexBuilder, BitmapIndexBuilder, FtsIndexBuilder, FullTextSearchQuery};
use lancedb::index::vector::{IvfFlatIndexBuilder, IvfHnswSqIndexBuilder, IvfPqIndexBuilder};
use lancedb::listing::ListingOptions;
use lancedb::query::{ExecutableQuery, QueryBase, Select};
use lancedb::table::{AddDataMode, ColumnAlteration, FieldMetadataUpdate, NewColumnTransform, OptimizeAction};
use lancedb::{Connection, DistanceType, Table};

use crate::tables::{ROWS, contents, create, ids, query_vector, reader, rows, schema};

pub type Seen = Result<String, Box<dyn Error + Send + Sync>>;
pub type Check = fn(Connection, String) -> BoxFuture<'static, Seen>;

macro_rules! checks {
    ($($method:literal => |$db:ident, $name:ident| $body:block)*) => {
        &[$(($method, |$db, $name| async move { let seen: Seen = $body; seen }.boxed())),*]
    };
}

pub const CHECKS: &[(&str, Check)] = checks! {
    "Connection.create_table" => |db, name| {
        let table = create(&db, &name).await?;
        let again = db.create_table(&name, rows(0, 1)).execute().await;
        Ok(format!("{}, twice: {}", contents(&table).await?, matches!(again, Err(lancedb::Error::TableAlreadyExists { .. }))))
    }
    "Connection.create_empty_table" => |db, name| {
        let table = db.create_empty_table(&name, schema()).execute().await?;
        Ok(format!("{} {}", table.count_rows(None).await?, fields(&table.schema().await?)))
    }
    "Connection.open_table" => |db, name| {
        create(&db, &name).await?;
        let missing = db.open_table("no_such_table").execute().await;
        let is_missing = matches!(missing, Err(lancedb::Error::TableNotFound { .. }));
        Ok(format!("{} {is_missing}", db.open_table(&name).execute().await?.count_rows(None).await?))
    }
    "Connection.table_names" => |db, name| {
        create(&db, &name).await?;
        Ok(format!("{}", db.table_names().execute().await?.contains(&name)))
    }
    "Connection.list_tables" => |db, name| {
        create(&db, &name).await?;
        let tables: Vec<String> = db.list_tables(&[], ListingOptions::default()).try_collect().await?;
        Ok(format!("{}", tables.contains(&name)))
    }
    "Connection.clone_table" => |db, name| {
        let location = create(&db, &name).await?.uri().await?;
        let clone = db.clone_table(format!("{name}_clone"), location).execute().await?;
        Ok(contents(&clone).await?)
    }
    "Connection.rename_table" => |db, name| {
        create(&db, &name).await?;
        db.rename_table(&name, format!("{name}_new"), &[], &[]).await?;
        Ok(format!("{}", db.table_names().execute().await?.contains(&format!("{name}_new"))))
    }
    "Connection.drop_table" => |db, name| {
        create(&db, &name).await?;
        db.drop_table(&name, &[]).await?;
        Ok(format!("{}", db.table_names().execute().await?.contains(&name)))
    }
    "Connection.drop_table_async" => |db, name| {
        create(&db, &name).await?;
        db.drop_table_async(&name, &[]).await?.wait().await?;
        Ok(format!("{}", db.table_names().execute().await?.contains(&name)))
    }
    "Connection.list_jobs" => |db, name| {
        let table = create(&db, &name).await?;
        table.create_index(&["id"], Index::Auto).execute().await?;
        let jobs: Vec<_> = db.list_jobs(ListingOptions::default()).try_collect().await?;
        Ok(format!("{}", jobs.iter().any(|job| job.table == name)))
    }
    "Table.add" => |db, name| {
        let table = create(&db, &name).await?;
        let added = table.add(rows(ROWS, 5)).execute().await?;
        let appended = contents(&table).await?;
        table.add(rows(7, 3)).mode(AddDataMode::Overwrite).execute().await?;
        Ok(format!("{} {appended} {}", added.version, contents(&table).await?))
    }
    "Table.update" => |db, name| {
        let table = create(&db, &name).await?;
        let changed = table.update().only_if("id = 1").column("text", "'it''s new'").execute().await?;
        Ok(format!("{} {} {}", changed.rows_updated, changed.version, contents(&table).await?))
    }
    "Table.delete" => |db, name| {
        let table = create(&db, &name).await?;
        let gone = table.delete("id < 10").await?;
        Ok(format!("{} {}", gone.version, contents(&table).await?))
    }
    "Table.merge_insert" => |db, name| {
        let table = create(&db, &name).await?;
        let mut merge = table.merge_insert(&["id"]);
        merge.when_matched_update_all(None).when_not_matched_insert_all();
        let merged = merge.execute(reader(ROWS - 2, 4)).await?;
        Ok(format!("{} {} {}", merged.num_inserted_rows, merged.num_updated_rows, contents(&table).await?))
    }
    "Table.count_rows" => |db, name| {
        let table = create(&db, &name).await?;
        Ok(format!("{} {}", table.count_rows(None).await?, table.count_rows(Some("id < 10".into())).await?))
    }
    "Table.query" => |db, name| {
        let table = create(&db, &name).await?;
        let some = ids(table.query().only_if("id between 3 and 9").limit(4).offset(1)).await?;
        let twice: Vec<_> = table.query().only_if("id = 4").select(Select::dynamic(&[("id", "cast(id * 2 as int)")])).execute().await?.try_collect().await?;
        Ok(format!("{some:?} {twice:?} {:?}", ids(table.query()).await?.len()))
    }
    "Table.take_offsets" => |db, name| {
        let table = create(&db, &name).await?;
        Ok(format!("{:?}", ids(table.take_offsets(vec![5, 1])).await?))
    }
    "Table.vector_search" => |db, name| {
        let table = create(&db, &name).await?;
        let near = ids(table.vector_search(query_vector())?.limit(3)).await?;
        let filtered = ids(table.vector_search(query_vector())?.distance_type(DistanceType::Cosine).only_if("id > 20").limit(3)).await?;
        Ok(format!("{near:?} {filtered:?}"))
    }
    "Query.full_text_search" => |db, name| {
        let table = create(&db, &name).await?;
        table.create_index(&["text"], Index::FTS(FtsIndexBuilder::default())).execute().await?;
        let found = ids(table.query().full_text_search(FullTextSearchQuery::new("word1".into())).limit(3)).await?;
        Ok(format!("{found:?}"))
    }
    "Query.nearest_to with full_text_search" => |db, name| {
        let table = create(&db, &name).await?;
        table.create_index(&["text"], Index::FTS(FtsIndexBuilder::default())).execute().await?;
        let words = FullTextSearchQuery::new("word1".into());
        let found = ids(table.query().full_text_search(words).nearest_to(query_vector())?.limit(4)).await?;
        Ok(format!("{found:?}"))
    }
    "Query.explain_plan" => |db, name| {
        let table = create(&db, &name).await?;
        Ok(format!("{}", table.vector_search(query_vector())?.limit(3).explain_plan(true).await?.contains("KNN")))
    }
    "Query.analyze_plan" => |db, name| {
        let table = create(&db, &name).await?;
        Ok(format!("{}", table.vector_search(query_vector())?.limit(3).analyze_plan().await?.contains("output_rows")))
    }
    "Table.create_index" => |db, name| {
        let table = create(&db, &name).await?;
        table.create_index(&["id"], Index::BTree(BTreeIndexBuilder::default())).execute().await?;
        table.create_index(&["text"], Index::Bitmap(BitmapIndexBuilder::default())).execute().await?;
        Ok(format!("{} {:?}", indexes(&table).await?, ids(table.query().only_if("id = 7")).await?))
    }
    "Table.create_index of vectors" => |db, name| {
        let mut seen = Vec::new();
        for (kind, index) in [
            ("flat", Index::IvfFlat(IvfFlatIndexBuilder::default().num_partitions(1))),
            ("pq", Index::IvfPq(IvfPqIndexBuilder::default().num_partitions(1).num_sub_vectors(2))),
            ("hnsw", Index::IvfHnswSq(IvfHnswSqIndexBuilder::default().num_partitions(1))),
        ] {
            let table = create(&db, &format!("{name}_{kind}")).await?;
            table.create_index(&["vector"], index).execute().await?;
            table.wait_for_index(&["vector_idx"], Duration::from_secs(60)).await?;
            seen.push(indexes(&table).await?);
        }
        Ok(format!("{seen:?}"))
    }
    "Table.index_stats" => |db, name| {
        let table = create(&db, &name).await?;
        table.create_index(&["id"], Index::Auto).execute().await?;
        let stats = table.index_stats("id_idx").await?.ok_or("no statistics")?;
        let none = table.index_stats("no_such_index").await?.is_none();
        Ok(format!("{} {} {none}", stats.num_indexed_rows, stats.num_unindexed_rows))
    }
    "Table.drop_index" => |db, name| {
        let table = create(&db, &name).await?;
        table.create_index(&["id"], Index::Auto).execute().await?;
        table.drop_index("id_idx").await?;
        Ok(indexes(&table).await?)
    }
    "Table.prewarm_index" => |db, name| {
        let table = create(&db, &name).await?;
        table.create_index(&["id"], Index::Auto).execute().await?;
        table.prewarm_index("id_idx").await?;
        Ok(String::new())
    }
    "Table.add_columns" => |db, name| {
        let table = create(&db, &name).await?;
        let twice = NewColumnTransform::SqlExpressions(vec![("twice".into(), "id * 2".into())]);
        table.add_columns().transform(twice).execute().await?;
        Ok(format!("{} {}", fields(&table.schema().await?), table.count_rows(Some("twice = 8".into())).await?))
    }
    "Table.alter_columns" => |db, name| {
        let table = create(&db, &name).await?;
        table.alter_columns(&[ColumnAlteration::new("text".into()).rename("words".into())]).await?;
        Ok(fields(&table.schema().await?))
    }
    "Table.drop_columns" => |db, name| {
        let table = create(&db, &name).await?;
        table.drop_columns(&["text"]).await?;
        Ok(fields(&table.schema().await?))
    }
    "Table.update_field_metadata" => |db, name| {
        let table = create(&db, &name).await?;
        table.update_field_metadata(&[FieldMetadataUpdate::new("id").set("unit", "none")]).await?;
        Ok(format!("{:?}", table.schema().await?.field(0).metadata().get("unit")))
    }
    "Table.version" => |db, name| {
        let table = create(&db, &name).await?;
        table.delete("id < 10").await?;
        Ok(format!("{}", table.version().await?))
    }
    "Table.checkout" => |db, name| {
        let table = create(&db, &name).await?;
        table.delete("id < 10").await?;
        table.checkout(1).await?;
        let before = table.count_rows(None).await?;
        table.checkout_latest().await?;
        Ok(format!("{before} {}", table.count_rows(None).await?))
    }
    "Table.list_versions" => |db, name| {
        let table = create(&db, &name).await?;
        table.delete("id < 10").await?;
        Ok(format!("{:?}", table.list_versions().await?.iter().map(|each| each.version).collect::<Vec<_>>()))
    }
    "Table.restore" => |db, name| {
        let table = create(&db, &name).await?;
        table.delete("id < 10").await?;
        table.checkout(1).await?;
        table.restore().await?;
        Ok(format!("{} {}", table.version().await?, contents(&table).await?))
    }
    "Table.tags" => |db, name| {
        let table = create(&db, &name).await?;
        table.delete("id < 10").await?;
        let mut tags = table.tags().await?;
        tags.create("one", 1).await?;
        tags.create("two", 1).await?;
        tags.update("two", 2).await?;
        let two = tags.get_version("two").await?;
        tags.delete("two").await?;
        let names: Vec<_> = tags.list().await?.into_keys().collect();
        drop(tags);
        table.checkout_tag("one").await?;
        Ok(format!("{two} {names:?} {}", table.count_rows(None).await?))
    }
    "Table.create_branch" => |db, name| {
        let table = create(&db, &name).await?;
        let side = table.create_branch("side", 1).await?;
        side.delete("id < 10").await?;
        let names: Vec<_> = table.list_branches().await?.into_keys().collect();
        let again = table.checkout_branch("side", None).await?.count_rows(None).await?;
        let counts = format!("{names:?} {again} {}", table.count_rows(None).await?);
        table.delete_branch("side").await?;
        Ok(format!("{counts} {}", table.list_branches().await?.len()))
    }
    "Table.stats" => |db, name| {
        let table = create(&db, &name).await?;
        let stats = table.stats().await?;
        Ok(format!("{} {}", stats.num_rows, stats.fragment_stats.num_fragments))
    }
    "Table.get_rte_spec" => |db, name| {
        Ok(format!("{}", create(&db, &name).await?.get_rte_spec().await?.is_none()))
    }
    "Table.optimize" => |db, name| {
        create(&db, &name).await?.optimize(OptimizeAction::All).await?;
        Ok(String::new())
    }
    "Table.uri" => |db, name| {
        Ok(format!("{}", create(&db, &name).await?.uri().await?.is_empty()))
    }
};

fn fields(schema: &SchemaRef) -> String {
    format!("{:?}", schema.fields().iter().map(|field| format!("{}: {}", field.name(), field.data_type())).collect::<Vec<_>>())
}

async fn indexes(table: &Table) -> lancedb::Result<String> {
    let mut found: Vec<_> = table.list_indices().await?.iter().map(|each| format!("{} {:?} {:?}", each.name, each.columns, each.index_type)).collect();
    found.sort();
    Ok(format!("{found:?}"))
}
