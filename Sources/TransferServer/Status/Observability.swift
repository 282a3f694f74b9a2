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

    init(of directory: String, log: Log, _ figures: StoreFigures) {
        (self.log, self.figures) = (log, figures)
        crashReports = CrashReports(of: directory)
        crashes = crashReports.all
    }
}
