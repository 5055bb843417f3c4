import static java.util.Map.of;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;
import java.util.Map;

final class TableChecks {
  private static final int TABLE_NOT_FOUND = 4;
  private static final int TABLE_ALREADY_EXISTS = 5;
  private static final int VERSION_NOT_FOUND = 11;
  private static final int INVALID_INPUT = 13;

  private TableChecks() {}

  static void addTo(Map<String, Checks.Check> checks) {
    checks.put("createTable", TableChecks::create);
    checks.put("createEmptyTable", fixture -> declare(fixture, "createEmptyTable"));
    checks.put("declareTable", fixture -> declare(fixture, "declareTable"));
    checks.put("describeTable", TableChecks::describe);
    checks.put("tableExists", TableChecks::exists);
    checks.put("listTables", TableChecks::list);
    checks.put("listAllTables", TableChecks::listAll);
    checks.put("registerTable", TableChecks::register);
    checks.put("deregisterTable", TableChecks::deregister);
    checks.put("dropTable", TableChecks::drop);
    checks.put("renameTable", TableChecks::rename);
    checks.put("getTableStats", TableChecks::stats);
    checks.put("updateTableSchemaMetadata", TableChecks::schemaMetadata);
    checks.put("alterTableAddColumns", TableChecks::addColumns);
    checks.put("alterTableAlterColumns", TableChecks::alterColumns);
    checks.put("alterTableDropColumns", TableChecks::dropColumns);
    checks.put("alterTableBackfillColumns", TableChecks::backfillColumns);
    checks.put("createMaterializedView", TableChecks::createView);
    checks.put("refreshMaterializedView", TableChecks::refreshView);
  }

  private static void create(Fixture fixture) throws Exception {
    List<String> id = fixture.newId();
    Map<String, Object> request = of("id", id, "properties", of("owner", "shop"));
    JsonNode made = (JsonNode) fixture.client.call("createTable", request, Rows.stream(0, 10));
    Report.same("version", made.get("version").asLong(), 1);
    Report.holds("no location in " + made, made.get("location").asText().length() > 0);
    Report.same("names", Rows.column(fixture.query(id, of("filter", "id < 2")), "name"),
        List.of(Rows.nameOf(0), Rows.nameOf(1)));
    fixture.refuses(TABLE_ALREADY_EXISTS, "createTable", of("id", id), Rows.stream(0, 1));
    fixture.client.call("createTable", of("id", id, "mode", "ExistOk"), Rows.stream(0, 1));
    Report.same("rows after ExistOk", fixture.count(id), 10);
    fixture.client.call("createTable", of("id", id, "mode", "Overwrite"), Rows.stream(0, 3));
    Report.same("rows after Overwrite", fixture.count(id), 3);
  }

  private static void declare(Fixture fixture, String operation) throws Exception {
    List<String> id = fixture.newId();
    JsonNode declared = fixture.client.call(operation, of("id", id));
    Report.holds("no location in " + declared, declared.get("location").asText().length() > 0);
    JsonNode seen = fixture.client.call("describeTable", of("id", id));
    Report.same("location", seen.get("location").asText(), declared.get("location").asText());
    Report.holds("a version without data: " + seen, seen.path("version").isMissingNode() || seen.get("version").isNull());
    fixture.refuses(TABLE_ALREADY_EXISTS, operation, of("id", id));
    fixture.insert(id, 0, 5);
    Report.same("rows", fixture.count(id), 5);
  }

  private static void describe(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    fixture.insert(id, 100, 110);
    JsonNode seen = fixture.client.call("describeTable", of("id", id, "load_detailed_metadata", true));
    Report.same("version", seen.get("version").asLong(), 2);
    Report.same("columns", fixture.columnsOf(id), List.of("id", "name", "vector"));
    JsonNode former = fixture.client.call("describeTable", of("id", id, "version", 1));
    Report.same("version asked for", former.get("version").asLong(), 1);
    fixture.refuses(VERSION_NOT_FOUND, "describeTable", of("id", id, "version", 99));
    fixture.refuses(TABLE_NOT_FOUND, "describeTable", of("id", fixture.newId()));
  }

  private static void exists(Fixture fixture) throws Exception {
    fixture.client.call("tableExists", of("id", fixture.newTable()));
    fixture.refuses(TABLE_NOT_FOUND, "tableExists", of("id", fixture.newId()));
  }

  private static void list(Fixture fixture) throws Exception {
    List<String> namespace = fixture.newId();
    fixture.client.call("createNamespace", of("id", namespace));
    for (String name : List.of("a", "b", "c")) {
      List<String> id = List.of(namespace.get(0), namespace.get(1), name);
      fixture.client.call("createTable", of("id", id), Rows.stream(0, 1));
    }
    JsonNode first = fixture.client.call("listTables", of("id", namespace, "limit", 2));
    Report.same("first page", Fixture.texts(first.get("tables")), List.of("a", "b"));
    String token = first.get("page_token").asText();
    JsonNode second = fixture.client.call("listTables", of("id", namespace, "limit", 2, "page_token", token));
    Report.same("second page", Fixture.texts(second.get("tables")), List.of("c"));
  }

  private static void listAll(Fixture fixture) throws Exception {
    String name = String.join("$", fixture.newTable());
    JsonNode all = fixture.client.call("listAllTables", of());
    Report.holds(name + " is not in " + all, Fixture.texts(all.get("tables")).contains(name));
  }

  private static void register(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    JsonNode released = fixture.client.call("deregisterTable", of("id", id));
    List<String> other = fixture.newId();
    fixture.client.call("registerTable", of("id", other, "location", released.get("location").asText()));
    Report.same("rows", fixture.count(other), Fixture.ROWS);
  }

  private static void deregister(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    JsonNode released = fixture.client.call("deregisterTable", of("id", id));
    Report.same("id", Fixture.texts(released.get("id")), id);
    fixture.refuses(TABLE_NOT_FOUND, "describeTable", of("id", id));
  }

  private static void drop(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    fixture.client.call("dropTable", of("id", id));
    fixture.refuses(TABLE_NOT_FOUND, "tableExists", of("id", id));
    fixture.refuses(TABLE_NOT_FOUND, "dropTable", of("id", id));
  }

  private static void rename(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    List<String> namespace = fixture.newId();
    fixture.client.call("createNamespace", of("id", namespace));
    fixture.client.call("renameTable", of("id", id, "new_table_name", "moved", "new_namespace_id", namespace));
    Report.same("rows", fixture.count(List.of(namespace.get(0), namespace.get(1), "moved")), Fixture.ROWS);
    fixture.refuses(TABLE_NOT_FOUND, "tableExists", of("id", id));
  }

  private static void stats(Fixture fixture) throws Exception {
    JsonNode stats = fixture.client.call("getTableStats", of("id", fixture.newTable()));
    Report.same("num_rows", stats.get("num_rows").asLong(), Fixture.ROWS);
    Report.same("num_fragments", stats.at("/fragment_stats/num_fragments").asLong(), 1);
    Report.holds("total_bytes in " + stats, stats.get("total_bytes").asLong() > 0);
  }

  /** The generated client sends and gets the bare map. */
  private static void schemaMetadata(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    Map<String, Object> request = of("id", id, "metadata", of("source", "java"));
    JsonNode reply = fixture.client.call("updateTableSchemaMetadata", request);
    Report.same("source", (reply.has("metadata") ? reply.get("metadata") : reply).path("source").asText(), "java");
  }

  private static void addColumns(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    List<Map<String, String>> columns = List.of(of("name", "twice", "expression", "id * 2"));
    JsonNode reply = fixture.client.call("alterTableAddColumns", of("id", id, "new_columns", columns));
    Report.same("version", reply.get("version").asLong(), fixture.versionOf(id));
    Report.same("values", Rows.column(fixture.query(id, of("filter", "id = 21")), "twice"), List.of(42));
  }

  private static void alterColumns(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    List<Map<String, Object>> changes = List.of(of("path", "name", "rename", "title"));
    fixture.client.call("alterTableAlterColumns", of("id", id, "alterations", changes));
    Report.same("columns", fixture.columnsOf(id), List.of("id", "title", "vector"));
    List<Map<String, Object>> types = List.of(of("path", "id", "data_type", of("type", "int32")));
    fixture.client.call("alterTableAlterColumns", of("id", id, "alterations", types));
    Object value = fixture.query(id, of("filter", "id = 7")).get(0).get("id");
    Report.same("type of id", value.getClass().getSimpleName(), "Integer");
  }

  /** The models of these releases have no computed columns, so only the refusal can be seen. */
  private static void backfillColumns(Fixture fixture) throws Exception {
    fixture.refuses(INVALID_INPUT, "alterTableBackfillColumns", of("id", fixture.newTable(), "column", "name"));
    throw new Report.Other("fails", "refused: the column is not computed",
        "Models of this release cannot add computed columns, and others have nothing to fill");
  }

  private static void dropColumns(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    fixture.client.call("alterTableDropColumns", of("id", id, "columns", List.of("name")));
    Report.same("columns", fixture.columnsOf(id), List.of("id", "vector"));
    Report.same("row", fixture.query(id, of("filter", "id = 3")).get(0).keySet(), List.of("id", "vector"));
  }

  private static void createView(Fixture fixture) throws Exception {
    List<String> view = newView(fixture);
    Report.same("rows before a refresh", fixture.count(view), 0);
    Report.same("columns", fixture.columnsOf(view), List.of("id", "twice"));
  }

  private static void refreshView(Fixture fixture) throws Exception {
    List<String> view = newView(fixture);
    fixture.client.call("refreshMaterializedView", of("id", view));
    for (int attempt = 0; attempt < 60 && fixture.count(view) == 0; attempt += 1) Thread.sleep(500);
    Report.same("ids", fixture.ids(view, "twice >= 0"), List.of(0, 1, 2));
  }

  private static List<String> newView(Fixture fixture) throws Exception {
    String query = "SELECT id, id * 2 AS twice FROM " + String.join(".", fixture.newTable()) + " WHERE id < 3";
    List<String> view = fixture.newId();
    Map<String, Object> request = of("id", view, "kind", "query", "source_query", query, "with_no_data", true);
    fixture.client.call("createMaterializedView", request);
    return view;
  }
}
