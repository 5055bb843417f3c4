import static java.util.Map.of;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

final class DataChecks {
  private static final int COLUMN_NOT_FOUND = 12;
  private static final int INDEX_NOT_FOUND = 6;
  private static final Map<String, Object> NEAR_40 = of("single_vector", Rows.vectorOf(40));

  private DataChecks() {}

  static void addTo(Map<String, Checks.Check> checks) {
    checks.put("countTableRows", DataChecks::count);
    checks.put("insertIntoTable", DataChecks::insert);
    checks.put("mergeInsertIntoTable", DataChecks::merge);
    checks.put("updateTable", DataChecks::update);
    checks.put("deleteFromTable", DataChecks::delete);
    checks.put("queryTable", DataChecks::query);
    checks.put("explainTableQueryPlan", DataChecks::explain);
    checks.put("analyzeTableQueryPlan", DataChecks::analyze);
    checks.put("createTableIndex", DataChecks::createIndex);
    checks.put("createTableScalarIndex", DataChecks::createScalarIndex);
    checks.put("listTableIndices", DataChecks::listIndices);
    checks.put("describeTableIndexStats", DataChecks::indexStats);
    checks.put("dropTableIndex", DataChecks::dropIndex);
  }

  private static void count(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    Report.same("rows", fixture.client.call("countTableRows", of("id", id)).asLong(), Fixture.ROWS);
    fixture.insert(id, 100, 120);
    long some = fixture.client.call("countTableRows", of("id", id, "predicate", "id < 10")).asLong();
    long former = fixture.client.call("countTableRows", of("id", id, "version", 1)).asLong();
    if (fixture.client instanceof NamespaceClient && some == 120 && former == 120) {
      throw new Report.Other("differs", "predicate and version have no effect",
          "The client counts with GET and sends neither predicate nor version");
    }
    Report.same("rows of the predicate", some, 10);
    Report.same("rows of version 1", former, Fixture.ROWS);
  }

  private static void insert(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    fixture.client.call("insertIntoTable", of("id", id, "mode", "Append"), Rows.stream(100, 110));
    Report.same("rows", fixture.count(id), 110);
    Report.same("ids", fixture.ids(id, "id >= 108"), List.of(108, 109));
    fixture.client.call("insertIntoTable", of("id", id, "mode", "Overwrite"), Rows.stream(0, 2));
    Report.same("ids after Overwrite", fixture.ids(id, "id >= 0"), List.of(0, 1));
  }

  private static void merge(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    fixture.client.call("updateTable", of("id", id, "updates", List.of(List.of("name", "'old'"))));
    Map<String, Object> request =
        of("id", id, "on", "id", "when_matched_update_all", true, "when_not_matched_insert_all", true);
    JsonNode merged = (JsonNode) fixture.client.call("mergeInsertIntoTable", request, Rows.stream(90, 105));
    Report.same("updated", merged.get("num_updated_rows").asLong(), 10);
    Report.same("inserted", merged.get("num_inserted_rows").asLong(), 5);
    Report.same("rows", fixture.count(id), 105);
    Report.same("an updated row", fixture.query(id, of("filter", "id = 95")).get(0).get("name"), Rows.nameOf(95));
    Report.same("another row", fixture.query(id, of("filter", "id = 5")).get(0).get("name"), "old");
  }

  private static void update(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    List<List<String>> updates = List.of(List.of("name", "concat(name, '!')"));
    JsonNode reply = fixture.client.call("updateTable", of("id", id, "predicate", "id < 3", "updates", updates));
    Report.same("updated_rows", reply.get("updated_rows").asLong(), 3);
    Report.same("version", reply.get("version").asLong(), fixture.versionOf(id));
    Report.same("name", fixture.query(id, of("filter", "id = 2")).get(0).get("name"), Rows.nameOf(2) + "!");
    Report.same("another", fixture.query(id, of("filter", "id = 3")).get(0).get("name"), Rows.nameOf(3));
  }

  private static void delete(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    JsonNode reply = fixture.client.call("deleteFromTable", of("id", id, "predicate", "id >= 3"));
    Report.same("version", reply.get("version").asLong(), fixture.versionOf(id));
    Report.same("ids", fixture.ids(id, "id >= 0"), List.of(0, 1, 2));
  }

  private static void query(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    List<Map<String, Object>> near = fixture.query(id, of("vector", NEAR_40, "k", 3, "filter", "id > 40"));
    Report.same("nearest", Rows.column(near, "id"), List.of(41, 42, 43));
    Report.same("distances", Rows.column(near, "_distance"), List.of(2.0, 8.0, 18.0));
    Map<String, Object> some = of("filter", "id = 9", "columns", of("column_names", List.of("name")), "with_row_id", true);
    Report.same("columns", fixture.query(id, some).get(0).keySet(), List.of("name", "_rowid"));
    Map<String, Object> aliases = of("filter", "id = 9", "columns", of("column_aliases", of("double_id", "id * 2")));
    Report.same("alias", fixture.query(id, aliases).get(0), "{double_id=18}");
    Map<String, Object> page = of("k", 2, "offset", 4, "filter", "id < 100");
    Report.same("page", Rows.column(fixture.query(id, page), "id"), List.of(4, 5));
    fixture.insert(id, 100, 101);
    Report.same("version 1", fixture.query(id, of("version", 1)).size(), Fixture.ROWS);
    fixture.refuses(COLUMN_NOT_FOUND, "queryTable",
        of("id", id, "k", 1, "vector", NEAR_40, "vector_column", "missing"));
    queryByWords(fixture, id);
  }

  private static void queryByWords(Fixture fixture, List<String> id) throws Exception {
    fixture.client.call("createTableIndex", of("id", id, "column", "name", "index_type", "FTS"));
    fixture.requireIndex(id, "name_idx");
    Map<String, Object> words = of("string_query", of("query", "blue", "columns", List.of("name")));
    List<Map<String, Object>> found = fixture.query(id, of("full_text_query", words, "k", 200));
    Report.same("rows with the word", found.size(), 51);
    Report.holds("no _score in " + found.get(0), found.get(0).containsKey("_score"));
    Map<String, Object> match = of("match", of("column", "name", "terms", "red"));
    Map<String, Object> structured = of("structured_query", of("query", match));
    Report.same("structured", fixture.query(id, of("full_text_query", structured, "k", 200)).size(), 50);
  }

  private static void explain(Fixture fixture) throws Exception {
    Map<String, Object> query = of("vector", NEAR_40, "k", 3);
    Map<String, Object> request = of("id", fixture.newTable(), "query", query, "verbose", true);
    String plan = fixture.client.call("explainTableQueryPlan", request).asText();
    Report.holds("the plan is " + plan, plan.contains("KNN"));
  }

  private static void analyze(Fixture fixture) throws Exception {
    Map<String, Object> request = new HashMap<>(of("id", fixture.newTable(), "vector", NEAR_40, "k", 3));
    String analysis = fixture.client.call("analyzeTableQueryPlan", request).asText();
    Report.holds("the analysis is " + analysis, analysis.contains("KNN") && analysis.contains("output_rows"));
  }

  private static void createIndex(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    Map<String, Object> request =
        of("id", id, "column", "vector", "index_type", "IVF_FLAT", "distance_type", "l2", "name", "by_vector");
    fixture.client.call("createTableIndex", request);
    String name = fixture.requireIndex(id, "by_vector").get("columns").get(0).asText();
    Report.same("column", name, "vector");
    List<Map<String, Object>> near = fixture.query(id, of("vector", NEAR_40, "k", 1));
    Report.same("nearest", Rows.column(near, "id"), List.of(40));
  }

  private static void createScalarIndex(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    fixture.client.call("createTableScalarIndex", of("id", id, "column", "id", "index_type", "BTREE"));
    Report.same("column", fixture.requireIndex(id, "id_idx").get("columns").get(0).asText(), "id");
    Report.same("ids", fixture.ids(id, "id = 77"), List.of(77));
  }

  private static void listIndices(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    Report.same("none", fixture.client.call("listTableIndices", of("id", id)).get("indexes").size(), 0);
    fixture.client.call("createTableIndex", of("id", id, "column", "id", "index_type", "BTREE"));
    JsonNode index = fixture.requireIndex(id, "id_idx");
    Report.holds("no uuid and status in " + index, index.hasNonNull("index_uuid") && index.hasNonNull("status"));
  }

  private static void indexStats(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    fixture.client.call("createTableIndex", of("id", id, "column", "id", "index_type", "BTREE"));
    fixture.requireIndex(id, "id_idx");
    JsonNode stats = fixture.client.call("describeTableIndexStats", of("id", id, "index_name", "id_idx"));
    Report.same("num_indexed_rows", stats.get("num_indexed_rows").asLong(), Fixture.ROWS);
    Report.same("num_unindexed_rows", stats.get("num_unindexed_rows").asLong(), 0);
    fixture.refuses(INDEX_NOT_FOUND, "describeTableIndexStats", of("id", id, "index_name", "missing"));
  }

  private static void dropIndex(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    fixture.client.call("createTableIndex", of("id", id, "column", "id", "index_type", "BTREE"));
    fixture.requireIndex(id, "id_idx");
    fixture.client.call("dropTableIndex", of("id", id, "index_name", "id_idx"));
    Report.same("indexes", fixture.client.call("listTableIndices", of("id", id)).get("indexes").size(), 0);
    fixture.refuses(INDEX_NOT_FOUND, "dropTableIndex", of("id", id, "index_name", "id_idx"));
  }
}
