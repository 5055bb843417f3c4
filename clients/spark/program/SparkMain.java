import org.apache.spark.sql.SparkSession;

/** Tries the statements of Spark SQL that the connector of Lance offers, against tables of the service. */
public final class SparkMain {
  private static final String CATALOG = "spark.sql.catalog.lance";

  private SparkMain() {}

  public static void main(String[] arguments) {
    SparkSession spark = start();
    spark.sparkContext().setLogLevel("OFF");
    try {
      new SparkChecks(spark).run();
    } finally {
      spark.stop();
    }
    System.exit(0);
  }

  /** Variables of the environment say how an object store is reached. */
  private static SparkSession start() {
    return SparkSession.builder()
        .master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", System.getenv("TILTYARD_SCRATCH"))
        .config("spark.sql.extensions", "org.lance.spark.extensions.LanceSparkSessionExtensions")
        .config(CATALOG, "org.lance.spark.LanceNamespaceSparkCatalog")
        .config(CATALOG + ".impl", "rest")
        .config(CATALOG + ".uri", System.getenv("TILTYARD_URL"))
        .config(CATALOG + ".headers.x-api-key", System.getenv("TILTYARD_API_KEY"))
        .getOrCreate();
  }
}
