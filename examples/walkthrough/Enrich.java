import org.apache.spark.sql.SparkSession;

/** Spark enriches the table: rows from SQL, and a column that is computed from another. */
public class Enrich {
  public static void main(String[] args) {
    SparkSession.Builder builder = SparkSession.builder()
        .master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.extensions", "org.lance.spark.extensions.LanceSparkSessionExtensions")
        .config("spark.sql.catalog.lance", "org.lance.spark.LanceNamespaceSparkCatalog")
        .config("spark.sql.catalog.lance.impl", "rest")
        .config("spark.sql.catalog.lance.uri", System.getenv("TILTYARD_URL"))
        .config("spark.sql.catalog.lance.headers.x-api-key", System.getenv("TILTYARD_KEY"));
    // Options of an object store, as name=value; none for tables in a local folder.
    for (String option : args) {
      String[] parts = option.split("=", 2);
      builder = builder.config("spark.sql.catalog.lance.storage." + parts[0], parts[1]);
    }
    SparkSession spark = builder.getOrCreate();
    spark.sql("INSERT INTO lance.articles SELECT id + 200, concat('Notes on spark, part ', id),"
        + " array(4f, CAST(id AS FLOAT), 0f, 1f) FROM range(50)");
    spark.sql("SELECT _rowaddr, _fragid, size(split(title, ' ')) AS words FROM lance.articles")
        .createOrReplaceTempView("counted");
    spark.sql("ALTER TABLE lance.articles ADD COLUMNS words FROM counted");
    long rows = spark.sql("SELECT * FROM lance.articles WHERE words >= 5").count();
    System.out.println("Spark counted the words of " + rows + " rows");
    spark.stop();
  }
}
