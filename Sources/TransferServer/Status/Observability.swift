import TransferModel
import TransferSystem

/// What operators see of a server: its log, and what its status is made of.
final class Observability: Sendable {
    let log: Log

    /// Those that are served.
    let connections = ConnectionList()

    /// What is known of stored uploads, for whoever asks for the status.
    let figures: StoreFigures

    /// Where the server listens, when it does.
    let endpoints = Locked([String]())

    let started = UTCTime.now

    let crashReports: CrashReports

    /// Reports that there were at the start: nobody writes more while this server runs.
    let crashes: [CrashReports.Entry]

    /// What is counted for as long as the server runs.
    let metrics: ServerMetrics

    let process = ProcessFigures()

    init(of directory: String, log: Log, _ figures: StoreFigures, _ metrics: ServerMetrics) {
        (self.log, self.figures, self.metrics) = (log, figures, metrics)
        crashReports = CrashReports(of: directory)
        crashes = crashReports.all
    }
}
