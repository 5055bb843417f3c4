import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** One check per statement, each with tables that no other uses. */
final class SparkChecks {
  private static final String ITEMS = "SELECT id, concat('n', id) AS name FROM range(10)";
  private final SparkSession spark;
  private final Map<String, Report.Check> checks = new LinkedHashMap<>();
  private int tables;

  SparkChecks(SparkSession spark) {
    this.spark = spark;
    checks.put("SHOW NAMESPACES", this::showNamespaces);
    checks.put("DESCRIBE NAMESPACE", this::describeNamespace);
    checks.put("DROP NAMESPACE", this::dropNamespace);
    checks.put("CREATE TABLE", this::createTable);
    checks.put("CREATE TABLE AS SELECT", this::createTableAsSelect);
    checks.put("CREATE OR REPLACE TABLE", this::replaceTable);
    checks.put("SHOW TABLES", this::showTables);
    checks.put("DESCRIBE TABLE", this::describeTable);
    checks.put("DROP TABLE", this::dropTable);
    checks.put("INSERT INTO", this::insertInto);
    checks.put("INSERT OVERWRITE", this::insertOverwrite);
    checks.put("SELECT with a filter and columns", this::select);
    checks.put("SELECT with a join and an aggregate", this::join);
    checks.put("SELECT of a field of a struct", this::selectField);
    checks.put("VERSION AS OF", this::versionAsOf);
    checks.put("TIMESTAMP AS OF", this::timestampAsOf);
    checks.put("UPDATE", this::update);
    checks.put("DELETE FROM", this::delete);
    checks.put("MERGE INTO", this::merge);
    checks.put("ALTER TABLE ADD COLUMNS FROM", this::addColumns);
    checks.put("ALTER TABLE UPDATE COLUMNS FROM", this::updateColumns);
    checks.put("ALTER TABLE ADD COLUMN", () -> refusedByClient("ALTER TABLE %s ADD COLUMN note STRING"));
    checks.put("ALTER TABLE RENAME TO", () -> refusedByClient("ALTER TABLE %s RENAME TO lance.spark.other"));
    checks.put("TRUNCATE TABLE", () -> refusedByClient("TRUNCATE TABLE %s"));
    checks.put("ALTER TABLE CREATE INDEX", this::createIndex);
    checks.put("OPTIMIZE", this::optimize);
    checks.put("VACUUM", this::vacuum);
    checks.put("DataFrame append", this::append);
    checks.put("a table of the JavaScript client", this::readJavaScript);
    checks.put("a table that the JavaScript client searches", this::searchedByJavaScript);
    checks.put("rows that the service changed", this::changedByService);
    checks.put("commits through the service", this::managed);
  }

  void run() {
    Report.check("Spark.CREATE NAMESPACE", () -> spark.sql("CREATE NAMESPACE lance.spark"));
    checks.forEach((name, check) -> Report.check("Spark." + name, check));
  }

  /** `lance.spark.tN`. */
  private String newName() {
    tables += 1;
    return "lance.spark.t" + tables;
  }

  private String newTable() {
    String table = newName();
    spark.sql("CREATE TABLE " + table + " AS " + ITEMS);
    return table;
  }

  private static String withoutCatalog(String table) {
    return table.substring("lance.".length());
  }

  private static String pathOf(String table) {
    return "/v1/table/" + withoutCatalog(table).replace(".", "%24");
  }

  private List<String> rows(String query) {
    List<String> rows = new ArrayList<>();
    for (Row row : spark.sql(query).collectAsList()) rows.add(row.mkString(","));
    return rows;
  }

  /** As the service sees it. */
  private static Object countOf(String table) throws Exception {
    return Beside.post(pathOf(table) + "/count_rows", "{}").asLong();
  }

  private void showNamespaces() throws Exception {
    spark.sql("CREATE NAMESPACE lance.spark.inner");
    Report.same("names", rows("SHOW NAMESPACES IN lance.spark"), List.of("spark.inner"));
  }

  private void describeNamespace() throws Exception {
    List<String> lines = rows("DESCRIBE NAMESPACE lance.spark");
    Report.holds("it is " + lines, lines.contains("Namespace Name,spark"));
  }

  private void dropNamespace() throws Exception {
    spark.sql("CREATE NAMESPACE lance.spark.gone");
    spark.sql("CREATE TABLE lance.spark.gone.t AS " + ITEMS);
    String refusal = refusalOf("DROP NAMESPACE lance.spark.gone");
    Report.holds("the refusal is " + refusal, refusal.contains("not empty"));
    spark.sql("DROP NAMESPACE lance.spark.gone CASCADE");
    Report.holds("it is still there", !rows("SHOW NAMESPACES IN lance.spark").contains("spark.gone"));
  }

  private void createTable() throws Exception {
    String table = newName();
    spark.sql("CREATE TABLE " + table + " (a TINYINT, b SMALLINT, c INT, d BIGINT, e FLOAT, f DOUBLE, g STRING,"
        + " h BINARY, i BOOLEAN, j DATE, k TIMESTAMP, l DECIMAL(10,2), m ARRAY<INT>, n STRUCT<x: INT, y: STRING>,"
        + " vector ARRAY<FLOAT> NOT NULL) TBLPROPERTIES ('vector.arrow.fixed-size-list.size' = '4')");
    spark.sql("INSERT INTO " + table + " VALUES (1, 2, 3, 4, 5.5, 6.5, 'seven', X'08', true, DATE'2026-01-02',"
        + " TIMESTAMP'2026-01-02 03:04:05', 12.34, array(1, 2), named_struct('x', 1, 'y', 'z'), array(1, 2, 3, 4))");
    String seen = rows("SELECT a, b, c, d, e, f, g, hex(h), i, j, l, m[1], vector[3] FROM " + table).get(0);
    Report.same("row", seen, "1,2,3,4,5.5,6.5,seven,08,true,2026-01-02,12.34,2,4.0");
    Report.same("struct", rows("SELECT n FROM " + table).get(0), "[1,z]");
    Report.same("time", rows("SELECT CAST(k AS STRING) FROM " + table).get(0), "2026-01-02 03:04:05");
    Beside.becomes("rows", () -> countOf(table), 1);
    JsonNode found = Beside.post(pathOf(table) + "/query", "{\"k\":1,\"vector\":{\"single_vector\":[1,2,3,4]}}");
    Report.same("distance", (found.has("rows") ? found.get("rows") : found).get(0).get("_distance").asDouble(), 0.0);
  }

  private void createTableAsSelect() throws Exception {
    String table = newTable();
    Report.same("sum", rows("SELECT sum(id), count(*) FROM " + table), List.of("45,10"));
    String refusal = refusalOf("CREATE TABLE " + table + " (id INT)");
    Report.holds("the refusal is " + refusal, refusal.contains("already exists"));
    spark.sql("CREATE TABLE IF NOT EXISTS " + table + " (id INT)");
    Beside.becomes("rows", () -> countOf(table), 10);
  }

  private void replaceTable() throws Exception {
    String table = newTable();
    spark.sql("CREATE OR REPLACE TABLE " + table + " AS SELECT id AS number FROM range(3)");
    Report.same("rows", rows("SELECT * FROM " + table + " ORDER BY number"), List.of("0", "1", "2"));
    Beside.becomes("rows", () -> countOf(table), 3);
  }

  private void showTables() throws Exception {
    spark.sql("CREATE NAMESPACE lance.spark.listed");
    spark.sql("CREATE TABLE lance.spark.listed.one AS " + ITEMS);
    Report.same("tables", rows("SHOW TABLES IN lance.spark.listed"), List.of("spark.listed,one,false"));
  }

  private void describeTable() throws Exception {
    List<String> columns = rows("DESCRIBE TABLE " + newTable());
    Report.same("columns", columns.subList(0, 2), List.of("id,bigint,null", "name,string,null"));
  }

  private void dropTable() throws Exception {
    String table = newTable();
    spark.sql("DROP TABLE " + table);
    Report.holds("it can still be read", refusalOf("SELECT * FROM " + table).contains("not found"));
    spark.sql("DROP TABLE IF EXISTS " + table);
  }

  private void insertInto() throws Exception {
    String table = newTable();
    spark.sql("INSERT INTO " + table + " VALUES (10, 'ten'), (11, NULL)");
    Report.same("rows", rows("SELECT * FROM " + table + " WHERE id > 8 ORDER BY id"),
        List.of("9,n9", "10,ten", "11,null"));
    Beside.becomes("rows", () -> countOf(table), 12);
  }

  private void insertOverwrite() throws Exception {
    String table = newTable();
    spark.sql("INSERT OVERWRITE " + table + " VALUES (1, 'one')");
    Report.same("rows", rows("SELECT * FROM " + table), List.of("1,one"));
    Beside.becomes("rows", () -> countOf(table), 1);
  }

  private void select() throws Exception {
    String table = newTable();
    Report.same("filter", rows("SELECT name FROM " + table + " WHERE id IN (2, 4) OR name = 'n6' ORDER BY id"),
        List.of("n2", "n4", "n6"));
    Report.same("limit", rows("SELECT id FROM " + table + " ORDER BY id DESC LIMIT 2"), List.of("9", "8"));
    Report.same("none", rows("SELECT * FROM " + table + " WHERE id < 0"), List.of());
    Report.same("expression", rows("SELECT id * 2 FROM " + table + " WHERE name LIKE '%5'"), List.of("10"));
  }

  private void join() throws Exception {
    String one = newTable();
    String other = newTable();
    String query = "SELECT count(*), sum(a.id) FROM " + one + " a JOIN " + other + " b ON a.name = b.name WHERE b.id < 4";
    Report.same("result", rows(query), List.of("4,6"));
    Report.same("groups", rows("SELECT id % 2, count(*) FROM " + one + " GROUP BY 1 ORDER BY 1"), List.of("0,5", "1,5"));
  }

  private void selectField() throws Exception {
    String table = newName();
    spark.sql("CREATE TABLE " + table + " AS SELECT named_struct('x', 1, 'y', 'z') AS pair");
    try {
      Report.same("field", rows("SELECT pair.y FROM " + table), List.of("z"));
    } catch (Exception failed) {
      if (!String.valueOf(failed.getMessage()).contains("UnsupportedOperationException")) throw failed;
      throw new Report.Other("fails", "UnsupportedOperationException",
          "The connector cannot read one field of a struct, nor can it from a folder without a service");
    }
  }

  private long versionOf(String table) throws Exception {
    return Beside.post(pathOf(table) + "/describe", "{}").get("version").asLong();
  }

  private void versionAsOf() throws Exception {
    String table = newTable();
    Beside.becomes("rows", () -> countOf(table), 10);
    long version = versionOf(table);
    spark.sql("INSERT INTO " + table + " VALUES (10, 'ten')");
    Beside.becomes("rows now", () -> countOf(table), 11);
    Report.same("rows", rows("SELECT count(*) FROM " + table), List.of("11"));
    Report.same("rows then", rows("SELECT count(*) FROM " + table + " VERSION AS OF " + version), List.of("10"));
  }

  private void timestampAsOf() throws Exception {
    String table = newTable();
    Thread.sleep(1100);
    String now = rows("SELECT CAST(now() AS STRING)").get(0);
    Thread.sleep(1100);
    spark.sql("INSERT INTO " + table + " VALUES (10, 'ten')");
    Report.same("rows then", rows("SELECT count(*) FROM " + table + " TIMESTAMP AS OF '" + now + "'"), List.of("10"));
    Report.same("rows", rows("SELECT count(*) FROM " + table), List.of("11"));
  }

  private void update() throws Exception {
    String table = newTable();
    spark.sql("UPDATE " + table + " SET name = upper(name) WHERE id >= 8");
    Report.same("rows", rows("SELECT name FROM " + table + " WHERE id >= 7 ORDER BY id"), List.of("n7", "N8", "N9"));
    Report.same("all rows", rows("SELECT count(*) FROM " + table), List.of("10"));
  }

  private void delete() throws Exception {
    String table = newTable();
    spark.sql("DELETE FROM " + table + " WHERE id % 2 = 0");
    Report.same("rows", rows("SELECT id FROM " + table + " ORDER BY id"), List.of("1", "3", "5", "7", "9"));
    Beside.becomes("rows", () -> countOf(table), 5);
  }

  private void merge() throws Exception {
    String table = newTable();
    spark.sql("MERGE INTO " + table + " t USING (SELECT 3L AS id, 'three' AS name UNION ALL SELECT 50L, 'fifty') s"
        + " ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = s.name"
        + " WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)");
    Report.same("rows", rows("SELECT * FROM " + table + " WHERE id IN (2, 3, 50) ORDER BY id"),
        List.of("2,n2", "3,three", "50,fifty"));
    Beside.becomes("rows", () -> countOf(table), 11);
  }

  private void addColumns() throws Exception {
    String table = newTable();
    spark.sql("SELECT _rowaddr, _fragid, id * 2 AS twice FROM " + table).createOrReplaceTempView("twice");
    spark.sql("ALTER TABLE " + table + " ADD COLUMNS twice FROM twice");
    Report.same("rows", rows("SELECT id, twice FROM " + table + " WHERE id > 7 ORDER BY id"), List.of("8,16", "9,18"));
    Beside.becomes("rows that the service finds",
        () -> Beside.post(pathOf(table) + "/describe", "{}").at("/schema/fields/2/name").asText(), "twice");
    Report.same("rows of the service",
        Beside.post(pathOf(table) + "/count_rows", "{\"predicate\":\"twice = 18\"}").asLong(), 1);
  }

  private void updateColumns() throws Exception {
    String table = newTable();
    spark.sql("SELECT _rowaddr, _fragid, concat(name, '!') AS name FROM " + table).createOrReplaceTempView("loud");
    spark.sql("ALTER TABLE " + table + " UPDATE COLUMNS name FROM loud");
    Report.same("rows", rows("SELECT name FROM " + table + " WHERE id > 7 ORDER BY id"), List.of("n8!", "n9!"));
  }

  private void refusedByClient(String statement) throws Exception {
    String refusal = refusalOf(String.format(statement, newTable()));
    Report.holds("the refusal is " + refusal, refusal.contains("not support"));
    throw new Report.Other("refused by the client", "the connector does not have it");
  }

  private void createIndex() throws Exception {
    String table = newTable();
    spark.sql("ALTER TABLE " + table + " CREATE INDEX by_id USING btree (id)");
    Report.same("index", rows("SHOW INDEXES FROM " + table).get(0).split(",")[0], "by_id");
    Report.same("rows", rows("SELECT name FROM " + table + " WHERE id = 4"), List.of("n4"));
    Beside.becomes("version", () -> versionOf(table), 2);
    if (Beside.post(pathOf(table) + "/index/list", "{}").get("indexes").size() > 0) return;
    throw new Report.Other("differs", "Spark lists the index and uses it, the service lists none",
        "The newer engine of the service leaves out indexes in the parts in which the connector builds them");
  }

  private void optimize() throws Exception {
    String table = newTable();
    for (int id = 10; id < 13; id += 1) spark.sql("INSERT INTO " + table + " VALUES (" + id + ", 'x')");
    spark.sql("OPTIMIZE " + table);
    Report.same("rows", rows("SELECT count(*), max(id) FROM " + table), List.of("13,12"));
    Beside.becomes("fragments",
        () -> Beside.post(pathOf(table) + "/stats", "{}").at("/fragment_stats/num_fragments").asLong(), 1);
  }

  private void vacuum() throws Exception {
    String table = newTable();
    spark.sql("INSERT OVERWRITE " + table + " VALUES (1, 'one')");
    spark.sql("VACUUM " + table);
    Report.same("rows", rows("SELECT * FROM " + table), List.of("1,one"));
    Beside.becomes("rows", () -> countOf(table), 1);
  }

  private void append() throws Exception {
    String table = newTable();
    spark.sql("SELECT id + 10 AS id, 'more' AS name FROM range(5)").writeTo(table).append();
    Report.same("rows", spark.table(table).filter("id >= 10").count(), 5);
  }

  private void readJavaScript() throws Exception {
    Beside.javascript("make", "spark.fromjs");
    Report.same("rows", rows("SELECT id, name, vector[0] FROM lance.spark.fromjs WHERE id > 7 ORDER BY id"),
        List.of("8,n8,8.0", "9,n9,9.0"));
    spark.sql("INSERT INTO lance.spark.fromjs VALUES (10, 'n10', array(10, 1, 2, 3))");
    Beside.becomes("rows", () -> Beside.javascript("count", "spark.fromjs"), 11);
  }

  private void searchedByJavaScript() throws Exception {
    String table = newName();
    spark.sql("CREATE TABLE " + table + " (id BIGINT, name STRING, vector ARRAY<FLOAT> NOT NULL)"
        + " TBLPROPERTIES ('vector.arrow.fixed-size-list.size' = '4')");
    spark.sql("INSERT INTO " + table + " SELECT id, concat('n', id),"
        + " array(CAST(id AS FLOAT), 1f, 2f, 3f) FROM range(10)");
    Beside.becomes("rows", () -> countOf(table), 10);
    JsonNode found = Beside.javascript("search", withoutCatalog(table));
    Report.same("count", found.get("count"), 10);
    Report.same("first of the nearest", found.get("near").get(0), 4);
    Report.same("by words", found.get("words"), "[7]");
    Report.same("by filter", found.get("filtered"), "[8,9]");
  }

  private void changedByService() throws Exception {
    String table = newTable();
    Beside.becomes("rows", () -> countOf(table), 10);
    Beside.post(pathOf(table) + "/update", "{\"predicate\":\"id = 3\",\"updates\":[[\"name\",\"'changed'\"]]}");
    Beside.post(pathOf(table) + "/delete", "{\"predicate\":\"id = 4\"}");
    Report.same("rows", rows("SELECT * FROM " + table + " WHERE id IN (3, 4, 5) ORDER BY id"),
        List.of("3,changed", "5,n5"));
    spark.sql("INSERT INTO " + table + " VALUES (4, 'again')");
    Beside.becomes("rows after both", () -> countOf(table), 10);
  }

  /** Nothing has to be waited for: the service records the commits itself. */
  private void managed() throws Exception {
    String table = newTable();
    Beside.becomes("rows", () -> countOf(table), 10);
    Beside.post(pathOf(table) + "/managed_versioning", "{\"enabled\":true}");
    spark.sql("INSERT INTO " + table + " VALUES (10, 'ten')");
    Report.same("rows after an insert", countOf(table), 11);
    spark.sql("UPDATE " + table + " SET name = 'x' WHERE id < 2");
    spark.sql("DELETE FROM " + table + " WHERE id = 9");
    Report.same("rows after a delete", countOf(table), 10);
    Report.same("rows", rows("SELECT name FROM " + table + " WHERE id IN (0, 1, 9, 10) ORDER BY id"),
        List.of("x", "x", "ten"));
  }

  private String refusalOf(String statement) throws Exception {
    try {
      rows(statement);
    } catch (Exception refusal) {
      return String.valueOf(refusal.getMessage());
    }
    throw new Report.Difference("it is not refused: " + statement);
  }
}
