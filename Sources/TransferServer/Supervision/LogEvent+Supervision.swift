import TransferModel
import TransferSystem

extension Log {
    /// Says that this process takes the place of one that a signal has ended.
    ///
    /// - Parameters:
    ///   - signal: that ended it.
    ///   - restarts: how many were ended so.
    ///   - reports: the folder with a report on each.
    package func restarted(after signal: Int32, restarts: Int, reports: String) {
        write([.restarted(after: signal, restarts: restarts, reports: reports)])
    }
}

extension LogEvent {
    fileprivate static func restarted(after signal: Int32, restarts: Int, reports: String) -> LogEvent {
        let name = SignalName.of(signal)
        return LogEvent(
            .error, "restarted",
            "the process that served was ended by \(name); another one goes on in its place (\(restarts) since the start), and "
                + "a report is in \(reports.escapedForDisplay)",
            [("signal", .string(name)), ("restarts", .unsigned(UInt64(restarts))), ("reports", .string(reports))])
    }
}
