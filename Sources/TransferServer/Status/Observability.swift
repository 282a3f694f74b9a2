import TransferModel
import TransferSystem

/// What operators see of a server: the log, the metrics, and the parts of the status.
final class Observability: Sendable {
    let log: Log

    /// The connections that are served.
    let connections = ConnectionList()

    /// Totals of stored uploads for the status.
    let figures: StoreFigures

    /// Addresses of the usual listeners; empty before the server listens.
    let endpoints = Locked([String]())

    let started = UTCTime.now

    let crashReports: CrashReports

    /// Crash reports that existed at the start; no process writes others while this server runs.
    let crashes: [CrashReports.Entry]

    /// Counters since the start of the server.
    let metrics: ServerMetrics

    let process = ProcessFigures()

    init(of directory: String, log: Log, _ figures: StoreFigures, _ metrics: ServerMetrics) {
        (self.log, self.figures, self.metrics) = (log, figures, metrics)
        crashReports = CrashReports(of: directory)
        crashes = crashReports.all
    }
}
