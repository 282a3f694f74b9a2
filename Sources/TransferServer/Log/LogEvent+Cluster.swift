import TransferCluster
import TransferModel
import TransferPostgres

/// Events of a server that stores in a bucket and a database.
extension LogEvent {
    /// - Parameter finding: a sentence that says what the examination of the object store has found.
    static func objectStore(_ finding: String) -> LogEvent {
        LogEvent(
            .info, "objectStore", String(finding.hasSuffix(".") ? finding.dropLast() : finding[...]),
            [("message", .string(finding))])
    }

    /// - Parameter address: the database without its password.
    static func database(_ address: String, _ facts: PostgresServerFacts) -> LogEvent {
        LogEvent(
            .info, "database",
            "the database is \(address.escapedForDisplay), PostgreSQL \(facts.version / 10_000) at \(facts.host.escapedForDisplay)",
            [
                ("address", .string(address)), ("host", .string(facts.host)),
                ("version", .unsigned(UInt64(clamping: facts.version))),
            ])
    }

    static func databaseRemark(_ message: String) -> LogEvent {
        LogEvent(.warning, "databaseRemark", message, [("message", .string(message))])
    }

    static func swept(_ report: Sweeper.Report) -> LogEvent {
        LogEvent(
            .info, "swept",
            "deleted \(report.unused) objects that no file needs any more, and \(report.orphans) of uploads that were never completed",
            [
                ("unused", .unsigned(UInt64(clamping: report.unused))),
                ("orphans", .unsigned(UInt64(clamping: report.orphans))),
                ("epochs", .unsigned(UInt64(clamping: report.epochs))),
            ])
    }

    static func notSwept(_ message: String) -> LogEvent {
        LogEvent(
            .warning, "notSwept", "objects that no file needs were not deleted, the next pass tries again: \(message)",
            [("message", .string(message))])
    }

    /// - Parameter seconds: how far this machine's clock is ahead of the database's; negative if it is behind.
    static func clockDiffers(by seconds: Int64) -> LogEvent {
        LogEvent(
            .warning, "clockDiffers",
            "this machine's clock is \(seconds.magnitude) seconds \(seconds < 0 ? "behind" : "ahead of") the database's: set it. "
                + "Until then this server removes nothing because of age",
            [("seconds", .number(Double(seconds)))])
    }
}
