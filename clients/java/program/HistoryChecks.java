import static java.util.Map.of;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Predicate;
import java.util.stream.Stream;

final class HistoryChecks {
  private static final int TAG_NOT_FOUND = 8;
  private static final int TAG_ALREADY_EXISTS = 9;
  private static final int TRANSACTION_NOT_FOUND = 10;
  private static final int VERSION_NOT_FOUND = 11;
  private static final int CONCURRENT_MODIFICATION = 14;
  private static final int INVALID_TABLE_STATE = 19;

  private HistoryChecks() {}

  static void addTo(Map<String, Checks.Check> checks) {
    checks.put("listTableVersions", HistoryChecks::listVersions);
    checks.put("describeTableVersion", HistoryChecks::describeVersion);
    checks.put("batchDeleteTableVersions", HistoryChecks::deleteVersions);
    checks.put("restoreTable", HistoryChecks::restore);
    checks.put("listTableTags", HistoryChecks::listTags);
    checks.put("getTableTagVersion", HistoryChecks::getTag);
    checks.put("createTableTag", HistoryChecks::createTag);
    checks.put("updateTableTag", HistoryChecks::updateTag);
    checks.put("deleteTableTag", HistoryChecks::deleteTag);
    checks.put("describeTransaction", HistoryChecks::describeTransaction);
    checks.put("alterTransaction", HistoryChecks::alterTransaction);
    checks.put("createTableVersion", HistoryChecks::createVersion);
    checks.put("batchCreateTableVersions", HistoryChecks::createVersions);
    checks.put("batchCommitTables", HistoryChecks::commitBatch);
  }

  /** Versions 1 to 3, of 100, 110 and 120 rows. */
  private static List<String> threeVersions(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    fixture.insert(id, 100, 110);
    fixture.insert(id, 110, 120);
    return id;
  }

  private static List<Long> versionsIn(JsonNode reply) {
    List<Long> versions = new ArrayList<>();
    for (JsonNode each : reply.get("versions")) versions.add(each.get("version").asLong());
    return versions;
  }

  private static void listVersions(Fixture fixture) throws Exception {
    List<String> id = threeVersions(fixture);
    JsonNode all = fixture.client.call("listTableVersions", of("id", id));
    Report.same("versions", versionsIn(all).stream().sorted().toList(), List.of(1, 2, 3));
    Report.holds("no manifest_path in " + all, all.get("versions").get(0).hasNonNull("manifest_path"));
    JsonNode latest = fixture.client.call("listTableVersions", of("id", id, "limit", 1, "descending", true));
    if (versionsIn(latest).equals(List.of(1L))) {
      throw new Report.Other("differs", "descending has no effect", "This release of the client does not send it");
    }
    Report.same("latest", versionsIn(latest), List.of(3));
  }

  private static void createVersion(Fixture fixture) throws Exception {
    Map<String, Object> request = stageVersion(fixture);
    JsonNode made = fixture.client.call("createTableVersion", request).get("version");
    Report.same("version", made.get("version").asLong(), 2);
    Report.same("rows", fixture.count(idOf(request)), 110);
    fixture.refuses(CONCURRENT_MODIFICATION, "createTableVersion", request);
  }

  private static void createVersions(Fixture fixture) throws Exception {
    List<Map<String, Object>> entries = List.of(stageVersion(fixture), stageVersion(fixture));
    fixture.client.call("batchCreateTableVersions", of("entries", entries));
    for (Map<String, Object> entry : entries) Report.same("rows", fixture.count(idOf(entry)), 110);
  }

  private static void commitBatch(Fixture fixture) throws Exception {
    List<String> id = fixture.newId();
    Map<String, Object> version = stageVersion(fixture);
    List<Map<String, Object>> operations =
        List.of(of("declare_table", of("id", id)), of("create_table_version", version));
    JsonNode reply = fixture.client.call("batchCommitTables", of("operations", operations));
    Report.same("number of results", reply.get("results").size(), 2);
    fixture.client.call("tableExists", of("id", id));
    Report.same("rows", fixture.count(idOf(version)), 110);
  }

  @SuppressWarnings("unchecked")
  private static List<String> idOf(Map<String, Object> request) {
    return (List<String>) request.get("id");
  }

  /** The second version of a table becomes that of a copy of the first, whose versions are managed: the request for it. */
  private static Map<String, Object> stageVersion(Fixture fixture) throws Exception {
    List<String> id = fixture.newTable();
    if (!describesFolder(fixture, id)) throw new Report.Other("skipped", "the files are on an object store");
    Path table = Path.of(locationOf(fixture, id));
    Path copy = table.resolveSibling("copy-" + table.getFileName());
    copyFiles(table, copy);
    List<String> other = fixture.newId();
    Map<String, String> managed = of("managed_versioning", "true");
    fixture.client.call("registerTable", of("id", other, "location", copy.getFileName().toString(), "properties", managed));
    fixture.insert(id, 100, 110);
    String manifest = manifestOf(fixture, id, 2);
    copyFiles(table, copy, file -> !file.endsWith(manifest));
    Path staged = copy.resolve("_versions").resolve(manifest + "-" + UUID.randomUUID());
    Files.copy(table.resolve("_versions").resolve(manifest), staged);
    return of("id", other, "version", 2, "manifest_path", staged.toString(), "naming_scheme", "V2");
  }

  private static boolean describesFolder(Fixture fixture, List<String> id) throws Exception {
    return locationOf(fixture, id).startsWith("/");
  }

  private static String locationOf(Fixture fixture, List<String> id) throws Exception {
    return fixture.client.call("describeTable", of("id", id)).get("location").asText();
  }

  private static String manifestOf(Fixture fixture, List<String> id, long version) throws Exception {
    JsonNode described = fixture.client.call("describeTableVersion", of("id", id, "version", version)).get("version");
    return Path.of(described.get("manifest_path").asText()).getFileName().toString();
  }

  private static void copyFiles(Path from, Path to) throws Exception {
    copyFiles(from, to, file -> true);
  }

  private static void copyFiles(Path from, Path to, Predicate<Path> isWanted) throws Exception {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : files.filter(isWanted).toList()) {
        Path target = to.resolve(from.relativize(file));
        if (Files.isDirectory(file)) Files.createDirectories(target);
        else if (!Files.exists(target)) Files.copy(file, target);
      }
    }
  }

  private static void describeVersion(Fixture fixture) throws Exception {
    List<String> id = threeVersions(fixture);
    JsonNode seen = fixture.client.call("describeTableVersion", of("id", id, "version", 2)).get("version");
    Report.same("version", seen.get("version").asLong(), 2);
    Report.holds("no manifest_path in " + seen, seen.hasNonNull("manifest_path"));
    fixture.refuses(VERSION_NOT_FOUND, "describeTableVersion", of("id", id, "version", 99));
  }

  private static void deleteVersions(Fixture fixture) throws Exception {
    List<String> id = threeVersions(fixture);
    List<Map<String, Object>> ranges = List.of(of("start_version", 1, "end_version", 3));
    if (!describesFolder(fixture, id)) {
      fixture.refuses(INVALID_TABLE_STATE, "batchDeleteTableVersions", of("id", id, "ranges", ranges));
      throw new Report.Other("fails", "refused: too young", "On an object store, versions can be deleted after 600 s");
    }
    JsonNode reply = fixture.client.call("batchDeleteTableVersions", of("id", id, "ranges", ranges));
    Report.same("deleted_count", reply.get("deleted_count").asLong(), 2);
    Report.same("left", versionsIn(fixture.client.call("listTableVersions", of("id", id))), List.of(3));
    Report.same("rows", fixture.count(id), 120);
  }

  private static void restore(Fixture fixture) throws Exception {
    List<String> id = threeVersions(fixture);
    fixture.client.call("restoreTable", of("id", id, "version", 1));
    Report.same("rows", fixture.count(id), 100);
    Report.same("version", fixture.versionOf(id), 4);
    fixture.refuses(VERSION_NOT_FOUND, "restoreTable", of("id", id, "version", 99));
  }

  private static void listTags(Fixture fixture) throws Exception {
    List<String> id = threeVersions(fixture);
    fixture.client.call("createTableTag", of("id", id, "tag", "first", "version", 1));
    fixture.client.call("createTableTag", of("id", id, "tag", "second", "version", 2));
    JsonNode tags = fixture.client.call("listTableTags", of("id", id)).get("tags");
    Report.same("number of tags", tags.size(), 2);
    Report.same("version of second", tags.at("/second/version").asLong(), 2);
  }

  private static void getTag(Fixture fixture) throws Exception {
    List<String> id = threeVersions(fixture);
    fixture.client.call("createTableTag", of("id", id, "tag", "first", "version", 1));
    Report.same("version", versionOf(fixture, id, "first"), 1);
    fixture.refuses(TAG_NOT_FOUND, "getTableTagVersion", of("id", id, "tag", "missing"));
  }

  private static void createTag(Fixture fixture) throws Exception {
    List<String> id = threeVersions(fixture);
    fixture.client.call("createTableTag", of("id", id, "tag", "t", "version", 2));
    Report.same("version", versionOf(fixture, id, "t"), 2);
    fixture.refuses(TAG_ALREADY_EXISTS, "createTableTag", of("id", id, "tag", "t", "version", 3));
    fixture.refuses(VERSION_NOT_FOUND, "createTableTag", of("id", id, "tag", "u", "version", 99));
  }

  private static void updateTag(Fixture fixture) throws Exception {
    List<String> id = threeVersions(fixture);
    fixture.client.call("createTableTag", of("id", id, "tag", "t", "version", 1));
    fixture.client.call("updateTableTag", of("id", id, "tag", "t", "version", 3));
    Report.same("version", versionOf(fixture, id, "t"), 3);
    fixture.refuses(TAG_NOT_FOUND, "updateTableTag", of("id", id, "tag", "missing", "version", 1));
  }

  private static void deleteTag(Fixture fixture) throws Exception {
    List<String> id = threeVersions(fixture);
    fixture.client.call("createTableTag", of("id", id, "tag", "t", "version", 1));
    fixture.client.call("deleteTableTag", of("id", id, "tag", "t"));
    fixture.refuses(TAG_NOT_FOUND, "getTableTagVersion", of("id", id, "tag", "t"));
    fixture.refuses(TAG_NOT_FOUND, "deleteTableTag", of("id", id, "tag", "t"));
  }

  private static long versionOf(Fixture fixture, List<String> id, String tag) throws Exception {
    return fixture.client.call("getTableTagVersion", of("id", id, "tag", tag)).get("version").asLong();
  }

  private static void describeTransaction(Fixture fixture) throws Exception {
    JsonNode seen = fixture.client.call("describeTransaction", of("id", newTransaction(fixture)));
    Report.same("status", seen.get("status").asText().toUpperCase(), "SUCCEEDED");
    fixture.refuses(TRANSACTION_NOT_FOUND, "describeTransaction", of("id", List.of("missing")));
  }

  /** What is recorded is committed: only its status can be confirmed. */
  private static void alterTransaction(Fixture fixture) throws Exception {
    List<Map<String, Object>> confirm = List.of(of("setStatusAction", of("status", "Succeeded")));
    JsonNode seen = fixture.client.call("alterTransaction", of("id", newTransaction(fixture), "actions", confirm));
    Report.same("status", seen.get("status").asText().toUpperCase(), "SUCCEEDED");
  }

  private static List<String> newTransaction(Fixture fixture) throws Exception {
    JsonNode made = (JsonNode) fixture.client.call("createTable", of("id", fixture.newId()), Rows.stream(0, 1));
    return List.of(made.get("transaction_id").asText());
  }
}
